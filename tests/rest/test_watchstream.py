"""Watch streams: splitting frames, and opening and ending a watch."""

import gzip
import itertools
import json
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from clientgo.errors import ApiError, ConnectionFailed, Expired, Forbidden, InternalError, InvalidResponse, Unauthorized
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.bounds import MAX_ERROR_BYTES, MAX_FRAME, SILENCE
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Request
from clientgo.rest.transport import IdleTimeout
from clientgo.rest.watchstream import FrameSplitter, InvalidFrame, WatchStream
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import (
    FakeStream,
    FakeTransport,
    dropped,
    frame,
    garbled,
    refusal,
    refused,
    reply,
    timed_out,
    truncated,
)
from tests.rest.loopback import CLOSE, RESET, loopback

texts = st.text(max_size=30)
events = st.lists(st.tuples(st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]), texts), max_size=6)


@given(events, st.lists(st.integers(0, 10_000), max_size=20), st.sampled_from([b"\n", b"\r\n", b"\n\n", b" \n"]))
def test_frames_are_split_from_chunks_of_any_size(sent: list[tuple[str, str]], at: list[int], between: bytes) -> None:
    data = b"".join(json.dumps({"type": kind, "object": {"text": text}}).encode() + between for kind, text in sent)
    places = sorted({0, *(location % (len(data) + 1) for location in at), len(data)})
    splitter = FrameSplitter()
    result = [f for a, b in itertools.pairwise(places) for f in splitter.feed(data[a:b])] + splitter.finish()
    assert [(f.type, msgspec.json.decode(f.object)["text"]) for f in result] == sent


@given(events.filter(bool))
def test_frame_is_returned_with_its_last_byte(sent: list[tuple[str, str]]) -> None:
    splitter = FrameSplitter()
    for kind, text in sent:
        data = frame(kind, text)
        assert [f for i in range(len(data) - 1) for f in splitter.feed(data[i : i + 1])] == []
        assert [f.type for f in splitter.feed(data[-1:])] == [kind]


def test_frames_before_an_invalid_one_are_returned() -> None:
    frames = FrameSplitter().feed(frame("ADDED", "a") + b"{\n")
    assert next(frames).type == "ADDED"
    with pytest.raises(InvalidFrame):
        next(frames)


def test_complete_last_frame_without_line_break_is_returned() -> None:
    splitter = FrameSplitter()
    assert list(splitter.feed(b'{"type":"ADDED","object":{}}')) == []
    assert [f.type for f in splitter.finish()] == ["ADDED"]


