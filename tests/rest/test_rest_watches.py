"""Watches as they are opened: by a server that answers, refuses, ends at once, or is not there."""

from dataclasses import replace

import pytest
from msgspec import structs

from clientgo.errors import ApiError, ConnectionFailed, Forbidden, InternalError, Unauthorized
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Request
from clientgo.rest.transport import IdleTimeout
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeStream, FakeTransport, dropped, frame, refusal, refused, reply, timed_out
from tests.rest.loopback import CLOSE, RESET, loopback

HOST = Config("http://api")
WATCH = Request(verb="watch", resource=GroupVersionResource("", "v1", "pods"))


def client(transport: FakeTransport, config: Config = HOST, *, max_retries: int = 10) -> RESTClient:
    return RESTClient(config, transport=transport, clock=FakeClock(auto=True), max_retries=max_retries)


def test_a_watch_gives_frames_until_the_server_ends_it() -> None:
    stream = FakeStream()
    stream.event("ADDED", {"a": 1})
    stream.event("BOOKMARK", {})
    stream.end()
    transport = FakeTransport(stream)
    assert [e.type for e in client(transport).watch(WATCH)] == ["ADDED", "BOOKMARK"]
    assert transport.sent[0].streamed
    assert transport.sent[0].header("Accept-Encoding") == ""


@pytest.mark.behaviour("RR-11")
@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        pytest.param(403, Forbidden, "secrets is forbidden", id="403"),
        pytest.param(403, Forbidden, None, id="403 without body"),
        pytest.param(401, Unauthorized, None, id="401 without body"),
    ],
)
def test_a_watch_refused_is_the_error(code: int, error: type[ApiError], words: str | None) -> None:
    answer = refusal(code, error.__name__, words) if words else reply(b"", status=code)
    with pytest.raises(error, match=words):
        client(FakeTransport(answer)).watch(WATCH)


@pytest.mark.behaviour("RR-11")
@pytest.mark.parametrize("limit", [0, 2])
def test_a_connection_that_ends_while_a_watch_is_opened_is_an_empty_watch(limit: int) -> None:
    transport = FakeTransport(*[dropped()] * 5)
    watch = client(transport, max_retries=limit).watch(WATCH)
    assert list(watch) == []
    watch.close()
    assert len(transport.sent) == limit + 1


@pytest.mark.behaviour("RR-11")
def test_a_watch_the_server_can_not_open_yet_is_tried_again_and_then_the_error() -> None:
    transport = FakeTransport(*[refusal(500, "InternalError", retry_after=1)] * 3)
    with pytest.raises(InternalError):
        client(transport, max_retries=2).watch(WATCH)
    assert len(transport.sent) == 3


@pytest.mark.behaviour("RR-11")
@pytest.mark.parametrize("step", [refused(), timed_out()], ids=["refused", "timed out"])
def test_a_watch_on_a_server_that_is_not_there_fails_at_once(step: ConnectionFailed) -> None:
    transport = FakeTransport(step)
    with pytest.raises(ConnectionFailed):
        client(transport).watch(WATCH)
    assert len(transport.sent) == 1


BOOKMARK = frame("BOOKMARK", {"metadata": {"resourceVersion": "5"}})
LIST_END = frame("BOOKMARK", {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}})


@pytest.mark.parametrize(
    ("said", "query", "silence"),
    [
        pytest.param((BOOKMARK,), {}, 120.0, id="a bookmark promises more of them"),
        pytest.param((BOOKMARK,), {"timeoutSeconds": "300"}, 120.0, id="also where the watch has a time"),
        pytest.param((), {"timeoutSeconds": "300"}, 315.0, id="no bookmark: when the server had to end it"),
        pytest.param((LIST_END,), {"timeoutSeconds": "300"}, 315.0, id="the end of a streamed list promises none"),
        pytest.param((LIST_END, BOOKMARK), {"timeoutSeconds": "300"}, 120.0, id="both"),
    ],
)
def test_idle_timeout_applies_after_a_periodic_bookmark(
    said: tuple[bytes, ...], query: dict[str, str], silence: float
) -> None:
    clock = FakeClock(auto=True)
    rest = client(FakeTransport(FakeStream(*said, clock=clock)), replace(HOST, watch_idle_timeout=120.0))
    with pytest.raises(IdleTimeout, match=f"silent for {silence:g} s") as failed:
        list(rest.watch(structs.replace(WATCH, query=query)))
    assert failed.value.timeout
    assert clock.now() == silence


@pytest.mark.parametrize("said", [(), (LIST_END,)], ids=["nothing", "the end of a streamed list"])
def test_watch_without_bookmarks_and_timeout_has_no_idle_timeout(said: tuple[bytes, ...]) -> None:
    stream = FakeStream(*said, end=True)
    assert len(list(client(FakeTransport(stream)).watch(WATCH))) == len(said)
    assert stream.idle_timeout is None


@pytest.mark.integration
@pytest.mark.behaviour("RR-11")
@pytest.mark.feature("B-REST-12")
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(CLOSE, id="closed"),
        pytest.param(RESET, id="reset"),
        pytest.param(b"HTTP/1.1 20", id="broken off"),
    ],
)
@pytest.mark.parametrize("limit", [0, 2])
def test_whichever_way_the_connection_ends_it_is_an_empty_watch(step: bytes, limit: int) -> None:
    script = [step] if step in (CLOSE, RESET) else [step, CLOSE]
    with loopback(*[script] * (limit + 1)) as server:
        rest = RESTClient(Config(server.address), clock=FakeClock(auto=True), max_retries=limit, environ={})
        assert list(rest.watch(WATCH)) == []
        assert server.connections == limit + 1
        rest.close()
