"""A requester that writes only while its process may: for the leader of several replicas, or the owner of a shard.

Asked before every single write, so that a worker that is half through with an object when the lease is lost sends
nothing more, and one that was suspended past the lease's end sends nothing when it wakes. What was sent before can't be
called back: a lease outlives its renewal deadline by the time such a write may take to arrive.
"""

from collections.abc import Callable

from clientgo.errors import LeaseNotHeld
from clientgo.rest.request import EventStream, Request, Requester

_READING = frozenset(("get", "list", "watch"))


class FencedRequester:
    """Passes reads on, and writes as long as `may_write()` says so; safe for as many threads as both are."""

    def __init__(self, requester: Requester, may_write: Callable[[], bool]) -> None:
        self._requester = requester
        self._may_write = may_write
        # As informers ask of whatever answers them.
        self.supports_watch_list = getattr(requester, "supports_watch_list", None)

    def __repr__(self) -> str:
        return f"<FencedRequester {'open' if self._may_write() else 'closed'}, before {self._requester!r}>"

    def do(self, request: Request) -> bytes:
        """The body of the answer; raises `LeaseNotHeld` for a write out of time, else what the requester raises."""
        if request.verb not in _READING and not self._may_write():
            raise LeaseNotHeld(f"not sent: {request.verb} {request.resource.resource}, because the lease is not held")
        return self._requester.do(request)

    def watch(self, request: Request) -> EventStream:
        """Open a watch, at any time."""
        return self._requester.watch(request)
