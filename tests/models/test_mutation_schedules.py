"""Own writes read under all schedules with up to two preemptions, and random ones."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName, replace
from clientgo.meta.listwatch import ChangeType
from tests.models.copies import Copies, Edit
from tests.models.locks import Clock, Event
from tests.models.schedules import Program, Scheduler, exhaust, explore, found_again

MODULES = [
    "clientgo.stop.stopping", "clientgo.stop.lifecycle", "clientgo.cache.store", "clientgo.cache.listener",
    "clientgo.cache.watcher", "clientgo.cache.watchlist", "clientgo.cache.reflector", "clientgo.cache.distributor",
    "clientgo.cache.informer",
    "clientgo.cache.ownwrites", "clientgo.cache.mutation", "clientgo.testing.watchsource",
]  # fmt: skip

RIGHT = Copies(MODULES)

A = ObjectName("ns", "a")


def config_map(version: int, uid: str = "1") -> ConfigMap:
    meta = ObjectMeta(name="a", namespace="ns", uid=uid, resource_version=str(version))
    return ConfigMap(metadata=meta, data={"n": str(version)})


class Bench:
    """Overlay over an informer whose reflector is a task of the program; each read of the store may switch threads."""

    def __init__(self, code: Copies, scheduler: Scheduler, *, label_selector: str = "") -> None:
        self.informer = code.informer.SharedInformer(
            code.watchsource.FakeSource(ConfigMap),
            indexers={"n": lambda obj: [obj.data["n"]]},
            tweak=lambda options: replace(options, label_selector=label_selector),
            clock=Clock(),
        )
        self.group = code.lifecycle.Group(stop=Event(), clock=Clock())
        self.cache = code.mutation.MutationCache.over(self.informer, clock=Clock())
        self._pause = scheduler.pause
        for owner, method in (
            (self.informer.indexer, "get_by_key"),
            (self.informer.indexer, "by_index"),
            (self.informer.indexer, "list"),
            (self.cache, "_reached"),
            (self.cache._states, "of"),
            (self.cache._deletions, "of"),
        ):
            setattr(owner, method, self._pausing(getattr(owner, method)))
        self.informer.distributor.replace("", [], set(), "1")

    def start(self) -> None:
        """Start the handlers, without list and watch."""
        sources, self.informer._sources = self.informer._sources, {}
        self.informer.start(self.group)
        self.informer._sources = sources

    def apply(self, change: ChangeType, obj: ConfigMap) -> None:
        """Apply an event, as a reflector does."""
        self.informer.distributor.apply("", change, obj, obj.metadata.resource_version)

    def check(self, newest: ConfigMap | None) -> None:
        """Check that every kind of read returns this object, or none."""
        assert self.cache.get_by_key(A) == newest, "get"
        assert self.cache.list() == ([newest] if newest is not None else []), "list"
        value = newest.data["n"] if newest is not None else "4"
        assert self.cache.by_index("n", value) == ([newest] if newest is not None else []), "index"

    def _pausing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def paused(*args: Any) -> Any:
            self._pause()
            result = method(*args)
            self._pause()
            return result

        return paused


def a_writer_that_reads(code: Copies) -> Program:
    """Every read after a write returns it, however far the informer is."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench = Bench(code, scheduler)
        events: list[tuple[ChangeType, ConfigMap]] = [
            ("ADDED", config_map(2)), ("MODIFIED", config_map(4)), ("DELETED", config_map(5)),
            ("ADDED", config_map(6, "2")), ("DELETED", config_map(7, "2")),
        ]  # fmt: skip
        sent = [Event() for _ in events]

        def hear() -> None:
            for event, is_sent in zip(events, sent, strict=True):
                is_sent.wait()
                bench.apply(*event)

        def write() -> None:
            for (change, obj), is_sent in zip(events, sent, strict=True):
                before = bench.cache.before_write(A)
                is_sent.set()
                if change == "DELETED":
                    bench.cache.deletion(A, obj.metadata.uid, before=before)
                else:
                    bench.cache.mutation(obj, before=before)
                bench.check(None if change == "DELETED" else obj)

        scheduler.spawn(hear, "informer")
        scheduler.spawn(write, "writer")

        def holds() -> None:
            bench.check(None)
            assert len(bench.cache) == 0

        return holds

    return program


def a_handler_that_reads(code: Copies) -> Program:
    """A handler of a deletion does not read the deleted object, also if the response to a write arrives late."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        scheduler.patient = True
        bench, read = Bench(code, scheduler), []
        bench.informer.add_event_handler(on_delete=lambda _: read.append(bench.cache.get_by_key(A)))
        bench.start()
        bench.apply("ADDED", config_map(2))

        def hear() -> None:
            bench.informer.distributor.replace("", [], set(), "4")

        def end() -> None:
            Event().wait(1.0)
            assert read == [None]
            bench.group.stop()
            bench.group.join()

        scheduler.spawn(hear, "informer")
        scheduler.spawn(lambda: bench.cache.mutation(config_map(3)), "writer")
        scheduler.spawn(end, "end")
        return lambda: None

    return program


def two_writers(code: Copies) -> Program:
    """The later of two responses is read, in any order of arrival."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench = Bench(code, scheduler)
        bench.apply("ADDED", config_map(2))

        before = bench.cache.before_write(A)
        for version in (3, 4):
            scheduler.spawn(
                functools.partial(bench.cache.mutation, config_map(version), before=before), f"writer-{version}"
            )

        def holds() -> None:
            bench.check(config_map(4))
            # A write that is sent now comes from a server that was restored if its version is older.
            bench.cache.mutation(config_map(3), before=bench.cache.before_write(A))
            bench.check(config_map(3))

        return holds

    return program


