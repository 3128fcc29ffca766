"""Connections after a switch of protocols: both directions at once, and every way in which they end."""

import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConnectionFailed, NotFound
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.http1 import Head, ReplyReader
from clientgo.rest.connections.pool import PoolTransport
from clientgo.rest.connections.tcp import SOCKET_OPTIONS
from clientgo.rest.connections.upgraded import UpgradedConnection
from clientgo.rest.request import Request
from clientgo.rest.transport import Duplex, HTTPReply, IdleTimeout
from clientgo.stop.lifecycle import Group
from tests.rest.connections.test_proxy import CONNECT, SOCKS, Tunnel, pump
from tests.rest.connections.test_tls import server_context
from tests.rest.loopback import RESET, Loopback, http, loopback

pytestmark = pytest.mark.integration

SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\n\r\n"
LARGE = bytes(range(256)) * 20_000
HEADERS = (("Connection", "Upgrade"), ("Upgrade", "test"))
REQUEST = Request(verb="connect", resource=GroupVersionResource("", "v1", "pods"), name="web", subresource="exec")


class Echo:
    """A server that switches protocols, and returns what it receives; it does not read while it cannot send."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._tls = tls
        self.port = int(self._listener.getsockname()[1])

    def serve_one(self) -> None:
        sock, _ = self._listener.accept()
        self._listener.close()
        if self._tls is not None:
            sock = self._tls.wrap_socket(sock, server_side=True)
        with sock, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += sock.recv(4096)
            sock.sendall(SWITCHED)
            while data := sock.recv(65536):
                sock.sendall(data)


@contextmanager
def opened(transport: PoolTransport) -> Iterator[Duplex]:
    duplex = transport.upgrade("/", HEADERS, 5.0)
    assert not isinstance(duplex, HTTPReply)
    yield duplex
    duplex.close()
    transport.close()


def transport_to(address: str, *, ca_file: str = "", proxy_url: str = "") -> PoolTransport:
    return PoolTransport(Dialer(Config(address, ca_file=ca_file, proxy_url=proxy_url), environ={}))


def received(duplex: Duplex, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = duplex.receive(20.0)
        assert piece, "the connection ended"
        data += piece
    return bytes(data)


def echoed(duplex: Duplex) -> bytes:
    """Send more than the buffers on the way hold, and return what comes back meanwhile."""
    with Group() as group:
        group.start(duplex.send, LARGE, name="sender")
        return received(duplex, len(LARGE))


def test_data_flows_in_both_directions_at_once() -> None:
    server = Echo()
    with Group() as group:
        group.start(server.serve_one, name="echo")
        with opened(transport_to(f"http://127.0.0.1:{server.port}")) as duplex:
            assert duplex.headers["upgrade"] == "test"
            assert echoed(duplex) == LARGE


@pytest.mark.e2e
def test_data_flows_in_both_directions_at_once_over_tls(certificates: Path) -> None:
    server = Echo(server_context(certificates))
    with Group() as group:
        group.start(server.serve_one, name="echo")
        ca = str(certificates / "ca.pem")
        with opened(transport_to(f"https://127.0.0.1:{server.port}", ca_file=ca)) as duplex:
            assert echoed(duplex) == LARGE


@pytest.mark.e2e
@pytest.mark.parametrize(("scheme", "responses"), [("http://", CONNECT), ("socks5://me:pass%20word@", SOCKS)])
def test_data_flows_through_a_proxy(certificates: Path, scheme: str, responses: tuple[bytes, ...]) -> None:
    server = Echo(server_context(certificates))
    tunnel = Tunnel(server.port, responses)
    ca, proxy = str(certificates / "ca.pem"), scheme + tunnel.address
    with Group() as group:
        group.start(server.serve_one, name="echo")
        group.start(tunnel.serve_one, Group(), name="tunnel")
        with opened(transport_to("https://api.example:6443", ca_file=ca, proxy_url=proxy)) as duplex:
            assert echoed(duplex) == LARGE


def secure_tunnel(listener: socket.socket, port: int, context: ssl.SSLContext) -> None:
    """Be an HTTPS proxy for one connection."""
    raw, _ = listener.accept()
    listener.close()
    client = context.wrap_socket(raw, server_side=True)
    client.recv(4096)
    client.sendall(CONNECT[0])
    server = socket.create_connection(("127.0.0.1", port))
    with Group() as group, client, server:
        group.start(pump, server, client, name="back")
        pump(client, server)


@pytest.mark.e2e
def test_data_flows_through_tls_inside_tls(
    certificates: Path,
    monkeypatch: pytest.MonkeyPatch,  # noqa: TID251  # the environment of OpenSSL
) -> None:
    context = server_context(certificates)
    server, listener = Echo(context), socket.create_server(("127.0.0.1", 0))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))  # urllib3 verifies proxies by the system's bundle
    proxy = f"https://127.0.0.1:{listener.getsockname()[1]}"
    with Group() as group:
        group.start(server.serve_one, name="echo")
        group.start(secure_tunnel, listener, server.port, context, name="tunnel")
        ca = str(certificates / "ca.pem")
        with opened(transport_to("https://api.example:6443", ca_file=ca, proxy_url=proxy)) as duplex:
            assert echoed(duplex) == LARGE


def test_bytes_that_arrive_with_the_head_are_received_first() -> None:
    with loopback([SWITCHED + b"first"]) as server, opened(transport_to(server.address)) as duplex:
        assert duplex.receive(5.0) == b"first"


def test_refusal_is_a_reply_and_its_connection_is_reused() -> None:
    with loopback([http(b"no", "403 Forbidden"), http(b"ok")]) as server:
        transport = transport_to(server.address)
        reply = transport.upgrade("/", HEADERS, 5.0)
        assert isinstance(reply, HTTPReply)
        assert (reply.status, reply.body) == (403, b"no")
        assert transport.request("GET", "/", (), None, 5.0).body == b"ok"
        assert server.connections == 1
        transport.close()


def test_idle_connection_is_not_used_for_a_switch() -> None:
    with loopback([http(b"ok")], [SWITCHED]) as server:
        transport = transport_to(server.address)
        transport.request("GET", "/", (), None, 5.0)
        with opened(transport):
            assert server.connections == 2


def hang_up(server: Loopback) -> None:
    assert server.silent.wait(5)
    server.hang_up()


@pytest.mark.parametrize("end", [0, 1, 12, len(SWITCHED) - 3, len(SWITCHED) - 1])
def test_peer_that_closes_in_the_handshake_is_an_error(end: int) -> None:
    with loopback([SWITCHED[:end]]) as server, Group() as group:
        group.start(hang_up, server, name="closer")
        transport = transport_to(server.address)
        with pytest.raises(ConnectionFailed, match="closed the connection"):
            transport.upgrade("/", HEADERS, 5.0)
        transport.close()


def test_silence_is_an_idle_timeout_and_can_be_followed_by_data() -> None:
    with loopback([SWITCHED, b"late"]) as server, opened(transport_to(server.address)) as duplex:
        with pytest.raises(IdleTimeout):
            duplex.receive(0.0)
        duplex.send(b"more\r\n\r\n")
        assert duplex.receive(5.0) == b"late"


def test_end_of_the_peer_is_an_end() -> None:
    with loopback([SWITCHED]) as server, opened(transport_to(server.address)) as duplex:
        hang_up(server)
        assert duplex.receive(5.0) == b""


def test_reset_by_the_peer_is_an_error() -> None:
    with loopback([SWITCHED, b"x", RESET]) as server, opened(transport_to(server.address)) as duplex:
        duplex.send(b"\r\n\r\n")
        with pytest.raises(ConnectionFailed, match="closed the connection") as lost:
            received(duplex, len(LARGE))
        assert lost.value.broken


class Switched:
    """A connection that has received the head of a switch."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.reader = ReplyReader(sock.recv)

    def shutdown(self) -> None:
        self.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.sock.close()


