"""Retry rules and backoff for failing servers."""

import logging
import threading
from collections.abc import Mapping, Sequence

import pytest

from clientgo.errors import ApiError, ConnectionFailed
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Request
from clientgo.rest.retry import (
    Retry,
    backoff_from,
    chain_errors,
    retry_for_error,
    retry_for_response,
)
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeStream, FakeTransport, dropped, refusal, reply

BROKEN = ConnectionFailed("fake error")


@pytest.mark.behaviour("RR-01")
@pytest.mark.parametrize(
    ("status", "headers", "limit", "retry"),
    [
        pytest.param(500, {"retry-after": "1"}, 0, None, id="none allowed"),
        pytest.param(501, {"retry-after": "0"}, 1, Retry(1, 0.0, "501"), id="at once"),
        pytest.param(
            429,
            {"retry-after": "2", "x-kubernetes-pf-flowschema-uid": "fs-1"},
            3,
            Retry(1, 2.0, 'due to server-side throttling, FlowSchema UID: "fs-1"'),
            id="throttled",
        ),
        pytest.param(503, {"retry-after": "3"}, 3, Retry(1, 3.0, "503"), id="unavailable"),
        pytest.param(429, {}, 1, None, id="429 without a time"),
        pytest.param(500, {"retry-after": "soon"}, 1, None, id="a time that is none"),
        pytest.param(404, {"retry-after": "1"}, 1, None, id="not a matter of time"),
        pytest.param(200, {"retry-after": "1"}, 1, None, id="success"),
    ],
)
def test_response_is_retried_if_it_has_retry_after(
    status: int, headers: Mapping[str, str], limit: int, retry: Retry | None
) -> None:
    assert retry_for_response(0, status, headers, limit=limit) == retry


@pytest.mark.behaviour("RR-01")
def test_retry_is_formatted_as_in_client_go() -> None:
    throttled = {"retry-after": "2", "x-kubernetes-pf-flowschema-uid": "fs-1"}
    text = 'retries: 1, retry-after: 2s - retry-reason: due to server-side throttling, FlowSchema UID: "fs-1"'
    assert str(retry_for_response(0, 429, throttled)) == text
    broken = "retries: 1, retry-after: 1s - retry-reason: due to retryable error, error: fake error"
    assert str(retry_for_error(0, "GET", BROKEN)) == broken
    assert str(retry_for_response(0, 503, {"retry-after": "3"})) == "retries: 1, retry-after: 3s - retry-reason: 503"


@pytest.mark.behaviour("RR-01")
def test_a_broken_connection_is_retried_each_second_up_to_the_limit() -> None:
    tries = [retry_for_error(done, "GET", BROKEN, limit=3) for done in range(4)]
    assert [(t.attempt, t.wait) if t else None for t in tries] == [(1, 1.0), (2, 1.0), (3, 1.0), None]


@pytest.mark.parametrize(
    ("method", "error"),
    [
        pytest.param("POST", BROKEN, id="a write"),
        pytest.param("GET", ConnectionFailed("x", sent=False, refused=True), id="refused"),
        pytest.param("GET", ConnectionFailed("x", timeout=True), id="timed out"),
        pytest.param("GET", ConnectionFailed("x", sent=False), id="never connected"),
    ],
)
def test_only_broken_reads_are_retried(method: str, error: ConnectionFailed) -> None:
    assert retry_for_error(0, method, error) is None


@pytest.mark.behaviour("RR-02")
@pytest.mark.parametrize(
    ("previous", "text"),
    [
        pytest.param(None, "fake error", id="no previous one"),
        pytest.param(ConnectionFailed("fake error"), "fake error", id="the same text"),
        pytest.param(ConnectionFailed("old"), "fake error - error from a previous attempt: old", id="another"),
    ],
)
def test_different_previous_error_is_included(previous: ConnectionFailed | None, text: str) -> None:
    messages = chain_errors(BROKEN, previous)
    assert str(messages) == text
    assert (messages is BROKEN) == (text == "fake error")


