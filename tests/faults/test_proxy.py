"""Tests of the proxy, with an echo server."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from clientgo.stop.lifecycle import Group
from tests.faults.proxy import Mood, Proxy

pytestmark = pytest.mark.integration


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    listener = socket.create_server(("127.0.0.1", 0))
    group = Group()

    def echo(peer: socket.socket) -> None:
        with closing(peer):
            try:
                while data := peer.recv(65536):
                    peer.sendall(data)
            except OSError:
                return  # it was reset, as it was meant to

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return  # closed: the test is over
            group.start(echo, peer, name="echo")

    group.start(serve, name="server")
    built = Proxy(f"http://127.0.0.1:{listener.getsockname()[1]}")
    built.start()
    yield built
    built.stop()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    group.join(5)


def connected(proxy: Proxy, first: bytes = b"") -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", proxy.port), timeout=5)
    if first:
        assert exchange(sock, first) == first
    return sock


def exchange(sock: socket.socket, data: bytes) -> bytes:
    sock.sendall(data)
    received = b""
    while len(received) < len(data):
        received += sock.recv(65536)
    return received


def silent(sock: socket.socket) -> bool:
    sock.settimeout(0.1)
    try:
        sock.recv(1)
    except TimeoutError:
        return True
    finally:
        sock.settimeout(5)
    return False


def test_bytes_pass_both_ways(proxy: Proxy) -> None:
    with connected(proxy) as sock:
        assert exchange(sock, b"x" * 300_000) == b"x" * 300_000


def test_paused_connection_stays_dead_and_a_new_one_does_not(proxy: Proxy) -> None:
    with connected(proxy, b"a") as old:
        proxy.set(Mood(pause=frozenset(("down",))))
        old.sendall(b"b")
        assert silent(old)
        proxy.heal()
        assert silent(old)
        with connected(proxy, b"c"):
            pass


def test_only_connections_whose_last_request_fits_are_struck(proxy: Proxy) -> None:
    with (
        connected(proxy, b"GET /a?watch=true HTTP/1.1\r\n\r\n") as watch,
        connected(proxy, b"GET /a HTTP/1.1\r\n\r\n") as other,
    ):
        assert (proxy.count("watch="), proxy.count()) == (1, 2)
        proxy.set(Mood(of="watch=", pause=frozenset(("down",))))
        watch.sendall(b"1")
        assert exchange(other, b"2") == b"2"
        assert silent(watch)
        assert proxy.inject([b"told"], "watch=") == 1
        assert watch.recv(10) == b"told"


def test_connection_is_reset_after_so_many_bytes(proxy: Proxy) -> None:
    with connected(proxy, b"before") as sock:
        proxy.set(Mood(cut=4))
        sock.sendall(b"123")
        assert sock.recv(10) == b"123"
        sock.sendall(b"456")
        assert sock.recv(10) == b"4"
        with pytest.raises(ConnectionResetError):
            sock.recv(10)


def test_bytes_are_changed_and_parted(proxy: Proxy) -> None:
    with connected(proxy) as sock:
        proxy.set(Mood(garble=4))
        assert exchange(sock, b"aaaaaaaa") == b"aa4aaa4a"
        proxy.set(Mood(piece=1))
        sock.sendall(b"abcdefgh" * 1000)
        assert len(sock.recv(65536)) < 8000


def test_new_connections_lead_where_it_is_aimed_and_old_ones_stay(proxy: Proxy) -> None:
    with connected(proxy, b"a") as old, socket.create_server(("127.0.0.1", 0)) as other:
        proxy.aim(f"http://127.0.0.1:{other.getsockname()[1]}")
        with connected(proxy) as new, other.accept()[0] as existing:
            existing.sendall(b"other")
            assert new.recv(10) == b"other"
        assert exchange(old, b"b") == b"b"


def test_listening_stops_and_resumes_at_the_same_port(proxy: Proxy) -> None:
    with connected(proxy, b"a") as old:
        proxy.refuse()
        with pytest.raises(ConnectionResetError):
            old.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connected(proxy)
    proxy.listen()
    with connected(proxy, b"a"):
        assert "proxy" in [thread.name for thread in threading.enumerate()]
