"""WebSocket connections below ASGI, without sockets."""

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Request

from clientgo_apiserver.serving.websockets import WebSocketConnection

MESSAGES = 5_000


class Transport(asyncio.Transport):
    """Transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        """Close nothing."""

    def pause_reading(self) -> None:
        """Read nothing: the test delivers the data."""

    def resume_reading(self) -> None:
        """Read nothing: the test delivers the data."""


async def connected() -> tuple[WebSocketConnection, WSConnection]:
    """Return an accepted connection, whose application does nothing else, and its client."""
    accepted = asyncio.Event()

    async def application(_: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        accepted.set()
        await asyncio.Event().wait()

    connection = WebSocketConnection(config=Config(application), server_state=ServerState(), app_state={})
    transport, client = Transport(), WSConnection(ConnectionType.CLIENT)
    connection.connection_made(transport)
    connection.data_received(client.send(Request(host="localhost", target="/")))
    await accepted.wait()
    client.receive_data(transport.written)
    assert any(isinstance(event, AcceptConnection) for event in client.events())
    return connection, client


def test_messages_that_arrive_together_are_parsed_as_they_are_received() -> None:
    async def run() -> None:
        connection, client = await connected()
        texts = [b"%d" % number for number in range(MESSAGES)]
        connection.data_received(b"".join(client.send(BytesMessage(data=text)) for text in texts))
        most, received = 0, []
        for _ in texts:
            most = max(most, connection.queue.qsize())
            received.append((await connection.receive())["bytes"])
        assert received == texts
        assert 0 < most < MESSAGES / 5

    asyncio.run(run())


def test_long_message_is_parsed_to_its_end() -> None:
    async def run() -> None:
        connection, client = await connected()
        connection.data_received(client.send(BytesMessage(data=bytes(100_000))))
        assert (await connection.receive())["bytes"] == bytes(100_000)

    asyncio.run(run())


def test_the_clients_close_is_seen_behind_messages_that_nobody_receives() -> None:
    async def run() -> None:
        connection, client = await connected()
        sent = b"".join(client.send(BytesMessage(data=b"x")) for _ in range(MESSAGES))
        connection.data_received(sent + client.send(CloseConnection(code=1000)))
        await connection.send({"type": "websocket.close", "code": 1000})
        assert connection.conn.state is ConnectionState.CLOSED

    asyncio.run(run())
