"""Handlers: resync, filters, adding and removing."""

import logging
import threading
from asyncio import CancelledError
from collections.abc import Iterator
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.cache import DeletedFinalStateUnknown, Registration, SharedInformer
from clientgo.cache.handlers import ResourceEventHandler, filtered
from clientgo.cache.listener import DELETION_ATTEMPTS, INITIAL_LIST_END, Added, Listener, Removed, Updated
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectName, object_name
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.metrics import recorded_metrics
from clientgo.testing.watchsource import FakeSource
from tests.cache.scripted import Running, config_map

HOUR = 3600.0


@pytest.fixture
def running() -> Iterator[Running]:
    built = Running()
    yield built
    built.end()


@pytest.mark.feature("B-INF-03")
@pytest.mark.behaviour("SI-04")
def test_handler_added_before_the_start_lowers_the_check_period() -> None:
    informer: SharedInformer[ConfigMap] = SharedInformer(FakeSource(ConfigMap), resync=12 * HOUR)
    checks, handlers = [], []
    for period in (0.0, 60.0, 55.0, 5.0):
        handlers.append(informer.add_event_handler(resync=period))
        checks.append(informer.resync_check_period)
    assert checks == [12 * HOUR, 60.0, 55.0, 5.0]
    assert [handler.resync for handler in handlers] == [0.0, 60.0, 55.0, 5.0]


@pytest.mark.feature("B-INF-03")
def test_handler_is_resynced_at_most_every_second() -> None:
    informer: SharedInformer[ConfigMap] = SharedInformer(FakeSource(ConfigMap), resync=HOUR)
    assert informer.add_event_handler(resync=0.2).resync == 1.0


@pytest.mark.feature("B-INF-03")
def test_period_of_a_handler_added_after_the_start_is_at_least_the_check_period(
    caplog: pytest.LogCaptureFixture,
) -> None:
    running = Running(resync=60.0)
    running.start()
    assert running.informer.add_event_handler(resync=5.0).resync == 60.0
    assert running.informer.add_event_handler(resync=90.0).resync == 90.0
    assert running.informer.resync_check_period == 60.0
    assert "less often than requested" in caplog.text
    running.end()


@pytest.mark.feature("B-REF-17")
def test_informer_without_a_resync_period_logs_and_ignores_requested_resyncs(caplog: pytest.LogCaptureFixture) -> None:
    informer: SharedInformer[ConfigMap] = SharedInformer(FakeSource(ConfigMap))
    assert informer.add_event_handler(resync=30.0).resync == 0.0
    assert "resync is off" in caplog.text


@pytest.mark.feature("B-INF-04")
@pytest.mark.behaviour("SI-05")
def test_handler_can_be_added_while_the_informer_starts(running: Running) -> None:
    running.source.add(config_map("a"))
    handlers: list[RecordingHandler[ConfigMap]] = [RecordingHandler() for _ in range(20)]
    adders = Group()
    for handler in handlers:
        adders.start(lambda on_add: running.informer.add_event_handler(on_add=on_add), handler.on_add, name="adder")
    running.start()
    adders.join(10)
    for handler in handlers:
        assert handler.wait_for(1) == [("add", "ns/a")]


@pytest.mark.feature("B-INF-01")
@pytest.mark.behaviour("SI-15")
def test_informer_reports_whether_it_is_started_and_stopped(running: Running) -> None:
    def state() -> tuple[bool, bool]:
        return running.informer.is_started, running.informer.is_stopped

    states = [state()]
    running.start()
    states.append(state())
    running.end()
    states.append(state())
    assert states == [(False, False), (True, False), (True, True)]


