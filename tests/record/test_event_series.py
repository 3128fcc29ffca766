"""Events of events.k8s.io/v1: what is created, what becomes a series, what the server is told and when."""

import queue
import threading

import msgspec
import pytest

from clientgo.errors import InternalError, NotFound
from clientgo.kubernetes.types.core_v1 import ObjectReference, Pod
from clientgo.kubernetes.types.events_v1 import Event, EventSeries
from clientgo.lifecycle import Group
from clientgo.meta import ObjectMeta, Scheme, from_dict, replace
from clientgo.record.events import nanoseconds
from clientgo.record.series import SeriesCache, micro_time
from clientgo.record.seriesbroadcaster import SeriesBroadcaster
from clientgo.record.seriessender import SeriesSender
from clientgo.record.seriessink import series_sink_for
from clientgo.testing.clock import FakeClock
from clientgo.testing.requester import FakeRequester

SECONDS = 10.0
POD = Pod(metadata=ObjectMeta(name="foo", namespace="baz", uid="bar"))
NODE = ObjectReference(kind="Node", api_version="v1", name="n")
START = 1_700_000_000.0


class RecordingSink:
    """Keeps each call; fails patches with `patch_error` if it is set."""

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
    """An event that was last seen `seen` seconds after START, as a series of that many unless 0."""
    at = micro_time(nanoseconds(START + seen))
    return Event(
        metadata=ObjectMeta(name=name, namespace="ns"), reason=reason, event_time=at,
        series=EventSeries(count=series, last_observed_time=at) if series else None,
    )  # fmt: skip


def cache_with(*events: Event) -> SeriesCache:
    """A cache that has these, each as it is."""
    cache = SeriesCache()
    for one in events:
        if one.series is None:
            cache.observe(one)
        for _ in range(one.series.count if one.series is not None else 0):
            cache.observe(replace(one, series=None))
    return cache


@pytest.mark.feature("B-EV-01")
@pytest.mark.behaviour("EV-01")
def test_the_second_equal_event_starts_a_series() -> None:
    sink, clock = RecordingSink(), FakeClock()
    with SeriesBroadcaster(pause=0, clock=clock) as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        recorder = broadcaster.new_recorder("eventTest", host="host")
        recorder.eventf(POD, "Normal", "Started", "starting", "note %d", 1, related=NODE)
        clock.step(1.0)
        recorder.eventf(POD, "Normal", "Started", "starting", "note %d", 2, related=NODE)
        recorder.eventf(POD, "Normal", "Started", "stopping", "note %d", 1, related=NODE)
        (first, created), (second, patched), (third, other) = [sink.calls.get(timeout=SECONDS) for _ in range(3)]
    assert (first, second, third) == ("create", "patch", "create")
    assert created.series is None
    assert created.metadata.name.startswith("foo.")
    assert (created.metadata.namespace, created.note, created.related) == ("baz", "note 1", NODE)
    assert (created.reporting_controller, created.reporting_instance) == ("eventTest", "eventTest-host")
    assert patched.metadata.name == created.metadata.name
    assert patched.series == EventSeries(count=2, last_observed_time=micro_time(nanoseconds(START + 1)))
    assert (other.action, other.series) == ("stopping", None)


@pytest.mark.behaviour("EV-02")
def test_two_equal_events_end_as_one_stored_event_with_a_series() -> None:
    fake = FakeRequester(scheme=Scheme(Event))
    with SeriesBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(series_sink_for(fake))
        recorder = broadcaster.new_recorder("eventTest")
        recorder.eventf(POD, "Normal", "Started", "starting", "note")
        recorder.eventf(POD, "Normal", "Started", "starting", "note")
    assert [action.verb for action in fake.actions] == ["create", "patch"]
    (kept,), _ = fake.tracker.list(fake.actions[0].resource)
    assert kept["series"]["count"] == 2


@pytest.mark.behaviour("EV-03")
def test_a_quiet_series_is_told_for_the_last_time_and_forgotten() -> None:
    clock, sink = FakeClock(time=START), RecordingSink()
    quiet, single = event("quiet", seen=-540.0, series=10), event("single", seen=0.0, reason="Other")
    cache = cache_with(quiet, single)
    SeriesSender(sink, cache=cache, stop=threading.Event(), clock=clock).finish()
    assert [(call, one.series) for call, one in sink.all_calls()] == [("patch", quiet.series)]
    assert len(cache) == 1
    assert cache.observe(single) is not None


def test_a_single_event_that_is_old_is_forgotten_without_a_word() -> None:
    clock, sink, cache = FakeClock(time=START), RecordingSink(), cache_with(event("single", seen=-361.0))
    SeriesSender(sink, cache=cache, stop=threading.Event(), clock=clock).finish()
    assert (sink.all_calls(), len(cache)) == ([], 0)


@pytest.mark.parametrize(("error", "kept"), [(OSError("down"), 1), (InternalError("refused"), 0)])
def test_a_quiet_series_the_server_could_not_be_told_of_is_kept(error: Exception, kept: int) -> None:
    cache = cache_with(event("quiet", seen=-540.0, series=3))
    sender = SeriesSender(RecordingSink(error), cache=cache, stop=threading.Event(), clock=FakeClock(time=START))
    sender.finish()
    assert len(cache) == kept


