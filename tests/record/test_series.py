"""Series of events with an action: creation, counting, heartbeats and end."""

import queue
import threading

import msgspec
import pytest

from clientgo.errors import AlreadyExists, InternalError, NotFound
from clientgo.kubernetes.types.core_v1 import Event, EventSeries, ObjectReference, Pod
from clientgo.meta import ObjectMeta, from_dict, replace
from clientgo.record import EventBroadcaster
from clientgo.record.correlator import EventCorrelator
from clientgo.record.events import micro_time, nanoseconds
from clientgo.record.sender import EventSender
from clientgo.record.series import SeriesCache, series_key
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock

SECONDS = 10.0
POD = Pod(metadata=ObjectMeta(name="foo", namespace="baz", uid="bar"))
NODE = ObjectReference(kind="Node", api_version="v1", name="n")
START = 1_700_000_000.0


class RecordingSink:
    """Sink that keeps each call; fails patches with `patch_error` if it is set."""

    def __init__(self, patch_error: Exception | None = None) -> None:
        self.calls: queue.Queue[tuple[str, Event]] = queue.Queue()
        self.patch_error = patch_error

    def create(self, event: Event) -> Event:
        self.calls.put(("create", event))
        return replace(event, metadata=replace(event.metadata, resource_version="7"))

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        meta = {"name": name, "namespace": namespace}
        event = from_dict(Event, {"metadata": meta, **msgspec.json.decode(patch)})
        self.calls.put(("patch", event))
        if self.patch_error is not None:
            raise self.patch_error
        return event

    def all_calls(self) -> list[tuple[str, Event]]:
        return [self.calls.get_nowait() for _ in range(self.calls.qsize())]


def event(name: str, *, seen: float, series: int = 0, reason: str = "R") -> Event:
    """Return an event last seen `seen` seconds after START; a series with that count unless 0."""
    at = micro_time(nanoseconds(START + seen))
    return Event(
        metadata=ObjectMeta(name=name, namespace="ns"), reason=reason, action="acting", event_time=at,
        series=EventSeries(count=series, last_observed_time=at) if series else None,
    )  # fmt: skip


def sender(
    sink: RecordingSink, cache: SeriesCache, clock: FakeClock, *, stop: threading.Event | None = None
) -> EventSender:
    """Return a sender that waits as long as its jitter allows."""
    stop = stop if stop is not None else threading.Event()
    return EventSender(sink, EventCorrelator(clock=clock), cache, stop=stop, clock=clock, rand=lambda: 1.0)


def cache_with(*events: Event) -> SeriesCache:
    """Return a cache that contains these events."""
    cache = SeriesCache()
    for item in events:
        if item.series is None:
            cache.correlate(item)
        for _ in range((item.series.count or 0) if item.series is not None else 0):
            cache.correlate(replace(item, series=None))
    return cache


@pytest.mark.feature("B-EV-01")
@pytest.mark.behaviour("EV-01")
def test_second_equal_event_starts_a_series() -> None:
    sink, clock = RecordingSink(), FakeClock()
    with EventBroadcaster(pause=0, clock=clock) as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        recorder = broadcaster.new_recorder(component="eventTest", host="host")
        recorder.eventf(POD, "Normal", "Started", "note %d", 1, action="starting", related=NODE)
        clock.step(1.0)
        recorder.eventf(POD, "Normal", "Started", "note %d", 2, action="starting", related=NODE)
        recorder.eventf(POD, "Normal", "Started", "note %d", 1, action="stopping", related=NODE)
        (first, created), (second, patched), (third, other) = [sink.calls.get(timeout=SECONDS) for _ in range(3)]
    assert (first, second, third) == ("create", "patch", "create")
    assert created.series is None
    assert created.metadata.name.startswith("foo.")
    assert (created.metadata.namespace, created.message, created.related) == ("baz", "note 1", NODE)
    assert (created.reporting_component, created.reporting_instance) == ("eventTest", "eventTest-host")
    assert patched.metadata.name == created.metadata.name
    assert patched.series == EventSeries(count=2, last_observed_time=micro_time(nanoseconds(START + 1)))
    assert (other.action, other.series) == ("stopping", None)


