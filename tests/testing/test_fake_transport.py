"""The scripted transport: its steps, and requests without a step."""

import pytest

from clientgo.errors import ConnectionFailed
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeStream, FakeTransport, NothingScripted, dropped, frame, refusal, reply
from tests.races import TOTAL, race


def ask(transport: FakeTransport, target: str = "/a", method: str = "GET") -> bytes:
    return transport.request(method, target, (), None, 1.0).body


@pytest.mark.feature("B-TST-06")
def test_steps_are_taken_in_order_and_recorded() -> None:
    transport = FakeTransport(reply({"a": 1}), reply(b"two"))
    assert [ask(transport), ask(transport, "/b")] == [b'{"a":1}', b"two"]
    assert [sent.target for sent in transport.sent] == ["/a", "/b"]


def test_unscripted_request_fails_the_test() -> None:
    with pytest.raises(NothingScripted, match="GET /a"):
        ask(FakeTransport())


def test_routes_go_before_the_common_script_and_may_repeat() -> None:
    transport = FakeTransport(reply(b"common"))
    transport.on("GET", "/a", reply(b"first"), always=reply(b"always"))
    assert [ask(transport, "/a?x=1"), ask(transport), ask(transport)] == [b"first", b"always", b"always"]
    assert ask(transport, "/b") == b"common"
    transport.then(reply(b"later"))
    assert ask(transport, "/a", "POST") == b"later"


def test_failure_is_raised_afresh_each_time() -> None:
    transport = FakeTransport()
    step = dropped()
    transport.on("", "", always=step)
    raised = []
    for _ in range(2):
        with pytest.raises(ConnectionFailed) as failed:
            ask(transport)
        raised.append(failed.value)
    assert raised[0] is not raised[1]
    assert raised[0].sent


def test_answer_can_be_read_as_a_stream() -> None:
    transport = FakeTransport(refusal(410, "Expired", "too old"))
    stream = transport.stream("GET", "/a", (), 1.0, idle_timeout=5.0)
    assert stream.status == 410
    assert b"too old" in b"".join(stream)


def test_scripted_stream_for_a_plain_request_fails_the_test() -> None:
    with pytest.raises(NothingScripted, match="the next step is a stream"):
        ask(FakeTransport(FakeStream()))


def test_stream_blocks_until_something_is_sent_from_another_thread() -> None:
    stream = FakeStream()
    seen: list[bytes] = []
    with Group() as group:
        group.start(lambda: seen.extend(stream), name="reader")
        assert stream.opened.wait(5)
        stream.event("ADDED", b'{"x":1}')
        stream.end()
    assert seen == [b'{"type":"ADDED","object":{"x":1}}\n']


def test_closing_frees_a_blocked_reader_without_an_error() -> None:
    stream = FakeStream()
    seen: list[bytes] = []
    with Group() as group:
        group.start(lambda: seen.extend(stream), name="reader")
        assert stream.opened.wait(5)
        stream.close()
    assert seen == []
    assert stream.closed.is_set()


def test_dropped_stream_raises_after_what_was_sent() -> None:
    stream = FakeStream(b"half a fr")
    stream.drop()
    assert next(stream) == b"half a fr"
    with pytest.raises(ConnectionFailed):
        next(stream)


def test_silence_is_a_timeout_on_the_given_clock() -> None:
    clock = FakeClock(auto=True)
    stream = FakeStream(frame("ADDED", {}), clock=clock)
    FakeTransport(stream).stream("GET", "/", (), 1.0, idle_timeout=30.0)
    next(stream)
    with pytest.raises(ConnectionFailed, match="30 s") as failed:
        next(stream)
    assert failed.value.timeout
    assert clock.now() == 30.0


def test_resets_by_several_threads_are_all_counted() -> None:
    transport = FakeTransport()
    race(lambda _: transport.reset())
    assert transport.resets == TOTAL
