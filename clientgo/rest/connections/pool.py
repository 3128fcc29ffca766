"""Connection pool: the `Transport` that sends requests over keep-alive connections.

All errors of the network are raised as `ConnectionFailed`. A request that the server may have received is never sent
again, except a GET on a keep-alive connection that turned out to be closed.
"""

import math
import os
import select
import socket
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, cast

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConnectionFailed
from clientgo.internal import forks
from clientgo.rest import connections
from clientgo.rest.bounds import MAX_RESPONSE_BYTES
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.error_messages import FAILURES, exchange_failure
from clientgo.rest.connections.http1 import Head, ReplyReader, encode_request
from clientgo.rest.connections.tcp import shut_down
from clientgo.rest.limits import InFlightRequest, current_request
from clientgo.rest.transport import Duplex, Headers, HTTPReply, HTTPStream

MAX_IDLE = 32
"""Idle connections to keep; more may be open at the same time."""

IDLE_SECONDS = 75.0
"""Maximum age of an idle connection. kube-apiserver closes idle connections after 90 s, and a request sent at
that moment may be lost."""

_BULK_BYTES = 2048
"""Bytes received at once from which more may be on the way; most replies have less."""

MAX_SOCKET_TIMEOUT = 2_000_000.0
"""Seconds; a socket cannot wait longer than 2**31 ms."""


