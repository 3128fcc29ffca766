"""Retries of requests: Retry-After, broken connections, and the final error."""

import threading

import pytest

from clientgo.errors import ApiError, ConnectionFailed, Timeout, TooManyRequests
from clientgo.meta import GroupVersionResource, replace
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Request
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeTransport, dropped, refusal, refused, reply, timed_out

PODS = GroupVersionResource("", "v1", "pods")
HOST = Config("http://api")
LIST = Request(verb="list", resource=PODS, namespace="default")
CREATE = Request(verb="create", resource=PODS, namespace="default", body=b"x" * 4000)


def client(transport: FakeTransport, *, max_retries: int = 10) -> RESTClient:
    return RESTClient(HOST, transport=transport, clock=FakeClock(auto=True), max_retries=max_retries)


@pytest.mark.behaviour("RR-05")
def test_throttled_write_is_retried_with_its_body_after_retry_after() -> None:
    transport = FakeTransport(*[refusal(429, retry_after=1)] * 4, reply(b"done"))
    clock = FakeClock(auto=True)
    assert RESTClient(HOST, transport=transport, clock=clock).do(CREATE) == b"done"
    assert [s.body for s in transport.sent] == [b"x" * 4000] * 5
    assert clock.slept == [1, 1, 1, 1]


@pytest.mark.behaviour("RR-07")
def test_response_of_any_status_with_retry_after_is_retried() -> None:
    transport = FakeTransport(*[refusal(code, retry_after=0) for code in (429, 500, 501, 504)], reply(b"done"))
    assert client(transport).do(CREATE) == b"done"
    assert [s.body for s in transport.sent] == [b"x" * 4000] * 5


@pytest.mark.behaviour("RR-08")
@pytest.mark.parametrize(("limit", "works"), [(0, False), (1, True), (5, True)])
def test_the_number_of_retries_is_limited(limit: int, works: bool) -> None:
    rest_client = client(FakeTransport(refusal(429, retry_after=1), reply(b"ok")), max_retries=limit)
    if works:
        assert rest_client.do(LIST) == b"ok"
    else:
        with pytest.raises(TooManyRequests) as failed:
            rest_client.do(LIST)
        assert failed.value.retry_after == 1.0


@pytest.mark.parametrize("verb", ["list", "watch"])
@pytest.mark.parametrize(("retried", "sent"), [(True, 11), (False, 1)], ids=["by default", "unless told not to"])
def test_too_large_resource_version_is_retried(verb: str, retried: bool, sent: int) -> None:
    lagging = refusal(504, "Timeout", "Too large resource version: 11, current: 4", retry_after=1)
    transport = FakeTransport(*[lagging] * 11)
    rest_client, request = client(transport), replace(LIST, verb=verb, retry_lagging=retried)
    with pytest.raises(Timeout, match="Too large"):
        rest_client.do(request) if verb == "list" else rest_client.watch(request)
    assert len(transport.sent) == sent


def test_busy_server_is_retried_without_retry_lagging() -> None:
    transport = FakeTransport(refusal(429, retry_after=1), refusal(504, retry_after=1), reply(b"done"))
    assert client(transport).do(replace(LIST, retry_lagging=False)) == b"done"


@pytest.mark.feature("B-REST-03")
def test_default_limit_is_ten_retries() -> None:
    transport = FakeTransport(*[refusal(503, retry_after=1)] * 20)
    with pytest.raises(ApiError):
        RESTClient(HOST, transport=transport, clock=FakeClock(auto=True)).do(LIST)
    assert len(transport.sent) == 11


@pytest.mark.behaviour("RR-09")
@pytest.mark.parametrize("body", [None, b"{}"], ids=["no body", "a body"])
def test_read_is_retried_after_a_broken_connection_and_raises_the_last_error(body: bytes | None) -> None:
    transport = FakeTransport(dropped(), dropped())
    with pytest.raises(ConnectionFailed) as failed:
        client(transport, max_retries=1).do(replace(LIST, body=body))
    assert str(failed.value) == str(dropped())
    assert [s.body for s in transport.sent] == [body, body]


@pytest.mark.behaviour("RR-09")
@pytest.mark.parametrize("body", [None, b"{}"], ids=["no body", "a body"])
def test_read_retried_after_a_broken_connection_returns_one_response(body: bytes | None) -> None:
    transport = FakeTransport(refusal(429, retry_after=1), reply(b"answer"))
    assert client(transport, max_retries=1).do(replace(LIST, body=body)) == b"answer"
    assert [s.body for s in transport.sent] == [body, body]


@pytest.mark.parametrize("step", [dropped(), refused(), timed_out()], ids=["dropped", "refused", "timed out"])
def test_write_is_not_retried_after_a_broken_connection(step: ConnectionFailed) -> None:
    transport = FakeTransport(step, reply(b"ok"))
    with pytest.raises(ConnectionFailed) as failed:
        client(transport).do(CREATE)
    assert (failed.value.sent, failed.value.refused, failed.value.timeout) == (step.sent, step.refused, step.timeout)
    assert len(transport.sent) == 1


def test_stop_ends_the_wait_for_a_retry() -> None:
    clock, stop = FakeClock(), threading.Event()
    transport = FakeTransport(refusal(429, retry_after=1000), reply(b"too late"))
    restclient = RESTClient(HOST, transport=transport, clock=clock, stop=stop)
    outcome: list[str] = []

    def ask() -> None:
        try:
            restclient.do(LIST)
        except TooManyRequests as error:
            outcome.append(error.reason)

    group = Group()
    group.start(ask, name="asker")
    clock.wait_for_waiters()
    stop.set()
    group.join(5)
    assert outcome == ["TooManyRequests"]
    assert len(transport.sent) == 1


BROKE = "the server closed the connection before it responded"


@pytest.mark.behaviour("RR-02")
@pytest.mark.parametrize(
    ("last", "text"),
    [
        pytest.param(refused(), f"connection refused - error from a previous attempt: {BROKE}", id="another"),
        pytest.param(timed_out(), f"the server was silent - error from a previous attempt: {BROKE}", id="too late"),
        pytest.param(dropped(), BROKE, id="the same"),
    ],
)
def test_final_error_includes_a_different_previous_error(last: ConnectionFailed, text: str) -> None:
    with pytest.raises(ConnectionFailed) as failed:
        client(FakeTransport(dropped(), last), max_retries=1).do(LIST)
    assert str(failed.value) == text
    assert (failed.value.sent, failed.value.refused, failed.value.timeout) == (last.sent, last.refused, last.timeout)
    if text != BROKE:
        assert str(failed.value.__cause__) == str(last)


def test_final_error_response_has_no_previous_error() -> None:
    with pytest.raises(TooManyRequests, match=r"^slowly$"):
        client(FakeTransport(dropped(), refusal(429, "TooManyRequests", "slowly"))).do(LIST)


@pytest.mark.behaviour("RR-03")
def test_stop_ends_the_wait_with_the_previous_error() -> None:
    clock, stop = FakeClock(), threading.Event()
    transport = FakeTransport(dropped(), reply(b"too late"))
    restclient = RESTClient(HOST, transport=transport, clock=clock, stop=stop)
    stop.set()
    with pytest.raises(ConnectionFailed) as failed:
        restclient.do(LIST)
    text = f"stopping: request not retried - error from a previous attempt: {BROKE}"
    assert str(failed.value) == text
    assert str(failed.value.__cause__) == BROKE
    assert len(transport.sent) == 1
    assert clock.now() == 0
