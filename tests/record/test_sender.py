"""Writes and retries of the event sender."""

import logging
import threading

import pytest

from clientgo.errors import (
    AlreadyExists,
    ApiError,
    ConnectionFailed,
    Forbidden,
    InternalError,
    NotFound,
    StatusCause,
    StatusDetails,
)
from clientgo.kubernetes.types.core_v1 import Event, EventSource, ObjectReference
from clientgo.meta import ObjectMeta, Undecodable, replace
from clientgo.record.correlator import Correlated, EventCorrelator
from clientgo.record.events import make_event
from clientgo.record.sender import EventSender
from clientgo.record.series import SeriesCache
from clientgo.testing.clock import FakeClock


class FailingSink:
    """Sink whose creates fail until the `times`-th one; keeps each call."""

    def __init__(self, error: Exception, times: int, patch_error: Exception | None = None) -> None:
        self.attempts = 0
        self.created: list[Event] = []
        self.patched: list[tuple[str, str, bytes]] = []
        self._error = error
        self._times = times
        self._patch_error = patch_error

    def create(self, event: Event) -> Event:
        self.attempts += 1
        if self.attempts < self._times:
            raise self._error
        self.created.append(event)
        return event

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        self.patched.append((namespace, name, patch))
        if self._patch_error is not None:
            raise self._patch_error
        return Event(metadata=ObjectMeta(name=name, namespace=namespace))


def sender(sink: FailingSink, clock: FakeClock, stop: threading.Event | None = None) -> EventSender:
    stop = stop if stop is not None else threading.Event()
    return EventSender(sink, EventCorrelator(clock=clock), SeriesCache(), stop=stop, clock=clock, rand=lambda: 0.25)


def an_event() -> Event:
    return make_event(
        ObjectReference(kind="Pod", api_version="v1", name="p", namespace="ns"),
        event_type="Normal", reason="R", message="m", at=10**18, source=EventSource(component="c"),
    )  # fmt: skip


@pytest.mark.behaviour("REC-05")
@pytest.mark.parametrize(
    ("times", "error", "attempts"),
    [
        pytest.param(1000, TypeError("can't be encoded"), 1, id="giveUp1"),
        pytest.param(1000, ApiError("refused", code=500), 1, id="giveUp2"),
        pytest.param(1000, Undecodable("Event", ObjectMeta(), "an odd answer"), 12, id="retry1"),
        pytest.param(1000, OSError("A weird error"), 12, id="retry2"),
        pytest.param(1000, ConnectionFailed("no route"), 12, id="transport errors"),
        pytest.param(2, OSError("A weird error"), 2, id="succeedEventually"),
    ],
)
def test_transient_errors_are_retried_up_to_12_times(times: int, error: Exception, attempts: int) -> None:
    sink = FailingSink(error, times)
    sender(sink, FakeClock(auto=True)).send(an_event())
    assert sink.attempts == attempts


@pytest.mark.feature("B-REC-09")
def test_first_pause_is_a_random_part_of_ten_seconds() -> None:
    clock = FakeClock(auto=True)
    sender(FailingSink(OSError("down"), 1000), clock).send(an_event())
    assert clock.slept == [2.5] + [10.0] * 10


@pytest.mark.behaviour("REC-06")
def test_expired_event_is_created_with_its_count_and_without_version() -> None:
    sink = FailingSink(OSError(), 0, NotFound('events "e" not found'))
    old = Event(metadata=ObjectMeta(name="e", namespace="ns", resource_version="updated-resource-version"), count=2)
    sender(sink, FakeClock()).write(Correlated(old, b"{}", skip=False, key="k"))
    assert sink.patched == [("ns", "e", b"{}")]
    (created,) = sink.created
    assert (created.metadata.resource_version, created.count) == ("", 2)


@pytest.mark.feature("B-REC-09")
@pytest.mark.parametrize(
    ("error", "level"),
    [
        (AlreadyExists("taken"), logging.DEBUG),
        (Forbidden("no", details=StatusDetails(causes=(StatusCause(reason="NamespaceTerminating"),))), logging.DEBUG),
        (Forbidden("no"), logging.ERROR),
        (InternalError("broken"), logging.ERROR),
    ],
)
def test_rejections_are_logged_and_expected_ones_at_debug_level(
    error: ApiError, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "clientgo.record")
    sender(FailingSink(error, 1000), FakeClock()).send(an_event())
    assert [record.levelno for record in caplog.records] == [level]


@pytest.mark.feature("B-REC-08")
def test_event_above_the_rate_limit_is_not_sent() -> None:
    sink = FailingSink(OSError(), 0)
    item = sender(sink, FakeClock())
    for _ in range(26):
        item.send(an_event())
    assert len(sink.created) + len(sink.patched) == 25


@pytest.mark.feature("B-REC-07")
def test_patch_uses_the_event_name_from_the_server() -> None:
    class RenamingSink(FailingSink):
        def create(self, event: Event) -> Event:
            super().create(event)
            return replace(event, metadata=replace(event.metadata, name="renamed"))

    sink = RenamingSink(OSError(), 0)
    item = sender(sink, FakeClock())
    item.send(an_event())
    item.send(an_event())
    assert [name for _, name, _ in sink.patched] == ["renamed"]


@pytest.mark.feature("B-REC-09")
def test_stop_interrupts_the_wait_for_a_retry() -> None:
    stop = threading.Event()
    stop.set()
    sink = FailingSink(OSError("down"), 1000)
    sender(sink, FakeClock(), stop).send(an_event())
    assert sink.attempts == 1
