"""Retries of failed requests by client-go's rules (rest/with_retry.go).

A response is retried only if the server says when to come back (429 or 5xx with Retry-After), a broken connection only
for reads, after a second.
"""

from collections.abc import Mapping

import msgspec

from clientgo.errors import ConnectionFailed, parse_retry_after
from clientgo.rest.bounds import MAX_RETRIES

BROKEN_WAIT = 1.0
"""Seconds before a request is repeated on a new connection (client-go's default Retry-After)."""


class Retry(msgspec.Struct, frozen=True):
    """A retry: its number, the seconds to wait before it, and its reason."""

    attempt: int
    wait: float
    reason: str

    def __str__(self) -> str:
        return f"retries: {self.attempt}, retry-after: {self.wait:g}s - retry-reason: {self.reason}"


def retry_for_response(done: int, status: int, headers: Mapping[str, str], *, limit: int = MAX_RETRIES) -> Retry | None:
    """Return the next retry after a response and `done` retries; None if the response is final."""
    if status != 429 and status < 500:
        return None
    wait = parse_retry_after(headers.get("retry-after", ""))
    if done >= limit or wait is None:
        return None
    reason = str(status)
    if status == 429:
        reason = f'server-side throttling, FlowSchema UID: "{headers.get("x-kubernetes-pf-flowschema-uid", "")}"'
        reason = f"due to {reason}"
    return Retry(done + 1, wait, reason)


def retry_for_error(done: int, method: str, error: ConnectionFailed, *, limit: int = MAX_RETRIES) -> Retry | None:
    """Return the next retry after a failed connection; None if the error is final.

    Only broken connections are retried. If the connection was refused or timed out, the caller decides.
    """
    if method != "GET" or not error.broken or done >= limit:
        return None
    return Retry(done + 1, BROKEN_WAIT, f"due to retryable error, error: {error}")


def chain_errors(error: ConnectionFailed, previous: ConnectionFailed | None) -> ConnectionFailed:
    """Return the error to raise after several attempts; its message includes a different `previous` error.

    A server that stops, for example, first breaks a connection and then refuses the next.
    """
    if previous is None or str(previous) == str(error):
        return error
    return error.with_message(f"{error} - error from a previous attempt: {previous}")
