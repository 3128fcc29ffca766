"""Write fencing by leases: a requester for a leader, or for the owner of a shard, that writes only with the lease.

`may_write` is called before each transmission of a write: after every wait, before every retry, again once a new
connection is open, and before each input of a command that runs. It also ends those waits. So a worker that loses the
lease while it reconciles sends nothing more, and neither does a process that was suspended beyond the lease's end. A
write that was sent before cannot be withdrawn: a lease is valid beyond its renewal deadline for the time that such a
write may take to arrive.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from clientgo.errors import LeaseNotHeld
from clientgo.internal.callbacks import run_callback
from clientgo.rest.limits import Check, Checked
from clientgo.rest.request import ForwardingRequester, Request, Requester

if TYPE_CHECKING:
    from clientgo.rest.transport import Duplex, Headers

_READING = frozenset(("get", "list", "watch"))


class FencedRequester(ForwardingRequester):
    """A requester that forwards reads always, and writes only while `may_write()` is true; thread-safe if both are."""

    def __init__(self, requester: Requester, may_write: Callable[[], bool]) -> None:
        super().__init__(requester)
        self._may_write = may_write

    def __repr__(self) -> str:
        return f"<FencedRequester {'open' if self._may_write() else 'closed'}, before {self._requester!r}>"

    def do(self, request: Request) -> bytes:
        """Send a request and return the response body; raise `LeaseNotHeld` for a write without the lease."""
        if request.verb in _READING:
            return self._requester.do(request)
        with Checked(self._checked(request)):
            return self._requester.do(request)

    def upgrade(self, request: Request, headers: "Headers") -> "Duplex":
        """Switch the protocol of a new connection; raise `LeaseNotHeld` without the lease: a command may write."""
        with Checked(self._checked(request)):
            return super().upgrade(request, headers)

    def permission(self, request: Request) -> Check:
        """Return the check of a write, and of input for a connection that it has opened."""
        outer = super().permission(request)

        def check() -> None:
            if not run_callback(self._may_write):
                raise LeaseNotHeld(f"{request.verb} {request.resource.resource} not sent: the lease is not held")
            outer()

        return check

    def _checked(self, request: Request) -> Check:
        """Return the check, which has passed once: for requesters other than `RESTClient`."""
        check = self.permission(request)
        check()
        return check