def test_too_long_frame_is_rejected() -> None:
    splitter = FrameSplitter()
    piece = b"x" * (1024 * 1024)
    for _ in range(MAX_FRAME // len(piece)):
        assert list(splitter.feed(piece)) == []
    with pytest.raises(InvalidFrame, match="longer"):
        list(splitter.feed(b"x"))


def test_iteration_stops_when_the_server_ends_the_stream() -> None:
    stream = FakeStream(frame("ADDED", {}), frame("DELETED", {}), end=True)
    assert [f.type for f in WatchStream(stream, "x")] == ["ADDED", "DELETED"]
    assert stream.closed.is_set()


@pytest.mark.parametrize("stream", [garbled(), truncated("ADDED", {"a": 1})], ids=["invalid watch stream", "truncated"])
def test_invalid_and_truncated_frames_raise_connection_failed(stream: FakeStream) -> None:
    with pytest.raises(ConnectionFailed, match="invalid watch stream"):
        list(WatchStream(stream, "x"))
    assert stream.closed.is_set()


def test_broken_stream_returns_its_frames_and_then_raises() -> None:
    stream = FakeStream(frame("ADDED", {}))
    stream.drop()
    frames = iter(WatchStream(stream, "x"))
    assert next(frames).type == "ADDED"
    with pytest.raises(ConnectionFailed):
        next(frames)


def test_close_in_the_middle_of_a_frame_raises_nothing() -> None:
    stream = FakeStream(frame("ADDED", {}) + b'{"type":')
    opened = WatchStream(stream, "x")
    frames = iter(opened)
    assert next(frames).type == "ADDED"
    opened.close()
    assert list(frames) == []


def test_closed_stream_returns_no_more_of_the_frames_that_have_arrived() -> None:
    opened = WatchStream(FakeStream(frame("ADDED", {}) + frame("DELETED", {})), "x")
    frames = iter(opened)
    assert next(frames).type == "ADDED"
    opened.close()
    assert list(frames) == []


def test_frame_with_a_too_deep_object_and_later_frames_are_returned() -> None:
    deep = b'{"metadata":{"name":"a"},"spec":%s1%s}' % (b'{"a":[' * 5000, b"]}" * 5000)
    frames = list(FrameSplitter().feed(b'{"type":"MODIFIED","object":%s}\n' % deep + frame("ADDED", "b")))
    assert [f.type for f in frames] == ["MODIFIED", "ADDED"]
    assert bytes(frames[0].object) == deep


@pytest.mark.parametrize("line", [b'{"object":%s}', b'{"type":%s}', b'{"type":["A"],"object":%s}', b"[%s]"])
def test_too_deep_json_that_is_not_a_frame_is_rejected(line: bytes) -> None:
    with pytest.raises(InvalidFrame):
        list(FrameSplitter().feed(line % (b"[" * 5000 + b"]" * 5000) + b"\n"))


HOST = Config("http://api")
WATCH = Request(verb="watch", resource=GroupVersionResource("", "v1", "pods"))


def client(transport: FakeTransport, config: Config = HOST, *, max_retries: int = 10) -> RESTClient:
    return RESTClient(config, transport=transport, clock=FakeClock(auto=True), max_retries=max_retries)


def test_watch_returns_frames_until_the_server_ends_it() -> None:
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
def test_rejected_watch_raises_the_error(code: int, error: type[ApiError], words: str | None) -> None:
    response = refusal(code, error.__name__, words) if words else reply(b"", status=code)
    with pytest.raises(error, match=words):
        client(FakeTransport(response)).watch(WATCH)


@pytest.mark.behaviour("RR-11")
@pytest.mark.parametrize("limit", [0, 2])
def test_connection_closed_while_opening_a_watch_is_an_empty_watch(limit: int) -> None:
    transport = FakeTransport(*[dropped()] * 5)
    watch = client(transport, max_retries=limit).watch(WATCH)
    assert list(watch) == []
    watch.close()
    assert len(transport.sent) == limit + 1


@pytest.mark.behaviour("RR-11")
def test_opening_a_watch_is_retried_and_then_raises_the_error() -> None:
    transport = FakeTransport(*[refusal(500, "InternalError", retry_after=1)] * 3)
    with pytest.raises(InternalError):
        client(transport, max_retries=2).watch(WATCH)
    assert len(transport.sent) == 3


@pytest.mark.behaviour("RR-11")
@pytest.mark.parametrize("step", [refused(), timed_out()], ids=["refused", "timed out"])
def test_watch_of_an_unreachable_server_fails_at_once(step: ConnectionFailed) -> None:
    transport = FakeTransport(step)
    with pytest.raises(ConnectionFailed):
        client(transport).watch(WATCH)
    assert len(transport.sent) == 1


BOOKMARK = frame("BOOKMARK", {"metadata": {"resourceVersion": "5"}})
LIST_END = frame("BOOKMARK", {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}})


@pytest.mark.parametrize(
    ("printed", "query", "silence"),
    [
        pytest.param((BOOKMARK,), {}, 120.0, id="a bookmark promises more of them"),
        pytest.param((BOOKMARK,), {"timeoutSeconds": "300"}, 120.0, id="also where the watch has a time"),
        pytest.param((), {"timeoutSeconds": "300"}, 315.0, id="no bookmark: when the server had to end it"),
        pytest.param((LIST_END,), {"timeoutSeconds": "300"}, 315.0, id="the end of a streamed list promises none"),
        pytest.param((LIST_END, BOOKMARK), {"timeoutSeconds": "300"}, 120.0, id="both"),
    ],
)
def test_idle_timeout_applies_after_a_periodic_bookmark(
    printed: tuple[bytes, ...], query: dict[str, str], silence: float
) -> None:
    clock = FakeClock(auto=True)
    rest_client = client(FakeTransport(FakeStream(*printed, clock=clock)), replace(HOST, watch_idle_timeout=120.0))
    with pytest.raises(IdleTimeout, match=f"for {silence:g} s") as failed:
        list(rest_client.watch(structs.replace(WATCH, query=query)))
    assert failed.value.timeout
    assert clock.now() == silence


