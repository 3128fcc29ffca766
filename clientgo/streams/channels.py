"""Channels of one WebSocket: each message begins with the number of its channel.

Version 5 (Kubernetes 1.30) has a message that ends a channel, which version 4 has not.
"""

from collections.abc import Callable

from clientgo.errors import ConnectionFailed
from clientgo.rest.request import Request, Requester, permission_for
from clientgo.streams.websockets import WebSocket, open_socket

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
CLOSE = 255
"""Channel of version 5, whose message is the number of a channel that the client ends."""

V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"

PIECE = 32 * 1024
"""Maximum bytes of a message to the server."""


def encode_message(channel: int, data: bytes | memoryview) -> bytes:
    """Return the message that carries data of a channel."""
    return bytes((channel,)) + data


def decode_message(message: bytes) -> tuple[int, bytes]:
    """Return the channel and the data of a message.

    Raises:
        ConnectionFailed: the message has no channel.
    """
    if not message:
        raise ConnectionFailed("the peer broke the protocol of channels: a message without a channel")
    return message[0], message[1:]


class ChannelSocket:
    """A WebSocket with channels: one thread receives, any may send.

    `permit` is called before each message, and raises if it must not be sent.
    """

    def __init__(self, socket: WebSocket, permit: Callable[[], object] = lambda: None) -> None:
        self.socket = socket
        self._permit = permit

    def __repr__(self) -> str:
        return f"<ChannelSocket {self.socket.protocol}>"

    @property
    def can_end_channels(self) -> bool:
        """True if the protocol can end one channel: with version 4 only the connection as a whole ends."""
        return self.socket.protocol == V5

    def send(self, channel: int, data: bytes) -> None:
        """Send data of a channel, in several messages if it is long; wait while the peer does not read."""
        view = memoryview(data)
        for start in range(0, len(view), PIECE):
            self._send(encode_message(channel, view[start : start + PIECE]))

    def end(self, channel: int) -> None:
        """Tell the peer that nothing more will be sent on a channel; only if `can_end_channels`."""
        self._send(encode_message(CLOSE, bytes((channel,))))

    def receive(self, timeout: float | None = None) -> tuple[int, bytes] | None:
        """Return the channel and the data of the next message; None once the peer has closed the WebSocket.

        Raises:
            IdleTimeout: there is none within `timeout` seconds.
            ConnectionFailed: the connection broke, or the peer broke the protocol.
        """
        message = self.socket.receive(timeout)
        return None if message is None else decode_message(message)

    def close(self) -> None:
        """Close the connection from any thread; a blocked thread returns at once. May be called again."""
        self.socket.close()

    def _send(self, message: bytes) -> None:
        self._permit()
        self.socket.send(message)


def open_channels(requester: Requester, request: Request, protocols: tuple[str, ...] = (V5, V4)) -> ChannelSocket:
    """Open a WebSocket with channels, of the best of these protocols that the server speaks."""
    return ChannelSocket(open_socket(requester, request, protocols), permission_for(requester, request))