@pytest.mark.parametrize("name", ["", "Foo controller", "foo/", "a" * 64, "-foo", "foo/bar/baz", "foo\n"])
def test_event_that_the_server_would_reject_for_its_recorder_is_dropped(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Event] = []
    with EventBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(seen.append)
        recorder = broadcaster.new_recorder(component=name)
        recorder.event(POD, "Normal", "Started", "note", action="starting")
        recorder.event(POD, "Normal", "Counted", "note")
    assert [event.reason for event in seen] == ["Counted"]
    assert [record.msg.partition(":")[0] for record in caplog.records] == ["event with an action dropped"]


def test_instance_of_a_long_host_name_is_shortened() -> None:
    sink = RecordingSink()
    with EventBroadcaster(pause=0) as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        recorder = broadcaster.new_recorder(component="example.com/foos", host="h" * 200)
        recorder.event(POD, "Normal", "Started", "note", action="starting")
        event = sink.calls.get(timeout=SECONDS)[1]
    assert event.reporting_component == "example.com/foos"
    assert len(event.reporting_instance or "") == 128


@pytest.mark.behaviour("EV-03")
def test_finished_series_is_patched_a_last_time_and_removed() -> None:
    clock, sink = FakeClock(time=START), RecordingSink()
    finished, single = event("finished", seen=-540.0, series=10), event("single", seen=0.0, reason="Other")
    cache = cache_with(finished, single)
    sender(sink, cache, clock).finish()
    assert [(call, item.series) for call, item in sink.all_calls()] == [("patch", finished.series)]
    assert len(cache) == 1
    assert not cache.correlate(single).skip


def test_old_single_event_is_removed_without_a_request() -> None:
    clock, sink, cache = FakeClock(time=START), RecordingSink(), cache_with(event("single", seen=-361.0))
    sender(sink, cache, clock).finish()
    assert (sink.all_calls(), len(cache)) == ([], 0)


@pytest.mark.parametrize(("error", "stored"), [(OSError("down"), 1), (InternalError("refused"), 0)])
def test_finished_series_is_kept_after_a_transient_error(error: Exception, stored: int) -> None:
    cache = cache_with(event("finished", seen=-540.0, series=3))
    sender(RecordingSink(error), cache, FakeClock(time=START)).finish()
    assert len(cache) == stored


@pytest.mark.behaviour("EV-04")
@pytest.mark.parametrize("error", [None, InternalError("refused")])
def test_refresh_sends_the_count_and_keeps_the_series(error: Exception | None) -> None:
    sink, cache = RecordingSink(error), cache_with(event("going-on", seen=0.0, series=5))
    sender(sink, cache, FakeClock(time=START)).refresh()
    ((call, all_calls),) = sink.all_calls()
    assert (call, all_calls.series.count if all_calls.series is not None else 0) == ("patch", 5)
    assert len(cache.running()) == 1


def test_expired_series_is_created_again() -> None:
    sink, cache = RecordingSink(NotFound("gone")), cache_with(event("going-on", seen=0.0, series=5))
    sender(sink, cache, FakeClock(time=START)).refresh()
    (_, (call, created)) = sink.all_calls()
    assert (call, created.metadata.resource_version) == ("create", "")
    assert created.series is not None
    assert created.series.count == 5


def test_series_is_patched_again_if_its_event_was_created_after_the_first_patch() -> None:
    class RacedSink(RecordingSink):
        def create(self, event: Event) -> Event:
            super().create(event)
            if event.series is None:
                return event
            self.patch_error = None
            raise AlreadyExists("created meanwhile")

    sink, clock = RacedSink(NotFound("gone")), FakeClock(auto=True)
    sending = sender(sink, SeriesCache(), clock)
    sending.send(event("e", seen=0.0))
    sending.send(event("e", seen=1.0))
    assert [call for call, _ in sink.all_calls()] == ["create", "patch", "create", "patch"]
    assert clock.slept == [12.5]


def test_single_event_that_already_exists_is_dropped() -> None:
    class FullSink(RecordingSink):
        def create(self, event: Event) -> Event:
            super().create(event)
            raise AlreadyExists("there is one")

    sink, clock = FullSink(), FakeClock(auto=True)
    sender(sink, SeriesCache(), clock).send(event("e", seen=0.0))
    assert (len(sink.all_calls()), clock.slept) == (1, [])