@pytest.mark.feature("B-FIFO-08", "B-FIFO-09", "B-INF-05", "C-37", "B-INF-04")
@pytest.mark.behaviour("SI-19")
def test_handler_has_synced_after_it_was_called_for_all_initial_objects(running: Running) -> None:
    running.source.add(config_map("pod1"))
    first, second = RecordingHandler[ConfigMap](), RecordingHandler[ConfigMap]()
    entered, release = threading.Event(), threading.Event()
    early = running.informer.add_event_handler(on_add=first.on_add, on_initial_add=first.on_initial_add)
    synced_before = early.has_synced
    running.start()
    first.wait_for(1)
    running.wait_synced(early)
    assert (synced_before, early.has_synced) == (False, True)

    def hold(obj: ConfigMap) -> None:
        entered.set()
        release.wait(10)
        second.on_initial_add(obj)

    late = running.informer.add_event_handler(on_add=second.on_add, on_initial_add=hold)
    assert entered.wait(10)
    assert not late.has_synced
    release.set()
    running.wait_synced(late)
    running.source.add(config_map("pod2"))
    assert first.wait_for(2) == second.wait_for(2) == [("initial add", "ns/pod1"), ("add", "ns/pod2")]


class Silent(Exception):
    def __str__(self) -> str:
        raise SystemExit


def listener_of(handler: ResourceEventHandler[ConfigMap]) -> tuple[Listener[ConfigMap], FakeClock]:
    """Return a listener that closes itself once it has nothing to deliver and nothing to retry, and its clock."""
    clock = FakeClock(auto=True)
    listener: Listener[ConfigMap] = Listener(
        handler,
        name="listener-0",
        kind="ConfigMap",
        resync=0.0,
        clock=clock,
        unregister=lambda _: None,
        on_idle=lambda: None if listener.failing else listener.close(),
    )
    return listener, clock


def deliver_all(listener: Listener[ConfigMap]) -> None:
    listener.run(threading.Event(), lambda _: None)


@pytest.mark.feature("B-INF-06", "B-INF-21")
@pytest.mark.behaviour("SI-22")
@pytest.mark.parametrize("error", [LookupError("no"), SystemExit(1), CancelledError(), Silent()], ids=repr)
def test_each_handler_that_raises_is_called_again_after_growing_delays_and_is_named(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    times: list[float] = []

    def fail(_: ConfigMap) -> None:
        times.append(clock.now())
        if len(times) == 12:
            listener.close()
        raise error

    listener, clock = listener_of(ResourceEventHandler(on_add=fail))
    listener.push(Added(config_map("a"), initial=False))
    deliver_all(listener)
    delays = [later - earlier for earlier, later in pairwise(times)]
    assert delays == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0]
    [messages] = [vars(record) for record in caplog.records if record.levelno >= logging.WARNING]
    assert (messages["handler"], messages["object"]) == ("listener-0", "ns/a")


def test_deletion_whose_handler_always_raises_is_dropped_with_an_error(caplog: pytest.LogCaptureFixture) -> None:
    calls = 0

    def fail(_: object) -> None:
        nonlocal calls
        calls += 1
        raise LookupError

    with recorded_metrics() as metrics:
        listener, _ = listener_of(ResourceEventHandler(on_delete=fail, label="map function owners"))
        listener.push(Removed(config_map("a")))
        deliver_all(listener)
    assert calls == DELETION_ATTEMPTS
    assert caplog.records[-1].msg == "handler raised; the deletion is dropped"
    assert metrics["informer_dropped_deletions_total", "ConfigMap"].value == 1
    [failure] = listener.failures()
    assert (failure.hook, str(failure.name)) == ("map function owners", "ns/a")
    assert failure.error.startswith("gave up after 20 calls: LookupError")
    assert listener.failing == 0


