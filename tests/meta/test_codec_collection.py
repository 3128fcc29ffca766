"""Decoding and the garbage collector."""

import gc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from clientgo.internal.collector import MANY, without_collection
from clientgo.meta import decode
from clientgo.meta.codec import Undecodable, codec_for
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
def test_decoding_a_list_restores_the_garbage_collector(on: bool) -> None:
    (gc.enable if on else gc.disable)()
    assert codec_for(Foo).decode_list(b'{"kind":"FooList","items":[%b]}' % FOO).items[0].metadata.name == "one"
    assert gc.isenabled() is on


def test_decoding_an_invalid_list_restores_the_garbage_collector() -> None:
    with pytest.raises(Undecodable, match="FooList"):
        codec_for(Foo).decode_list(b"[")
    assert gc.isenabled()


def test_garbage_collector_is_off_while_decoding_a_list() -> None:
    assert without_collection()(gc.isenabled)() is False


def test_garbage_collector_is_off_until_the_last_of_several_lists_has_ended() -> None:
    first, second = ExitStack(), ExitStack()
    first.enter_context(without_collection())
    second.enter_context(without_collection())
    first.close()
    assert not gc.isenabled()
    second.close()
    assert gc.isenabled()


LARGE = MANY + 10_000  # what other threads free meanwhile is subtracted from the collector's count


@pytest.mark.parametrize(
    ("lasting", "count", "frozen"), [(True, LARGE, True), (True, 10, False), (False, LARGE, False)]
)
def test_objects_of_a_large_lasting_list_are_not_looked_at_again(lasting: bool, count: int, frozen: bool) -> None:
    before = gc.get_freeze_count()
    with without_collection(lasting=lasting):
        objects = [[number] for number in range(count)]
    assert (gc.get_freeze_count() - before > len(objects)) is frozen


def test_metadata_is_not_tracked_by_the_garbage_collector() -> None:
    metadata = decode(Foo, FOO).metadata
    assert not gc.is_tracked(metadata)
    assert not gc.is_tracked(metadata.owner_references[0])
