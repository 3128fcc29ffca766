"""Retry rules of requests."""

from collections.abc import Mapping

import pytest

from clientgo.errors import ConnectionFailed
from clientgo.rest.retry import Retry, retry_for_error, retry_for_response

BROKEN = ConnectionFailed("fake error")


@pytest.mark.behaviour("RR-01")
@pytest.mark.parametrize(
    ("status", "headers", "limit", "retry"),
    [
        pytest.param(500, {"retry-after": "1"}, 0, None, id="none allowed"),
        pytest.param(501, {"retry-after": "0"}, 1, Retry(1, 0.0, "501"), id="at once"),
        pytest.param(429, {"retry-after": "2", "x-kubernetes-pf-flowschema-uid": "fs-1"}, 3,
                     Retry(1, 2.0, 'due to server-side throttling, FlowSchema UID: "fs-1"'), id="throttled"),
        pytest.param(503, {"retry-after": "3"}, 3, Retry(1, 3.0, "503"), id="unavailable"),
        pytest.param(429, {}, 1, None, id="429 without a time"),
        pytest.param(500, {"retry-after": "soon"}, 1, None, id="a time that is none"),
        pytest.param(404, {"retry-after": "1"}, 1, None, id="not a matter of time"),
        pytest.param(200, {"retry-after": "1"}, 1, None, id="success"),
    ],
)  # fmt: skip
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
def test_broken_connection_is_retried_each_second_up_to_the_limit() -> None:
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
