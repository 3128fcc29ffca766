"""A time limit for one reconciliation: no thread can be ended, but what it waits for can.

Within the limit's block every request of the manager's client ends when the time is up, and none begins after. What the
reconciler waits for otherwise is its own affair.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.rest.request import EventStream, Request, Requester

# When the time of this thread's reconciliation is up, by the clock of whoever limited it.
_UNTIL: ContextVar[float | None] = ContextVar("until", default=None)


class ReconciliationTimeout(ClientGoError):
    """Nothing was sent: the time of this reconciliation is up. It is tried again, as after every error."""


@contextmanager
def limited(seconds: float, *, clock: Clock = SYSTEM_CLOCK) -> Iterator[None]:
    """Let requests in the block take no more than `seconds` in all; 0 for no limit."""
    if seconds <= 0:
        yield
        return
    token = _UNTIL.set(clock.now() + seconds)
    try:
        yield
    finally:
        _UNTIL.reset(token)


class LimitedRequester:
    """Passes requests on, as long as there is time."""

    def __init__(self, requester: Requester, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._requester = requester
        self._clock = clock

    def do(self, request: Request) -> bytes:
        """The body of the answer; raises `ReconciliationTimeout` if it is too late, else what the requester raises."""
        until = _UNTIL.get()
        if until is None:
            return self._requester.do(request)
        left = until - self._clock.now()
        if left <= 0:
            raise ReconciliationTimeout(f"not sent: {request.verb} {request.resource.resource}, because the time is up")
        timeout = left if request.timeout is None else min(left, request.timeout)
        return self._requester.do(msgspec.structs.replace(request, timeout=timeout))

    def watch(self, request: Request) -> EventStream:
        """Open a watch."""
        return self._requester.watch(request)
