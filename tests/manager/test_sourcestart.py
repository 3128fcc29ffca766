"""Sources whose start blocks, or that never sync: named, limited, and no obstacle to others or to a stop."""

import threading
from collections.abc import Callable, Iterator

import pytest

from clientgo.manager import Controller, ControllerBuilder, ControllerOptions, FuncSource, InformerSource
from clientgo.manager.cache import CacheNotSynced
from clientgo.manager.sources import Source
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo

TIMEOUT = 0.2


@pytest.fixture
def release() -> Iterator[threading.Event]:
    released = threading.Event()
    yield released
    released.set()


class Own:
    """Source class of a program, whose start blocks."""

    def __init__(self, release: threading.Event) -> None:
        self._release = release

    def __str__(self) -> str:
        return "own source"

    def start(self, *_: object) -> None:
        self._release.wait(20)


def blocking_function(release: threading.Event) -> Source:
    def connect_to_broker(*_: object) -> None:
        release.wait(20)

    return FuncSource(connect_to_broker)


def informer_that_never_runs(_: threading.Event) -> Source:
    return InformerSource(manager_of(fake()).cache.informer(Foo))


CASES = [
    (blocking_function, r"func source: .*connect_to_broker \(its start has not returned\)"),
    (Own, r"own source \(its start has not returned\)"),
    (informer_that_never_runs, r"informer source: .*foos.*; "),
]


@pytest.mark.parametrize(("create", "message"), CASES, ids=["function", "own class", "informer"])
def test_source_that_does_not_sync_in_time_is_named(
    create: Callable[[threading.Event], Source], message: str, release: threading.Event
) -> None:
    options = ControllerOptions(cache_sync_timeout=TIMEOUT)
    controller = Controller("foos", "Foo", lambda _: None, (create(release),), options=options)
    with pytest.raises(CacheNotSynced, match=rf"foos: not synced within 0\.2 s: {message}"):
        controller.start(threading.Event())


@pytest.mark.parametrize("create", [case[0] for case in CASES], ids=["function", "own class", "informer"])
def test_source_that_does_not_sync_delays_neither_other_controllers_nor_the_stop(
    create: Callable[[threading.Event], Source], release: threading.Event
) -> None:
    manager, seen = manager_of(fake(new_foo())), list[object]()
    for name, source in (("blocked", create(release)), ("other", None)):
        builder = ControllerBuilder(manager).for_(Foo).named(name)
        (builder if source is None else builder.watches_source(source)).complete(seen.append)
    with Group() as group:
        group.start(manager.run, group.stop_event, name="manager")
        eventually(lambda: seen)
    assert not release.is_set()


def test_late_failure_of_a_start_ends_the_controller(release: threading.Event) -> None:
    def fail_late(*_: object) -> None:
        release.wait(20)
        raise LookupError("no broker")

    controller = Controller("foos", "Foo", lambda _: None, (FuncSource(fail_late),))
    controller.warm_up(threading.Event())
    release.set()
    with pytest.raises(LookupError, match="no broker"):
        controller.start(threading.Event())
