"""Deadline of several requests together: a requester that gives each one the time that is left."""

import math
import threading

import msgspec

from clientgo.errors import ClientGoError, ConnectionFailed
from clientgo.rest.limits import Deadline
from clientgo.rest.request import ForwardingRequester, Request, Requester


class DeadlineRequester(ForwardingRequester):
    """Requester that gives each request no more time than is left until a deadline; it does not apply to open streams.

    A request after the deadline is not sent. A subclass may have a deadline of its own, and another error.
    """

    def __init__(self, requester: Requester, deadline: Deadline | None = None) -> None:
        super().__init__(requester)
        self._deadline = deadline

    def deadline(self) -> Deadline | None:
        """Return the deadline of a request that is sent now; None for no limit."""
        return self._deadline

    def too_late(self, request: Request) -> ClientGoError:
        """Return the error of a request after the deadline."""
        return ConnectionFailed(f"{request.verb} {request.path} not sent: timeout exceeded", sent=False, timeout=True)

    def _forwarded(self, request: Request) -> Request:
        deadline = self.deadline()
        remaining = math.inf if deadline is None else deadline.remaining()
        if remaining <= 0:
            raise self.too_late(request)
        if remaining > threading.TIMEOUT_MAX:  # more than Go's durations can express
            return request
        timeout = remaining if request.timeout is None else min(remaining, request.timeout)
        return msgspec.structs.replace(request, timeout=timeout)
