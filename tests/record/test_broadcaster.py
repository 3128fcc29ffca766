"""Event broadcaster with recorders, sinks and logs on real threads."""

import logging
import queue
import threading
from collections import Counter
from dataclasses import dataclass

import msgspec
import pytest

from clientgo.kubernetes.types.core_v1 import Event, EventSource, ObjectReference, Pod
from clientgo.meta import ObjectMeta, Scheme, from_dict, replace, to_dict
from clientgo.meta.patches import mergepatch
from clientgo.record import EventBroadcaster, EventRecorder, sink_for
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester

SECONDS = 10.0
"""Time limit for waiting on another thread."""


class RecordingSink:
    """Sink that stores events as a server does and puts each call as (verb, event) in a queue."""

    def __init__(self) -> None:
        self.calls: queue.Queue[tuple[str, Event]] = queue.Queue()
        self._kept: dict[tuple[str, str], Event] = {}

    def create(self, event: Event) -> Event:
        self._kept[event.metadata.namespace, event.metadata.name] = event
        self.calls.put(("create", event))
        return event

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        changed = mergepatch.apply(to_dict(self._kept[namespace, name]), msgspec.json.decode(patch))
        event = self._kept[namespace, name] = from_dict(Event, changed)
        self.calls.put(("patch", event))
        return event


@dataclass(frozen=True)
class Row:
    """Row of the table: a recorded event and the expected call of the sink."""

    obj: object
    path: str
    reason: str
    message: str
    count: int
    call: str


POD = Pod(metadata=ObjectMeta(name="foo", namespace="baz", uid="bar"))
REF_A = ObjectReference(
    kind="Pod", api_version="v1", name="foo", namespace="baz", uid="bar", field_path="spec.containers[2]"
)
REF_B = ObjectReference(
    kind="Pod", api_version="v1", name="foo", namespace="baz", uid="differentUid", field_path="spec.containers[3]"
)
SOME, OTHER = "some verbose message: %s", "some other verbose message: %s"
ROWS = (
    Row(REF_A, "spec.containers[2]", "Started", SOME, 1, "create"),
    Row(POD, "", "Killed", OTHER, 1, "create"),
    Row(REF_A, "spec.containers[2]", "Started", SOME, 2, "patch"),
    Row(REF_B, "spec.containers[3]", "Started", SOME, 1, "create"),
    Row(REF_A, "spec.containers[2]", "Started", SOME, 3, "patch"),
    Row(REF_B, "spec.containers[3]", "Stopped", SOME, 1, "create"),
    Row(REF_B, "spec.containers[3]", "Stopped", SOME, 2, "patch"),
)


def replay(recorder: EventRecorder, sink: RecordingSink, clock: FakeClock) -> None:
    """Record the rows and check the sink's call for each."""
    for row in ROWS:
        clock.step(1.0)
        recorder.eventf(row.obj, "Normal", row.reason, row.message, 1)
        call, event = sink.calls.get(timeout=SECONDS)
        assert call == row.call
        check(event, row)


def check(event: Event, row: Row) -> None:
    about = event.involved_object
    assert event.metadata.name.startswith("foo.")
    assert (event.metadata.namespace, event.count, event.message) == ("baz", row.count, row.message % 1)
    assert (about.kind, about.name, about.namespace, about.api_version) == ("Pod", "foo", "baz", "v1")
    assert (about.field_path or "") == row.path
    assert about.uid == ("differentUid" if row.obj is REF_B else "bar")
    assert (event.type, event.reason, event.source) == ("Normal", row.reason, EventSource(component="eventTest"))
    assert event.reporting_component == "eventTest"
    assert event.first_timestamp is not None
    assert event.last_timestamp is not None
    assert (event.first_timestamp == event.last_timestamp) is (row.count == 1)


def event_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("events-")}


@pytest.mark.feature("B-REC-11", "C-01")
@pytest.mark.behaviour("REC-01")
def test_leaving_the_block_ends_all_threads() -> None:
    with EventBroadcaster() as broadcaster:
        broadcaster.start_logging()
        assert event_threads() == {"events-log-0"}
    assert event_threads() == set()


@pytest.mark.feature("B-REC-01")
@pytest.mark.behaviour("REC-02")
def test_shutdown_ends_watchers_and_may_be_repeated() -> None:
    broadcaster = EventBroadcaster(pause=0)
    broadcaster.start_logging()
    broadcaster.shutdown()
    broadcaster.shutdown()
    assert event_threads() == set()
    with pytest.raises(RuntimeError, match="shut down"):
        broadcaster.start_logging()


