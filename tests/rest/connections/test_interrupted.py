"""Interrupted requests, for example by a signal, close their connection."""

from typing import Any, cast

import pytest
from urllib3.connection import HTTPConnection

from clientgo.rest.config import Config
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.pool import PoolTransport


class Interrupted:
    """A connection whose socket is interrupted after it gave `pieces`; `at_send` before anything is sent."""

    def __init__(self, *pieces: bytes, at_send: bool = False) -> None:
        self.sock = self
        self.closed = False
        self._pieces = list(pieces)
        self._at_send = at_send

    def settimeout(self, seconds: float) -> None: ...

    def fileno(self) -> int:
        return -1

    def send(self, data: bytes) -> int:
        if self._at_send:
            raise KeyboardInterrupt
        return len(data)

    def recv(self, size: int) -> bytes:
        if not self._pieces:
            raise KeyboardInterrupt
        return self._pieces.pop(0)

    def close(self) -> None:
        self.closed = True


class OneConnection(Dialer):
    """Dials nothing but the connection it was given."""

    def __init__(self, connection: Interrupted) -> None:
        super().__init__(Config("http://h"), environ={})
        self._given: Any = connection

    def dial(self, timeout: float | None = None) -> HTTPConnection:
        return cast(HTTPConnection, self._given)


@pytest.mark.parametrize(
    "connection",
    [
        pytest.param(Interrupted(at_send=True), id="sending"),
        pytest.param(Interrupted(), id="before the head"),
        pytest.param(Interrupted(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), id="in the body"),
    ],
)
def test_interrupted_request_closes_its_connection(connection: Interrupted) -> None:
    with pytest.raises(KeyboardInterrupt):
        PoolTransport(OneConnection(connection)).request("GET", "/", (), None, 5.0)
    assert connection.closed


def test_interrupted_stream_closes_its_connection() -> None:
    connection = Interrupted(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
    stream = PoolTransport(OneConnection(connection)).stream("GET", "/", (), 5.0, idle_timeout=5.0)
    pieces = iter(stream)
    assert next(pieces) == b"one"
    with pytest.raises(KeyboardInterrupt):
        next(pieces)
    assert connection.closed
