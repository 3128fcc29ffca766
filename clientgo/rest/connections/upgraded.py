"""Connections after a switch of protocols: bytes in both directions at the same time."""

import math
import select
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from clientgo.clock import Clock
from clientgo.errors import ConnectionFailed
from clientgo.internal import forks
from clientgo.rest.connections.error_messages import FAILURES, exchange_failure
from clientgo.rest.connections.http1 import Head, ReplyReader
from clientgo.rest.connections.tcp import allow_pauses

R = TypeVar("R")

PIECE = 16 * 1024
"""Bytes of one transmission: a TLS record."""

_READ = 64 * 1024
_WAIT_SECONDS = 60.0

_LONGEST_WAIT = 2_000_000.0
_DIRECTIONS: dict[type[OSError], int] = {
    ssl.SSLWantReadError: select.POLLIN,
    ssl.SSLWantWriteError: select.POLLOUT,
}


class _Switched(Protocol):
    """A connection of the pool that has received the head of the response."""

    sock: Any
    reader: ReplyReader

    def shutdown(self) -> None: ...

    def close(self) -> None: ...


class UpgradedConnection:
    """A connection that has switched protocols. Implements `Duplex`.

    The socket does not block, and no lock is held during a wait: OpenSSL does not allow two threads in one connection.
    """

    def __init__(self, connection: _Switched, head: Head, origin: str, clock: Clock) -> None:
        self.status = head.status
        self.headers: Mapping[str, str] = head.headers
        self._connection = connection
        self._sock = connection.sock
        # urllib3's TLS inside TLS would lose what it cannot send at once.
        self._sends_blocking = hasattr(self._sock, "socket")
        self._unread = connection.reader.unread
        self._origin = origin
        self._clock = clock
        self._io = forks.fork_safe(threading.Lock())
        self._sending = forks.fork_safe(threading.Lock())  # of a whole message
        self._state = forks.fork_safe(threading.Lock())
        self._users = 0  # guarded by _state
        self._closed = False  # guarded by _state
        allow_pauses(getattr(self._sock, "socket", self._sock))
        self._sock.settimeout(0)

    def __repr__(self) -> str:
        return f"<UpgradedConnection {self._origin}{' closed' if self._closed else ''}>"

    def receive(self, timeout: float | None) -> bytes:
        """Return bytes as they arrive; empty at the end."""
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        with self._in_use(timeout):
            received: bytes = self._retry(lambda: self._sock.recv(_READ), select.POLLIN, timeout)
        if not received and self._closed:
            raise self._closed_error()
        return received

    def send(self, data: bytes) -> None:
        """Send all bytes; wait while the peer does not read."""
        with self._in_use(None), self._sending:
            unsent = memoryview(data)
            while unsent:
                piece = unsent[:PIECE]
                unsent = unsent[self._retry(lambda: self._send_some(piece), select.POLLOUT, None) :]  # noqa: B023

    def close(self) -> None:
        """Close the connection; a blocked thread returns at once."""
        with self._state:
            if self._closed:
                return
            self._closed = True
            in_use = self._users > 0
        self._connection.shutdown()
        if not in_use:
            self._connection.close()  # the last user does it else: a closed descriptor's number may be reused at once

    @contextmanager
    def _in_use(self, timeout: float | None) -> Iterator[None]:
        with self._state:
            if self._closed:
                raise self._closed_error()
            self._users += 1
        try:
            yield
        except FAILURES as error:
            if self._closed:
                raise self._closed_error() from error
            raise exchange_failure(error, self._origin, timeout, begun=True) from error
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._state:
            self._users -= 1
            is_last = self._closed and not self._users
        if is_last:
            self._connection.close()

    def _closed_error(self) -> ConnectionFailed:
        return ConnectionFailed(f"the connection to {self._origin} was closed by this program", broken=False)

    def _send_some(self, piece: memoryview) -> int:
        if not self._sends_blocking:
            return int(self._sock.send(piece))
        if not self._ready(select.POLLOUT, 0):
            raise BlockingIOError
        self._sock.settimeout(_WAIT_SECONDS)
        try:
            self._sock.sendall(piece)
        finally:
            self._sock.settimeout(0)
        return len(piece)

    def _retry(self, call: Callable[[], R], direction: int, timeout: float | None) -> R:
        """Call until it need not wait; raise `TimeoutError`."""
        deadline = math.inf if timeout is None else self._clock.now() + timeout
        while True:
            try:
                with self._io:
                    return call()
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
                remaining = deadline - self._clock.now()
                if remaining <= 0:
                    raise TimeoutError from error
                self._ready(_DIRECTIONS.get(type(error), direction), remaining)

    def _ready(self, direction: int, seconds: float) -> bool:
        """Wait until the socket is ready; return whether it is."""
        poll = select.poll()
        poll.register(self._sock, direction)
        return bool(poll.poll(None if seconds == math.inf else math.ceil(min(seconds, _LONGEST_WAIT) * 1000)))
