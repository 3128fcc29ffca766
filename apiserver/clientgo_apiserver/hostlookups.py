"""Lookups of host names that delay nothing else."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from clientgo.internal.hosts import parse_ip
from clientgo.lifecycle import Group

Resolve = Callable[..., list[tuple[Any, ...]]]
"""`socket.getaddrinfo`, or a function like it."""


class HostLookups:
    """Lookups of host names, each in a thread of its own; calls at the same time share the lookup of a host.

    The loop's own lookups share a few threads: names whose servers do not answer would delay all other calls, and the
    end of the loop, which waits for those threads. These threads are not joined, because nothing can interrupt them.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._threads = Group()
        self._pending: dict[str, asyncio.Future[list[str] | Exception]] = {}

    async def addresses(self, host: str) -> Sequence[str]:
        """Return the IP addresses of a host, which may be an address itself; raise `OSError` or `UnicodeError`."""
        if (address := parse_ip(host)) is not None:
            return (str(address),)
        if host not in self._pending:
            loop = asyncio.get_running_loop()
            self._pending[host] = loop.create_future()
            self._threads.start(self._look_up, host, loop, self._pending[host], name=f"lookup-{host}")
        result = await asyncio.shield(self._pending[host])  # a call that is cancelled must not cancel it for others
        if isinstance(result, Exception):
            raise result
        return result

    def forget(self) -> None:
        """Leave pending lookups alone: later calls, on another loop, start their own."""
        self._pending.clear()

    def _look_up(
        self, host: str, loop: asyncio.AbstractEventLoop, pending: "asyncio.Future[list[str] | Exception]"
    ) -> None:
        result: list[str] | Exception
        try:
            result = [str(entry[4][0]) for entry in self._resolve(host, None, type=socket.SOCK_STREAM)]
        except (OSError, UnicodeError) as error:
            result = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(self._finish, host, pending, result)

    def _finish(
        self, host: str, pending: "asyncio.Future[list[str] | Exception]", result: list[str] | Exception
    ) -> None:
        if self._pending.get(host) is pending:
            del self._pending[host]
        pending.set_result(result)
