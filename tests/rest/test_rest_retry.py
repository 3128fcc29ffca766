"""Which failed requests are sent again, and when."""

from collections.abc import Mapping

import pytest

from clientgo.errors import ConnectionFailed
from clientgo.rest.retry import Retry, after_answer, after_break, lags, with_previous

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
def test_an_answer_is_retried_when_the_server_says_when(
    status: int, headers: Mapping[str, str], limit: int, retry: Retry | None
) -> None:
    assert after_answer(0, status, headers, limit=limit) == retry


@pytest.mark.behaviour("RR-01")
def test_a_retry_reads_as_client_gos_does() -> None:
    throttled = {"retry-after": "2", "x-kubernetes-pf-flowschema-uid": "fs-1"}
    text = 'retries: 1, retry-after: 2s - retry-reason: due to server-side throttling, FlowSchema UID: "fs-1"'
    assert str(after_answer(0, 429, throttled)) == text
    broken = "retries: 1, retry-after: 1s - retry-reason: due to retryable error, error: fake error"
    assert str(after_break(0, "GET", BROKEN)) == broken
    assert str(after_answer(0, 503, {"retry-after": "3"})) == "retries: 1, retry-after: 3s - retry-reason: 503"


@pytest.mark.behaviour("RR-01")
def test_a_broken_connection_is_retried_each_second_up_to_the_limit() -> None:
    tries = [after_break(done, "GET", BROKEN, limit=3) for done in range(4)]
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
def test_what_is_not_a_broken_read_stands(method: str, error: ConnectionFailed) -> None:
    assert after_break(0, method, error) is None


@pytest.mark.behaviour("RR-02")
@pytest.mark.parametrize(
    ("previous", "text"),
    [
        pytest.param(None, "fake error", id="no previous one"),
        pytest.param(ConnectionFailed("fake error"), "fake error", id="the same text"),
        pytest.param(ConnectionFailed("old"), "fake error - error from a previous attempt: old", id="another"),
    ],
)
def test_a_previous_error_is_told_if_it_was_another(previous: ConnectionFailed | None, text: str) -> None:
    told = with_previous(BROKEN, previous)
    assert str(told) == text
    assert (told is BROKEN) == (text == "fake error")


@pytest.mark.parametrize(
    ("status", "body", "lagging"),
    [
        (504, b'{"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}', True),
        (504, b'{"message":"Timeout: Too large resource version: 11, current: 4"}', True),
        (504, b'{"message":"Timeout: the request did not complete"}', False),
        (503, b'{"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}', False),
    ],
    ids=["its cause says so", "its message does", "another timeout", "another refusal"],
)
def test_a_server_that_lags_is_known_by_its_answer(status: int, body: bytes, lagging: bool) -> None:
    assert lags(status, body) is lagging