@pytest.mark.behaviour("REC-03")
def test_100_threads_record_concurrently() -> None:
    broadcaster = EventBroadcaster()
    seen: list[Event] = []
    broadcaster.start_event_watcher(seen.append)
    recorder = broadcaster.new_recorder(component="test")
    with Group() as group:
        for number in range(100):
            group.start(recorder.event, ObjectReference(), "Normal", "Started", "blah", name=f"recording-{number}")
        group.join(SECONDS)
    broadcaster.shutdown()
    recorder.event(ObjectReference(), "Normal", "Started", "too late")
    assert [event.message for event in seen] == ["blah"] * 100
    assert len({event.metadata.name for event in seen}) == 100


@pytest.mark.feature("B-REC-01")
@pytest.mark.behaviour("REC-04")
def test_events_are_created_counted_and_logged() -> None:
    clock, sink = FakeClock(), RecordingSink()
    lines: list[str] = []
    with EventBroadcaster(pause=0, clock=clock) as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        broadcaster.start_logging(lines.append)
        replay(broadcaster.new_recorder(component="eventTest"), sink, clock)
    assert lines[0] == (
        'Event(v1.ObjectReference{Kind:"Pod", Namespace:"baz", Name:"foo", UID:"bar", APIVersion:"v1", '
        "ResourceVersion:\"\", FieldPath:\"spec.containers[2]\"}): type: 'Normal' reason: 'Started' "
        "some verbose message: 1"
    )
    assert len(lines) == len(ROWS)