HOST = Config("http://api")
PODS = GroupVersionResource("", "v1", "pods")
GET = Request(verb="get", resource=PODS, namespace="ns", name="a")
WATCH = Request(verb="watch", resource=PODS)


def asked_for(base: str, duration: str) -> dict[str, str]:
    return {"KUBE_CLIENT_BACKOFF_BASE": base, "KUBE_CLIENT_BACKOFF_DURATION": duration}


def pauses(codes: Sequence[int], environ: Mapping[str, str]) -> list[float]:
    """Return the delays of a client before its requests, which get these status codes."""
    clock, waits = FakeClock(auto=True), []
    transport = FakeTransport(*[reply(b"{}", status=code) for code in codes])
    restclient = RESTClient(HOST, transport=transport, clock=clock, environ=environ)
    for code in codes:
        before = clock.now()
        if code == 200:
            restclient.do(GET)
        else:
            with pytest.raises(ApiError):
                restclient.do(GET)
        waits.append(clock.now() - before)
    return waits


@pytest.mark.behaviour("RR-04")
@pytest.mark.feature("B-REST-04")
def test_backoff_doubles_until_the_server_recovers() -> None:
    codes = [504, 504, 504, 504, 200, 504, 504, 504, 200, 504]
    assert pauses(codes, asked_for("1", "200")) == [0, 1, 2, 4, 8, 0, 1, 2, 4, 0]


@pytest.mark.behaviour("RR-16")
def test_only_server_errors_cause_a_backoff() -> None:
    codes = [429, 500, 501, 502, 300, 500, 501, 502, 200]
    assert pauses(codes, asked_for("1", "60")) == [0, 1, 2, 4, 8, 0, 1, 2, 4]


@pytest.mark.behaviour("RR-14")
@pytest.mark.parametrize(
    ("environ", "third"),
    [
        pytest.param(asked_for("1", "2"), 2.0, id="both"),
        pytest.param(asked_for("1", "0"), 0.0, id="no duration"),
        pytest.param({}, 0.0, id="unset"),
        pytest.param({"KUBE_CLIENT_BACKOFF_BASE": "1"}, 0.0, id="half"),
    ],
)
def test_environment_sets_the_first_and_the_longest_backoff(environ: Mapping[str, str], third: float) -> None:
    assert pauses([500, 500, 500], environ)[2] == third


def test_invalid_number_is_logged_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "clientgo"):
        assert backoff_from(asked_for("1s", "2"), FakeClock()) is None
    assert [record.msg.partition(":")[0] for record in caplog.records] == ["not whole seconds"]


def test_wait_for_retry_after_is_part_of_the_backoff() -> None:
    clock = FakeClock(auto=True)
    transport = FakeTransport(refusal(503, retry_after=3), reply(b"{}"))
    RESTClient(HOST, transport=transport, clock=clock, environ=asked_for("5", "60")).do(GET)
    assert clock.slept == [3.0, 2.0]


def test_watches_back_off_and_a_broken_connection_resets_the_backoff() -> None:
    clock = FakeClock(auto=True)
    transport = FakeTransport(reply(b"", status=500), reply(b"", status=500), dropped(), FakeStream(end=True))
    restclient = RESTClient(HOST, transport=transport, clock=clock, max_retries=0, environ=asked_for("1", "60"))
    for _ in range(2):
        with pytest.raises(ApiError):
            restclient.watch(WATCH)
    assert list(restclient.watch(WATCH)) == []
    restclient.watch(WATCH)
    assert clock.slept == [1.0, 2.0]


def test_stop_ends_the_backoff_without_sending() -> None:
    clock, stop = FakeClock(), threading.Event()
    transport = FakeTransport(reply(b"", status=500))
    restclient = RESTClient(HOST, transport=transport, clock=clock, stop=stop, environ=asked_for("1", "60"))
    with pytest.raises(ApiError):
        restclient.do(GET)
    stop.set()
    with pytest.raises(ConnectionFailed, match="stopping") as failed:
        restclient.do(GET)
    assert not failed.value.sent
    assert len(transport.sent) == 1
    restclient.close()
    assert transport.closed
