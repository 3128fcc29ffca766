"""Hostile WebSockets, by the names of their rows."""

import contextlib
import io
import socket
import struct
import tarfile
import threading
from collections.abc import Callable
from typing import Any

import websocket

from apiserver.benchmarks.hostilerequests import PODS
from apiserver.benchmarks.server import Server

_END = b"\xff\x00"
_ATTEMPTS = 100


def _connect(target: Server, query: str) -> Any:
    address = f"ws://127.0.0.1:{target.port}{PODS}/files/exec?{query}"
    for _ in range(_ATTEMPTS):
        connection: Any = websocket.WebSocket()
        with contextlib.suppress(websocket.WebSocketBadStatusException):  # the pod does not run yet
            connection.connect(address, subprotocols=["v5.channel.k8s.io"], timeout=60, suppress_origin=True)
            return connection
        threading.Event().wait(0.1)
    raise TimeoutError("the pod does not run")


def _received(connection: Any) -> tuple[int, bytes]:
    """Receive to the end; return 200 for a command that succeeded."""
    size, last = 0, b""
    while True:
        opcode, message = connection.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            return (200 if b"Success" in last else 400), b"%d" % size
        size, last = size + len(message), message


def _archive() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for number in range(5_000):
            member = tarfile.TarInfo(f"f{number}")
            member.size = 10
            archive.addfile(member, io.BytesIO(b"x" * 10))
    return packed.getvalue()


def _files_in(target: Server) -> tuple[int, bytes]:
    connection = _connect(target, "command=tar&command=xf&command=-&command=-C&command=/x&stdin=1&stderr=1")
    connection.send_binary(b"\x00" + _archive())
    return _received(connection)


def _files_out(target: Server) -> tuple[int, bytes]:
    _files_in(target)
    return _received(_connect(target, "command=tar&command=cf&command=-&command=/x&stdout=1&stderr=1"))


def _echo(target: Server, messages: list[bytes]) -> tuple[int, bytes]:
    connection = _connect(target, "command=cat&stdin=1&stdout=1")
    raw: socket.socket = connection.sock
    frames = b"".join(_frame(b"\x00" + message) for message in messages) + _frame(_END)
    raw.setblocking(False)
    size, sent, last = 0, 0, b""
    while b"Success" not in last:
        with contextlib.suppress(BlockingIOError):
            sent += raw.send(frames[sent : sent + (1 << 16)]) if sent < len(frames) else 0
        try:
            piece = raw.recv(1 << 20)
        except BlockingIOError:
            continue
        if not piece:
            return 0, b""
        size, last = size + len(piece), (last + piece)[-200:]
    return 200, b"%d" % size


def _frame(data: bytes) -> bytes:
    """Return a masked frame, whose mask changes nothing."""
    head = bytes((0x82, 0x80 | len(data))) if len(data) < 126 else bytes((0x82, 0xFF)) + struct.pack("!Q", len(data))
    return head + bytes(4) + data


STREAMS: dict[str, Callable[[Server], tuple[int, bytes]]] = {
    "exec: an archive of 5,000 files in one message": _files_in,
    "exec: an archive of 5,000 files is read": _files_out,
    "exec: 20,000 messages of one byte": lambda target: _echo(target, [b"x"] * 20_000),
    "exec: 16 MB that are echoed": lambda target: _echo(target, [b"x" * (4 << 20)] * 4),
}
