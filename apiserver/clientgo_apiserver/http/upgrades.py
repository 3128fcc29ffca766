"""Upgrades to WebSockets with channels, as `exec`, `attach` and `portforward` of pods use them.

Each message begins with the number of its channel. Of the `base64` protocols, it is a digit, and the remainder base64.
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable

import msgspec

from clientgo_apiserver.api.status import bad_request
from clientgo_apiserver.http.messages import HTTPRequest

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
CLOSE = 255
"""Channel of version 5, whose message is the number of a channel that the client closes."""

V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
BASE64 = "v4.base64.channel.k8s.io"
SUBRESOURCES = ("attach", "exec", "portforward")
"""Subresources of pods that become WebSockets."""

PIECE = 32 * 1024
"""Maximum bytes of a message to the client."""

_WAITING = 8

Send = Callable[[bytes | str], Awaitable[None]]


class SocketChannels:
    """The channels of one WebSocket: `receive` returns the messages that `deliver` puts in."""

    def __init__(self, send: Send, protocol: str) -> None:
        self._send = send
        self._base64 = "base64" in protocol
        self._received: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue(_WAITING)
        self.reading = False
        """True once messages are received: until then messages are dropped, as by a program that does not read."""

    async def send(self, channel: int, data: bytes) -> None:
        """Send a message; wait while the client does not read."""
        if self._base64:
            await self._send(f"{channel}{b64encode(data).decode()}")
        else:
            await self._send(bytes((channel,)) + data)

    async def receive(self) -> tuple[int, bytes]:
        """Return the channel and the data of the next message."""
        return await self._received.get()

    async def deliver(self, message: bytes) -> None:
        """Add a message of the client; raise `ValueError` if it is invalid."""
        if not message:
            raise ValueError("a message without a channel")
        if not self._base64:
            received = message[0], message[1:]
        elif message[:1].isdigit():
            received = int(message[:1]), b64decode(message[1:], validate=True)
        else:
            raise ValueError(f"invalid channel {message[:1]!r}")
        if self.reading:
            await self._received.put(received)


class LostConnection(Exception):
    """The connection is to be closed without an end, as by a node that fails."""


class Upgrade(msgspec.Struct):
    """The answer to a request that becomes a WebSocket of this subprotocol, which `run` uses."""

    protocol: str
    run: Callable[[SocketChannels], Awaitable[None]]
    status: int = 101


def reject_spdy(request: HTTPRequest) -> None:
    """Reject a client that wants SPDY, of itself or in a WebSocket, and say which clients do not (400)."""
    protocols = (request.headers.get(name, "").strip() for name in ("upgrade", "sec-websocket-protocol"))
    if protocol := next((text for text in protocols if text.lower().startswith("spdy/")), ""):
        raise bad_request(
            f"protocol {protocol} is not supported: use a client with WebSockets of {V5} or {V4}."
            " kubectl has them since 1.31, for exec, attach and cp, but not for port-forward"
        )


def choose_protocol(request: HTTPRequest, supported: tuple[str, ...] = (V5, V4, BASE64)) -> str:
    """Return the first subprotocol of the client that is supported (400)."""
    if not request.upgradable:
        raise bad_request("Upgrade request required")
    listed = [name.strip() for name in request.headers.get("sec-websocket-protocol", "").split(",")]
    for name in listed:
        if name in supported:
            return name
    raise bad_request(f"unsupported protocols {listed}: use one of {', '.join(supported)}")
