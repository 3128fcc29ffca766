"""Connections below ASGI: timeouts, responses in one write, aborts, and the user of a client certificate.

Each request has an `Exchange` with its connection. ASGI cannot close a connection abruptly, in the middle of a response
or because the client does not read.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.limits import MAX_HEAD_BYTES
from clientgo_apiserver.api.users import User, authenticated
from clientgo_apiserver.http.upgrades import SUBRESOURCES

_UPGRADED = tuple(f"/{name}".encode() for name in SUBRESOURCES)

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Content-Length: 35\r\n\r\n431 Request Header Fields Too Large"
)

_METHODS = tuple(f"{name} ".encode() for name in ("POST", "GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"))
_METHOD = lazy_pattern(rb"(?!CONNECT )([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) ")


class Exchange:
    """A request and its response, of which uvicorn's cycle has the state.

    A response is one write. ASGI has a message for the head and others for the body, which uvicorn checks and writes
    one by one: that takes a tenth of a request's time.
    """

    __slots__ = ("_cycle", "transport")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self.transport = cycle.transport

    @property
    def body(self) -> bytes | None:
        """Body of the request; None if the end of it has not arrived."""
        return None if self._cycle.more_body else bytes(self._cycle.body)

    async def respond(self, status: int, headers: str, body: bytes) -> None:
        """Send a whole response, once the client has read those before it; each header ends with a line feed."""
        cycle = self._cycle
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        self._begin(status, headers, body)
        cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()

    def begin_stream(self, status: int, headers: str) -> None:
        """Send the head of a response whose chunks follow: clients wait for it before the first one."""
        if not self._cycle.disconnected:
            self._cycle.chunked_encoding = True
            self._begin(status, headers + "transfer-encoding: chunked\r\n", b"")

    def write_chunk(self, data: bytes) -> None:
        """Send a chunk; nothing happens once the connection is closed, which also ends the stream."""
        if not self.transport.is_closing():
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _begin(self, status: int, headers: str, body: bytes) -> None:
        cycle = self._cycle
        cycle.response_started, cycle.waiting_for_100_continue = True, False
        defaults = b"".join([b"%b: %b\r\n" % header for header in cycle.default_headers])
        close = b"" if cycle.keep_alive else b"connection: close\r\n"
        if not self.transport.is_closing():
            line = STATUS_LINE.get(status) or b"HTTP/1.1 %d status code %d\r\n" % (status, status)  # of a webhook
            head = (line, defaults, headers.encode(), close)
            self.transport.write(b"%b%b%b%b\r\n%b" % (*head, body))


class Connection(HttpToolsProtocol):
    """Connection that adds the `exchange` of each request to the `state` of its scope, and `abort` of the transport.

    A client has `patience` seconds to send the head of a request, of at most `MAX_HEAD_BYTES`; otherwise the connection
    is closed, after a 431 if the head is too large.
    """

    def __init__(self, *arguments: Any, patience: float = 60.0, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._patience = patience
        self._in_head = True
        self._head = 0
        self._method = ""  # of the request whose head is parsed, if it is unknown
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect the head of the first request."""
        super().connection_made(transport)
        # Copied into the `state` of every request on this connection.
        self.app_state = {**self.app_state, "abort": transport.abort}
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        super().connection_lost(exc)
        self._stop_waiting()

    def data_received(self, data: bytes) -> None:
        """Process data, unless the head of the request is too large."""
        if self._in_head:
            if not self._head and not data.startswith(_METHODS):
                data = self._with_known_method(data)
            self._head += len(data)
            if self._head > MAX_HEAD_BYTES and len(data) < self._head:
                self.transport.write(_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)
        if self._in_head and self._head and self._waiting is None:
            self._expect()

    def _with_known_method(self, data: bytes) -> bytes:
        """Return the start of a head whose method is replaced until it is parsed: httptools rejects unknown ones."""
        match = _METHOD.match(data)
        if match is None:
            return data
        self._method = match[1].decode()
        return b"%b%b" % (_METHODS[0], data[match.end() :])

    def on_headers_complete(self) -> None:
        """Stop the timeout of the head; the body has its own."""
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()
        if self._method:
            self.scope["method"], self._method = self._method, ""
        if self.cycle is not None and self.cycle.scope is self.scope:  # no upgrade
            self.scope["state"]["exchange"] = Exchange(self.cycle)

    def on_message_complete(self) -> None:
        """Expect the head of the next request."""
        self._in_head, self._head = True, 0
        super().on_message_complete()

    def _should_upgrade(self) -> bool:
        # Other requests are answered as if they had not asked for an upgrade.
        path = self.url.partition(b"?")[0]
        return path.endswith(_UPGRADED) and super()._should_upgrade()

    def _expect(self) -> None:
        self._waiting = self.loop.call_later(self._patience, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def sink(exchange: Exchange, limit: int, pack: Callable[[bytes], bytes]) -> Callable[[bytes], None]:
    """Return a function that writes chunks of a started response, each packed by `pack`, directly to the transport.

    It takes a tenth of the time of a task that wakes up for each chunk. A client with more than `limit` unread bytes is
    disconnected.
    """

    def send(data: bytes) -> None:
        exchange.write_chunk(pack(data))
        if exchange.transport.get_write_buffer_size() > limit:
            exchange.transport.abort()

    return send


def watch_stalls(transport: asyncio.Transport, seconds: float) -> None:
    """Disconnect the client if it reads nothing of the unsent data for that many seconds; on the server's loop."""
    before = transport.get_write_buffer_size()
    if not before:
        return

    def check() -> None:
        if transport.get_write_buffer_size() >= before:
            transport.abort()
        else:
            watch_stalls(transport, seconds)

    asyncio.get_running_loop().call_later(seconds, check)


_CLOSE_SECONDS = 1.0


class TlsConnection(Connection):
    """Adds the user of the client certificate to the `state` of each request's scope, as `user`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Read the certificate, which the handshake has verified."""
        super().connection_made(transport)
        user = user_of_certificate(transport.get_extra_info("peercert"))
        if user is not None:
            # Copied into the `state` of every request on this connection.
            self.app_state = {**self.app_state, "user": user}

    def shutdown(self) -> None:
        """Close after the current response, without waiting for the client's close_notify.

        TLS waits half a minute for it, and a client that keeps an idle connection never sends it.
        """
        super().shutdown()
        idle = self.cycle is None or self.cycle.response_complete
        self.loop.call_later(0 if idle else _CLOSE_SECONDS, self.transport.abort)


def user_of_certificate(certificate: Any) -> User | None:
    """Return the user of a verified client certificate (as of `SSLSocket.getpeercert`), or None."""
    subject = [pair for part in (certificate or {}).get("subject", ()) for pair in part]
    name = next((value for key, value in subject if key == "commonName"), "")
    groups = [value for key, value in subject if key == "organizationName"]
    return authenticated(name, *groups) if name else None
