"""The connection below a request: what ASGI hides, and a server that cuts off clients and plays faults must reach.

uvicorn's protocol tells each request its transport. Closing a connection without a farewell, in the middle of an
answer or because nobody reads, is no part of ASGI.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 1024 * 1024  # what Go's HTTP server takes
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Content-Length: 35\r\n\r\n431 Request Header Fields Too Large"
)


class Transport(Protocol):
    """The part of asyncio's transports that is used here."""

    def write(self, data: bytes) -> None:
        """Send it, now or later."""

    def abort(self) -> None:
        """Close at once; what has not been sent is lost."""

    def is_closing(self) -> bool:
        """Whether nothing more can be sent."""

    def get_write_buffer_size(self) -> int:
        """How many bytes wait to be sent."""


class Joining:
    """A transport that can hold back what is written, to send it in one piece: one system call, one packet to wake for.

    uvicorn writes the head of an answer, and then its body. Doing both at once takes a tenth off a request's time.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held: list[bytes] | None = None
        self.arrived = False  # the request read last: all of it, and so of every one before it

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def __enter__(self) -> None:
        """Send nothing from now on until the block is left."""
        if self._held is None:
            self._held = []

    def __exit__(self, *_: object) -> None:
        """Send what was held back, and from now on everything at once."""
        self.release()

    def release(self) -> None:
        """Send what was held back, and from now on everything at once."""
        held, self._held = self._held, None
        if held and not self._transport.is_closing():
            self._transport.write(b"".join(held))

    def write(self, data: bytes) -> None:
        """Send it, now or once released."""
        if self._held is None:
            self._transport.write(data)
        else:
            self._held.append(data)

    def close(self) -> None:
        """Send what was held back, then close."""
        self.release()
        self._transport.close()

    def abort(self) -> None:
        """Close at once; what has not been sent is lost."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether nothing more can be sent."""
        return self._transport.is_closing()

    def get_write_buffer_size(self) -> int:
        """How many bytes wait to be sent."""
        return self._transport.get_write_buffer_size() + sum(map(len, self._held or ()))


class Connection(HttpToolsProtocol):
    """Puts the transport into the `state` of each request's scope, as `transport`.

    A client has `patience` seconds for the head of a request, which may have `MAX_HEAD` bytes: its connection is closed
    when it takes longer, and after a 431 where it is too large.
    """

    def __init__(self, *arguments: Any, patience: float = 60.0, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._patience = patience
        self._in_head = True
        self._head = 0
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Note the transport of the new connection."""
        self._joining = Joining(transport)
        super().connection_made(self._joining)  # type: ignore[arg-type]
        # A copy of it becomes the `state` of every request on this connection, and of no other.
        self.app_state = {**self.app_state, "transport": self._joining}
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        super().connection_lost(exc)
        self._stop_waiting()

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head of the request has become too large."""
        if self._in_head:
            self._head += len(data)
            if self._head > MAX_HEAD and len(data) < self._head:
                self.transport.write(_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)
        if self._in_head and self._head and self._waiting is None:
            self._expect()

    def on_headers_complete(self) -> None:
        """The head has come: what follows is counted by whoever reads the body."""
        self._in_head = self._joining.arrived = False
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next that comes is a head."""
        self._in_head, self._head, self._joining.arrived = True, 0, True
        super().on_message_complete()

    def _expect(self) -> None:
        self._waiting = self.loop.call_later(self._patience, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def transport_of(scope: Any) -> Transport | None:
    """The transport that carries a request, or None where the server that runs the application does not tell."""
    found: Transport | None = scope.get("state", {}).get("transport")
    return found


def in_one_piece(transport: Transport | None) -> AbstractContextManager[None]:
    """Send what is written inside when it is left, in one piece."""
    return transport if isinstance(transport, Joining) else nullcontext()


def has_arrived(transport: Transport | None) -> bool:
    """Whether a request that is being answered is known to have come in full, body and all."""
    return isinstance(transport, Joining) and transport.arrived


def sink(transport: Transport, limit: int) -> Callable[[bytes], None]:
    """A way to send pieces of an answer that has begun: straight to the transport, in chunks as HTTP/1.1 has them.

    It takes a tenth of the time of a task that wakes up for each. A client that leaves more than `limit` bytes unread
    is cut off: nobody waits for it.
    """

    def send(data: bytes) -> None:
        if transport.is_closing():
            return  # the stream will be told so in a moment
        transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        if transport.get_write_buffer_size() > limit:
            transport.abort()

    return send


class StallGuard:
    """Cuts off connections whose client takes nothing of an answer for `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def watch(self, transport: Transport | None) -> None:
        """Look after what this transport has still to send, if anything; on the server's loop."""
        if transport is not None and transport.get_write_buffer_size():
            self._later(transport)

    def _later(self, transport: Transport) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(self._seconds, self._check, transport, transport.get_write_buffer_size())

    def _check(self, transport: Transport, before: int) -> None:
        left = transport.get_write_buffer_size()
        if not left:
            return
        if left >= before:
            transport.abort()
        else:
            self._later(transport)
