"""Objects and the collector of cycles: values are none of its business, and it comes back on as it was."""

import gc
from collections.abc import Iterator

import pytest

from clientgo.meta import decode
from clientgo.meta.codec import Undecodable, codec_for, without_collection
from controller.api.v1alpha1 import Foo

FOO = (
    b'{"metadata":{"name":"one","namespace":"ns","labels":{"a":"b"},"finalizers":["x.io/y"],'
    b'"ownerReferences":[{"kind":"Bar","name":"two","uid":"1"}]},"spec":{"deploymentName":"one"}}'
)


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.parametrize("on", [True, False])
def test_a_list_leaves_the_collector_as_it_was(on: bool) -> None:
    (gc.enable if on else gc.disable)()
    assert codec_for(Foo).decode_list(b'{"kind":"FooList","items":[%b]}' % FOO).items[0].metadata.name == "one"
    assert gc.isenabled() is on


def test_so_does_one_that_is_none() -> None:
    with pytest.raises(Undecodable, match="FooList"):
        codec_for(Foo).decode_list(b"[")
    assert gc.isenabled()


def test_nothing_is_collected_meanwhile() -> None:
    assert without_collection(gc.isenabled)() is False


def test_metadata_need_not_be_searched_for_cycles() -> None:
    metadata = decode(Foo, FOO).metadata
    assert not gc.is_tracked(metadata)
    assert not gc.is_tracked(metadata.owner_references[0])
