"""Typed watches: events, bookmarks, errors, undecodable objects."""

import logging
from typing import Any

import pytest

from clientgo.errors import ApiError, ConnectionFailed, Expired, InternalError
from clientgo.meta.listwatch import BadEvent, Bookmark, ListOptions, WatchEvent
from tests.typed.gadgets import WIRE, Gadgets, page
from tests.typed.recorder import Frames, Recorder

BROKEN = {
    "kind": "Gadget",
    "metadata": {"name": "b", "namespace": "ns", "resourceVersion": "8"},
    "spec": {"replicas": "many"},
}


def bookmark(version: str, **annotations: str) -> dict[str, Any]:
    return {"kind": "Gadget", "metadata": {"resourceVersion": version, "annotations": annotations}}


def failure(code: int, reason: str, message: str = "why") -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code}


def test_changes_arrive_typed_and_in_order() -> None:
    frames = Frames(("ADDED", WIRE), ("MODIFIED", WIRE), ("DELETED", WIRE))
    events = list(Gadgets(Recorder(frames), "ns").watch())
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert {event.object.spec.color for event in events} == {"red"}


def test_object_watch_returns_changes_only(caplog: pytest.LogCaptureFixture) -> None:
    frames = Frames(("BOOKMARK", bookmark("5")), ("ADDED", BROKEN), ("ADDED", WIRE))
    with caplog.at_level(logging.WARNING, "clientgo"), Gadgets(Recorder(frames), "ns").watch() as watch:
        assert [event.object.metadata.name for event in watch] == ["g"]
    assert frames.closed
    assert [record.msg for record in caplog.records] == ["undecodable object skipped in a watch"]


def test_watch_from_returns_bookmarks_and_undecodable_objects() -> None:
    end = {"k8s.io/initial-events-end": "true"}
    frames = Frames(("ADDED", BROKEN), ("BOOKMARK", bookmark("9", **end)), ("BOOKMARK", bookmark("10")))
    bad, first, second = Gadgets(Recorder(frames), "ns").watch_from(ListOptions(watch=True))
    assert isinstance(bad, BadEvent)
    assert (bad.type, bad.error.metadata.name, bad.error.metadata.resource_version) == ("ADDED", "b", "8")
    assert (first, second) == (Bookmark("9", initial_events_end=True), Bookmark("10"))


@pytest.mark.parametrize("retried", [True, False])
def test_retry_lagging_is_passed_to_the_requester(retried: bool) -> None:
    recorder = Recorder(page(), Frames())
    gadgets, options = Gadgets(recorder, "ns"), ListOptions(resource_version="9", retry_lagging=retried)
    gadgets.list_page(options)
    gadgets.watch_from(options)
    assert [request.retry_lagging for request in recorder.requests] == [retried, retried]
    assert [dict(request.query) for request in recorder.requests] == [{"resourceVersion": "9"}] * 2


@pytest.mark.feature("B-REF-15")
@pytest.mark.parametrize(
    ("status", "error"),
    [
        pytest.param(failure(410, "Expired"), Expired, id="expired"),
        pytest.param(failure(410, "Gone"), ApiError, id="gone"),
        pytest.param(failure(500, "InternalError"), InternalError, id="internal"),
        pytest.param(failure(0, "", "why"), ApiError, id="no code"),
    ],
)
def test_error_frame_is_raised_after_earlier_events(status: dict[str, Any], error: type[ApiError]) -> None:
    events = iter(Gadgets(Recorder(Frames(("ADDED", WIRE), ("ERROR", status), ("ADDED", WIRE))), "ns").watch())
    assert isinstance(next(events), WatchEvent)
    with pytest.raises(error, match="why"):
        next(events)


@pytest.mark.parametrize("garbage", [b"null", b"7", b'{"code":"x"}', b"{}"])
def test_error_frame_without_a_status_is_raised(garbage: bytes) -> None:
    with pytest.raises(ApiError):
        list(Gadgets(Recorder(Frames(("ERROR", garbage))), "ns").watch())


def test_type_that_is_not_known_is_named() -> None:
    with pytest.raises(ApiError, match="watch event of type 'RENAMED'"):
        list(Gadgets(Recorder(Frames(("RENAMED", WIRE))), "ns").watch())


def test_lost_connection_is_raised() -> None:
    frames = Frames(("ADDED", WIRE), error=ConnectionFailed("lost"))
    with pytest.raises(ConnectionFailed, match="lost"):
        list(Gadgets(Recorder(frames), "ns").watch())


def test_failure_to_open_a_watch_is_raised_at_once() -> None:
    with pytest.raises(Expired):
        Gadgets(Recorder(Expired("too old")), "ns").watch(resource_version="1")


def test_close_ends_the_underlying_stream() -> None:
    frames = Frames()
    Gadgets(Recorder(frames), "ns").watch().close()
    assert frames.closed
