"""WebSocket connections below ASGI: what has arrived is parsed a little at a time."""

from typing import Any

from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

_PIECE = 4096
"""Bytes that are parsed before the messages in them are received: of one byte each, they take some milliseconds."""


class WebSocketConnection(WSProtocol):
    """Connection that parses what has arrived as its messages are received, so that other clients need not wait.

    A read of 256 KiB holds up to 37,000 messages, which uvicorn would parse in a row.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unread = bytearray()

    def data_received(self, data: bytes) -> None:
        """Parse data up to the first message, and the rest once that is received."""
        self._unread += data
        self._parse()

    async def receive(self) -> Any:
        """Return the next message."""
        message = await super().receive()
        self._parse()
        return message

    async def send(self, message: Any) -> None:
        """Send a message; after the last one, only the client's close matters."""
        await super().send(message)
        if self.close_sent:
            self._parse()

    def _parse(self) -> None:
        while self._unread and (self.close_sent or self.queue.empty()):
            piece = bytes(self._unread[:_PIECE])
            del self._unread[:_PIECE]
            super().data_received(piece)