def test_events_of_a_series_are_only_counted() -> None:
    cache = SeriesCache()
    sent = [cache.correlate(event("e", seen=n)) for n in range(5)]
    assert [item.skip for item in sent] == [False, False, True, True, True]
    assert cache.running()[0].series == EventSeries(count=5, last_observed_time=micro_time(nanoseconds(START + 4)))


@pytest.mark.feature("B-EV-03")
@pytest.mark.parametrize(
    "changes",
    [{"type": "Warning"}, {"action": "a"}, {"reason": "S"}, {"reporting_component": "c"}, {"reporting_instance": "i"},
     {"involved_object": NODE}, {"related": NODE}],
)  # fmt: skip
def test_events_that_differ_in_more_than_their_message_are_separate(changes: dict[str, object]) -> None:
    cache, item = SeriesCache(), event("e", seen=0.0)
    cache.correlate(item)
    assert cache.correlate(replace(item, message="another", **changes)).patch == b""
    assert cache.correlate(replace(item, message="another")).event.series is not None
    assert len(cache) == 2


def test_response_updates_name_and_version_but_not_the_count() -> None:
    sink, cache = RecordingSink(), SeriesCache()
    sending = sender(sink, cache, FakeClock())
    sending.send(event("e", seen=0.0))
    sending.send(event("e", seen=1.0))
    cache.correlate(event("e", seen=2.0))
    cache.update_state(event("renamed", seen=0.0, series=2), series_key(event("e", seen=0.0)))
    (stored,) = cache.running()
    assert (stored.metadata.name, stored.series.count if stored.series is not None else 0) == ("renamed", 3)


def test_series_is_patched_by_the_name_from_the_server() -> None:
    class RenamingSink(RecordingSink):
        def create(self, event: Event) -> Event:
            return replace(super().create(event), metadata=ObjectMeta(name="renamed", namespace="ns"))

    sink = RenamingSink()
    sending = sender(sink, SeriesCache(), FakeClock())
    sending.send(event("e", seen=0.0))
    sending.send(event("e", seen=1.0))
    assert [call.metadata.name for _, call in sink.all_calls()] == ["e", "renamed"]


def test_series_that_grew_while_being_finished_is_kept() -> None:
    cache = cache_with(event("e", seen=-540.0, series=3))
    (finished,) = cache.finished(micro_time(nanoseconds(START)))
    cache.correlate(event("e", seen=0.0))
    cache.remove(finished)
    assert len(cache) == 1


@pytest.mark.feature("B-EV-02")
def test_failed_event_is_tried_12_times_with_a_jitter_of_a_quarter() -> None:
    class DeadSink(RecordingSink):
        def create(self, event: Event) -> Event:
            super().create(event)
            raise OSError("down")

    sink, clock = DeadSink(), FakeClock(auto=True)
    sender(sink, SeriesCache(), clock).send(event("e", seen=0.0))
    assert (sink.calls.qsize(), clock.slept) == (12, [12.5] * 11)


@pytest.mark.feature("B-EV-02")
def test_series_are_finished_every_6_minutes_and_refreshed_every_30() -> None:
    clock, stop, sink = FakeClock(time=START), threading.Event(), RecordingSink()
    cache = cache_with(event("e", seen=1800.0, series=2))
    sending = sender(sink, cache, clock, stop=stop)
    with Group(stop=stop) as group:
        group.start(sending.run_housekeeping, name="housekeeping")
        for minute in (6, 12, 18, 24, 30):
            clock.wait_for_waiters(1)
            assert sink.calls.empty(), minute
            clock.step(360.0)
        clock.wait_for_waiters(1)
        assert [call for call, _ in sink.all_calls()] == ["patch"]
        clock.step(360.0)
        clock.wait_for_waiters(1)
        # The last event was at 30 minutes: exactly 6 minutes ago.
        assert (sink.all_calls(), len(cache)) == ([], 1)
        clock.step(360.0)
        clock.wait_for_waiters(1)
        assert ([call for call, _ in sink.all_calls()], len(cache)) == (["patch"], 0)
