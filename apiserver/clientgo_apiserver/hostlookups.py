"""Lookups of host names that delay nothing else."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from clientgo.eventloop import call_in_loop
from clientgo.internal.calloutcome import CallOutcome
from clientgo.internal.hosts import parse_ip
from clientgo.lifecycle import Group

Resolve = Callable[..., list[tuple[Any, ...]]]
"""`socket.getaddrinfo`, or a function like it."""

Pending = asyncio.Future[CallOutcome[list[str]]]


class HostLookups:
    """Lookups of host names, each in a thread of its own; calls at the same time share the lookup of a host.

    The loop's own lookups share a few threads: names whose servers do not answer would delay all other calls, and the
    end of the loop, which waits for those threads. These threads are not joined, because nothing can interrupt them.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._threads = Group()
        self._pending: dict[str, Pending] = {}

    async def addresses(self, host: str) -> Sequence[str]:
        """Return the IP addresses of a host, which may be an address itself; raise `OSError` or `ValueError`."""
        if (address := parse_ip(host)) is not None:
            return (str(address),)
        if host not in self._pending:
            loop = asyncio.get_running_loop()
            self._pending[host] = loop.create_future()
            self._threads.start(self._look_up, host, self._pending[host], name=f"lookup-{host}")
        outcome = await asyncio.shield(self._pending[host])  # a call that is cancelled must not cancel it for others
        return outcome.get()

    def forget(self) -> None:
        """Leave pending lookups alone: later calls, on another loop, start their own."""
        self._pending.clear()

    def _look_up(self, host: str, pending: Pending) -> None:
        outcome = CallOutcome.of(partial(self._resolved, host))
        call_in_loop(pending.get_loop(), self._finish, host, pending, outcome)

    def _resolved(self, host: str) -> list[str]:
        return [str(entry[4][0]) for entry in self._resolve(host, None, type=socket.SOCK_STREAM)]

    def _finish(self, host: str, pending: Pending, outcome: CallOutcome[list[str]]) -> None:
        if self._pending.get(host) is pending:
            del self._pending[host]
        pending.set_result(outcome)
