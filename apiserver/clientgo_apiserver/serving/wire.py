"""Connections below ASGI: timeouts, combined writes, aborts, and the user of a client certificate.

uvicorn's protocol passes its transport to each request. ASGI cannot close a connection abruptly, in the middle of a
response or because the client does not read.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clientgo_apiserver.http.upgrades import SUBRESOURCES
from clientgo_apiserver.limits import MAX_HEAD_BYTES
from clientgo_apiserver.users import User, authenticated

_UPGRADED = tuple(f"/{name}".encode() for name in SUBRESOURCES)

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Content-Length: 35\r\n\r\n431 Request Header Fields Too Large"
)


class BufferedTransport:
    """Transport that can hold back writes to send them together: one system call, one packet.

    uvicorn writes the head of a response and then its body. Sending both at once saves a tenth of a request's time.
    `more_headers` are added to the head, which is held back: uvicorn takes a microsecond for each header of its own.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held: list[bytes] | None = None
        self.more_headers = b""
        self.arrived = False  # whether the last request has arrived completely

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def __enter__(self) -> None:
        """Hold back writes until the block is left."""
        if self._held is None:
            self._held = []

    def __exit__(self, *_: object) -> None:
        """Send what was held back, and further writes at once."""
        held, self._held = self._held, None
        if held and not self._transport.is_closing():
            head, _end, body = b"".join(held).partition(b"\r\n\r\n")
            self._transport.write(b"%b\r\n%b\r\n%b" % (head, self.more_headers, body))

    def write(self, data: bytes) -> None:
        """Send data, now or once released."""
        if self._held is None:
            self._transport.write(data)
        else:
            self._held.append(data)

    def close(self) -> None:
        """Send what was held back, then close."""
        self.__exit__()
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether the transport is closing; uvicorn asks several times for each request."""
        return self._transport.is_closing()

    def get_write_buffer_size(self) -> int:
        """Return the number of unsent bytes."""
        held = sum(map(len, self._held)) if self._held else 0
        return self._transport.get_write_buffer_size() + held


class Connection(HttpToolsProtocol):
    """Connection that adds its transport to the `state` of each request's scope, as `transport`.

    A client has `patience` seconds to send the head of a request, of at most `MAX_HEAD_BYTES`; otherwise the connection
    is closed, after a 431 if the head is too large.
    """

    def __init__(self, *arguments: Any, patience: float = 60.0, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._patience = patience
        self._in_head = True
        self._head = 0
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Store the transport of the new connection."""
        self._buffered = BufferedTransport(transport)
        super().connection_made(self._buffered)  # type: ignore[arg-type]
        # Copied into the `state` of every request on this connection.
        self.app_state = {**self.app_state, "transport": self._buffered}
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        super().connection_lost(exc)
        self._stop_waiting()

    def data_received(self, data: bytes) -> None:
        """Process data, unless the head of the request is too large."""
        if self._in_head:
            self._head += len(data)
            if self._head > MAX_HEAD_BYTES and len(data) < self._head:
                self.transport.write(_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)
        if self._in_head and self._head and self._waiting is None:
            self._expect()

    def on_headers_complete(self) -> None:
        """Stop the timeout of the head; the body has its own."""
        self._in_head = self._buffered.arrived = False
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the head of the next request."""
        self._in_head, self._head, self._buffered.arrived = True, 0, True
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


def sink(transport: BufferedTransport, limit: int) -> Callable[[bytes], None]:
    """Return a function that writes chunks of a started response directly to the transport.

    It takes a tenth of the time of a task that wakes up for each chunk. A client with more than `limit` unread bytes is
    disconnected.
    """

    def send(data: bytes) -> None:
        if transport.is_closing():
            return  # the stream is about to be closed
        transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        if transport.get_write_buffer_size() > limit:
            transport.abort()

    return send


def watch_stalls(transport: BufferedTransport, seconds: float) -> None:
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
