"""Deadlines of requests, including retries, waits and slow bodies."""

from contextlib import closing
from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_struct

from clientgo.errors import ConnectionFailed, ServiceUnavailable, TooManyRequests
from clientgo.meta import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.pool import PoolTransport
from clientgo.rest.request import Request
from clientgo.rest.transport import Headers, HTTPReply
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeTransport, dropped, refusal, reply
from tests.rest.loopback import chunked, loopback

HOST = Config("http://api")
LIST = Request(verb="list", resource=GroupVersionResource("", "v1", "pods"), namespace="default", timeout=1.0)


def test_retry_after_the_deadline_is_not_made() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(refusal(429, retry_after=5), reply(b"too late"))
    with pytest.raises(TooManyRequests):
        RESTClient(HOST, transport=transport, clock=clock).do(LIST)
    assert (clock.now(), len(transport.sent)) == (1.0, 1)


def test_retries_are_made_until_the_deadline() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(*[refusal(503, retry_after=1)] * 11)
    with pytest.raises(ServiceUnavailable):
        RESTClient(HOST, transport=transport, clock=clock).do(replace_struct(LIST, timeout=3.5))
    assert (clock.now(), len(transport.sent)) == (3.5, 4)
    assert [sent.timeout for sent in transport.sent] == [3.5, 2.5, 1.5, 0.5]


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_broken_connection_is_not_retried_after_the_deadline(verb: str) -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(dropped(), reply(b"too late"))
    client, request = RESTClient(HOST, transport=transport, clock=clock), replace_struct(LIST, verb=verb, timeout=0.5)
    with pytest.raises(ConnectionFailed, match="timeout of the request exceeded") as failed:
        client.do(request) if verb == "list" else client.watch(request)
    assert failed.value.timeout
    assert "error from a previous attempt" in str(failed.value)
    assert (clock.now(), len(transport.sent)) == (0.5, 1)


def test_timeout_of_the_configuration_limits_retries_too() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(*[refusal(503, retry_after=2)] * 11)
    client = RESTClient(replace(HOST, timeout=5.0), transport=transport, clock=clock)
    with pytest.raises(ServiceUnavailable):
        client.do(replace_struct(LIST, timeout=None))
    assert (clock.now(), len(transport.sent)) == (5.0, 3)


def test_request_that_its_rate_limit_would_delay_past_its_deadline_fails_at_once() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(reply(b"a"), reply(b"too late"))
    client = RESTClient(replace(HOST, qps=0.5, burst=1), transport=transport, clock=clock)
    assert client.do(LIST) == b"a"
    with pytest.raises(ConnectionFailed, match="rate limiting would exceed its timeout") as failed:
        client.do(LIST)
    assert (failed.value.sent, failed.value.timeout) == (False, True)
    assert (clock.now(), len(transport.sent)) == (0.0, 1)


def test_timeout_of_the_configuration_starts_after_the_rate_limit() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(reply(b"a"), reply(b"b"))
    client = RESTClient(replace(HOST, qps=0.5, burst=1, timeout=1.0), transport=transport, clock=clock)
    request = replace_struct(LIST, timeout=None)
    assert [client.do(request), client.do(request)] == [b"a", b"b"]
    assert clock.now() == 2.0


class SlowTransport(FakeTransport):
    """A scripted transport that takes 0.75 s on `clock` for each answer."""

    def __init__(self, clock: FakeClock, *steps: HTTPReply) -> None:
        super().__init__(*steps)
        self._passing = clock

    def request(self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float) -> HTTPReply:
        self._passing.step(0.75)
        return super().request(method, target, headers, body, timeout)


def test_answers_that_take_long_leave_no_time_for_a_retry() -> None:
    clock = FakeClock(auto=True)
    transport = SlowTransport(clock, *[refusal(503, retry_after=0)] * 5)
    with pytest.raises(ServiceUnavailable):
        RESTClient(HOST, transport=transport, clock=clock).do(LIST)
    assert [sent.timeout for sent in transport.sent] == [1.0, 0.25]


class TickingClock(FakeClock):
    """Time advances at each reading."""

    def now(self) -> float:
        self.step(0.01)
        return super().now()


@pytest.mark.integration
def test_body_that_arrives_slowly_ends_at_the_deadline() -> None:
    body = chunked(*[b"x" * 70_000] * 200)  # at least one read for each
    with loopback([body]) as server:
        config, clock = Config(server.address), TickingClock()
        with closing(RESTClient(config, transport=PoolTransport(Dialer(config, environ={})), clock=clock)) as client:
            with pytest.raises(ConnectionFailed) as failed:
                client.do(LIST)
            assert failed.value.timeout
