"""Strict encoding: a value without a JSON form is an error before it is sent."""

import enum
import json
import math
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.dynamic.unstructured import Unstructured
from clientgo.kubernetes.types.apps_v1 import ControllerRevision
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import EMPTY_MAP, MicroTime, ObjectMeta, api_type, decode, encode, to_dict
from clientgo.meta.codec import codec_for, from_dict
from clientgo.meta.jsonvalues import Unencodable, encode_value
from clientgo.meta.objects import UnknownNumber, UnknownValue

NAIVE = datetime(2026, 1, 2, 3, 4, 5)  # what is tested
LOOP: list[Any] = []
LOOP.append(LOOP)


class Mode(enum.Enum):
    FAST = "Fast"


@dataclass(frozen=True, slots=True)
class Part:
    ratio: float = 0.0
    since: datetime | None = None
    size: int = 0
    host_name: str = ""


@dataclass(frozen=True, slots=True)
class Spec:
    part: Part = Part()
    parts: tuple[Part, ...] = ()
    named: Mapping[str, Part] = EMPTY_MAP
    free: Any = None


@api_type(group="example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Thing:
    metadata: ObjectMeta
    spec: Spec = Spec()


META = ObjectMeta(name="x", namespace="ns")
UNENCODABLE = [
    (math.nan, "nan is not a JSON number: use a finite number, or leave the field out"),
    (-math.inf, "-inf is not a JSON number"),
    (NAIVE, "2026-01-02 03:04:05 has no time zone: use datetime.now(UTC) or value.replace(tzinfo=UTC)"),
    (2**63, "9223372036854775808 needs more than 64 bits: use a string"),
    (-(2**70) - 1, "needs more than 64 bits"),
    (2**66, "needs more than 64 bits"),
    (10**400, "an integer of 1329 bits needs more than 64 bits: use a string"),
    (Decimal("1.5"), "Decimal has no JSON form: use str(value)"),
    ({1, 2}, "set has no JSON form: use a list, such as sorted(value)"),
    (date(2026, 1, 2), "date has no JSON form: use value.isoformat(), or a datetime with a time zone"),
    (time(1), "time has no JSON form"),
    (timedelta(1), 'timedelta has no JSON form: use a text such as "30s"'),
    (UUID(int=1), "UUID has no JSON form: use str(value)"),
    (1j, "complex has no JSON form: use a dict, list, str, number or bool"),
    (object(), "object has no JSON form"),
    (msgspec.UNSET, "UnsetType has no JSON form"),
    ("\ud800", "the text has a lone surrogate, which is no character: replace it"),
    ({1: "a"}, "the key 1 is not a string: use str(key)"),
    ({None: "a"}, "the key None is not a string"),
    ({b"a": 1}, "the key b'a' is not a string"),
    ({"\udfff": 1}, "a lone surrogate"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message"), UNENCODABLE, ids=[message for _, message in UNENCODABLE])
def test_value_without_a_json_form_is_rejected_wherever_it_is(value: Any, message: str) -> None:
    places: dict[str, Any] = {
        "": value,
        "a.b[1]": {"a": {"b": [0, value]}},
        "x.spec.free.a": {"x": Thing(META, Spec(free={"a": value}))},
        "[0].free[0]": (Spec(free=[value]),),
    }
    for location, full in places.items():
        with pytest.raises(Unencodable) as caught:
            encode_value(full)
        assert message in str(caught.value)
        assert str(caught.value).startswith(f"cannot encode {location or 'the value'} as JSON: ")
    for kind, obj in (
        ("Thing", Thing(META, Spec(free=[value]))),
        ("ControllerRevision", ControllerRevision(metadata=META, data={"a": value})),
    ):
        with pytest.raises(Unencodable, match=f" of {kind} x as JSON: "):
            encode(obj)
    with pytest.raises(Unencodable):
        to_dict(Unstructured(api_version="v1", kind="A", metadata=META, content={"spec": value}))
    with pytest.raises(Unencodable):
        from_dict(Thing, {"metadata": {}, "spec": {"free": [value]}})


@pytest.mark.parametrize(
    ("spec", "location", "message"),
    [
        (Spec(Part(ratio=math.nan)), "spec.part.ratio", "nan is not a JSON number"),
        (Spec(parts=(Part(), Part(ratio=math.inf))), "spec.parts[1].ratio", "inf is not a JSON number"),
        (Spec(named={"a": Part(since=NAIVE)}), "spec.named.a.since", "has no time zone"),
    ],
)
def test_error_names_the_field_of_the_object(spec: Spec, location: str, message: str) -> None:
    for encoded in (codec_for(Thing).encode, codec_for(Thing).encode_applied):
        with pytest.raises(Unencodable) as caught:
            encoded(Thing(META, spec))
        assert str(caught.value).startswith(f"cannot encode {location} of Thing x as JSON: ")
        assert message in str(caught.value)


def test_typed_integer_has_at_most_64_bits() -> None:
    assert to_dict(Thing(META, Spec(Part(size=2**63 - 1))))["spec"]["part"]["size"] == 2**63 - 1
    with pytest.raises(
        Unencodable, match=r"spec\.part\.size of Thing x as JSON: 9223372036854775808 needs more than 64"
    ):
        encode(Thing(META, Spec(Part(size=2**63))))
    read = decode(Thing, b'{"metadata":{"name":"x"},"spec":{"part":{"size":9223372036854775808}}}')
    assert isinstance(read.spec.part.size, UnknownNumber)
    with pytest.raises(Unencodable, match=r"spec\.part\.size of Thing x as JSON: 9223372036854775808 needs more"):
        encode(read)


@pytest.mark.parametrize("number", [10**20, 123456789012345680000, -(10**30), int(1e30), -(2**70)])
def test_integer_that_is_a_float_to_kubernetes_is_written_back(number: int) -> None:
    # Go writes the float 1e20 as 100000000000000000000.
    thing = decode(Thing, msgspec.json.encode({"metadata": {}, "spec": {"free": number}}))
    assert to_dict(thing)["spec"]["free"] == number
    assert msgspec.json.decode(encode_value({"a": number})) == {"a": number}


def test_time_without_a_zone_is_read_as_utc() -> None:
    data = (
        b'{"metadata":{"name":"x","creationTimestamp":"2026-01-02T03:04:05"},'
        b'"spec":{"part":{"since":"2026-01-02T03:04:05.5"}}}'
    )
    thing = decode(Thing, data)
    assert thing.metadata.creation_timestamp == NAIVE.replace(tzinfo=UTC)
    assert thing.spec.part.since == NAIVE.replace(tzinfo=UTC, microsecond=500000)
    assert decode(Thing, encode(thing)) == thing


def test_naive_time_and_nan_of_a_built_in_type_are_rejected() -> None:
    with pytest.raises(Unencodable, match=r"metadata\.creationTimestamp of ConfigMap x .* no time zone"):
        encode(ConfigMap(metadata=ObjectMeta(name="x", creation_timestamp=NAIVE)))
    data: Any = {"a": math.nan}
    with pytest.raises(Unencodable, match=r"data\.a of ConfigMap x as JSON: nan"):
        encode(ConfigMap(metadata=META, data=data))
    with pytest.raises(ValueError, match="has no time zone"):
        MicroTime.of(NAIVE)


def test_value_that_contains_itself_is_rejected() -> None:
    with pytest.raises(Unencodable, match="nested too deep, or contains itself"):
        encode_value(LOOP)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": ("x", None, 2**63 - 1, -(2**63))}, '{"a":["x",null,9223372036854775807,-9223372036854775808]}'),
        ("2026-01-02T03:04:05", '"2026-01-02T03:04:05"'),
        ("1700000000000000000", '"1700000000000000000"'),
        (datetime(2026, 1, 2, tzinfo=UTC), '"2026-01-02T00:00:00Z"'),
        (MicroTime(2026, 1, 2, tzinfo=UTC), '"2026-01-02T00:00:00.000000Z"'),
        (b"ab", '"YWI="'),
        (Mode.FAST, '"Fast"'),
        (MappingProxyType({"a": 1}), '{"a":1}'),
        ([UnknownValue("x"), UnknownNumber(3)], '["x",3]'),
        ({"a": Part(host_name="h")}, '{"a":{"hostName":"h"}}'),
        ([Spec(free={"a": Part(host_name="h")})], '[{"part":{},"free":{"a":{"hostName":"h"}}}]'),
        (msgspec.Raw(b"[1]"), "[1]"),
    ],
)
def test_value_with_a_json_form_is_written(value: Any, written: str) -> None:
    assert encode_value(value).decode() == written


def test_null_and_a_text_like_a_time_are_no_reason_to_reject() -> None:
    notes = {"a": '{"creationTimestamp":null}', "b": "2026-01-02T03:04:05"}
    obj = ConfigMap(metadata=ObjectMeta(name="x", annotations=notes), data={"t": "T03:04:05"})
    assert to_dict(obj)["metadata"]["annotations"] == notes


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=10,
)  # fmt: skip


@given(values)
def test_every_json_value_is_encoded_as_it_is(value: Any) -> None:
    assert json.loads(encode_value(value)) == value
    assert to_dict(ControllerRevision(data={"a": value}))["data"] == {"a": value}


def test_error_can_be_sent_to_another_process() -> None:
    with pytest.raises(Unencodable) as caught:
        encode_value({"a": math.nan})
    copied = pickle.loads(pickle.dumps(caught.value))  # of this test
    assert (str(copied), copied.where) == (str(caught.value), ".a")
