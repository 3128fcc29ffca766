"""One object nested too deep to be decoded: it is named, and everything beside it is read."""

import pytest

from clientgo.dynamic.codec import UnstructuredCodec
from clientgo.dynamic.unstructured import unstructured_type
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionResource, Undecodable
from clientgo.meta.codec import Codec, codec_for, identity
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
    with pytest.raises(Undecodable, match="ns/deep can't be decoded: it is nested too deep"):
        codec.decode(deep)


@CODECS
@DEEPLY
def test_the_others_of_its_list_are_read(codec: Codec[ConfigMap], deep: bytes) -> None:
    page = codec.decode_list(
        b'{"kind":"ThingList","apiVersion":"v1","items":[%s,%s,%s],"metadata":{"resourceVersion":"9","continue":"c"}}'
        % (GOOD, deep, GOOD)
    )
    assert (page.metadata.resource_version, page.metadata.continue_) == ("9", "c")
    assert [one.metadata.name for one in page.items] == ["good", "good"]
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
def test_what_is_no_list_stays_none(codec: Codec[ConfigMap], data: bytes) -> None:
    with pytest.raises(Undecodable):
        codec.decode_list(data)


@pytest.mark.parametrize(
    "data",
    [DEEP, DEEP[:-1], b'{"metadata":%s}' % DEEP, b"[%s]" % IN_ITS_SPEC],
    ids=["no metadata", "cut off", "metadata that are none", "an array"],
)
def test_what_has_no_name_is_named_by_nothing(data: bytes) -> None:
    assert identity(data).name == ""
