"""WebSockets (RFC 6455) over connections that the requester opens; websocket-client encodes and decodes the frames."""

import hashlib
import math
import os
import struct
from base64 import b64encode
from collections.abc import Mapping, Sequence

from websocket import ABNF, WebSocketProtocolException, continuous_frame, frame_buffer

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConnectionFailed
from clientgo.meta.typemeta import invalid_response
from clientgo.rest.request import Request, Requester, open_upgrade, server_of
from clientgo.rest.transport import Duplex, IdleTimeout

MAX_MESSAGE = 64 * 1024 * 1024
"""Maximum bytes of a message; API servers send some 32 KiB."""

MAX_CONTROL = 125
"""Maximum bytes of a control frame (RFC 6455, section 5.5)."""

PING_SECONDS = 30.0
"""Seconds of silence after which a ping keeps proxies on the way from closing the connection."""

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_NO_CODE = 1005


def open_socket(
    requester: Requester, request: Request, protocols: Sequence[str], *, clock: Clock = SYSTEM_CLOCK
) -> "WebSocket":
    """Open a WebSocket that speaks one of these subprotocols, best first.

    Raises:
        InvalidResponse: the server speaks none of them, or no WebSockets.
        TypeError: the requester has no streams.
    """
    key = b64encode(os.urandom(16)).decode()
    duplex = open_upgrade(
        requester,
        request,
        (
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", key),
            ("Sec-WebSocket-Protocol", ", ".join(protocols)),
        ),
    )
    try:
        protocol = _accepted_protocol(duplex.headers, key, protocols, server_of(requester))
        return WebSocket(duplex, protocol, path=request.path, clock=clock)
    except BaseException:
        duplex.close()
        raise


def accept_key(key: str) -> str:
    """Return the server's answer to the key of a handshake, the header Sec-WebSocket-Accept (RFC 6455)."""
    return b64encode(hashlib.sha1((key + _GUID).encode(), usedforsecurity=False).digest()).decode()


def _accepted_protocol(headers: Mapping[str, str], key: str, protocols: Sequence[str], server: str) -> str:
    if headers.get("sec-websocket-accept") != accept_key(key):
        raise invalid_response("a WebSocket", "a handshake without the key of the request", server)
    protocol = headers.get("sec-websocket-protocol", "")
    if protocol not in protocols:
        raise invalid_response(f"the subprotocol {' or '.join(protocols)}", repr(protocol[:80]), server)
    return protocol


class WebSocket:
    """The client's side of a WebSocket: one thread receives, any may send."""

    def __init__(self, duplex: Duplex, protocol: str, *, path: str = "", clock: Clock = SYSTEM_CLOCK) -> None:
        self.protocol = protocol
        self.path = path
        self.close_code = 0
        """Why the peer closed (RFC 6455, section 7.4); 0 as long as it has not."""
        self.close_reason = ""
        self._duplex = duplex
        self._clock = clock
        self._deadline = math.inf
        self._looked = False  # at least once in each call, so that a timeout of 0 returns what has arrived
        self._received = b""
        self._position = 0
        self._frames = _Frames(self._read, skip_utf8_validation=True)
        self._fragments = continuous_frame(fire_cont_frame=False, skip_utf8_validation=True)
        self._size = 0  # of the fragments

    def __repr__(self) -> str:
        return f"<WebSocket {self.protocol} over {self._duplex!r}>"

    def send(self, message: bytes) -> None:
        """Send a message; wait while the peer does not read."""
        self._duplex.send(ABNF.create_frame(message, ABNF.OPCODE_BINARY).format())

    def receive(self, timeout: float | None = None) -> bytes | None:
        """Return the next message; None once the peer has closed the WebSocket.

        Raises:
            IdleTimeout: there is none within `timeout` seconds; the next call may return it.
            ConnectionFailed: the connection broke, or the peer broke the protocol.
        """
        self._deadline = math.inf if timeout is None else self._clock.now() + timeout
        self._looked = False
        try:
            while not self.close_code:
                frame = self._frames.recv_frame()
                if frame.opcode >= ABNF.OPCODE_CLOSE:
                    self._control(frame)
                elif (message := self._assemble(frame)) is not None:
                    return message
        except WebSocketProtocolException as error:
            raise ConnectionFailed(f"the server broke the WebSocket protocol of {self.path}: {error}") from error
        return None

    def close(self) -> None:
        """Close the connection from any thread; a blocked thread returns at once. May be called again."""
        self._duplex.close()

    def _post(self, data: bytes, opcode: int) -> None:
        # The reader must not wait for a peer that does not read.
        self._duplex.post(ABNF.create_frame(data, opcode).format())

    def _assemble(self, frame: ABNF) -> bytes | None:
        self._fragments.validate(frame)
        self._size += len(frame.data)
        if self._size > MAX_MESSAGE:
            raise WebSocketProtocolException(f"a message is larger than {MAX_MESSAGE} bytes")
        self._fragments.add(frame)
        if not self._fragments.is_fire(frame):
            return None
        self._size = 0
        message: bytes = self._fragments.extract(frame)[1].data
        return message

    def _control(self, frame: ABNF) -> None:
        data = frame.data if isinstance(frame.data, bytes) else frame.data.encode()
        if len(data) > MAX_CONTROL:
            raise WebSocketProtocolException(f"a control frame is longer than {MAX_CONTROL} bytes")
        if frame.opcode == ABNF.OPCODE_PING:
            self._post(data, ABNF.OPCODE_PONG)
        elif frame.opcode == ABNF.OPCODE_CLOSE:
            self.close_code = struct.unpack("!H", data[:2])[0] if data else _NO_CODE
            self.close_reason = data[2:].decode(errors="replace")

    def _read(self, size: int) -> bytes:
        if self._position == len(self._received):
            self._received, self._position = self._receive(), 0
        start, self._position = self._position, min(self._position + size, len(self._received))
        return self._received[start : self._position]

    def _receive(self) -> bytes:
        while True:
            remaining = self._deadline - self._clock.now()
            if remaining <= 0 and self._looked:
                raise IdleTimeout(f"no message of {self.path} in time")
            self._looked = True
            try:
                data = self._duplex.receive(max(0.0, min(remaining, PING_SECONDS)))
            except IdleTimeout:
                if remaining <= PING_SECONDS:
                    raise
                self._post(b"", ABNF.OPCODE_PING)
                continue
            if not data:
                raise ConnectionFailed(
                    f"the connection of {self.path} was lost: the server has not closed the WebSocket"
                )
            return data


class _Frames(frame_buffer):
    """Frames of a limited size from a peer that, as a server, must not mask them."""

    def recv_length(self) -> None:
        super().recv_length()
        if self.has_mask():
            raise WebSocketProtocolException("a frame of the server is masked")
        if (self.length or 0) > MAX_MESSAGE:
            raise WebSocketProtocolException(f"a frame is larger than {MAX_MESSAGE} bytes")
