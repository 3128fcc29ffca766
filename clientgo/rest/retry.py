"""Retries of failed requests by client-go's rules (rest/with_retry.go, rest/urlbackoff.go).

A response is retried only if the server says when to come back (429 or 5xx with Retry-After), a broken connection only
for reads, after a second. `ServerBackoff` adds growing pauses before requests to a server that keeps failing, where the
environment asks for them: KUBE_CLIENT_BACKOFF_BASE and KUBE_CLIENT_BACKOFF_DURATION are the first and the longest pause
in whole seconds. Without both there is none.
"""

from collections.abc import Mapping
from typing import NamedTuple

from clientgo.backoff import KeyedBackoff
from clientgo.clock import Clock
from clientgo.errors import ConnectionFailed, parse_retry_after
from clientgo.log import get_logger
from clientgo.rest.bounds import MAX_RETRIES
from clientgo.rest.limits import InFlightRequest, require_permission
from clientgo.stopping import NOT_SENT

log = get_logger(__name__)

BASE = "KUBE_CLIENT_BACKOFF_BASE"
DURATION = "KUBE_CLIENT_BACKOFF_DURATION"

BROKEN_WAIT = 1.0
"""Seconds before a request is repeated on a new connection (client-go's default Retry-After)."""


class Retry(NamedTuple):
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


class ServerBackoff:
    """Growing pauses before requests to a failing server; the request's limits end a pause.

    A pause starts at the last failure, so that a wait for Retry-After is part of it.
    """

    def __init__(self, first: float, longest: float, *, clock: Clock) -> None:
        self._delays: KeyedBackoff[None] = KeyedBackoff(first, longest, clock=clock)
        self._clock = clock

    def __repr__(self) -> str:
        return f"<ServerBackoff {self._delays.remaining(None):g} s to wait>"

    def pause(self, request: InFlightRequest, timeout: float) -> float:
        """Wait while the server is failing; return the seconds the request may take.

        Raises:
            ConnectionFailed: the client stops, or the request's deadline has passed.
            LeaseNotHeld: the request must not be sent any more.
        """
        wait = self._delays.remaining(None)
        if wait <= 0:
            return timeout
        if self._clock.sleep(request.stop_for_wait(), max(0.0, min(wait, request.remaining()))):
            require_permission()
            raise ConnectionFailed(NOT_SENT, sent=False, stopping=True)
        return request.before_sending(timeout)

    def note(self, status: int) -> None:
        """Record the status of a response; 0 without one."""
        # A failed connection does not indicate load; the caller backs off itself.
        if status == 429 or status >= 500:
            self._delays.next(None)
        else:
            self._delays.reset(None)


def backoff_from(environ: Mapping[str, str], clock: Clock) -> ServerBackoff | None:
    """Return the backoff configured in the environment; None if there is none or it is invalid (which is logged)."""
    base, duration = environ.get(BASE, ""), environ.get(DURATION, "")
    if not base or not duration:
        return None
    try:
        first, longest = int(base), int(duration)
    except ValueError:
        log.warning(
            "not whole seconds: requests to a failing server won't pause", extra={BASE: base, DURATION: duration}
        )
        return None
    return ServerBackoff(first, longest, clock=clock) if first > 0 and longest > 0 else None