def a_deletion_in_a_selection(code: Copies) -> Program:
    """A deleted object is not read, although it leaves the store and enters it again before its deletion is heard."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench = Bench(code, scheduler, label_selector="keep=yes")
        bench.apply("ADDED", config_map(2))

        def hear() -> None:
            bench.apply("DELETED", config_map(3))
            bench.apply("ADDED", config_map(4))
            bench.apply("DELETED", config_map(5))

        def write() -> None:
            bench.cache.deletion(A, "1", before=bench.cache.before_write(A))
            for _ in range(3):
                bench.check(None)

        scheduler.spawn(hear, "informer")
        scheduler.spawn(write, "writer")
        return lambda: bench.check(None)

    return program


def a_reader_beside_a_deletion(code: Copies) -> Program:
    """A read while an object is deleted returns it after the last write, or nothing."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench = Bench(code, scheduler)
        bench.apply("ADDED", config_map(2))
        bench.cache.mutation(config_map(3))

        def read() -> None:
            for _ in range(2):
                assert bench.cache.get_by_key(A) in (config_map(3), None), "get"
                assert bench.cache.list() in ([config_map(3)], []), "list"

        scheduler.spawn(lambda: bench.cache.deletion(A, "1", before=bench.cache.before_write(A)), "writer")
        scheduler.spawn(read, "reader")
        return lambda: bench.check(None)

    return program


PROGRAMS = [
    a_writer_that_reads, a_handler_that_reads, two_writers, a_deletion_in_a_selection, a_reader_beside_a_deletion,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_holds_under_schedules_with_up_to_two_preemptions(program: Callable[[Copies], Program]) -> None:
    assert exhaust(program(RIGHT), most=250) > 10


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_holds_under_many_schedules(program: Callable[[Copies], Program]) -> None:
    exhaust(program(RIGHT), most=5_000)
    assert explore(program(RIGHT), 500) > 5


_READS = (
    "        state = self._states.of(key)  # before the deletions, and these before the store\n"
    "        deleted = self._deletions.of(key)\n"
)
_ADDS = "            self._deletions.add(key, uids, shows_terminating=shows_terminating)\n"
_ENDS = (
    "            if state is not None and _uid(state.obj) in uids and not shows_terminating:\n"
    "                self._states.remove(key, state)\n"
)

MUTANTS: dict[str, tuple[Callable[[Copies], Program], str, Edit]] = {
    "get reads the store first": (
        a_writer_that_reads,
        "mutation",
        (
            _READS,
            "        stored = self._backing.get_by_key(key)\n"
            + _READS
            + "        if state is None and deleted is None:\n            return stored\n",
        ),
    ),
    "get reads the deletions before the states": (
        a_reader_beside_a_deletion,
        "mutation",
        (_READS, "        deleted = self._deletions.of(key)\n        state = self._states.of(key)\n"),
    ),
    "lists read the store first": (
        a_writer_that_reads,
        "mutation",
        (
            "        with self._lock:\n            self._drop_expired()\n            states, deletions",
            "        first = read()\n        read = lambda: first\n"
            "        with self._lock:\n            self._drop_expired()\n            states, deletions",
        ),
    ),
    "the object is read before the version": (
        a_writer_that_reads,
        "mutation",
        (
            "            reached = self._reached(key.namespace)\n"
            "            stored = newest = self._backing.get_by_key(key)\n",
            "            stored = newest = self._backing.get_by_key(key)\n"
            "            reached = self._reached(key.namespace)\n",
        ),
    ),
    "a deletion is compared with the store before it is kept": (
        a_writer_that_reads,
        "mutation",
        (
            _ADDS + _ENDS + "            # After they were added: a deletion that is stored from now on removes them.\n"
            "            if passed := passed - {_uid(self._backing.get_by_key(key))}:\n",
            "            passed = passed - {_uid(self._backing.get_by_key(key))}\n"
            + _ADDS
            + _ENDS
            + "            if passed:\n",
        ),
    ),
    "a list does not set the version": (
        a_handler_that_reads,
        "distributor",
        ("            self.versions[namespace] = version\n            # Deletions", "            # Deletions"),
    ),
    "the overlay is not told of changes": (
        a_writer_that_reads,
        "distributor",
        ("            overlay.stored(notification)\n", "            pass\n"),
    ),
    "a deletion is forgotten when the object leaves the selection": (
        a_deletion_in_a_selection,
        "ownwrites",
        ("deleted is None or (self._may_return and", "deleted is None or (False and"),
    ),
    "the last response counts": (
        two_writers,
        "mutation",
        ("concurrent = before is None or before.serial < old.serial", "concurrent = False"),
    ),
    "the newest version counts": (
        two_writers,
        "mutation",
        ("concurrent = before is None or before.serial < old.serial", "concurrent = True"),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mistake_is_found_and_found_again_by_its_schedule(name: str) -> None:
    program, module, edit = MUTANTS[name]
    found_again(program(Copies(MODULES, {module: edit})))