class FlakySink(RecordingSink):
    """Sink that fails the first four creates of each message."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts: Counter[str] = Counter()

    def create(self, event: Event) -> Event:
        self.attempts[event.message or ""] += 1
        if self.attempts[event.message or ""] < 5:
            raise OSError("some error")
        return super().create(event)


@pytest.mark.behaviour("REC-08")
def test_1000_events_reach_a_failing_sink_and_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "clientgo.record.sender")
    sink, lines = FlakySink(), queue.Queue[str]()
    with EventBroadcaster(pause=0) as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        broadcaster.start_logging(lines.put)
        recorder = broadcaster.new_recorder(component="eventTest")

        def record(first: int) -> None:
            for n in range(first, 1000, 10):
                pod = ObjectReference(kind="Pod", api_version="v1", name=f"foo-{n}", namespace="baz", uid="bar")
                recorder.event(pod, "Normal", f"Reason-{n}", str(n))

        with Group() as group:
            for first in range(10):
                group.start(record, first, name=f"recording-{first}")
            group.join(SECONDS)
        created = {sink.calls.get(timeout=SECONDS)[1].message for _ in range(1000)}
        logged = {lines.get(timeout=SECONDS) for _ in range(1000)}
    assert created == {str(n) for n in range(1000)}
    assert len(logged) == 1000
    assert min(sink.attempts.values()) >= 5


@pytest.mark.behaviour("REC-09")
def test_event_about_cluster_scoped_object_is_in_namespace_default() -> None:
    sink = RecordingSink()
    lines: list[str] = []
    with EventBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        broadcaster.start_logging(lines.append)
        pod = Pod(metadata=ObjectMeta(name="foo", uid="bar"))
        broadcaster.new_recorder(component="eventTest").event(pod, "Normal", "Started", "hello")
    call, event = sink.calls.get_nowait()
    assert (call, event.metadata.namespace, event.involved_object.namespace, event.count) == (
        "create", "default", None, 1,
    )  # fmt: skip
    assert 'Namespace:""' in lines[0]


@pytest.mark.behaviour("REC-10")
def test_new_sink_starts_with_an_empty_correlator() -> None:
    clock, first, second = FakeClock(), RecordingSink(), RecordingSink()
    with EventBroadcaster(pause=0, clock=clock) as broadcaster:
        recorder = broadcaster.new_recorder(component="eventTest")
        recording = broadcaster.start_recording_to_sink(first)
        replay(recorder, first, clock)
        recording.stop()
        broadcaster.start_recording_to_sink(second)
        replay(recorder, second, clock)
    assert first.calls.empty()


class Unprintable:
    """Name in an object of a foreign class, whose text cannot be read."""

    def __str__(self) -> str:
        raise SystemExit("no text")


@pytest.mark.feature("B-REC-02")
def test_events_of_unknown_type_or_object_kind_are_logged_and_dropped(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Event] = []
    with EventBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(seen.append)
        recorder = broadcaster.new_recorder(component="c")
        recorder.event(POD, "Nonsense", "R", "m")
        recorder.event(object(), "Normal", "R", "m")
        recorder.event({"kind": "Foo", "apiVersion": "v1", "metadata": {"name": Unprintable()}}, "Normal", "R", "m")
        recorder.event(POD, "Warning", "R", "100% m")
    assert [event.message for event in seen] == ["100% m"]
    assert [record.msg for record in caplog.records] == [
        "event of an unsupported type dropped", "cannot record event", "cannot record event"
    ]  # fmt: skip


@pytest.mark.feature("B-REC-02", "B-REC-01")
def test_full_queue_drops_events_of_that_watcher_only_and_never_blocks() -> None:
    busy, go_on, quick = threading.Event(), threading.Event(), queue.Queue[Event]()

    def slow(event: Event) -> None:
        busy.set()
        assert go_on.wait(SECONDS)

    with EventBroadcaster(queue_length=3) as broadcaster:
        watcher = broadcaster.start_event_watcher(slow)
        broadcaster.start_event_watcher(quick.put)
        recorder = broadcaster.new_recorder(component="c")
        recorder.event(POD, "Normal", "R", "taken")
        assert busy.wait(SECONDS)
        for number in range(5):
            recorder.event(POD, "Normal", "R", str(number))
            quick.get(timeout=SECONDS)
        assert watcher.dropped == 2
        go_on.set()


def test_stopped_watcher_receives_and_counts_nothing() -> None:
    seen: list[Event] = []
    with EventBroadcaster(queue_length=1) as broadcaster:
        watcher = broadcaster.start_event_watcher(seen.append)
        watcher.stop()
        recorder = broadcaster.new_recorder(component="c")
        for _ in range(3):
            recorder.event(POD, "Normal", "R", "too late")
        assert (seen, watcher.dropped) == ([], 0)


@pytest.mark.parametrize("error", [ValueError("not this one"), SystemExit(1)])
def test_watcher_that_raises_receives_the_next_event(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str | None] = []

    def touchy(event: Event) -> None:
        seen.append(event.message)
        raise error

    with EventBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(touchy)
        recorder = broadcaster.new_recorder(component="c")
        recorder.event(POD, "Normal", "R", "1")
        recorder.event(POD, "Normal", "R", "2")
    assert seen == ["1", "2"]
    assert [record.msg for record in caplog.records] == ["event handler failed"] * 2


def test_shutdown_tries_each_event_once_when_the_server_is_down() -> None:
    class DeadSink(RecordingSink):
        attempts = 0

        def create(self, event: Event) -> Event:
            self.attempts += 1
            raise OSError("no route")

    sink, clock = DeadSink(), FakeClock()
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder(component="c")
    for number in range(5):
        recorder.event(POD, "Normal", f"Reason{number}", "m")
    clock.wait_for_waiters(1)
    broadcaster.shutdown()
    assert sink.attempts == 5


def test_shutdown_does_not_wait_for_a_sink_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    entered, release = threading.Event(), threading.Event()

    class HangingSink(RecordingSink):
        def create(self, event: Event) -> Event:
            entered.set()
            assert release.wait(SECONDS)
            return super().create(event)

    sink = HangingSink()
    broadcaster = EventBroadcaster()
    recording = broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder(component="c")
    for number in range(3):
        recorder.event(POD, "Normal", f"Reason{number}", "m")
    assert entered.wait(SECONDS)
    broadcaster.shutdown(timeout=0.02)
    assert [(r.msg, vars(r)["events"]) for r in caplog.records] == [("events were dropped at the end", 2)]
    release.set()
    recording.join(SECONDS)
    assert sink.calls.qsize() == 1


def test_sink_for_requester_creates_and_patches_events() -> None:
    fake = FakeRequester(scheme=Scheme(Event))
    with EventBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(sink_for(fake))
        recorder = broadcaster.new_recorder(component="c")
        recorder.eventf(POD, "Warning", "R", "%s of %d", "two", 3, annotations={"a": "b"})
        recorder.eventf(POD, "Warning", "R", "%s of %d", "two", 3, annotations={"a": "b"})
    create, patch = fake.actions
    assert (create.verb, create.namespace, create.resource.resource) == ("create", "baz", "events")
    assert (create.object.message, dict(create.object.metadata.annotations)) == ("two of 3", {"a": "b"})
    assert (patch.verb, patch.name, patch.patch_type) == (
        "patch",
        create.name,
        "application/strategic-merge-patch+json",
    )
    assert fake.tracker.get(create.resource, "baz", create.name)["count"] == 2


def test_last_events_of_an_object_are_kept_on_request() -> None:
    with EventBroadcaster() as broadcaster:
        recorder = broadcaster.new_recorder(component="eventTest")
        recorder.event(POD, "Normal", "Early", "before")
        assert broadcaster.recent_events("baz", "foo") == []
        broadcaster.keep_recent(3)
        recorder.event(object(), "Normal", "Kindless", "is ignored")
        for number in range(3):
            recorder.event(POD, "Normal", "Started", f"hello {number}")
            recorder.event(replace(POD, metadata=ObjectMeta(name="other", namespace="baz")), "Normal", "Started", "x")
        assert [event.message for event in broadcaster.recent_events("baz", "foo")] == ["hello 2"]