def test_peer_may_stop_reading_for_any_time() -> None:
    # With the timeout of requests, the operating system would end the connection after a minute.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sock = socket.create_connection(listener.getsockname())
        for option in SOCKET_OPTIONS:
            sock.setsockopt(*option)
        duplex = UpgradedConnection(Switched(sock), Head("HTTP/1.1 101 OK", "GET"), "http://api", SYSTEM_CLOCK)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 0
        duplex.close()


def send_without_end(duplex: Duplex) -> None:
    while True:
        duplex.send(LARGE)


@pytest.mark.parametrize("use", [lambda duplex: duplex.receive(None), send_without_end], ids=["receive", "send"])
def test_close_wakes_a_blocked_thread(use: Callable[[Duplex], object]) -> None:
    with loopback([SWITCHED]) as server, opened(transport_to(server.address)) as duplex:
        begun, errors = threading.Event(), list[ConnectionFailed]()

        def block() -> None:
            begun.set()
            try:
                use(duplex)
            except ConnectionFailed as error:
                errors.append(error)

        with Group() as group:
            group.start(block, name="blocked")
            assert begun.wait(5)
            duplex.close()
        assert [str(error) for error in errors] == [f"the connection to {server.address} was closed by this program"]


FORKING = """
import os
from tests.rest.connections.test_upgraded import Echo, Group, opened, received, transport_to

with Group() as group:
    server = Echo()
    group.start(server.serve_one, name="echo")
    with opened(transport_to(f"http://127.0.0.1:{server.port}")) as duplex:
        child = os.fork()
        if not child:
            duplex.close()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        duplex.send(b"still open")
        print(received(duplex, 10).decode())
"""