def test_dropped_deletion_is_forgotten_once_the_handler_succeeds_for_the_name() -> None:
    calls = 0

    def fail(_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == DELETION_ATTEMPTS:
            listener.push(Added(config_map("a"), initial=False))
        raise LookupError

    listener, _ = listener_of(ResourceEventHandler(on_delete=fail))
    listener.push(Removed(config_map("a")))
    deliver_all(listener)
    assert calls == DELETION_ATTEMPTS
    assert list(listener.failures()) == []


class Copy:
    """Handler that copies the objects, and raises at the calls given by `raises`."""

    def __init__(self, raises: list[bool]) -> None:
        self.objects: dict[str, ConfigMap] = {}
        self.problems: list[str] = []
        self._raises = raises

    def handler(self) -> ResourceEventHandler[ConfigMap]:
        return ResourceEventHandler(self._add, self._update, self._delete)

    def _add(self, obj: ConfigMap) -> None:
        self._maybe_raise()
        if obj.metadata.name in self.objects:
            self.problems.append(f"{obj.metadata.name} was added twice")
        self.objects[obj.metadata.name] = obj

    def _update(self, old: ConfigMap, new: ConfigMap) -> None:
        self._maybe_raise()
        if self.objects.get(old.metadata.name) is not old:
            self.problems.append(f"{old.metadata.name} was updated from another state")
        self.objects[new.metadata.name] = new

    def _delete(self, deleted: ConfigMap | DeletedFinalStateUnknown[ConfigMap]) -> None:
        self._maybe_raise()
        self.objects.pop(object_name(deleted).name, None)

    def _maybe_raise(self) -> None:
        if self._raises and self._raises.pop():
            raise LookupError


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["set", "set", "delete"])), max_size=20),
    st.lists(st.booleans(), max_size=15),
)
def test_handler_that_raises_at_times_receives_consistent_changes_and_the_final_state(
    changes: list[tuple[str, str]], raises: list[bool]
) -> None:
    server: dict[str, ConfigMap] = {}
    copy = Copy(raises)
    listener, _ = listener_of(copy.handler())
    for version, (name, change) in enumerate(changes):
        old = server.pop(name, None)
        if change == "set":
            new = server[name] = config_map(name, version)
            listener.push(Added(new, initial=False) if old is None else Updated(old, new))
        elif old is not None:
            listener.push(Removed(old))
    listener.push(INITIAL_LIST_END)
    deliver_all(listener)
    assert (copy.objects, copy.problems) == (server, [])
    assert listener.has_synced


def colored(color: str) -> ConfigMap:
    return config_map("a", color=color)


@pytest.mark.feature("B-INF-08")
@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("red", "red", [("update", "ns/a")]),
        ("blue", "red", [("add", "ns/a")]),
        ("red", "blue", [("delete", "ns/a")]),
        ("blue", "blue", []),
    ],
)
def test_update_that_changes_the_filters_result_is_an_addition_or_deletion(
    old: str, new: str, messages: list[tuple[str, str]]
) -> None:
    seen: RecordingHandler[ConfigMap] = RecordingHandler()
    handler = filtered(
        ResourceEventHandler(seen.on_add, seen.on_update, seen.on_delete), lambda obj: obj.data["color"] == "red"
    )
    assert handler.on_update is not None
    handler.on_update(colored(old), colored(new))
    assert seen.calls() == messages


class Nameless:
    """Handler without the attributes of a function."""

    def __getattr__(self, name: str) -> object:
        raise SystemExit

    def __call__(self, obj: ConfigMap) -> None:
        raise LookupError("no")


def test_handler_without_a_name_is_named_by_its_class() -> None:
    listener, _ = listener_of(ResourceEventHandler(on_add=Nameless()))
    assert "(Nameless)" in repr(listener)


def test_filter_passes_accepted_objects_and_deletions_of_unknown_state() -> None:
    seen: RecordingHandler[ConfigMap] = RecordingHandler()
    handler = filtered(ResourceEventHandler(seen.on_add, None, seen.on_delete), lambda obj: obj.data["color"] == "red")
    add, delete, first = handler.on_add, handler.on_delete, handler.on_initial_add
    assert add is not None
    assert delete is not None
    assert first is not None
    for color in ("red", "blue"):
        add(colored(color))
        first(colored(color))
        delete(colored(color))
        delete(cast(ConfigMap, DeletedFinalStateUnknown(ObjectName("ns", color), colored(color))))
    delete(cast(ConfigMap, DeletedFinalStateUnknown(ObjectName("ns", "unknown"), None)))
    assert seen.calls() == [
        ("add", "ns/a"), ("add", "ns/a"), ("delete", "ns/a"), ("delete", "ns/red"), ("delete", "ns/unknown"),
    ]  # fmt: skip


