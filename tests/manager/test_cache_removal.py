"""Informers that stop before the manager does: removed ones, and those that nobody reads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clientgo.cache import InformerName
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import CacheOptions
from clientgo.manager.cache import Cache
from clientgo.manager.kinds import Kinds
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.fake import FakeRequester
from clientgo.testing.metrics import recorded_metrics
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo, running
from tests.races import race

A = ObjectName("ns", "a")


def lists_of(requester: FakeRequester, resource: str) -> int:
    return sum(action.verb == "list" and action.resource.resource == resource for action in requester.actions)


@contextmanager
def started(cache: Cache) -> Iterator[None]:
    stop = threading.Event()
    cache.start(stop)
    try:
        yield
    finally:
        stop.set()
        cache.shutdown(10.0)


def test_removed_informer_ends_its_threads_and_the_next_read_starts_another() -> None:
    requester = fake(new_foo())
    manager = manager_of(requester)
    with running(manager):
        assert not manager.cache.remove(Foo)
        first = manager.cache.informer(Foo)
        assert manager.client.find(Foo, A) is not None
        assert manager.cache.remove(Foo)
        assert first.is_stopped
        assert first not in manager.cache.informers()
        eventually(lambda: all(thread.name != "informer-foos" for thread in threading.enumerate()))
        manager.client.create(new_foo("b"))
        assert {foo.metadata.name for foo in manager.client.list(Foo)} == {"a", "b"}
        assert manager.cache.informer(Foo) is not first
    assert lists_of(requester, "foos") == 2


def test_informer_with_handlers_is_not_removed() -> None:
    manager = manager_of(fake(new_foo()))
    registration = manager.cache.informer(Foo).add_event_handler(on_add=lambda _: None)
    with running(manager):
        with pytest.raises(RuntimeError, match="remove its handlers first: listener-foos-0"):
            manager.cache.remove(Foo)
        assert manager.client.find(Foo, A) is not None
        registration.remove()
        assert manager.cache.remove(Foo)


def test_other_informers_go_on_and_the_program_too() -> None:
    manager = manager_of(fake(new_foo()))
    with running(manager) as group:
        manager.client.list(Foo)
        manager.client.list(ConfigMap)
        manager.cache.remove(Foo)
        manager.client.create(ConfigMap(metadata=ObjectMeta(name="c", namespace="ns")))
        eventually(lambda: ObjectName("ns", "c") in manager.cache.informer(ConfigMap).indexer)
        assert not group.stop_event.is_set()


def test_indexes_survive_a_removal() -> None:
    manager = manager_of(fake(new_foo()))
    manager.client.add_index(Foo, "replicas", lambda foo: [str(foo.spec.replicas)])
    with running(manager):
        assert len(manager.client.list(Foo, fields={"replicas": "1"})) == 1
        manager.cache.remove(Foo)
        assert len(manager.client.list(Foo, fields={"replicas": "1"})) == 1


def test_metrics_of_a_kind_continue_with_the_next_informer() -> None:
    with recorded_metrics() as metrics:
        name = InformerName("removal")
        cache = Cache(fake(new_foo()), Kinds(), CacheOptions(), name=name)
        with started(cache):
            for _ in range(2):
                cache.synced(Foo)
                objects = metrics["informer_store_objects", "removal", "samplecontroller.k8s.io", "v1alpha1", "foos"]
                eventually(lambda: objects.value == 1)  # noqa: B023  # called at once
                cache.remove(Foo)
                assert objects.value == 0
        name.release()


def step(clock: FakeClock) -> None:
    """Let an idle timeout pass."""
    due = clock.now() + 600.0
    eventually(lambda: clock.slept.count(600.0) * 600.0 >= due)
    clock.step(600.0)


def test_informer_that_nobody_reads_stops_and_the_next_read_starts_it_again() -> None:
    requester, clock = fake(new_foo()), FakeClock()
    cache = Cache(requester, Kinds(), CacheOptions(idle_timeout=600.0), clock=clock)
    with started(cache):
        for _ in range(3):
            assert len(list(cache.synced(Foo).list("ns"))) == 1
            step(clock)
        (informer,) = cache.informers()
        for _ in range(2):
            step(clock)
        eventually(lambda: not cache.informers())
        assert informer.is_stopped
        assert len(list(cache.synced(Foo).list("ns"))) == 1
    assert lists_of(requester, "foos") == 2


@pytest.mark.parametrize("used", ["informer", "handler"])
def test_informer_that_others_use_does_not_stop(used: str) -> None:
    clock = FakeClock()
    cache = Cache(fake(new_foo()), Kinds(), CacheOptions(idle_timeout=600.0), clock=clock)
    with started(cache):
        cache.synced(Foo)
        informer = cache.informer(Foo)
        if used == "handler":
            informer.add_event_handler(on_add=lambda _: None)
        for _ in range(4):
            step(clock)
        assert cache.informers() == [informer]
        assert not informer.is_stopped


def test_idle_timeout_must_be_positive() -> None:
    with pytest.raises(ValueError, match="invalid idle_timeout 0: expected positive seconds"):
        CacheOptions(idle_timeout=0)


def test_readers_see_all_objects_while_the_informer_comes_and_goes() -> None:
    cache = Cache(fake(*(new_foo(str(number)) for number in range(5))), Kinds(), CacheOptions())
    cache.add_index(Foo, "all", lambda _: ["yes"])
    with started(cache):

        def read(_: int) -> None:
            assert len(list(cache.synced(Foo).list("ns"))) == 5

        race(read, lambda: cache.remove(Foo), calls=20)
