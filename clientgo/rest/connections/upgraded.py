"""Connections after a switch of protocols: bytes in both directions at the same time."""

import math
import select
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from clientgo.clock import Clock
from clientgo.errors import ConnectionFailed
from clientgo.internal import forks
from clientgo.rest.connections.error_messages import FAILURES, exchange_failure
from clientgo.rest.connections.http1 import Head, ReplyReader
from clientgo.rest.connections.tcp import allow_pauses

R = TypeVar("R")

PIECE = 16 * 1024
"""Bytes of one transmission: a TLS record."""

MAX_POSTED = 8
"""Posted messages that wait until the peer reads; further ones replace the oldest, so that memory stays bounded."""

_READ = 64 * 1024
_LONGEST_WAIT = 2_000_000.0
_DIRECTIONS: dict[type[OSError], int] = {
    ssl.SSLWantReadError: select.POLLIN,
    ssl.SSLWantWriteError: select.POLLOUT,
}
_NOT_READY = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _Switched(Protocol):
    """A connection of the pool that has received the head of the response."""

    sock: Any
    reader: ReplyReader

    def shutdown(self) -> None: ...

    def close(self) -> None: ...


class UpgradedConnection:
    """A connection that has switched protocols. Implements `Duplex`.

    The socket does not block, and no lock that a reader takes is held during a wait: OpenSSL does not allow two threads
    in one connection. Each thread that waits also sends what is unsent, of all threads.
    """

    def __init__(self, connection: _Switched, head: Head, origin: str, clock: Clock) -> None:
        self.status = head.status
        self.headers: Mapping[str, str] = head.headers
        self._connection = connection
        self._sock = connection.sock
        self._unread = connection.reader.unread
        self._origin = origin
        self._clock = clock
        self._io = forks.fork_safe(threading.Lock())
        self._writing = forks.fork_safe(threading.Lock())  # a message of `send`, until it is sent; only `send` takes it
        # Guarded by _io: the rest of the message that has begun, and posted ones that follow it.
        self._unsent = memoryview(b"")
        self._posted: deque[bytes] = deque(maxlen=MAX_POSTED)
        self._state = forks.fork_safe(threading.Lock())
        self._users = 0  # guarded by _state
        self._closed = False  # guarded by _state
        allow_pauses(getattr(self._sock, "socket", self._sock))
        self._sock.settimeout(0)
        if hasattr(self._sock, "sslobj"):
            self._sock = _InnerTLS(self._sock)

    def __repr__(self) -> str:
        return f"<UpgradedConnection {self._origin}{' closed' if self._closed else ''}>"

    def receive(self, timeout: float | None) -> bytes:
        """Return bytes as they arrive; empty at the end."""
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        with self._in_use(timeout):
            received: bytes = self._retry(self._receive_some, select.POLLIN, timeout)
        if not received and self._closed:
            raise self._closed_error()
        return received

    def send(self, data: bytes) -> None:
        """Send all bytes; wait while the peer does not read."""
        with self._in_use(None), self._writing:
            self._retry(partial(self._begin, data), select.POLLOUT, None)
            self._retry(self._flush, select.POLLOUT, None)

    def post(self, data: bytes) -> None:
        """Send bytes after the message in progress, without waiting for the peer."""
        with self._in_use(None), self._io:
            self._posted.append(data)
            self._flush_some()

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

    def _begin(self, message: bytes) -> None:
        self._flush()
        self._unsent = memoryview(message)

    def _flush(self) -> None:
        """Send all that is unsent; raise one of `_NOT_READY` if the peer does not take it now."""
        while self._unsent or self._posted:
            if not self._unsent:
                self._unsent = memoryview(self._posted.popleft())
            # After a failure the same piece again, as OpenSSL requires.
            self._unsent = self._unsent[self._sock.send(self._unsent[:PIECE]) :]

    def _flush_some(self) -> None:
        with suppress(OSError):  # the next thread that waits tries again; a broken connection fails its reader
            self._flush()

    def _receive_some(self) -> Any:
        self._flush_some()
        return self._sock.recv(_READ)

    def _retry(self, call: Callable[[], R], direction: int, timeout: float | None) -> R:
        """Call until it need not wait; raise `TimeoutError`."""
        deadline = math.inf if timeout is None else self._clock.now() + timeout
        while True:
            try:
                with self._io:
                    return call()
            except _NOT_READY as error:
                remaining = deadline - self._clock.now()
                if remaining <= 0:
                    raise TimeoutError from error
                self._wait(_DIRECTIONS.get(type(error), direction), remaining)

    def _wait(self, direction: int, seconds: float) -> None:
        """Wait until the socket is ready, also to take what is unsent."""
        poll = select.poll()
        poll.register(self._sock, direction | select.POLLOUT if self._unsent or self._posted else direction)
        poll.poll(None if seconds == math.inf else math.ceil(min(seconds, _LONGEST_WAIT) * 1000))


class _InnerTLS:
    """TLS inside TLS that does not wait: urllib3's own methods lose what they cannot send at once."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._outer = transport.socket
        self._encrypted = b""  # the piece that is being sent
        self._accepted = 0  # its length before the encryption

    def fileno(self) -> int:
        return int(self._outer.fileno())

    def recv(self, size: int) -> bytes:
        while True:
            try:
                return cast(bytes, self._transport.sslobj.read(size))
            except ssl.SSLWantReadError:
                received = self._outer.recv(size)
            except ssl.SSLEOFError:
                return b""
            if received:
                self._transport.incoming.write(received)
            else:
                self._transport.incoming.write_eof()

    def send(self, piece: memoryview) -> int:
        """Send a piece, and return its length; after a failure it must be called with the same piece again."""
        if not self._accepted:
            self._accepted = self._transport.sslobj.write(piece)
            self._encrypted = self._transport.outgoing.read()
        while self._encrypted:
            self._encrypted = self._encrypted[self._outer.send(self._encrypted) :]
        accepted, self._accepted = self._accepted, 0
        return accepted
