"""Connection of one client: reads whole requests and writes whole responses, with limits of time and size.

Its methods are generators that yield a `Wait` wherever they would block, so that one thread serves all clients.

The limits apply to a whole head, body or response. A limit for each read would let a client that sends one byte per
second occupy a thread for hours.
"""

import selectors
import socket
import ssl
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from clientgo.clock import Clock
from clientgo.serving.message import RejectedRequest, Response, ServingRequest, parse_head, render

_END = b"\r\n\r\n"
_DRAIN_READS = 64

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

R = TypeVar("R")

STOP_SECONDS = 0.1
"""Seconds after the stop in which a client must take the rest of its response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a server and of each client; times are seconds, sizes bytes.

    At most `connections` requests are handled or answered at once, and `waiting` clients send theirs or are idle. If
    more connect, those are evicted first that have sent nothing, then those that have not completed a request, each
    after `crowded` seconds. A client that does not take its response is evicted after `stalled` seconds if requests
    wait. `idle` is the time without a request, also before the first one.
    """

    connections: int = 128
    waiting: int = 1024
    crowded: float = 0.25
    stalled: float = 1.0
    handshake: float = 5.0
    request: float = 5.0
    idle: float = 60.0
    response: float = 15.0
    drain: float = 1.0
    head: int = 16 * 1024
    body: int = 64 * 1024


class Closed(Exception):
    """The client has disconnected or is too slow; no response is possible."""


class Wait(NamedTuple):
    """Wait until the socket is readable or writable, at most until `deadline`; then `Closed` is thrown in."""

    direction: int
    deadline: float


Steps = Generator[Wait, None, R]
"""Result of a method that may have to wait."""


class ServingConnection:
    """Socket that is read and written under `limits`; for one thread."""

    def __init__(self, sock: socket.socket, peer: str, limits: Limits, clock: Clock) -> None:
        self.peer = peer
        self.hurried = False
        """True after the stop of the program: a response then has `STOP_SECONDS`."""
        self._socket = sock
        self._limits = limits
        self._clock = clock
        self._buffer = bytearray()
        sock.settimeout(0)

    def fileno(self) -> int:
        """Return the descriptor, for a selector."""
        return self._socket.fileno()

    def shake_hands(self, context: ssl.SSLContext) -> Steps[None]:
        """Perform the TLS handshake; raise `Closed` if it fails or takes too long."""
        deadline = self._clock.now() + self._limits.handshake
        try:
            tls = context.wrap_socket(self._socket, server_side=True, do_handshake_on_connect=False)
            self._socket = tls
            while True:
                try:
                    return tls.do_handshake()
                except ssl.SSLWantReadError:
                    yield Wait(READ, deadline)
                except ssl.SSLWantWriteError:
                    yield Wait(WRITE, deadline)
        except (OSError, ValueError) as error:  # ValueError: the peer has disconnected
            raise Closed(f"TLS handshake failed: {error}") from error

    def wait_for_request(self) -> Steps[None]:
        """Wait until a request starts; raise `Closed` if none does in time."""
        # Not shorter for the first request: Go's clients open connections in advance, and a request sent just when one
        # is closed would be lost.
        deadline = self._clock.now() + self._limits.idle
        # Empty lines before a request are allowed (RFC 9112, 2.2), but do not begin one.
        while not (begun := self._buffer.lstrip(b"\r\n")):
            self._buffer = bytearray((yield from self._receive(deadline)))
        self._buffer = begun

    def read_head(self) -> Steps[ServingRequest]:
        """Read the request that has started, without its body.

        Raises:
            Closed: it did not arrive in time.
            RejectedRequest: it is malformed or too large.
        """
        return parse_head((yield from self._head()), peer=self.peer)

    def read_body(self, request: ServingRequest, largest: int | None = None) -> Steps[ServingRequest]:
        """Return the request with its body, of at most `largest` bytes (default: `Limits.body`).

        Raises:
            Closed: it did not arrive in time.
            RejectedRequest: it is too large.
        """
        largest = self._limits.body if largest is None else largest
        if request.content_length > largest:
            raise RejectedRequest(413, f"the body is longer than {largest} bytes")
        if request.headers.get("expect", "").lower() == "100-continue":
            yield from self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return replace(request, body=(yield from self._body(request.content_length)))

    def write(self, response: Response, *, keep_alive: bool, with_body: bool = True) -> Steps[None]:
        """Send a response; raise `Closed` if the client does not receive it in time."""
        yield from self._send(render(response, keep_alive=keep_alive, with_body=with_body))

    def take_over(self) -> tuple[socket.socket, bytes]:
        """Return a socket of this connection for another thread, which blocks, and the bytes received already."""
        sock = self._socket.dup()
        sock.settimeout(None)
        return sock, self._take(len(self._buffer))

    def drain(self) -> Steps[None]:
        """Shut down sending and discard input for a while; raise `Closed` once the client has closed.

        Closing with unread bytes would reset the connection, and the client would lose an error response on its way.
        """
        deadline = self._clock.now() + self._limited(self._limits.drain)
        try:
            socket.socket.shutdown(self._socket, socket.SHUT_WR)
        except OSError as error:
            raise Closed(str(error)) from error
        for _ in range(_DRAIN_READS):
            yield from self._receive(deadline)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _head(self) -> Steps[bytes]:
        deadline = self._clock.now() + self._limits.request
        searched = 0
        while (end := self._buffer.find(_END, searched)) < 0 and len(self._buffer) <= self._limits.head:
            searched = max(0, len(self._buffer) - len(_END) + 1)
            self._buffer += yield from self._receive(deadline)
        if not 0 <= end <= self._limits.head:
            raise RejectedRequest(431, f"the head is longer than {self._limits.head} bytes")
        head = self._take(end)
        self._take(len(_END))
        return head

    def _body(self, length: int) -> Steps[bytes]:
        deadline = self._clock.now() + self._limits.request
        while len(self._buffer) < length:
            self._buffer += yield from self._receive(deadline)
        return self._take(length)

    def _take(self, length: int) -> bytes:
        data = bytes(self._buffer[:length])
        del self._buffer[:length]
        return data

    def _receive(self, deadline: float) -> Steps[bytes]:
        while True:
            self._check(deadline)
            try:
                data = self._socket.recv(65536)
            except (BlockingIOError, ssl.SSLWantReadError):
                yield Wait(READ, deadline)
            except ssl.SSLWantWriteError:
                yield Wait(WRITE, deadline)
            except (OSError, ValueError) as error:
                raise Closed(str(error)) from error
            else:
                if not data:
                    raise Closed("the client closed the connection")
                return data

    def _send(self, data: bytes) -> Steps[None]:
        deadline = self._clock.now() + self._limited(self._limits.response)
        unsent = memoryview(data)
        while unsent:
            self._check(deadline)
            try:
                unsent = unsent[self._socket.send(unsent[:65536]) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                yield Wait(WRITE, deadline)
            except ssl.SSLWantReadError:
                yield Wait(READ, deadline)
            except (OSError, ValueError) as error:
                raise Closed(str(error)) from error

    def _limited(self, seconds: float) -> float:
        return min(seconds, STOP_SECONDS) if self.hurried else seconds

    def _check(self, deadline: float) -> None:
        if self._clock.now() >= deadline:
            raise Closed("the client took too long")