class _Connection:
    """One open connection: sends a request and reads its reply."""

    __slots__ = ("__weakref__", "_poll", "_request", "_timeout", "generation", "reader", "sent", "since", "sock")

    def __init__(self, sock: Any, generation: int, max_body: int) -> None:
        self._request: InFlightRequest | None = None  # the request in progress
        self.generation = generation
        """Generation of the certificates it was made with."""
        # Any: a socket, a TLS socket, or urllib3's TLS inside TLS, which share methods but no class.
        self.sock = sock
        self._timeout: float | None = None
        self._poll: select.poll | None = None
        self.reader = ReplyReader(self._receive, max_body, self._check_time)
        self.sent = False
        self.since = 0.0

    def start(self, data: bytes, method: str, timeout: float, *, switch: bool = False) -> Head:
        """Send the request and read the reply's head; `switch` allows a switch of protocols."""
        self.sent = False
        request = self._request = current_request()
        request.abort_with(self.shutdown)
        self.set_timeout(request.before_sending(timeout))
        count = self.sock.send(data)
        self.sent = True
        if count < len(data):
            self._send_rest(memoryview(data)[count:])
        return self.reader.head(method, switch=switch)

    def set_timeout(self, timeout: float | None) -> None:
        """Limit each read to `timeout` seconds; None for no limit but TCP's."""
        if timeout != self._timeout:
            self.sock.settimeout(None if timeout is None else min(timeout, MAX_SOCKET_TIMEOUT))
            self._timeout = timeout

    @property
    def usable(self) -> bool:
        """True if the peer has neither closed it nor sent unexpected data."""
        return self.reader.clean and not self._is_readable()

    def shutdown(self) -> None:
        """Wake a blocked reader; any thread may call this."""
        shut_down(self._raw)

    def release(self) -> None:
        """End the request in progress: a stop does not shut the connection down any more."""
        if self._request is not None:
            self._request.abort_with(None)
            self._request = None

    def hand_over(self) -> None:
        """Leave it to the reader of a stream to end the request."""
        self._request = None

    def __enter__(self) -> None:
        """Close the connection if the block fails."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.close()

    def close(self) -> None:
        """Close the socket."""
        self.release()
        self.sock.close()

    def abandon(self) -> None:
        """Close the descriptor of a connection that belongs to the parent process, and send nothing."""
        if (descriptor := socket.socket.detach(self._raw)) >= 0:
            os.close(descriptor)

    @property
    def _raw(self) -> socket.socket:
        # urllib3's TLS inside TLS keeps its socket in an attribute.
        return cast(socket.socket, getattr(self.sock, "socket", self.sock))

    def _receive(self, size: int) -> bytes:
        # A slow body must not exceed the request's deadline.
        if self._timeout is not None and (remaining := self._time_left()) < self._timeout:
            if remaining <= 0:
                raise TimeoutError
            self.set_timeout(remaining)
        data = cast(bytes, self.sock.recv(size))
        if len(data) < _BULK_BYTES or len(data) >= size or not self._is_readable():
            return data
        # Each record of TLS is read alone. To look at each piece costs more than to read it.
        gathered = bytearray(data)
        while data and len(gathered) < size and self._is_readable():
            data = self.sock.recv(size - len(gathered))
            gathered += data
        return bytes(gathered)

    def _is_readable(self) -> bool:
        if self._poll is None:
            # Cached: creating a poll object costs more than polling.
            self._poll = select.poll()
            self._poll.register(self.sock, select.POLLIN)
        return bool(self._poll.poll(0))

    def _check_time(self) -> None:
        if self._timeout is not None and self._time_left() <= 0:
            raise TimeoutError

    def _time_left(self) -> float:
        return math.inf if self._request is None else self._request.remaining()

    def _send_rest(self, unsent: memoryview) -> None:
        try:
            self.sock.sendall(unsent)
        except (BrokenPipeError, ConnectionResetError):
            # A server may respond to a large body before it has read it all, and close: the response can still be read.
            return


class PoolTransport:
    """Sends requests over keep-alive connections to the server of a `Dialer`; the last one used is used first."""

    def __init__(
        self,
        dialer: Dialer,
        *,
        max_idle: int = MAX_IDLE,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._dialer = dialer
        self._max_body = max_response_bytes
        self._clock = clock
        # append and pop of a deque need no lock; a maxlen would leak the oldest socket, so keep() checks the length.
        self._idle: deque[_Connection] = deque()
        # All that are open: a child process closes its copies.
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._max_idle = max_idle
        self._closed = False
        self._prefix = dialer.target_prefix + dialer.base_path
        forks.register(self)

    def __repr__(self) -> str:
        return f"<PoolTransport {self._dialer.origin}, {len(self._idle)} idle>"

    def request(self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float) -> HTTPReply:
        """Return the whole response of any status; raise `ConnectionFailed`."""
        connection, head = self._start(method, target, headers, body, timeout)
        return self._read_reply(connection, head, timeout)

    def stream(self, method: str, target: str, headers: Headers, timeout: float, *, idle_timeout: float) -> HTTPStream:
        """Return the response once its head has arrived; raise `ConnectionFailed`."""
        connection, head = self._start(method, target, headers, None, timeout)
        connection.hand_over()
        return _PoolStream(self, connection, head, idle_timeout)

    def upgrade(self, target: str, headers: Headers, timeout: float) -> HTTPReply | Duplex:
        """Return a new connection that has switched protocols, or the response of another status."""
        connection, head = self._start_on_new_connection(
            self._encode("GET", target, headers, None), "GET", timeout, switch=True
        )
        if head.status != 101:
            return self._read_reply(connection, head, timeout)
        connection.hand_over()
        return connections.UpgradedConnection(connection, head, self._dialer.origin, self._clock)

    def reset(self) -> None:
        """Let later requests use new connections."""
        while (connection := self._pop()) is not None:
            connection.close()

    def close(self) -> None:
        """Close idle connections now, and others once their request is done."""
        self._closed = True
        self.reset()

    def after_fork(self) -> None:
        """Leave all connections to the parent process."""
        self._idle.clear()
        for connection in list(self._open):
            connection.abandon()
        self._open.clear()

    def keep(self, connection: _Connection, head: Head) -> None:
        """Return a connection to the pool after its reply was read; close it if it cannot be reused."""
        connection.release()
        if head.keep_alive and connection.reader.clean and not self._closed and len(self._idle) < self._max_idle:
            connection.since = self._clock.now()
            self._idle.append(connection)
        else:
            connection.close()
        if self._closed:
            self.reset()  # close() may have run between the check and the append

    def failed(self, error: Exception, connection: _Connection, timeout: float | None) -> ConnectionFailed:
        """Return the `ConnectionFailed` for an error on an open connection."""
        return exchange_failure(
            error, self._dialer.origin, timeout, sent=connection.sent, begun=connection.reader.begun
        )

    def _start(
        self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float
    ) -> tuple[_Connection, Head]:
        data = self._encode(method, target, headers, body)
        connection = self._take()
        if connection is not None:
            try:
                with connection:
                    return connection, connection.start(data, method, timeout)
            except FAILURES as error:
                if not _may_resend(method, connection, error):
                    raise self.failed(error, connection, timeout) from error
                self.reset()  # the other idle connections are as old
        return self._start_on_new_connection(data, method, timeout)

    def _encode(self, method: str, target: str, headers: Headers, body: bytes | None) -> bytes:
        dialer = self._dialer
        return encode_request(method, self._prefix + target, dialer.host_header, headers + dialer.extra_headers, body)

    def _read_reply(self, connection: _Connection, head: Head, timeout: float) -> HTTPReply:
        try:
            with connection:
                content = connection.reader.body(head)
        except FAILURES as error:
            raise exchange_failure(error, self._dialer.origin, timeout, begun=True) from error
        self.keep(connection, head)
        return HTTPReply(head.status, head.headers, content)

    def _start_on_new_connection(
        self, data: bytes, method: str, timeout: float, *, switch: bool = False
    ) -> tuple[_Connection, Head]:
        generation = self._dialer.generation(self._clock.now())
        connection = _Connection(self._dialer.dial(timeout), generation, self._max_body)
        self._open.add(connection)
        try:
            with connection:
                return connection, connection.start(data, method, timeout, switch=switch)
        except FAILURES as error:
            raise self.failed(error, connection, timeout) from error

    def _take(self) -> _Connection | None:
        now = self._clock.now()
        generation = self._dialer.generation(now)
        while (connection := self._pop()) is not None:
            if now - connection.since < IDLE_SECONDS and connection.generation == generation and connection.usable:
                return connection
            connection.close()
        return None

    def _pop(self) -> _Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None


def _may_resend(method: str, connection: _Connection, error: Exception) -> bool:
    """Report whether a request that failed on a keep-alive connection is safe to send again."""
    if current_request().aborted:
        return False
    if not connection.sent:
        return True
    return method in ("GET", "HEAD") and not connection.reader.begun and not isinstance(error, TimeoutError)


class _PoolStream:
    """A streamed body; its connection returns to the pool if the body ends normally."""

    def __init__(self, pool: PoolTransport, connection: _Connection, head: Head, idle_timeout: float) -> None:
        self.status = head.status
        self.headers: Mapping[str, str] = head.headers
        self._pool = pool
        self._connection = connection
        self._head = head
        self.idle_timeout: float | None = idle_timeout
        self._pieces = connection.reader.pieces(head)
        self._state = threading.Lock()
        self._reading = False
        self._closed = False

    def __repr__(self) -> str:
        return f"<stream {self.status}{' closed' if self._closed else ''}>"

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        with self._state:
            if self._closed:
                raise StopIteration
            self._reading = True
        piece: bytes | None = None
        try:
            self._connection.set_timeout(self.idle_timeout)
            piece = next(self._pieces, None)
        except FAILURES as error:
            if not self._end(broken=True):
                raise self._pool.failed(error, self._connection, self.idle_timeout) from error
            raise StopIteration from None
        except BaseException:
            self._end(broken=True)
            raise
        if piece is None:
            self._end(broken=False)
            raise StopIteration
        if self._stop_reading():
            raise StopIteration
        return piece

    def close(self) -> None:
        """End the stream from any thread; a blocked reader returns at once."""
        with self._state:
            if self._closed:
                return
            self._closed = True
            reading = self._reading
        self._connection.shutdown()
        if not reading:
            self._connection.close()  # a reader closes it itself: a closed descriptor's number may be reused at once

    def _stop_reading(self) -> bool:
        with self._state:
            self._reading = False
            closed = self._closed
        if closed:
            self._connection.close()
        return closed

    def _end(self, *, broken: bool) -> bool:
        """Finish; return whether `close` had been called before."""
        with self._state:
            self._reading = False
            closed, self._closed = self._closed, True
        if closed or broken:
            self._connection.close()
        else:
            self._pool.keep(self._connection, self._head)
        return closed
