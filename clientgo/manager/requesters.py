"""Requesters that change each request of the manager's client: time limit of a reconciliation, and field validation.

A thread cannot be interrupted, so the limit applies to requests: inside the block of `limited`, each request ends when
the time is up, including retries and waits, and none is sent afterwards. A read that waits for a cache ends too. Other
waits of a reconciler are not limited. A helper thread is limited if started with `contextvars.copy_context().run`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, get_args

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.rest.limits import Deadline
from clientgo.rest.request import ForwardingRequester, Request, Requester

# Not the deadline of the request under way (`clientgo.rest.limits`): a stream may be read after its request has ended.
_DEADLINE: ContextVar[Deadline | None] = ContextVar("reconciliation", default=None)


class ReconciliationTimeout(ClientGoError):
    """A request was not sent because the time limit of the reconciliation is over; retried as after other errors."""


@contextmanager
def limited(seconds: float, *, clock: Clock = SYSTEM_CLOCK) -> Iterator[None]:
    """Limit all requests in the block to `seconds` together; 0 for no limit."""
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
    """Return `seconds`, or the remaining time of the reconciliation if that is less; at least 0."""
    deadline = _DEADLINE.get()
    return seconds if deadline is None else max(0.0, min(seconds, deadline.left()))


class LimitedRequester(ForwardingRequester):
    """Requester that sets the timeout of each request to the remaining time; it does not apply to open streams.

    Requests raise `ReconciliationTimeout` if no time is left.
    """

    def _forwarded(self, request: Request) -> Request:
        deadline = _DEADLINE.get()
        if deadline is None:
            return request
        left = deadline.left()
        if left <= 0:
            what = f"{request.verb} {request.resource.resource}"
            raise ReconciliationTimeout(f"{what} not sent: the time limit of this reconciliation has passed")
        timeout = left if request.timeout is None else min(left, request.timeout)
        return msgspec.structs.replace(request, timeout=timeout)


FieldValidation = Literal["Strict", "Warn", "Ignore"]

_WRITES = ("create", "update", "patch", "apply")


class ValidatingRequester(ForwardingRequester):
    """Requester that sets the field validation of each write; ValueError for an unknown one.

    It tells the server how to treat unknown and duplicate fields. `Strict` rejects the write with `BadRequest`, or
    `Invalid` for a patch, and names the fields; `Warn` drops them and returns a warning, which is logged; `Ignore`
    drops them. The server's default is `Warn` (kube-apiserver since 1.27).
    """

    def __init__(self, requester: Requester, validation: FieldValidation) -> None:
        if validation not in get_args(FieldValidation):
            known = ", ".join(get_args(FieldValidation))
            raise ValueError(f"invalid field validation {validation!r}: expected one of {known}")
        super().__init__(requester)
        self._query = {"fieldValidation": validation}

    def _forwarded(self, request: Request) -> Request:
        if request.verb not in _WRITES:
            return request
        return msgspec.structs.replace(request, query={**request.query, **self._query})
