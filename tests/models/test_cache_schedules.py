"""Stores, informers and factories under all schedules with up to two preemptions, and random ones."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta.listwatch import ListOptions, WatchEvent
from clientgo.meta.names import ObjectName, object_name
from tests.models.copies import Copies, Edit
from tests.models.locks import Clock, Event
from tests.models.schedules import Program, Scheduler, exhaust, explore, found_again
from tests.models.views import View, config_map

CACHE = [
    "clientgo.stop.stopping", "clientgo.stop.lifecycle", "clientgo.cache.store", "clientgo.cache.listener",
    "clientgo.cache.watcher", "clientgo.cache.watchlist", "clientgo.cache.reflector", "clientgo.cache.distributor",
    "clientgo.cache.informer",
    "clientgo.cache.factory", "clientgo.testing.watchsource",
]  # fmt: skip

RIGHT = Copies(CACHE)


def unstopped(code: Copies, *objects: ConfigMap) -> Any:
    """Source whose watches only `close` ends, as those of a program's own source: no stop reaches their readers."""

    class Unstopped(code.watchsource.FakeSource):  # type: ignore[name-defined, misc]
        def watch_from(self, options: ListOptions) -> Any:
            watch = super().watch_from(options)
            watch._interrupt = lambda: None
            return watch

    return Unstopped(ConfigMap, *objects)


class Bench:
    """Informer over a source, and the group of its threads."""

    def __init__(self, code: Copies, *objects: ConfigMap) -> None:
        self.source = unstopped(code, *objects)
        self.informer = code.informer.SharedInformer(self.source, clock=Clock())
        self.group = code.lifecycle.Group(stop=Event(), clock=Clock())

    def started(self) -> "Bench":
        """Start handlers, without list and watch: these programs make a reflector's calls themselves."""
        self.informer._sources = {}
        self.informer.start(self.group)
        return self

    def end(self) -> None:
        """Stop everything; a deadlock fails the run."""
        self.group.stop()
        self.group.join()

    def settled(self, *views: View) -> None:
        """Check that each view equals the store."""
        stored = {object_name(obj): obj for obj in self.informer.indexer.list()}
        for view in views:
            assert not view.wrong
            assert view.objects == stored, (view.objects.keys(), stored.keys())