@pytest.mark.parametrize("printed", [(), (LIST_END,)], ids=["nothing", "the end of a streamed list"])
@pytest.mark.parametrize(
    ("query", "silence"),
    [
        pytest.param({"allowWatchBookmarks": "true"}, 120.0, id="bookmarks: every minute"),
        pytest.param({}, 3615.0, id="no bookmarks: the longest watch of a server"),
    ],
)
def test_watch_without_a_timeout_ends_if_the_server_is_silent(
    printed: tuple[bytes, ...], query: dict[str, str], silence: float
) -> None:
    clock = FakeClock(auto=True)
    rest_client = client(FakeTransport(FakeStream(*printed, clock=clock)), replace(HOST, watch_idle_timeout=120.0))
    with pytest.raises(IdleTimeout, match=f"for {silence:g} s"):
        list(rest_client.watch(structs.replace(WATCH, query=query)))


@pytest.mark.parametrize("lines", [b"", b"\n"], ids=["one line", "several lines"])
def test_failure_status_instead_of_a_stream_is_raised(lines: bytes) -> None:
    body = b'{%b"kind":"Status",%b"status":"Failure","reason":"Expired","code":410}' % (lines, lines)
    with pytest.raises(Expired):
        list(client(FakeTransport(reply(body))).watch(WATCH))


@pytest.mark.parametrize("body", [b"<html>log in</html>", b"{}", b'{"kind":"PodList","items":[]}', b"[]"])
def test_other_body_instead_of_a_stream_is_named(body: bytes) -> None:
    with pytest.raises(InvalidResponse, match=r"invalid watch stream from http://api: .* in b'"):
        list(client(FakeTransport(reply(body))).watch(WATCH))
    with pytest.raises(InvalidResponse, match="content encoding 'gzip'"):
        client(FakeTransport(reply(body, headers={"Content-Encoding": "gzip"}))).watch(WATCH)


@pytest.mark.parametrize("limit", [0, 100])
def test_error_of_a_watch_is_read_up_to_a_limit(limit: int) -> None:
    # Without an end: a reader that wants more than the limit would wait for ever.
    endless = FakeStream(*[b"x" * (limit or MAX_ERROR_BYTES)] * 2, status=500)
    with pytest.raises(InternalError, match="the server answered 500: xxx"):
        client(FakeTransport(endless), replace(HOST, max_response_bytes=limit)).watch(WATCH)
    assert endless.closed.is_set()
    assert len(list(endless)) == 0


def test_error_of_a_watch_is_read_for_a_limited_time_and_decompressed() -> None:
    clock = FakeClock(auto=True)
    slow = FakeStream(b"sorry, ", clock=clock, status=403)
    with pytest.raises(Forbidden, match="sorry,"):
        RESTClient(HOST, transport=FakeTransport(slow), clock=clock).watch(WATCH)
    assert clock.now() == SILENCE
    bomb = gzip.compress(b"x" * 10 * MAX_ERROR_BYTES)
    for body, text in ((gzip.compress(b"no"), "no"), (bomb, "xxx"), (b"broken", "Forbidden")):
        packed = reply(body, status=403, headers={"Content-Encoding": "gzip"})
        with pytest.raises(Forbidden, match=text):
            client(FakeTransport(packed)).watch(WATCH)


def test_frame_is_limited_by_the_response_limit_of_the_configuration() -> None:
    transport = FakeTransport(FakeStream(frame("ADDED", "x" * 30) + frame("ADDED", "x" * 300), end=True))
    frames = iter(client(transport, replace(HOST, max_response_bytes=100)).watch(WATCH))
    assert next(frames).type == "ADDED"
    with pytest.raises(InvalidResponse, match="a frame is longer than 100 bytes"):
        next(frames)


@pytest.mark.integration
@pytest.mark.behaviour("RR-11")
@pytest.mark.feature("B-REST-12")
@pytest.mark.parametrize(
    "step",
    [pytest.param(CLOSE, id="closed"), pytest.param(RESET, id="reset"), pytest.param(b"HTTP/1.1 20", id="broken off")],
)
@pytest.mark.parametrize("limit", [0, 2])
def test_closed_reset_or_truncated_opening_is_an_empty_watch(step: bytes, limit: int) -> None:
    script = [step] if step in (CLOSE, RESET) else [step, CLOSE]
    with loopback(*[script] * (limit + 1)) as server:
        restclient = RESTClient(Config(server.address), clock=FakeClock(auto=True), max_retries=limit, environ={})
        assert list(restclient.watch(WATCH)) == []
        assert server.connections == limit + 1
        restclient.close()
