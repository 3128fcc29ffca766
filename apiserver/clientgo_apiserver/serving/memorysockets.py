"""WebSockets in memory: the bytes of a connection are passed by method calls, and nothing runs in between."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Message, Ping, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError, generate_accept_token

from clientgo_apiserver.http.upgrades import Upgrade
from clientgo_apiserver.serving.sockets import SocketMessage, serve


class MemorySocket:
    """Server's side of a WebSocket for an `Upgrade`, in memory."""

    def __init__(self, upgrade: Upgrade, key: str) -> None:
        """Begin the upgrade's work; `key` is the header Sec-WebSocket-Key."""
        self.headers = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-accept": generate_accept_token(key.encode()).decode(),
            "sec-websocket-protocol": upgrade.protocol,
        }
        self._frames = Connection(ConnectionType.SERVER)
        self._message = b""  # of which not all frames have arrived
        self._output = bytearray()
        self._received: asyncio.Queue[SocketMessage] = asyncio.Queue()
        self._received.put_nowait({"type": "websocket.connect"})
        self._loop = _Loop()
        self._work = self._loop.create_task(serve(upgrade, (self._received.get, self._send), self._abort))
        self._loop.run_ready()

    def __repr__(self) -> str:
        return f"<MemorySocket {self.headers['sec-websocket-protocol']}{' closed' if self.closed else ''}>"

    @property
    def closed(self) -> bool:
        """True if the server has closed the connection; its last bytes may still be taken."""
        return self._work.done()

    def send(self, data: bytes) -> None:
        """Receive bytes of the client."""
        try:
            self._frames.receive_data(data)
            for event in self._frames.events():
                self._handle(event)
        except RemoteProtocolError:
            self._received.put_nowait({"type": "websocket.disconnect"})

    def take(self) -> bytes:
        """Run until nothing more happens; return and remove the bytes for the client."""
        if not self._loop.is_closed():
            self._loop.run_ready()
        data, self._output = bytes(self._output), bytearray()
        return data

    def close(self) -> None:
        """End the work, as if the connection was lost; may be called again."""
        if self._loop.is_closed():
            return
        self._work.cancel()
        self._loop.run_ready()
        self._loop.close()

    def _handle(self, event: Event) -> None:
        if isinstance(event, Ping | CloseConnection):
            self._write(event.response())
        if isinstance(event, CloseConnection):
            self._received.put_nowait({"type": "websocket.disconnect"})
        elif isinstance(event, Message):
            data = event.data
            self._message += data.encode() if isinstance(data, str) else bytes(data)
            if event.message_finished:
                self._received.put_nowait({"type": "websocket.receive", "bytes": self._message})
                self._message = b""

    async def _send(self, message: SocketMessage) -> None:
        if message["type"] == "websocket.close":
            self._write(CloseConnection(code=message["code"], reason=message.get("reason")))
        elif message["type"] == "websocket.send":
            is_text = "text" in message
            self._write(TextMessage(message["text"]) if is_text else BytesMessage(message["bytes"]))

    def _write(self, event: Event) -> None:
        try:
            self._output += self._frames.send(event)
        except LocalProtocolError:
            return  # the client has closed the WebSocket meanwhile

    def _abort(self) -> None:
        """Do nothing: bytes that end without a closing frame are a lost connection."""


class _Loop(asyncio.SelectorEventLoop):
    """Event loop without threads, which runs only when told to."""

    _calls = 0

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Count what is to be run."""
        self._calls += 1
        return super().call_soon(callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Call a function at once: a thread would run at any time."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  # passed on
            future.set_exception(error)
        return future

    def run_ready(self) -> None:
        """Run everything that is ready, and what that makes ready."""
        before = -1
        while self._calls != before:
            before = self._calls
            super().call_soon(self.stop)
            self.run_forever()
