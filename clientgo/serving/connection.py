"""One client's connection: whole requests in, whole responses out, each within a time and a size.

The limits are for the whole of a head, a body or a response. A limit for each read alone would let a client that sends
a byte a second keep a thread for hours.
"""

import socket
import ssl
from dataclasses import dataclass, replace

from clientgo.clock import Clock
from clientgo.serving.message import RejectedRequest, Response, ServingRequest, parse_head, render

_END = b"\r\n\r\n"
_DRAIN_READS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a server and of each client; times are seconds, sizes bytes.

    While all `connections` are in use, further clients wait in the listen backlog, and a client that keeps the server
    waiting for `crowded` seconds meanwhile may be evicted in favour of them. `idle` is the time without a request, also
    before the first one.
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
    """The client is gone, or too slow; there is nobody to answer to."""


class ServingConnection:
    """A socket read and written under `limits`; used by one thread, but for `abort`."""

    def __init__(self, sock: socket.socket, peer: str, limits: Limits, clock: Clock) -> None:
        self.peer = peer
        self._socket = sock
        self._limits = limits
        self._clock = clock
        self._buffer = b""

    def secure(self, context: ssl.SSLContext) -> None:
        """Agree on encryption; raises `Closed` if the client can't or does not in time."""
        try:
            self._socket.settimeout(self._limits.handshake)
            # Shaken here, not on accept: a slow client must keep nobody else waiting.
            self._socket = context.wrap_socket(self._socket, server_side=True, do_handshake_on_connect=False)
            self._tls().do_handshake()
        except (OSError, ValueError) as error:  # ValueError: the peer was gone before the socket was wrapped
            raise Closed(f"TLS handshake failed: {error}") from error

    def wait_for_request(self) -> None:
        """Wait until a request begins; raises `Closed` if none does in time."""
        # No shorter for the first: Go's clients open connections that they use only for a later request, and one that
        # is closed just then loses that request.
        deadline = self._clock.now() + self._limits.idle
        # Empty lines before a request are allowed (RFC 9112, 2.2), but do not begin one.
        while not (begun := self._buffer.lstrip(b"\r\n")):
            self._buffer = self._receive(deadline)
        self._buffer = begun

    def read(self) -> ServingRequest:
        """Read the request that has begun.

        Raises:
            Closed: it did not come in time.
            RejectedRequest: it breaks a rule, or a limit of size.
        """
        head, self._buffer = self._head()
        request = parse_head(head, peer=self.peer)
        if request.content_length == 0:
            return request
        if request.content_length > self._limits.body:
            raise RejectedRequest(413, f"the body is longer than {self._limits.body} bytes")
        if request.headers.get("expect", "").lower() == "100-continue":
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return replace(request, body=self._body(request.content_length))

    def write(self, response: Response, *, keep_alive: bool, with_body: bool = True) -> None:
        """Send a response; raises `Closed` if the client does not take it in time."""
        self._send(render(response, keep_alive=keep_alive, with_body=with_body))

    def drain(self) -> None:
        """Shut down sending, and read on for a while; raises `Closed` as soon as the client has closed.

        Closed with bytes unread, a connection is reset, and a refusal on its way to the client is lost with it.
        """
        deadline = self._clock.now() + self._limits.drain
        try:
            socket.socket.shutdown(self._socket, socket.SHUT_WR)
        except OSError as error:
            raise Closed(str(error)) from error
        for _ in range(_DRAIN_READS):
            self._receive(deadline)

    def abort(self) -> None:
        """End whatever the connection's thread reads or writes; for any thread."""
        try:
            # The plain socket below: an encrypted one would first want its lock, which the reader has.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            return  # closed already, which is what is wanted

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()

    def _head(self) -> tuple[bytes, bytes]:
        deadline = self._clock.now() + self._limits.request
        while (end := self._buffer.find(_END)) < 0:
            if len(self._buffer) > self._limits.head:
                raise RejectedRequest(431, f"the head is longer than {self._limits.head} bytes")
            self._buffer += self._receive(deadline)
        if end > self._limits.head:
            raise RejectedRequest(431, f"the head is longer than {self._limits.head} bytes")
        return self._buffer[:end], self._buffer[end + len(_END) :]

    def _body(self, length: int) -> bytes:
        deadline = self._clock.now() + self._limits.request
        body = bytearray(self._buffer)  # grows in place: to copy what is there for each piece takes seconds for 10 MiB
        while len(body) < length:
            body += self._receive(deadline)
        self._buffer = bytes(body[length:])
        return bytes(body[:length])

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
        deadline = self._clock.now() + self._limits.response
        rest = memoryview(data)
        try:
            while rest:
                self._wait_at_most(deadline)
                # A piece at a time: an encrypted socket's `sendall` would begin its timeout anew for each.
                rest = rest[self._socket.send(rest[:65536]) :]
        except (OSError, ValueError) as error:
            raise Closed(str(error)) from error

    def _wait_at_most(self, deadline: float) -> None:
        left = deadline - self._clock.now()
        if left <= 0:
            raise TimeoutError("the client took too long")
        self._socket.settimeout(left)

    def _tls(self) -> ssl.SSLSocket:
        assert isinstance(self._socket, ssl.SSLSocket)
        return self._socket
