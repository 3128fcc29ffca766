"""WebSockets over ASGI: carries the messages of an `Upgrade` until its work is done or the client is gone."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from clientgo_apiserver.http.messages import HTTPResponse
from clientgo_apiserver.http.upgrades import LostConnection, SocketChannels, Upgrade

SocketMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[SocketMessage]]
Send = Callable[[SocketMessage], Awaitable[None]]

_NORMAL, _INVALID = 1000, 1002

STARTING = 0.01
"""Seconds until the first message: kubectl discards those that arrive before it has made its streams."""


async def serve(
    upgrade: Upgrade, connection: tuple[Receive, Send], abort: Callable[[], object], *, pause: float = 0.0
) -> None:
    """Accept the WebSocket, do the upgrade's work after a pause in seconds, and close."""
    receive, send = connection
    await receive()  # websocket.connect
    await send({"type": "websocket.accept", "subprotocol": upgrade.protocol})
    await asyncio.sleep(pause)

    async def send_message(data: bytes | str) -> None:
        await send({"type": "websocket.send", "text" if isinstance(data, str) else "bytes": data})
        await asyncio.sleep(0)  # `send` waits only for a client that does not read

    channels = SocketChannels(send_message, upgrade.protocol)
    work = asyncio.ensure_future(upgrade.run(channels))
    reading = asyncio.ensure_future(_deliver(receive, channels))
    try:
        await asyncio.wait((work, reading), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
            await send({"type": "websocket.close", "code": _NORMAL})
        elif reading.exception() is not None:
            await send({"type": "websocket.close", "code": _INVALID, "reason": str(reading.exception())[:100]})
    except LostConnection:
        abort()
    finally:
        work.cancel()
        reading.cancel()
        await asyncio.gather(work, reading, return_exceptions=True)


async def refuse(response: HTTPResponse, connection: tuple[Receive, Send]) -> None:
    """Answer the handshake with a response instead."""
    receive, send = connection
    await receive()
    head = [(b"content-type", response.content_type.encode()), (b"content-length", b"%d" % len(response.body))]
    head += [(name.lower().encode(), value.encode()) for name, value in response.headers]
    await send({"type": "websocket.http.response.start", "status": response.status, "headers": head})
    await send({"type": "websocket.http.response.body", "body": response.body})


async def _deliver(receive: Receive, channels: SocketChannels) -> None:
    """Deliver the client's messages until it disconnects; raise `ValueError` for an invalid one."""
    while (message := await receive())["type"] == "websocket.receive":
        data = message.get("bytes")
        await channels.deliver(message["text"].encode() if data is None else data)
