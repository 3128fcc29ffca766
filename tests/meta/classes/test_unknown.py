"""Values that the type of their field cannot hold: they hide nothing but themselves, and are written back."""

import copy
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.errors import Invalid
from clientgo.kubernetes.types.coordination_v1 import Lease
from clientgo.kubernetes.types.core_v1 import Secret
from clientgo.meta import (
    MicroTime,
    ObjectMeta,
    ObjectName,
    Undecodable,
    api_type,
    decode,
    encode,
    from_dict,
    replace,
    to_dict,
)
from clientgo.meta.codec import codec_for
from clientgo.meta.jsonvalues import same
from clientgo.meta.objects import UnknownNumber, UnknownTime, UnknownValue
from clientgo.testing.client import FakeClient


@dataclass(frozen=True, slots=True)
class Step:
    at: datetime | None = None
    size: int = 0


@dataclass(frozen=True, slots=True)
class Spec:
    at: datetime | None = None
    renewed: MicroTime | None = None
    size: int = 0
    data: bytes = b""
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    text: str = ""


@api_type(group="example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Thing:
    metadata: ObjectMeta
    spec: Spec = Spec()


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    at: datetime | None = None
    data: bytes = b""


@api_type(group="example.com", version="v1", status=False)
class Whole(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    metadata: ObjectMeta
    part: Part = Part()


TIMES = [
    ("10000-01-01T00:00:00Z", datetime.max),
    ("+12345-01-01T00:00:00.5+02:00", datetime.max),
    ("123456789012345678901234567890-01-01T00:00:00Z", datetime.max),
    ("-0001-12-31T00:00:00Z", datetime.min),
    ("0000-01-01T00:00:00Z", datetime.min),
    ("2016-12-31T23:59:60Z", datetime(2016, 12, 31, 23, 59, 59, 999999)),
    ("2020-01-02", datetime(2020, 1, 2)),
]


def thing(**spec: Any) -> Thing:
    return from_dict(Thing, {"metadata": {"name": "x"}, "spec": {"text": "a", **spec}})


@pytest.mark.parametrize(("text", "nearest"), TIMES)
def test_time_out_of_range_is_the_nearest_one_and_written_back(text: str, nearest: datetime) -> None:
    obj = thing(at=text, steps=[{"at": text}])
    assert obj.spec.at == nearest.replace(tzinfo=UTC) == thing(renewed=text).spec.renewed
    assert obj.spec.text == "a"
    changed = replace(obj, metadata=ObjectMeta(name="x", labels={"a": "b"}))
    assert to_dict(changed)["spec"] == {"at": text, "steps": [{"at": text}], "text": "a"}
    whole = from_dict(Whole, {"metadata": {"name": "x"}, "part": {"at": text}})
    assert to_dict(whole)["part"] == {"at": text}


@pytest.mark.parametrize("text", ["2020-01-02t03:04:05.1234567891z", "2020-01-02 03:04:05Z", "2020-01-02T03:04:05,5Z"])
def test_unusual_form_of_a_time_is_read(text: str) -> None:
    at = thing(at=text).spec.at
    assert at is not None
    assert at.replace(microsecond=0) == datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "spec",
    [
        {"at": "soon"},
        {"at": ""},
        {"at": "2020-02-30T00:00:00Z"},
        {"data": "not base64"},
        {"data": "YQ="},
        {"blobs": {"a": "YQ==", "b": "?"}},
        {"size": 10**20},
        {"steps": [{"at": "never", "size": -(10**20)}]},
    ],
    ids=str,
)
def test_value_that_cannot_be_converted_is_kept_and_written_back(spec: dict[str, Any]) -> None:
    obj = thing(**spec)
    assert obj.spec.text == "a"
    assert obj == thing(**spec)
    assert same(obj, thing(**spec))
    assert same(to_dict(obj)["spec"], {**spec, "text": "a"})
    applied = json.loads(codec_for(Thing).encode_applied(obj))["spec"]
    assert same(applied, {"size": 0, "data": "", **spec, "text": "a"})  # with the defaults


def test_kept_values_have_their_own_classes() -> None:
    spec = thing(at="soon", data="?", size=10**20, renewed="10000-01-01T00:00:00Z").spec
    assert [type(value) for value in (spec.at, spec.data, spec.size, spec.renewed)] == [
        *(UnknownValue, UnknownValue),
        *(UnknownNumber, UnknownTime),
    ]
    for copied in (copy.deepcopy(spec), pickle.loads(pickle.dumps(spec))):  # of this test
        assert to_dict(Thing(ObjectMeta(), copied)) == to_dict(Thing(ObjectMeta(), spec))
    assert spec.renewed is not None
    assert MicroTime.of(spec.renewed - timedelta(days=1)).wire() == "9999-12-30T23:59:59.999999Z"


def test_lines_in_base64_and_whole_floats_are_read_as_by_go() -> None:
    spec = thing(data="Y\r\nQ==", size=3.0).spec
    assert (spec.data, spec.size) == (b"a", 3)


def test_object_with_a_time_out_of_range_stays_in_its_list() -> None:
    items = [{"metadata": {"name": name}, "spec": {"at": f"{name}-01-01T00:00:00Z"}} for name in ("2020", "10000")]
    page = codec_for(Thing).decode_list(json.dumps({"items": items}).encode())
    assert [obj.metadata.name for obj in page.items] == ["2020", "10000"]
    assert page.undecodable == ()


def test_built_in_types_keep_values_too() -> None:
    secret = from_dict(Secret, {"metadata": {"name": "x"}, "data": {"a": "YQ==", "b": "?"}})
    assert secret.data == {"a": b"a", "b": "?"}
    assert to_dict(secret)["data"] == {"a": "YQ==", "b": "?"}
    late = {"creationTimestamp": "10000-01-01T00:00:00Z", "name": "x"}
    lease = from_dict(Lease, {"metadata": late, "spec": {"renewTime": "10000-01-01T00:00:00.000000Z"}})
    assert to_dict(lease)["metadata"] == late
    assert lease.spec.renew_time == datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize("spec", [{"at": 1}, {"renewed": "soon"}, {"size": "1"}, {"size": 1.5}, {"data": 1}], ids=str)
def test_value_of_another_type_is_still_undecodable(spec: dict[str, Any]) -> None:
    with pytest.raises(Undecodable, match="x cannot be decoded"):
        thing(**spec)


@given(st.text())
def test_any_text_in_place_of_a_time_is_written_back(text: str) -> None:
    obj = thing(at=text)
    written = to_dict(obj)["spec"]["at"]
    assert written == text or decode(Thing, encode(obj)).spec.at == obj.spec.at


def test_written_built_in_object_must_fit_its_class() -> None:
    client = FakeClient(Secret(metadata=ObjectMeta(name="x", namespace="n")))
    with pytest.raises(Invalid, match="illegal base64"):
        client.patch(client.get(Secret, ObjectName("n", "x")), {"data": {"a": "?"}})
