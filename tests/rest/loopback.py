"""A scripted TCP server on loopback."""

import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from clientgo.stop.lifecycle import Group
from clientgo.tls import TLSSocket

CLOSE = b"\x00close"
"""A step: close the connection; as the first one, after a request was read."""

RESET = b"\x00reset"
"""A step: close it rudely, so that the peer gets a reset."""


NO_HANDSHAKE = b"\x00no handshake"
"""A first step: close the connection before the TLS handshake; followed by RESET, with a reset."""


def http(body: bytes = b"{}", status: str = "200 OK", headers: str = "") -> bytes:
    """A plain reply with a length."""
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


def chunked(*chunks: bytes, end: bool = True) -> bytes:
    """A chunked reply, ended or not."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head + body + (b"0\r\n\r\n" if end else b"")


class Loopback:
    """Answers the n-th connection by the n-th script: one step a request; after the last it stays open and silent."""

    def __init__(self, scripts: Sequence[Sequence[bytes]], tls: ssl.SSLContext | None) -> None:
        self.requests: list[bytes] = []
        self.shown: list[bytes | None] = []
        """The client certificate of each TLS connection (DER), None where none was shown."""
        self.connections = 0
        self.silent = threading.Event()
        """Set once some connection has nothing more to say."""
        self.ended = threading.Event()
        """Set once some connection was closed by the client."""
        self.left = threading.Event()
        """Set once some connection was closed here."""
        self._scripts = scripts
        self._tls = tls
        if tls is not None:
            tls.sslsocket_class = TLSSocket
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._group = Group()
        self.port = int(self._listener.getsockname()[1])
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._group.start(self._accept, name="loopback")

    def stop(self) -> None:
        """Close everything."""
        self._group.stop()
        for sock in (self._listener, *self._open):
            _shut(sock)
        self._group.join(5)
        for sock in (self._listener, *self._open):
            sock.close()

    def hang_up(self) -> None:
        """Close what is open now, and go on listening."""
        for sock in self._open[:]:
            _shut(sock)

    def _accept(self) -> None:
        for number in range(100):
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(sock)
            script = self._scripts[number] if number < len(self._scripts) else ()
            self._group.start(self._serve, sock, script, name=f"loopback-{number}")

    def _serve(self, raw: socket.socket, script: Sequence[bytes]) -> None:
        if NO_HANDSHAKE in script:
            _linger(raw, reset=RESET in script)
            raw.close()
            return
        try:
            sock = raw if self._tls is None else self._tls.wrap_socket(raw, server_side=True)
        except OSError:
            raw.close()
            return
        if isinstance(sock, ssl.SSLSocket):
            self.shown.append(sock.getpeercert(binary_form=True))
        with sock:
            try:
                self._answer(sock, script)
            except OSError:
                self.ended.set()
        self.left.set()

    def _answer(self, sock: socket.socket, script: Sequence[bytes]) -> None:
        for number, step in enumerate(script):
            if step not in (CLOSE, RESET) or number == 0:
                self.requests.append(_request(sock))
            if step == CLOSE:
                return
            if step == RESET:
                _linger(sock, reset=True)
                return
            sock.sendall(step)
        self.silent.set()
        while sock.recv(65536):
            pass
        self.ended.set()


def _linger(sock: socket.socket, *, reset: bool) -> None:
    if reset:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    else:
        sock.recv(65536)  # what is unread at the close would make it a reset


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):  # it may be down already
        sock.shutdown(socket.SHUT_RDWR)


def _request(sock: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and not data.startswith(b"\x16"):  # 0x16: a TLS handshake
        more = sock.recv(65536)
        if not more:
            raise ConnectionError("the client left")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(v) for k, _, v in (h.partition(b":") for h in head.split(b"\r\n")) if k == b"Content-Length"), 0)
    while len(body) < length:
        body += sock.recv(65536)
    return head + b"\r\n\r\n" + body


@contextmanager
def loopback(*scripts: Sequence[bytes], tls: ssl.SSLContext | None = None) -> Iterator[Loopback]:
    """A running `Loopback`, stopped at the end."""
    server = Loopback(scripts, tls)
    try:
        yield server
    finally:
        server.stop()
