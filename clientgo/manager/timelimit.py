"""Time limit of one reconciliation: its requests end in time, although no thread can be ended.

Inside the block of `limited`, each request of the manager's client ends when the time is up, with all its retries and
waits, and none is sent after that. A read that waits for a cache ends then, too. Other waits of a reconciler are not
limited. A helper thread is limited if it is started with `contextvars.copy_context().run`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.rest.request import ByteStream, EventStream, Request, Requester, open_stream

# The end of the running reconciliation, by the clock of `limited`'s caller.
_UNTIL: ContextVar[float | None] = ContextVar("until", default=None)


class ReconciliationTimeout(ClientGoError):
    """A request was not sent, because the time of its reconciliation is up; it is retried as after every error."""


@contextmanager
def limited(seconds: float, *, clock: Clock = SYSTEM_CLOCK) -> Iterator[None]:
    """Limit the requests in the block to `seconds` in all; 0 for no limit."""
    if seconds <= 0:
        yield
        return
    token = _UNTIL.set(clock.now() + seconds)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def limit_of_wait(seconds: float, *, clock: Clock = SYSTEM_CLOCK) -> float:
    """Return `seconds`, or the time left of the running reconciliation if that is less; 0 at least."""
    until = _UNTIL.get()
    return seconds if until is None else max(0.0, min(seconds, until - clock.now()))


class LimitedRequester:
    """Passes requests on with the time that is left as their timeout."""

    def __init__(self, requester: Requester, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._requester = requester
        self._clock = clock

    def do(self, request: Request) -> bytes:
        """Return the body of the answer; raise `ReconciliationTimeout` if it is too late to ask."""
        return self._requester.do(self._limited(request))

    def watch(self, request: Request) -> EventStream:
        """Open a watch, in time; how long it lasts is not limited."""
        return self._requester.watch(self._limited(request))

    def stream(self, request: Request) -> ByteStream:
        """Open a stream, in time; how long it lasts is not limited."""
        return open_stream(self._requester, self._limited(request))

    def _limited(self, request: Request) -> Request:
        until = _UNTIL.get()
        if until is None:
            return request
        left = until - self._clock.now()
        if left <= 0:
            what = f"{request.verb} {request.resource.resource}"
            raise ReconciliationTimeout(f"{what} not sent: the time of this reconciliation is up")
        timeout = left if request.timeout is None else min(left, request.timeout)
        return msgspec.structs.replace(request, timeout=timeout)
