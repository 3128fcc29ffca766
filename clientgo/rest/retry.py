"""Whether a failed request is sent again, and when: client-go's rules (rest/with_retry.go), pure.

A refusal is retried only if the server says when to come back (429 or 5xx with Retry-After). A connection that broke is
retried only where a second try can do no harm, on reading; every such retry waits a second.
"""

from collections.abc import Mapping
from typing import NamedTuple

from clientgo.errors import ConnectionFailed

MAX_RETRIES = 10
"""Retries of one request (client-go's default)."""

BROKEN_WAIT = 1.0
"""Seconds before a request is repeated on a new connection (client-go's default Retry-After)."""


class Retry(NamedTuple):
    """One more try: its number, the seconds to wait before it, and why."""

    attempt: int
    wait: float
    reason: str

    def __str__(self) -> str:
        return f"retries: {self.attempt}, retry-after: {self.wait:g}s - retry-reason: {self.reason}"


def after_answer(done: int, status: int, headers: Mapping[str, str], *, limit: int = MAX_RETRIES) -> Retry | None:
    """The next try after an answer, when `done` retries were made; None: the answer stands."""
    if status != 429 and status < 500:
        return None
    wait = headers.get("retry-after", "")
    if done >= limit or not (wait.isascii() and wait.isdigit()):
        return None
    reason = str(status)
    if status == 429:
        reason = f'server-side throttling, FlowSchema UID: "{headers.get("x-kubernetes-pf-flowschema-uid", "")}"'
        reason = f"due to {reason}"
    return Retry(done + 1, float(wait), reason)


def lags(status: int, body: bytes) -> bool:
    """Whether the answer says that the server has not reached the resourceVersion that was asked for."""
    # Servers before 1.17 named no cause; their message is all there is.
    return status == 504 and (b'"ResourceVersionTooLarge"' in body or b"Too large resource version" in body)


def after_break(done: int, method: str, error: ConnectionFailed, *, limit: int = MAX_RETRIES) -> Retry | None:
    """The next try after the connection broke; None: the error stands.

    Refused and timed out are not broken: whoever asked decides how long to go on asking a server that isn't there.
    """
    if method != "GET" or not error.broken or done >= limit:
        return None
    return Retry(done + 1, BROKEN_WAIT, f"due to retryable error, error: {error}")


def with_previous(error: ConnectionFailed, previous: ConnectionFailed | None) -> ConnectionFailed:
    """The error to raise after several attempts: `error` itself, or one that tells of another `previous` one as well.

    It often does: a server that goes away breaks a connection first and refuses the next.
    """
    if previous is None or str(previous) == str(error):
        return error
    return error.with_message(f"{error} - error from a previous attempt: {previous}")
