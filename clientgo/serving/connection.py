"""Connection of one client: reads whole requests and writes whole responses, with limits of time and size.

The limits apply to a whole head, body or response. A limit for each read would let a client that sends one byte per
second occupy a thread for hours.
"""

import socket
import ssl
from dataclasses import dataclass, replace

from clientgo.clock import Clock
from clientgo.serving.message import RejectedRequest, Response, ServingRequest, parse_head, render

_END = b"\r\n\r\n"
_DRAIN_READS = 64

STOP_SECONDS = 0.1
"""Seconds after the stop in which a client must take the rest of its response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a server and of each client; times are seconds, sizes bytes.

    While all `connections` are in use, further clients wait in the listen backlog, and a client that keeps the server
    waiting for `crowded` seconds meanwhile may be evicted. `idle` is the time without a request, also before the first
    one.
    """

    connections: int = 128
    crowded: float = 1.0
    handshake: float = 5.0
    request: float = 5.0
    idle: float = 60.0
    response: float = 15.0
    drain: float = 1.0
    head: int = 16 * 1024
    body: int = 64 * 1024


class Closed(Exception):
    """The client has disconnected or is too slow; no response is possible."""


class ServingConnection:
    """Socket that is read and written under `limits`; for one thread, except `abort`."""

    def __init__(self, sock: socket.socket, peer: str, limits: Limits, clock: Clock) -> None:
        self.peer = peer
        self._socket = sock
        self._limits = limits
        self._clock = clock
        self._buffer = bytearray()
        # Both are written before the other one is read: a response is either ended by `hurry` or has its limit.
        self._responding = False
        self._hurried = False

    def wrap(self, context: ssl.SSLContext) -> None:
        """Wrap the socket for TLS; `shake_hands` must follow."""
        try:
            self._socket.settimeout(self._limits.handshake)
            self._socket = context.wrap_socket(self._socket, server_side=True, do_handshake_on_connect=False)
        except (OSError, ValueError) as error:  # ValueError: the peer has disconnected
            raise Closed(f"TLS handshake failed: {error}") from error

    def shake_hands(self) -> None:
        """Perform the TLS handshake; raise `Closed` if it fails or takes too long."""
        # Not on accept: a slow client must not block others.
        try:
            self._tls().do_handshake()
        except (OSError, ValueError) as error:
            raise Closed(f"TLS handshake failed: {error}") from error

    def wait_for_request(self) -> None:
        """Wait until a request starts; raise `Closed` if none does in time."""
        self._responding = False
        # Not shorter for the first request: Go's clients open connections in advance, and a request sent just when one
        # is closed would be lost.
        deadline = self._clock.now() + self._limits.idle
        # Empty lines before a request are allowed (RFC 9112, 2.2), but do not begin one.
        while not (begun := self._buffer.lstrip(b"\r\n")):
            self._buffer = bytearray(self._receive(deadline))
        self._buffer = begun

    def read_head(self) -> ServingRequest:
        """Read the request that has started, without its body.

        Raises:
            Closed: it did not arrive in time.
            RejectedRequest: it is malformed or too large.
        """
        return parse_head(self._head(), peer=self.peer)

    def read_body(self, request: ServingRequest, largest: int | None = None) -> ServingRequest:
        """Return the request with its body, of at most `largest` bytes (default: `Limits.body`).

        Raises:
            Closed: it did not arrive in time.
            RejectedRequest: it is too large.
        """
        largest = self._limits.body if largest is None else largest
        if request.content_length > largest:
            raise RejectedRequest(413, f"the body is longer than {largest} bytes")
        if request.headers.get("expect", "").lower() == "100-continue":
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return replace(request, body=self._body(request.content_length))

    def write(self, response: Response, *, keep_alive: bool, with_body: bool = True) -> None:
        """Send a response; raise `Closed` if the client does not receive it in time."""
        self._responding = True
        self._send(render(response, keep_alive=keep_alive, with_body=with_body))

    def drain(self) -> None:
        """Shut down sending and discard input for a while; raise `Closed` once the client has closed.

        Closing with unread bytes would reset the connection, and the client would lose an error response on its way.
        """
        self._responding = True
        deadline = self._clock.now() + self._limited(self._limits.drain)
        try:
            socket.socket.shutdown(self._socket, socket.SHUT_WR)
        except OSError as error:
            raise Closed(str(error)) from error
        for _ in range(_DRAIN_READS):
            self._receive(deadline)

    def abort(self) -> None:
        """End all I/O of the connection; called from any thread."""
        try:
            # The plain socket: the TLS socket would wait for its lock, which the reader holds.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            return  # already closed

    def hurry(self) -> None:
        """End a response in progress, and limit later ones to `STOP_SECONDS`; called from any thread."""
        self._hurried = True
        if self._responding:
            self.abort()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _head(self) -> bytes:
        deadline = self._clock.now() + self._limits.request
        searched = 0
        while (end := self._buffer.find(_END, searched)) < 0 and len(self._buffer) <= self._limits.head:
            searched = max(0, len(self._buffer) - len(_END) + 1)
            self._buffer += self._receive(deadline)
        if not 0 <= end <= self._limits.head:
            raise RejectedRequest(431, f"the head is longer than {self._limits.head} bytes")
        head = self._take(end)
        self._take(len(_END))
        return head

    def _body(self, length: int) -> bytes:
        deadline = self._clock.now() + self._limits.request
        while len(self._buffer) < length:
            self._buffer += self._receive(deadline)
        return self._take(length)

    def _take(self, length: int) -> bytes:
        data = bytes(self._buffer[:length])
        del self._buffer[:length]
        return data

    def _receive(self, deadline: float) -> bytes:
        try:
            self._wait_at_most(deadline)
            data = self._socket.recv(65536)
        except (OSError, ValueError) as error:
            raise Closed(str(error)) from error
        if not data:
            raise Closed("the client closed the connection")
        return data

    def _send(self, data: bytes) -> None:
        deadline = self._clock.now() + self._limited(self._limits.response)
        unsent = memoryview(data)
        try:
            while unsent:
                self._wait_at_most(deadline)
                # In pieces: `sendall` of a TLS socket would restart its timeout for each.
                unsent = unsent[self._socket.send(unsent[:65536]) :]
        except (OSError, ValueError) as error:
            raise Closed(str(error)) from error

    def _limited(self, seconds: float) -> float:
        return min(seconds, STOP_SECONDS) if self._hurried else seconds

    def _wait_at_most(self, deadline: float) -> None:
        remaining = deadline - self._clock.now()
        if remaining <= 0:
            raise TimeoutError("the client took too long")
        self._socket.settimeout(remaining)

    def _tls(self) -> ssl.SSLSocket:
        assert isinstance(self._socket, ssl.SSLSocket)
        return self._socket
