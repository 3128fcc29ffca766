"""Managers on a clock that a test steps: the start does not wait for a step, and all parts have one time."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from clientgo.cache.state import wait_for_cache_sync
from clientgo.clock import Clock, utc
from clientgo.envtest import BundledServer, Environment
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ControllerBuilder, Manager, Options, Reconciler, Result
from clientgo.manager.runnables import OTHERS, RunnableGroup
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.stop.lifecycle import Group
from clientgo.testing.client import FakeClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.kubernetes import FakeClientset

DRAFT = ConfigMap(metadata=ObjectMeta(name="draft", namespace="default"))
NAME = ObjectName("default", "draft")


class Expiry(Reconciler[ConfigMap]):
    """Deletes drafts an hour after their creation."""

    def reconcile(self, obj: ConfigMap) -> Result | None:
        created = obj.metadata.creation_timestamp
        if obj.metadata.name != NAME.name or created is None:
            return None
        remaining = 3600 - (utc(self.clock) - created).total_seconds()
        if remaining > 0:
            return Result(requeue_after=remaining)
        self.client.delete(obj)
        return None


class Late:
    """Runnable that is ready once it is allowed to be."""

    def __init__(self) -> None:
        self.allowed, self.ready = threading.Event(), threading.Event()

    def start(self, stop: threading.Event) -> None:
        self.allowed.wait(10)
        self.ready.set()
        stop.wait(10)


class Store:
    """Cache that has synced at the second look."""

    def __init__(self) -> None:
        self.looks = 0

    @property
    def has_synced(self) -> bool:
        self.looks += 1
        return self.looks > 1


class Source:
    """Source of no events."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def start(self, *_: object) -> Store:
        return self.store


def test_caches_are_awaited_without_a_step() -> None:
    assert wait_for_cache_sync(threading.Event(), Store(), timeout=1.0, clock=FakeClock())


def test_next_stage_starts_without_a_step() -> None:
    runnable, begun, clock = Late(), threading.Event(), FakeClock()
    stage = RunnableGroup(OTHERS, lambda _: None, clock=clock)
    stage.add(runnable)

    def begin(stop: threading.Event) -> None:
        stage.begin(stop)
        begun.set()

    with Group() as group:
        group.start(begin, group.stop_event, name="begin")
        assert not begun.is_set()
        runnable.allowed.set()
        assert begun.wait(10)
    assert (stage.end(10), clock.now()) == ([], 0.0)


def test_reconciler_has_the_clock_of_its_manager_or_its_own() -> None:
    clock, own_clock = FakeClock(), FakeClock()
    manager = Manager(FakeClientset(), options=Options(name="time"), clock=clock)
    other = type("Other", (Expiry,), {}, name="other")(manager.client, clock=own_clock)
    reconcilers = [Expiry(manager.client), other]
    for reconciler in reconcilers:
        manager.add_reconciler(reconciler)
    manager.close()
    assert [reconciler.clock for reconciler in reconcilers] == [clock, own_clock]


def test_unit_test_sets_the_time_of_a_reconciler_and_of_its_objects() -> None:
    clock = FakeClock()
    client = FakeClient(clock=clock)
    client.create(DRAFT)
    clock.step(600)
    assert Expiry(client, clock=clock).reconcile_request(NAME) == Result(requeue_after=3000)


def test_manager_is_elected_once_its_controllers_have_synced() -> None:
    store = Store()
    manager = Manager(FakeClientset(), options=Options(name="time"), clock=FakeClock())
    builder = ControllerBuilder(manager).for_(ConfigMap).watches_source(Source(store))
    builder.complete(Expiry(manager.client).reconcile_request)
    with Group() as group:
        group.start(manager.run, group.stop_event, name="manager")
        assert manager.elected.wait(10)
        assert store.looks > 1


@pytest.fixture
def environment() -> Iterator[Environment]:
    with_clock = Environment(server=BundledServer(), clock=FakeClock())
    with with_clock:
        yield with_clock


@pytest.mark.integration
def test_manager_server_and_reconciler_have_one_time(environment: Environment) -> None:
    clock: Clock = environment.clock
    manager = Manager(environment.config, options=Options(name="time"), clock=clock)
    manager.add_reconciler(Expiry)
    with Group() as group:
        group.start(manager.run, group.stop_event, name="manager")
        assert manager.elected.wait(10)
        created = manager.client.create(DRAFT).metadata.creation_timestamp
        assert created == datetime.fromtimestamp(int(clock.time()), UTC)

        def is_deleted() -> bool:
            environment.advance(60)
            return manager.api_reader.find(ConfigMap, NAME) is None

        eventually(is_deleted)
    assert (utc(clock) - created).total_seconds() >= 3600