@pytest.mark.behaviour("EV-04")
@pytest.mark.parametrize("error", [None, InternalError("refused")])
def test_a_refresh_tells_the_count_and_keeps_the_series(error: Exception | None) -> None:
    sink, cache = RecordingSink(error), cache_with(event("going-on", seen=0.0, series=5))
    SeriesSender(sink, cache=cache, stop=threading.Event(), clock=FakeClock(time=START)).refresh()
    ((call, told),) = sink.all_calls()
    assert (call, told.series.count if told.series is not None else 0) == ("patch", 5)
    assert len(cache.running()) == 1


def test_a_series_whose_event_expired_is_created_anew() -> None:
    sink, cache = RecordingSink(NotFound("gone")), cache_with(event("going-on", seen=0.0, series=5))
    SeriesSender(sink, cache=cache, stop=threading.Event(), clock=FakeClock(time=START)).refresh()
    (_, (call, created)) = sink.all_calls()
    assert (call, created.metadata.resource_version) == ("create", "")
    assert created.series is not None
    assert created.series.count == 5


def test_events_of_a_series_are_only_counted() -> None:
    cache = SeriesCache()
    sent = [cache.observe(event("e", seen=n)) for n in range(5)]
    assert [one is not None for one in sent] == [True, True, False, False, False]
    assert cache.running()[0].series == EventSeries(count=5, last_observed_time=micro_time(nanoseconds(START + 4)))


@pytest.mark.feature("B-EV-03")
@pytest.mark.parametrize(
    "changes",
    [{"type": "Warning"}, {"action": "a"}, {"reason": "S"}, {"reporting_controller": "c"}, {"reporting_instance": "i"},
     {"regarding": NODE}, {"related": NODE}],
)  # fmt: skip
def test_events_that_differ_in_more_than_their_note_are_no_series(changes: dict[str, object]) -> None:
    cache, one = SeriesCache(), event("e", seen=0.0)
    cache.observe(one)
    assert cache.observe(replace(one, note="another", **changes)) is not None
    grown = cache.observe(replace(one, note="another"))
    assert grown is not None
    assert (grown.series is not None, len(cache)) == (True, 2)


def test_the_server_s_answer_gives_name_and_version_and_the_count_stays() -> None:
    sink, cache = RecordingSink(), SeriesCache()
    sender = SeriesSender(sink, cache=cache, stop=threading.Event(), clock=FakeClock())
    sender.send(event("e", seen=0.0))
    sender.send(event("e", seen=1.0))
    cache.observe(event("e", seen=2.0))
    cache.answered(event("renamed", seen=0.0, series=2))
    (kept,) = cache.running()
    assert (kept.metadata.name, kept.series.count if kept.series is not None else 0) == ("renamed", 3)


def test_a_series_is_patched_under_the_name_the_server_gave() -> None:
    class RenamingSink(RecordingSink):
        def create(self, event: Event) -> Event:
            return replace(super().create(event), metadata=ObjectMeta(name="renamed", namespace="ns"))

    sink = RenamingSink()
    sender = SeriesSender(sink, stop=threading.Event(), clock=FakeClock())
    sender.send(event("e", seen=0.0))
    sender.send(event("e", seen=1.0))
    assert [one.metadata.name for _, one in sink.all_calls()] == ["e", "renamed"]


def test_a_series_that_grew_while_it_was_being_finished_goes_on() -> None:
    cache = cache_with(event("e", seen=-540.0, series=3))
    (quiet,) = cache.quiet(micro_time(nanoseconds(START)))
    cache.observe(event("e", seen=0.0))
    cache.forget(quiet)
    assert len(cache) == 1


@pytest.mark.feature("B-EV-02")
def test_an_event_is_tried_12_times_with_a_jitter_of_a_quarter() -> None:
    class DeadSink(RecordingSink):
        def create(self, event: Event) -> Event:
            super().create(event)
            raise OSError("down")

    sink, clock = DeadSink(), FakeClock(auto=True)
    SeriesSender(sink, stop=threading.Event(), clock=clock, rand=lambda: 1.0).send(event("e", seen=0.0))
    assert (sink.calls.qsize(), clock.slept) == (12, [12.5] * 11)


@pytest.mark.feature("B-EV-02")
def test_series_are_finished_every_6_minutes_and_refreshed_every_30() -> None:
    clock, stop, sink = FakeClock(time=START), threading.Event(), RecordingSink()
    cache = cache_with(event("e", seen=1800.0, series=2))
    sender = SeriesSender(sink, cache=cache, stop=stop, clock=clock)
    with Group(stop=stop) as group:
        group.start(sender.tend, name="tending")
        for minute in (6, 12, 18, 24, 30):
            clock.wait_for_waiters(1)
            assert sink.calls.empty(), minute
            clock.step(360.0)
        clock.wait_for_waiters(1)
        assert [call for call, _ in sink.all_calls()] == ["patch"]
        clock.step(360.0)
        clock.wait_for_waiters(1)
        # The last news came at 30 minutes: now that is 6 minutes ago, and not yet more.
        assert (sink.all_calls(), len(cache)) == ([], 1)
        clock.step(360.0)
        clock.wait_for_waiters(1)
        assert ([call for call, _ in sink.all_calls()], len(cache)) == (["patch"], 0)


def test_unknown_types_are_logged_and_dropped(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Event] = []
    with SeriesBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(seen.append)
        broadcaster.new_recorder("c").eventf(POD, "Nonsense", "R", "a", "n")
    assert seen == []
    assert [record.getMessage() for record in caplog.records] == ["event of an unsupported type dropped"]
