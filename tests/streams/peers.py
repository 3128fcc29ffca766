"""Scripted servers of WebSockets at the `Transport` seam, without sockets."""

import hashlib
import threading
from base64 import b64encode
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from websocket import ABNF, WebSocketConnectionClosedException, frame_buffer

from clientgo.errors import ConnectionFailed
from clientgo.kubernetes.clients.core_v1 import CoreV1, PodClient
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.transport import Duplex, Headers, HTTPReply, IdleTimeout
from clientgo.streams.channels import ERROR, V5
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeTransport

SUCCESS: Mapping[str, Any] = {"metadata": {}, "status": "Success"}


def frame(data: bytes, opcode: int = ABNF.OPCODE_BINARY, *, fin: int = 1) -> bytes:
    """A frame of a server, which is not masked."""
    return ABNF(fin, 0, 0, 0, opcode, 0, data).format()


def closing(code: int = 1000, reason: str = "") -> bytes:
    """The frame by which a server closes."""
    return frame(code.to_bytes(2, "big") + reason.encode(), ABNF.OPCODE_CLOSE)


def status(code: int = 0) -> bytes:
    """The frame with the exit status of a command."""
    failure = {
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
    return frame(bytes((ERROR,)) + msgspec.json.encode(failure if code else SUCCESS))


class FakeDuplex:
    """A connection that has switched protocols. It receives its script, and is silent, lost or broken after that."""

    status = 101

    def __init__(self, *script: bytes, silent: bool = False, error: ConnectionFailed | None = None) -> None:
        self.headers: dict[str, str] = {}
        self.sent = b""
        self.closed = threading.Event()
        self._sending = threading.Lock()
        self._script = deque(filter(None, script))
        self._silent = silent
        self._error = error

    def receive(self, timeout: float | None) -> bytes:
        if self._script:
            return self._script.popleft()
        if self._error is not None:
            raise self._error
        if not self._silent:
            return b""
        if not self.closed.wait(0 if timeout is not None else 20):
            raise IdleTimeout(f"no data for {timeout} s")
        raise ConnectionFailed("closed")

    def send(self, data: bytes) -> None:
        with self._sending:  # a reader sends pings meanwhile
            if self.closed.is_set():
                raise ConnectionFailed("closed")
            self.sent += data

    post = send

    def close(self) -> None:
        self.closed.set()

    def frames(self) -> list[tuple[int, bytes]]:
        """Return the opcode and the data of each frame that was sent."""
        return list(_frames_in(self.sent))


def _frames_in(data: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0

    def read(size: int) -> bytes:
        nonlocal position
        start, position = position, min(position + size, len(data))
        if start == position:
            raise WebSocketConnectionClosedException
        return data[start:position]

    frames = frame_buffer(read, skip_utf8_validation=True)
    while position < len(data):
        received = frames.recv_frame()
        assert received.mask_value, "a client masks its frames"
        assert isinstance(received.data, bytes)
        yield received.opcode, received.data


class SocketTransport(FakeTransport):
    """A transport whose connections switch to these WebSockets, one after the other, or are refused."""

    def __init__(self, *upgrades: FakeDuplex | HTTPReply | ConnectionFailed, protocol: str = V5) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.sent_headers: list[dict[str, str]] = []
        self._upgrades = deque(upgrades)
        self._protocol = protocol

    def upgrade(self, target: str, headers: Headers, timeout: float) -> HTTPReply | Duplex:
        self.targets.append(target)
        self.sent_headers.append(dict(headers))
        response = self._upgrades.popleft()
        if isinstance(response, ConnectionFailed):
            raise response
        if isinstance(response, FakeDuplex):
            digest = hashlib.sha1(
                (dict(headers)["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()
            )
            accepted = {"sec-websocket-accept": b64encode(digest.digest()).decode()}
            response.headers = accepted | {"sec-websocket-protocol": self._protocol} | response.headers
        return response


def pods(*upgrades: FakeDuplex | HTTPReply | ConnectionFailed, protocol: str = V5) -> PodClient:
    """Return a client of pods whose connections switch to these WebSockets."""
    return pods_of(SocketTransport(*upgrades, protocol=protocol))


def pods_of(transport: FakeTransport) -> PodClient:
    """Return a client of pods over a transport."""
    return CoreV1(RESTClient(Config("http://api"), transport=transport, clock=FakeClock(auto=True))).pods("ns")


@contextmanager
def no_thread_left(name: str) -> Iterator[None]:
    """Check that no thread with this in its name has outlived the block."""
    yield
    assert [thread.name for thread in threading.enumerate() if name in thread.name] == []
