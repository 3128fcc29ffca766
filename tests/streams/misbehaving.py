"""Servers of WebSockets over real sockets that stop to read or to write, send pings, or send without end."""

import hashlib
import socket
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from websocket import ABNF

from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import is_stopping, on_stop
from tests.streams.peers import frame

TICK = 0.01
OUTPUT = frame(b"\x01" + bytes(4096))


class Peer:
    """One connection of a client, on the side of the server."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.settimeout(TICK)

    def send(self, data: bytes) -> None:
        """Send all, also while the client does not read."""
        unsent = memoryview(data)
        while unsent and not is_stopping():
            with suppress(TimeoutError):
                unsent = unsent[self.sock.send(unsent) :]

    def receive(self) -> bytes:
        """Return what has arrived, nothing if there is none; raise `ConnectionError` at the end."""
        with suppress(TimeoutError):
            if data := self.sock.recv(65536):
                return data
            raise ConnectionError
        return b""

    def head(self) -> bytes:
        """Return the head of the request."""
        head = b""
        while b"\r\n\r\n" not in head and not is_stopping():
            head += self.receive()
        return head

    def switch(self) -> None:
        """Answer the handshake."""
        head = self.head()
        headers = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        key = headers[b"Sec-WebSocket-Key"] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accepted = b64encode(hashlib.sha1(key).digest())
        protocol = headers[b"Sec-WebSocket-Protocol"].split(b",")[0]
        self.send(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accepted + b"\r\nSec-WebSocket-Protocol: " + protocol + b"\r\n\r\n"
        )

    def pause(self) -> None:
        """Wait a moment, without reading."""
        with suppress(TimeoutError):
            self.sock.recv(1, socket.MSG_PEEK)

    def forever(self, *steps: Callable[[], object]) -> None:
        """Repeat the steps until the test ends."""
        while not is_stopping():
            for step in steps:
                step()


Behaviour = Callable[[Peer], None]


def _after_switch(*steps: Callable[[Peer], object]) -> Behaviour:
    def behave(peer: Peer) -> None:
        peer.switch()
        peer.forever(*[lambda step=step: step(peer) for step in steps])

    return behave


def _trickle_head(peer: Peer) -> None:
    peer.head()
    peer.send(b"HTTP/1.1 101 Switching Protocols\r\nX-Long: ")
    peer.forever(lambda: peer.send(b"x"), lambda: _tick(peer))


def _trickle_frame(peer: Peer) -> None:
    peer.switch()
    peer.send(frame(bytes(60_000))[:4])
    peer.forever(peer.receive, lambda: peer.send(b"\x01"))


def _tick(peer: Peer) -> None:
    peer.sock.settimeout(TICK)
    peer.receive()


BEHAVIOURS: dict[str, Behaviour] = {
    "accepts and is silent": lambda peer: peer.forever(peer.receive),
    "trickles the response": _trickle_head,
    "stops reading": _after_switch(lambda peer: peer.pause(), lambda peer: peer.send(b"")),
    "stops writing": _after_switch(lambda peer: peer.receive()),
    "pings and does not read": _after_switch(lambda peer: peer.send(frame(b"x" * 125, ABNF.OPCODE_PING))),
    "pings and reads": _after_switch(
        lambda peer: peer.receive(), lambda peer: peer.send(frame(b"?", ABNF.OPCODE_PING))
    ),
    "trickles a frame": _trickle_frame,
    "sends empty messages without end": _after_switch(lambda peer: peer.send(frame(b"\x01") * 100)),
    "sends data of a port without end": _after_switch(lambda peer: peer.send(frame(bytes(4096)))),
    "sends output without end": _after_switch(lambda peer: peer.send(OUTPUT)),
    "sends output without end, and reads": _after_switch(
        lambda peer: peer.receive(), lambda peer: peer.send(OUTPUT * 10)
    ),
}


@contextmanager
def misbehaving(behave: Behaviour) -> Iterator[str]:
    """Serve connections that behave so; return the address."""

    def serve(sock: socket.socket) -> None:
        with sock, suppress(OSError):
            behave(Peer(sock))

    def accept() -> None:
        with on_stop(lambda: socket.socket.shutdown(listener, socket.SHUT_RDWR)), suppress(OSError):
            while True:
                sock, _ = listener.accept()
                group.start(serve, sock, name="peer")

    with socket.create_server(("127.0.0.1", 0)) as listener, Group() as group:
        group.start(accept, name="peers")
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