@pytest.mark.e2e
def test_child_of_a_fork_leaves_the_connection_to_its_parent() -> None:
    # In a process of its own: a fork of this one would have its threads' locks, pytest's included.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.stderr) == ("still open\n", "")


def test_connection_cannot_be_used_after_close() -> None:
    with loopback([SWITCHED]) as server, opened(transport_to(server.address)) as duplex:
        duplex.close()
        with pytest.raises(ConnectionFailed, match="closed by this program"):
            duplex.send(b"x")
        with pytest.raises(ConnectionFailed, match="closed by this program"):
            duplex.receive(None)


@pytest.mark.parametrize("sends", [False, True])
def test_stop_ends_a_blocked_thread(*, sends: bool) -> None:
    stop = threading.Event()
    with loopback([SWITCHED]) as server:
        client = RESTClient(Config(server.address), environ={}, stop=stop)
        duplex = client.upgrade(REQUEST, HEADERS)
        with Group() as group:
            group.start(stop.set, name="stopper")
            with pytest.raises(ConnectionFailed, match="stopping") as stopped:
                send_without_end(duplex) if sends else duplex.receive(None)
        assert stopped.value.stopping
        duplex.close()
        client.close()


def stop_when_silent(server: Loopback, stop: threading.Event) -> None:
    assert server.silent.wait(5)
    stop.set()


def test_stop_while_the_server_does_not_answer_ends_the_request() -> None:
    stop = threading.Event()
    with loopback([b""]) as server, Group() as group:
        client = RESTClient(Config(server.address), environ={}, stop=stop)
        group.start(stop_when_silent, server, stop, name="stopper")
        with pytest.raises(ConnectionFailed, match="stopping"):
            client.upgrade(REQUEST, HEADERS)
        client.close()


def test_error_of_the_server_is_raised() -> None:
    body = b'{"kind":"Status","status":"Failure","reason":"NotFound","message":"no pod","code":404}'
    with loopback([http(body, "404 Not Found")]) as server:
        client = RESTClient(Config(server.address), environ={})
        with pytest.raises(NotFound, match="no pod"):
            client.upgrade(REQUEST, HEADERS)
        client.close()