@pytest.mark.feature("B-INF-08")
def test_informer_filters_for_a_handler_with_accept(running: Running) -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    running.informer.add_event_handler(
        on_add=handler.on_add, on_delete=handler.on_delete, accept=lambda obj: obj.data["color"] == "red"
    )
    running.start()
    for color in ("blue", "red", "blue"):
        running.source.modify(colored(color))
    assert handler.wait_for(2) == [("add", "ns/a"), ("delete", "ns/a")]


@pytest.mark.behaviour("PL-01")
def test_listener_delivers_notifications_of_many_threads_exactly_once(running: Running) -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    registration = running.informer.add_event_handler(on_add=handler.on_add)
    running.start()
    producers = Group()

    def produce(producer: int) -> None:
        for number in range(500):
            running.source.add(config_map(f"p{producer}-{number}"))

    for producer in range(4):
        producers.start(produce, producer, name=f"producer-{producer}")
    producers.join(20)
    messages = handler.wait_for(2000, timeout=20)
    assert len(set(messages)) == len(messages) == 2000
    assert registration.remove(wait=True, timeout=10)


@pytest.mark.feature("B-INF-15")
def test_second_start_is_ignored_with_a_warning(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    running.start()
    running.informer.start(running.group)
    assert "informer has already started" in caplog.text
    assert len(running.source.lists) == 1


@pytest.mark.feature("B-INF-22", "B-INF-21", "C-11")
@pytest.mark.parametrize(("took", "lines"), [(1.0, 0), (1.5, 1)])
def test_handler_that_takes_more_than_a_second_is_logged(
    took: float, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    running = Running()
    seen = threading.Semaphore(0)

    def slow(obj: ConfigMap) -> None:
        if obj.metadata.name == "slow":
            running.clock.step(took)
        seen.release()

    running.source.add(config_map("slow"))
    running.source.add(config_map("quick"))
    running.informer.add_event_handler(on_add=slow)
    running.start()
    assert seen.acquire(timeout=10)
    assert seen.acquire(timeout=10)
    running.end()
    messages = [vars(record) for record in caplog.records if record.msg == "handler was slow"]
    assert [(item["object"], item["seconds"], "slow" in item["functions"]) for item in messages] == [
        ("ns/slow", took, True)
    ] * lines


def test_handler_that_does_not_return_is_named(caplog: pytest.LogCaptureFixture) -> None:
    running = Running()
    began, release = threading.Event(), threading.Event()

    def blocking(obj: ConfigMap) -> None:
        began.set()
        release.wait(20)

    running.source.add(config_map("stuck"))
    registration = running.informer.add_event_handler(on_add=blocking)
    running.start()
    assert began.wait(10)
    running.clock.step(40.0)
    failures = [(str(failure.name), failure.error) for failure in registration.failures()]
    running.source.add(config_map("a"))
    running.source.add(config_map("b"))
    eventually(lambda: "handler has not returned" in caplog.text)
    release.set()
    running.end()
    assert failures == [("ns/stuck", "the call has not returned for 40 s")]
    messages = [vars(record) for record in caplog.records if record.msg.startswith("handler has not returned")]
    assert [(item["object"], "blocking" in item["functions"]) for item in messages] == [("ns/stuck", True)]


def test_handler_that_does_not_return_is_logged_without_the_lock_of_the_store(running: Running) -> None:
    began, release, locked = threading.Event(), threading.Event(), list[bool]()

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.msg.startswith("handler has not returned"):
                locked.append(running.informer.distributor._lock.locked())

    def blocking(_: ConfigMap) -> None:
        began.set()
        release.wait(20)

    lines = Lines()
    logging.getLogger().addHandler(lines)
    try:
        running.source.add(config_map("stuck"))
        running.informer.add_event_handler(on_add=blocking)
        running.start()
        assert began.wait(10)
        running.clock.step(40.0)
        running.source.add(config_map("a"))
        assert eventually(lambda: locked) == [False]
    finally:
        release.set()
        logging.getLogger().removeHandler(lines)


def test_removed_handler_is_garbage_collected(running: Running) -> None:
    registration = running.informer.add_event_handler()
    running.informer.add_event_handler()
    assert "2 handlers" in repr(running.informer)
    registration.remove()
    registration.remove()
    assert "1 handlers" in repr(running.informer)


@pytest.mark.behaviour("SI-12")
@pytest.mark.feature("B-INF-05")
@pytest.mark.behaviour("SI-13")
@pytest.mark.behaviour("SI-17")
@pytest.mark.behaviour("SI-18")
def test_removed_handler_is_not_called_and_can_be_removed_again(running: Running) -> None:
    gone, stays = RecordingHandler[ConfigMap](), RecordingHandler[ConfigMap]()
    registration = running.informer.add_event_handler(on_add=gone.on_add)
    running.informer.add_event_handler(on_add=stays.on_add)
    running.source.add(config_map("pod1"))
    running.start()
    gone.wait_for(1)
    stays.wait_for(1)
    assert registration.remove(wait=True, timeout=10)
    assert registration.remove()
    running.source.add(config_map("pod2"))
    stays.wait_for(2)
    running.end()
    assert registration.remove(wait=True)
    assert gone.calls() == [("add", "ns/pod1")]


def test_informer_does_not_remove_the_handler_of_another_one(running: Running) -> None:
    handler, other = RecordingHandler[ConfigMap](), Running()
    registration = running.informer.add_event_handler(on_add=handler.on_add)
    other.informer.remove(registration)
    running.source.add(config_map("pod1"))
    running.start()
    assert handler.wait_for(1) == [("add", "ns/pod1")]


class Busy:
    """Handler that blocks in its call until it is released."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.release = threading.Event()
        self.returned = threading.Event()

    def on_add(self, _: ConfigMap) -> None:
        self.entered.set()
        self.release.wait(10)
        self.returned.set()


@pytest.mark.behaviour("SI-23")
def test_remove_does_not_wait_for_the_current_call(running: Running) -> None:
    busy = Busy()
    registration = running.informer.add_event_handler(on_add=busy.on_add)
    running.source.add(config_map("a"))
    running.start()
    assert busy.entered.wait(10)
    assert not registration.remove()
    assert not busy.returned.is_set()
    busy.release.set()


@pytest.mark.feature("B-INF-17", "C-05")
@pytest.mark.behaviour("SI-24")
def test_remove_waits_for_the_current_call_if_requested(running: Running) -> None:
    busy, waiting = Busy(), Group()
    registration = running.informer.add_event_handler(on_add=busy.on_add)
    running.source.add(config_map("a"))
    running.start()
    assert busy.entered.wait(10)
    assert not registration.remove(wait=True, timeout=0.01)
    returned_first: list[bool] = []
    waiting.start(lambda: returned_first.append(registration.remove(wait=True) and busy.returned.is_set()), name="wait")
    busy.release.set()
    waiting.join(10)
    assert returned_first == [True]


@pytest.mark.behaviour("SI-25")
@pytest.mark.parametrize("when", ["never started", "before the start", "after the start"])
def test_waiting_for_a_removed_handler_returns_in_every_state_of_the_informer(running: Running, when: str) -> None:
    if when == "after the start":
        running.start()
    registration = running.informer.add_event_handler()
    if when == "before the start":
        running.start()
    assert registration.remove(wait=True, timeout=10)


@pytest.mark.feature("C-12")
def test_handler_that_removes_itself_does_not_wait(running: Running) -> None:
    answers: list[bool] = []
    done = threading.Event()
    mine: list[Registration[ConfigMap]] = []

    def remove_myself(_: ConfigMap) -> None:
        answers.append(mine[0].remove(wait=True))
        done.set()

    mine.append(running.informer.add_event_handler(on_add=remove_myself))
    running.source.add(config_map("a"))
    running.start()
    assert done.wait(10)
    assert answers == [False]
