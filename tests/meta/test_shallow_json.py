"""Shallow JSON parser, and objects nested too deep for the decoder."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.dynamic.codec import UnstructuredCodec
from clientgo.dynamic.unstructured import unstructured_type
from clientgo.internal.patterns import SURROGATE
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionResource, Undecodable
from clientgo.meta.codec import Codec, codec_for, identity
from clientgo.meta.shallow_json import elements, members, with_whole_characters
from tests.meta.nesting_limit import DEEP

NAMES = b'"name":"deep","namespace":"ns","uid":"u","resourceVersion":"8"'
IN_ITS_SPEC = b'{"spec":%s,"metadata":{%s,"labels":{"a":"b"}}}' % (DEEP, NAMES)
IN_ITS_METADATA = b'{"metadata":{%s,"managedFields":[{"fieldsV1":%s}]}}' % (NAMES, DEEP)
GOOD = b'{"metadata":{"name":"good","namespace":"ns"}}'

CODECS = pytest.mark.parametrize(
    "codec",
    [
        codec_for(ConfigMap),
        UnstructuredCodec(unstructured_type(GroupVersionResource("", "v1", "things"), kind="Thing")),
    ],
    ids=["typed", "dynamic"],
)
DEEPLY = pytest.mark.parametrize("deep", [IN_ITS_SPEC, IN_ITS_METADATA], ids=["in its spec", "in its metadata"])


@DEEPLY
def test_its_name_and_version_can_be_read(deep: bytes) -> None:
    meta = identity(deep)
    assert (meta.name, meta.namespace, meta.uid, meta.resource_version) == ("deep", "ns", "u", "8")


@CODECS
@DEEPLY
def test_it_is_undecodable_and_named(codec: Codec[ConfigMap], deep: bytes) -> None:
    with pytest.raises(Undecodable, match="ns/deep cannot be decoded: it is nested too deep"):
        codec.decode(deep)


@CODECS
@DEEPLY
def test_the_others_of_its_list_are_read(codec: Codec[ConfigMap], deep: bytes) -> None:
    page = codec.decode_list(
        b'{"kind":"ThingList","apiVersion":"v1","items":[%s,%s,%s],"metadata":{"resourceVersion":"9","continue":"c"}}'
        % (GOOD, deep, GOOD)
    )
    assert (page.metadata.resource_version, page.metadata.continue_) == ("9", "c")
    assert [item.metadata.name for item in page.items] == ["good", "good"]
    assert [error.metadata.name for error in page.undecodable] == ["deep"]


@CODECS
@pytest.mark.parametrize(
    "data",
    [
        b'{"kind":"ThingList","items":%s}' % DEEP,
        b'{"kind":"ThingList","metadata":%s,"items":[]}' % DEEP,
        b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","items":[%s]}' % IN_ITS_SPEC,
        DEEP[:-1],
    ],
    ids=["items that are none", "deep metadata", "a table", "cut off"],
)
def test_too_deep_json_that_is_not_a_list_is_undecodable(codec: Codec[ConfigMap], data: bytes) -> None:
    with pytest.raises(Undecodable):
        codec.decode_list(data)


@pytest.mark.parametrize(
    "data",
    [DEEP, DEEP[:-1], b'{"metadata":%s}' % DEEP, b"[%s]" % IN_ITS_SPEC],
    ids=["no metadata", "cut off", "metadata that are none", "an array"],
)
def test_too_deep_object_without_name_has_no_identity(data: bytes) -> None:
    assert identity(data).name == ""


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
plain_keys = st.text(st.characters(codec="ascii", exclude_characters='"\\', exclude_categories=["Cc"]))
spaces = st.sampled_from([(", ", ": "), (",", ":"), (" ,\n\t", "\r\n : ")])
DEEP = b'{"a":[' * 50_000 + b'"]}"' + b"]}" * 50_000


def shown(data: bytes) -> str:
    return repr(data[:10])


def text(value: object, how: tuple[str, str]) -> bytes:
    return json.dumps(value, separators=how).encode()


@given(st.dictionaries(plain_keys, values, max_size=5), spaces)
def test_the_members_of_an_object_are_found(value: dict[str, Any], how: tuple[str, str]) -> None:
    result = members(b" \n" + text(value, how) + b"\n")
    assert {name: json.loads(member) for name, member in result.items()} == value


@given(st.lists(values, max_size=5), spaces)
def test_the_elements_of_an_array_are_found_in_their_order(value: list[Any], how: tuple[str, str]) -> None:
    assert [json.loads(element) for element in elements(text(value, how))] == value


@pytest.mark.parametrize("levels", [15, 16, 17, 18, 900])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_values_are_found_at_every_depth(levels: int, opening: bytes, closing: bytes) -> None:
    value = opening * levels + b'"}]"' + closing * levels
    assert elements(b"[1,%s,2]" % value) == [b"1", value, b"2"]


def test_too_deep_value_is_returned_undecoded() -> None:
    with pytest.raises(RecursionError):
        msgspec.json.decode(DEEP)
    assert members(b'{"deep":%s,"next":"\\"}"}' % DEEP) == {"deep": DEEP, "next": b'"\\"}"'}
    assert elements(b"[%s,[],%s]" % (DEEP, DEEP)) == [DEEP, b"[]", DEEP]


def test_null_has_no_elements() -> None:
    assert elements(b" null ") == []


@pytest.mark.parametrize(
    "data",
    [b"", b"[", b"[1", b"[1,", b"[1,]", b"[1 2]", b"[1]]", b"{}", b"[{]", b'["a]', b"[,]", b"1", b"[" + DEEP],
    ids=shown,
)  # fmt: skip
def test_invalid_array_is_rejected(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError, match="expected "):
        elements(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b'{"a"', b'{"a":', b'{"a":1', b'{"a" 1}', b"{1:2}", b"[]", b"{}}", b'{"a":}', DEEP[:-1], b"\xff"],
)
def test_invalid_object_is_rejected(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError, match="expected "):
        members(data)


@given(st.lists(st.sampled_from(["\ud83d", "\ude00", "\\", "u", "d83d", '"', "é", "\ud800\udfff"])).map("".join))
def test_halves_of_surrogate_pairs_are_replaced_and_nothing_else(value: str) -> None:
    encoded = json.dumps(value)
    expected = SURROGATE.sub("\N{REPLACEMENT CHARACTER}", json.loads(encoded))
    assert msgspec.json.decode(with_whole_characters(encoded.encode())) == expected
