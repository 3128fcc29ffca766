"""TypeMeta of JSON bodies."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.typemeta import TypeMeta, describe, type_meta

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["v1", "apps/v1", "", 'a"b/v1', "é/v1", None, 7, ["v1"]]) | st.text(max_size=8)
OBJECTS = st.lists(
    st.tuples(st.just("apiVersion"), TYPES)
    | st.tuples(st.just("kind"), TYPES)
    | st.tuples(st.sampled_from(["metadata", "items", "kinds", ""]), VALUES),
    max_size=5,
    unique_by=lambda pair: pair[0],
)


def expected(data: dict[str, Any]) -> TypeMeta:
    version, kind = data.get("apiVersion"), data.get("kind")
    group = version.rpartition("/")[0] if isinstance(version, str) and version else None
    return TypeMeta(group, kind if isinstance(kind, str) else "")


@given(pairs=OBJECTS, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_type_meta_is_that_of_the_object_in_any_form(
    pairs: list[tuple[str, Any]], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(dict(pairs), indent=indent, ensure_ascii=ascii_only)
    body = text.encode("utf-8", "replace")
    assert type_meta(body) == type_meta(msgspec.Raw(body)) == expected(json.loads(body))
    assert describe(body, type_meta(body))


@given(
    st.binary(max_size=40)
    | VALUES.filter(lambda value: not isinstance(value, dict)).map(lambda v: json.dumps(v).encode())
)
def test_other_bodies_have_none_and_are_described(body: bytes) -> None:
    if type_meta(body) is None:
        assert describe(body, None)
    else:
        assert isinstance(json.loads(body), dict)


def test_types_of_a_deeply_nested_object_are_found() -> None:
    deep = b"[" * 300_000 + b"]" * 300_000
    assert type_meta(b'{"spec":%b,"kind":"Foo","apiVersion":"example.com/v1"}' % deep) == TypeMeta("example.com", "Foo")


def test_description_has_no_values() -> None:
    body = b'{"data":{"password":"hunter2"},"a":1,"b":1,"c":1,"d":1,"e":1}'
    assert describe(body, type_meta(body)) == (
        "a JSON object without a kind (its keys: 'data', 'a', 'b', 'c', 'd', ...)"
    )
