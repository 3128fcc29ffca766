"""Watch frames: however the bytes are cut, each frame comes out once, whole and in order."""

import itertools
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.errors import ConnectionFailed
from clientgo.rest import watch
from clientgo.rest.watch import FrameSplitter, Garbage, WatchStream
from clientgo.testing.transport import FakeStream, frame, garbled, truncated

texts = st.text(max_size=30)
events = st.lists(st.tuples(st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]), texts), max_size=6)


@given(events, st.lists(st.integers(0, 10_000), max_size=20), st.sampled_from([b"\n", b"\r\n", b"\n\n", b" \n"]))
def test_frames_come_out_however_the_bytes_are_cut(sent: list[tuple[str, str]], at: list[int], between: bytes) -> None:
    data = b"".join(json.dumps({"type": kind, "object": {"text": text}}).encode() + between for kind, text in sent)
    places = sorted({0, *(place % (len(data) + 1) for place in at), len(data)})
    splitter = FrameSplitter()
    found = [f for a, b in itertools.pairwise(places) for f in splitter.feed(data[a:b])] + splitter.finish()
    assert [(f.type, msgspec.json.decode(f.object)["text"]) for f in found] == sent


@given(events.filter(bool))
def test_a_frame_is_there_as_soon_as_its_last_byte_is(sent: list[tuple[str, str]]) -> None:
    splitter = FrameSplitter()
    for kind, text in sent:
        data = frame(kind, text)
        assert [splitter.feed(data[i : i + 1]) for i in range(len(data) - 1)] == [[]] * (len(data) - 1)
        assert [f.type for f in splitter.feed(data[-1:])] == [kind]


@given(st.binary(max_size=100))
def test_any_bytes_are_frames_or_refused(data: bytes) -> None:
    splitter = FrameSplitter()
    try:
        splitter.feed(data)
        splitter.finish()
    except Garbage:
        return


def test_a_last_frame_without_its_line_break_counts_if_it_is_whole() -> None:
    splitter = FrameSplitter()
    assert splitter.feed(b'{"type":"ADDED","object":{}}') == []
    assert [f.type for f in splitter.finish()] == ["ADDED"]


def test_a_frame_too_long_is_refused_before_it_fills_the_memory() -> None:
    splitter = FrameSplitter()
    piece = b"x" * (1024 * 1024)
    for _ in range(watch.MAX_FRAME // len(piece)):
        splitter.feed(piece)
    with pytest.raises(Garbage, match="longer"):
        splitter.feed(b"x")


def test_a_stream_the_server_ends_just_ends() -> None:
    stream = FakeStream(frame("ADDED", {}), frame("DELETED", {}), end=True)
    assert [f.type for f in WatchStream(stream, "x")] == ["ADDED", "DELETED"]
    assert stream.closed.is_set()


@pytest.mark.parametrize("stream", [garbled(), truncated("ADDED", {"a": 1})], ids=["garbled", "truncated"])
def test_garbage_and_cut_frames_are_a_failed_connection(stream: FakeStream) -> None:
    with pytest.raises(ConnectionFailed, match="garbled"):
        list(WatchStream(stream, "x"))
    assert stream.closed.is_set()


def test_a_broken_stream_gives_its_frames_and_then_fails() -> None:
    stream = FakeStream(frame("ADDED", {}))
    stream.drop()
    frames = iter(WatchStream(stream, "x"))
    assert next(frames).type == "ADDED"
    with pytest.raises(ConnectionFailed):
        next(frames)


def test_closing_in_the_middle_of_a_frame_is_no_failure() -> None:
    stream = FakeStream(frame("ADDED", {}) + b'{"type":')
    opened = WatchStream(stream, "x")
    frames = iter(opened)
    assert next(frames).type == "ADDED"
    opened.close()
    assert list(frames) == []


def test_a_frame_whose_object_is_nested_too_deep_to_be_decoded_passes_and_so_do_those_after_it() -> None:
    deep = b'{"metadata":{"name":"a"},"spec":%s1%s}' % (b'{"a":[' * 5000, b"]}" * 5000)
    frames = FrameSplitter().feed(b'{"type":"MODIFIED","object":%s}\n' % deep + frame("ADDED", "b"))
    assert [f.type for f in frames] == ["MODIFIED", "ADDED"]
    assert bytes(frames[0].object) == deep


@pytest.mark.parametrize("line", [b'{"object":%s}', b'{"type":%s}', b'{"type":["A"],"object":%s}', b"[%s]"])
def test_what_is_nested_too_deep_and_no_frame_is_refused(line: bytes) -> None:
    with pytest.raises(Garbage):
        FrameSplitter().feed(line % (b"[" * 5000 + b"]" * 5000) + b"\n")
