"""Property tests: encode and decode are inverse for generated classes and values."""

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clientgo.meta import EMPTY_MAP, MicroTime, ObjectMeta, OwnerReference, api_type, decode, encode
from clientgo.meta.classes.lenient import construct

text = st.text(st.characters(codec="utf-8"), max_size=8)
integers = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
times = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC))
maps = st.dictionaries(text, text, max_size=3)
anything = st.recursive(
    st.none() | st.booleans() | integers | floats | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)

metas = st.builds(
    ObjectMeta,
    name=text,
    namespace=text,
    generation=integers,
    creation_timestamp=st.none() | times,
    deletion_grace_period_seconds=st.none() | integers,
    labels=maps,
    annotations=maps,
    finalizers=st.lists(text, max_size=3).map(tuple),
    owner_references=st.lists(
        st.builds(OwnerReference, name=text, uid=text, controller=st.none() | st.booleans()), max_size=2
    ).map(tuple),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Inner:
    size: int
    label: str = "none"
    ratio: float = 1.0


inners = st.builds(Inner, integers, text, floats)

FIELDS: list[tuple[Any, Any, st.SearchStrategy[Any]]] = [
    (str, "", text),
    (str, dataclasses.MISSING, text),
    (int, 0, integers),
    (int | None, None, st.none() | integers),
    (bool, True, st.booleans()),
    (float, 0.5, floats),
    (datetime | None, None, st.none() | times),
    (MicroTime | None, None, st.none() | times.map(MicroTime.of)),
    (tuple[str, ...], (), st.lists(text, max_size=3).map(tuple)),
    (Mapping[str, str], EMPTY_MAP, maps),
    (Inner, Inner(1), inners),
    (Inner | None, None, st.none() | inners),
    (tuple[Inner, ...], (), st.lists(inners, max_size=3).map(tuple)),
    (Mapping[str, Inner], EMPTY_MAP, st.dictionaries(text, inners, max_size=3)),
    (Mapping[str, tuple[Inner, ...]], EMPTY_MAP, st.dictionaries(text, st.just((Inner(2), Inner(3))), max_size=2)),
    (Any, None, anything),
]


def foo_like(fields: list[tuple[Any, Any, st.SearchStrategy[Any]]]) -> st.SearchStrategy[Any]:
    """Objects of a new kind whose spec has these fields."""
    # Fields without a default first, as dataclasses demand.
    fields = sorted(fields, key=lambda entry: entry[1] is not dataclasses.MISSING)
    spec: Any = dataclasses.make_dataclass(
        "Spec",
        [(f"field_{n}", hint, dataclasses.field(default=default)) for n, (hint, default, _) in enumerate(fields)],
        frozen=True,
        slots=True,
    )
    kind: Any = dataclasses.make_dataclass("Foo", [("metadata", ObjectMeta), ("spec", spec)], frozen=True, slots=True)
    marked = api_type(group="example.com", version="v1")(kind)
    specs = st.builds(spec, **{f"field_{n}": values for n, (_, _, values) in enumerate(fields)})
    return st.builds(marked, metas, specs)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(FIELDS), max_size=8).flatmap(foo_like))
def test_any_object_of_any_class_round_trips(obj: Any) -> None:
    data = encode(obj)
    decoded = decode(type(obj), data)
    assert decoded == obj
    assert encode(decoded) == data
    assert construct(type(obj), msgspec.json.decode(data)) == decoded