def in_order(*steps: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for step in steps:
            step()

    return run


def a_store_with_readers(code: Copies) -> Program:
    """Readers of an index see consistent states only, also for an index added meanwhile."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        store = code.store.Indexer({"namespace": code.store.by_namespace})
        a, b, c = config_map("a", 1), config_map("b", 2), config_map("c", 3, "other")
        store.put(a)

        def read() -> None:
            for _ in range(2):
                result = {obj.metadata.name for obj in store.by_index("namespace", "ns")}
                assert result in ({"a"}, {"a", "b"}, {"b"}, set()), result

        scheduler.spawn(in_order(lambda: store.put(b), lambda: store.delete(a)), "writer")
        scheduler.spawn(lambda: store.replace([b, c], "9"), "lister")
        scheduler.spawn(
            in_order(lambda: store.add_indexers({"name": lambda obj: (obj.metadata.name,)}), read), "reader"
        )

        def holds() -> None:
            for name in ("namespace", "name"):
                values = store.index_values(name)
                assert {obj for value in values for obj in store.by_index(name, value)} == set(store.list()), name

        return holds

    return program


def a_handler_that_comes_late(code: Copies) -> Program:
    """A handler added late gets the stored objects, then every change, exactly once."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        scheduler.patient = True
        bench, view, other = Bench(code).started(), View(Event().is_set), View(Event().is_set)
        bench.informer.distributor.replace("", [config_map("a", 1)], set(), "1")
        other.added_to(bench.informer)
        changes = [
            WatchEvent("ADDED", config_map("b", 2)), WatchEvent("MODIFIED", config_map("a", 3)),
            WatchEvent("DELETED", config_map("b", 4)),
        ]  # fmt: skip

        def change() -> None:
            for event in changes:
                bench.informer.distributor.apply("", event.type, event.object, event.object.metadata.resource_version)

        scheduler.spawn(change, "reflector")
        scheduler.spawn(lambda: view.added_to(bench.informer), "registrar")
        scheduler.spawn(_finishing(bench, view, other), "end")
        return lambda: None

    return program


def _finishing(bench: Bench, *views: View) -> Callable[[], None]:
    """Stop the informer when its views are settled: time passes only when no thread can run."""

    def end() -> None:
        Event().wait(1.0)
        bench.settled(*views)
        bench.end()

    return end


def a_handler_that_goes(code: Copies) -> Program:
    """A removed handler is not called any more; the other one misses nothing."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        scheduler.patient = True
        bench, leaving, staying = Bench(code).started(), View(Event().is_set), View(Event().is_set)
        registration = leaving.added_to(bench.informer)
        staying.added_to(bench.informer)

        def change() -> None:
            for event in (WatchEvent("ADDED", config_map("b", 2)), WatchEvent("MODIFIED", config_map("b", 4))):
                bench.informer.distributor.apply("", event.type, event.object, event.object.metadata.resource_version)

        def leave() -> None:
            assert registration.remove(wait=True)
            leaving.closed = True

        scheduler.spawn(change, "reflector")
        scheduler.spawn(leave, "leaver")
        scheduler.spawn(_finishing(bench, staying), "end")

        def holds() -> None:
            assert not leaving.wrong

        return holds

    return program


def an_informer_that_starts_and_stops(code: Copies) -> Program:
    """Start, add a handler, change and stop at once: all threads end in every order."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench, view = Bench(code, config_map("a")), View(Event().is_set)

        def register() -> None:
            try:
                view.added_to(bench.informer)
            except RuntimeError:
                assert bench.informer.is_stopped

        scheduler.spawn(lambda: bench.informer.start(bench.group), "starter")
        scheduler.spawn(register, "registrar")
        scheduler.spawn(lambda: bench.source.add(config_map("b")), "server")
        scheduler.spawn(bench.end, "end")

        def holds() -> None:
            assert not view.wrong
            stored = {object_name(obj) for obj in bench.informer.indexer.list()}
            assert view.objects.keys() <= stored | {ObjectName("ns", "b")}

        return holds

    return program


def a_scope_that_stops(code: Copies) -> Program:
    """Add callbacks while the stop event is set: each is called."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        event, called = Event(), list[str]()
        scope = code.stopping.StopScope(event, clock=Clock())
        scheduler.spawn(lambda: scope.add("first", lambda: called.append("first")), "first")
        scheduler.spawn(event.set, "stop")
        scheduler.spawn(lambda: scope.add("second", lambda: called.append("second")), "second")

        def holds() -> None:
            assert sorted(called) == ["first", "second"]

        return holds

    return program


class _Client:
    """Client of config maps over a source."""

    kind = ConfigMap

    def __new__(cls, requester: Any, namespace: str = "") -> Any:
        return requester


class _Clientset:
    def __init__(self, requester: Any) -> None:
        self.requester = requester


def a_factory_two_share(code: Copies) -> Program:
    """Two threads request and start one informer, one shuts down: it exists once, and every thread ends."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        source = code.watchsource.FakeSource(ConfigMap, config_map("a"))
        factory = code.factory.InformerFactory(_Clientset(source), clock=Clock())
        stop, built = Event(), []

        def use() -> None:
            built.append(factory.informer_for(_Client, ConfigMap))
            factory.start(stop)

        scheduler.spawn(use, "one")
        scheduler.spawn(use, "two")
        scheduler.spawn(factory.shutdown, "end")
        scheduler.spawn(in_order(lambda: stop.wait(5.0), factory.shutdown), "end")

        def holds() -> None:
            assert built[0] is built[1]
            assert len(source.lists) <= 1

        return holds

    return program


PROGRAMS = [
    a_scope_that_stops,
    a_store_with_readers, a_handler_that_comes_late, a_handler_that_goes, an_informer_that_starts_and_stops,
    a_factory_two_share,
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Suppress log lines of a group about abandoned threads."""
    with caplog.at_level("CRITICAL"):
        yield


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_holds_under_schedules_with_up_to_two_preemptions(program: Callable[[Copies], Program]) -> None:
    assert exhaust(program(RIGHT), most=250) > 50


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_holds_under_schedules_by_chance(program: Callable[[Copies], Program]) -> None:
    assert explore(program(RIGHT), 150) > 75


MUTANTS: dict[str, tuple[Callable[[Copies], Program], str, Edit]] = {
    "a change without the lock": (
        a_handler_that_comes_late,
        "distributor",
        ("        with self._lock:\n            notification:", "        if True:\n            notification:"),
    ),
    "a listener that is not told": (
        a_handler_that_comes_late,
        "listener",
        ("                if len(self._inbox) == 1:", "                if len(self._inbox) == 2:"),
    ),
    "a listener that is not told of its end": (
        a_handler_that_goes,
        "listener",
        ("            self._inbox.clear()\n            self._changed.notify()", "            self._inbox.clear()"),
    ),
    "an end that is not told to who waits": (
        a_handler_that_goes,
        "listener",
        ("            self._ended.set()", "            pass"),
    ),
    "a removed handler is called to the end": (
        a_handler_that_goes,
        "listener",
        ("        return self._ended.wait(timeout if wait else 0)", "        return True"),
    ),
    "a late handler that is never started": (
        a_handler_that_comes_late,
        "distributor",
        ("            group = self._group\n            listener =", "            group = None\n            listener ="),
    ),
    "a watch that no stop closes": (
        an_informer_that_starts_and_stops,
        "watcher",
        ("            scope.add(self, watch.close)", "            pass"),
    ),
    "a handler that no stop ends": (
        an_informer_that_starts_and_stops,
        "listener",
        ("with ends_with(stop), on_stop(self.close):", "with ends_with(stop):"),
    ),
    "a callback added while the stop ends is lost": (
        a_scope_that_stops,
        "stopping",
        ("                    self._watched = False\n                    return", "                    return"),
    ),
    "an index added during a list": (
        a_store_with_readers,
        "store",
        (
            (
                "        with self._writing:\n            indexes = {name: index.of(items) "
                "for name, index in self._indexes.items()}"
            ),
            (
                "        indexes = {name: index.of(items) for name, index in self._indexes.items()}\n"
                "        with self._writing:"
            ),
        ),
    ),
    "a list stored in two steps": (
        a_store_with_readers,
        "store",
        (
            "                self._items = items\n                self._indexes = indexes",
            (
                "                self._items = items\n            with self._lock:\n"
                "                self._indexes = indexes"
            ),
        ),
    ),
    "a factory that makes two": (
        a_factory_two_share,
        "factory",
        (
            ("            informer = self._informers.get(api.gvr)\n            if informer is None:"),
            "            informer = None\n            if informer is None:",
        ),
    ),
    "a factory that does not stop": (a_factory_two_share, "factory", ("            group.stop()", "            pass")),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mistake_is_found_and_found_again_by_its_schedule(name: str) -> None:
    program, module, edit = MUTANTS[name]
    found_again(program(Copies(CACHE, {module: edit})))
