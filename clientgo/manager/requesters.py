"""Time limit of one reconciliation: its requests end in time, although no thread can be ended.

Inside the block of `limited`, each request of the manager's client ends when the time is up, with all its retries and
waits, and none is sent after that. A read that waits for a cache ends then, too. Other waits of a reconciler are not
limited. A helper thread is limited if it is started with `contextvars.copy_context().run`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, get_args

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.rest.limits import Deadline
from clientgo.rest.request import ByteStream, EventStream, Request, Requester, open_stream

# Not the deadline of the request under way (`clientgo.rest.limits`): a stream may be read after its request has ended.
_DEADLINE: ContextVar[Deadline | None] = ContextVar("reconciliation", default=None)


class ReconciliationTimeout(ClientGoError):
    """A request was not sent, because the time of its reconciliation is up; it is retried as after every error."""


@contextmanager
def limited(seconds: float, *, clock: Clock = SYSTEM_CLOCK) -> Iterator[None]:
    """Limit the requests in the block to `seconds` in all; 0 for no limit."""
    if seconds <= 0:
        yield
        return
    deadline = Deadline(seconds, clock)
    deadline.start()
    token = _DEADLINE.set(deadline)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def limit_of_wait(seconds: float) -> float:
    """Return `seconds`, or the time left of the running reconciliation if that is less; 0 at least."""
    deadline = _DEADLINE.get()
    return seconds if deadline is None else max(0.0, min(seconds, deadline.left()))


class LimitedRequester:
    """Passes requests on with the time that is left as their timeout."""

    def __init__(self, requester: Requester) -> None:
        self._requester = requester

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
        deadline = _DEADLINE.get()
        if deadline is None:
            return request
        left = deadline.left()
        if left <= 0:
            what = f"{request.verb} {request.resource.resource}"
            raise ReconciliationTimeout(f"{what} not sent: the time of this reconciliation is up")
        timeout = left if request.timeout is None else min(left, request.timeout)
        return msgspec.structs.replace(request, timeout=timeout)


FieldValidation = Literal["Strict", "Warn", "Ignore"]

_WRITES = ("create", "update", "patch", "apply")


class ValidatingRequester:
    """Asks so for every write that it passes on; ValueError for another word than the three."""

    def __init__(self, requester: Requester, validation: FieldValidation) -> None:
        if validation not in get_args(FieldValidation):
            known = ", ".join(get_args(FieldValidation))
            raise ValueError(f"field validation is one of {known}, and not {validation!r}")
        self._requester = requester
        self._query = {"fieldValidation": validation}

    def do(self, request: Request) -> bytes:
        """The body of the answer."""
        if request.verb in _WRITES:
            request = msgspec.structs.replace(request, query={**request.query, **self._query})
        return self._requester.do(request)

    def watch(self, request: Request) -> EventStream:
        """Open a watch."""
        return self._requester.watch(request)

    def stream(self, request: Request) -> ByteStream:
        """Open a stream."""
        return open_stream(self._requester, request)
