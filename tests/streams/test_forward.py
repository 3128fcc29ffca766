"""Forwarded ports: both directions, and connections that end in any place."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConnectionFailed, Forbidden, NotFound
from clientgo.kubernetes.clients.core_v1 import CoreV1, PodClient
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.fence import FencedRequester
from clientgo.rest.transport import HTTPReply
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import StopEvent, ends_with
from clientgo.streams import PortForward
from clientgo.streams.channels import V4
from clientgo.streams.link import QUIET_SECONDS
from clientgo.testing.eventually import eventually
from clientgo.testing.transport import refusal
from tests.streams.peers import FakeDuplex, SocketTransport, closing, frame, no_thread_left, pods, pods_of
from tests.streams.simulated import running_pod

pytestmark = pytest.mark.integration

PORTS = frame(b"\x00\x50\x00") + frame(b"\x01\x50\x00")
DATA = PORTS + frame(b"\x00hello")


@contextmanager
def forwarded(*duplexes: FakeDuplex | HTTPReply | ConnectionFailed) -> Iterator[PortForward]:
    """Forward a port over these connections; the first, which checks the permission, is added."""
    client = pods(FakeDuplex(), *duplexes, protocol=V4)
    with no_thread_left("portforward"), client.port_forward("web", 80) as forward:
        yield forward


def connected(forward: PortForward) -> socket.socket:
    return socket.create_connection((forward.host, forward.port), timeout=20)


def received(sock: socket.socket) -> bytes:
    data = b""
    while piece := sock.recv(65536):
        data += piece
    return data


def exchange(forward: PortForward) -> bytes:
    """Connect, and return what arrives; a reset may come as early as that."""
    with connected(forward) as sock:
        return received(sock)


def test_end_by_the_pod_is_an_end() -> None:
    duplex = FakeDuplex(DATA, closing())
    with forwarded(duplex) as forward, connected(forward) as sock:
        assert received(sock) == b"hello"
        assert duplex.closed.wait(5)


def test_parameters_are_those_of_the_api() -> None:
    transport = SocketTransport(FakeDuplex(), protocol=V4)
    with pods_of(transport).port_forward("web", 8080) as forward:
        assert forward.address == f"127.0.0.1:{forward.port}"
    assert transport.targets == ["/api/v1/namespaces/ns/pods/web/portforward?ports=8080"]
    assert transport.sent_headers[0]["Sec-WebSocket-Protocol"] == V4


@pytest.mark.parametrize("end", range(0, len(DATA), 3))
def test_connection_that_is_lost_in_any_place_is_reset(end: int) -> None:
    with forwarded(FakeDuplex(DATA[:end])) as forward, pytest.raises(ConnectionResetError):
        exchange(forward)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (PORTS + frame(b"\x01connection refused"), "web-80-1: connection refused"),
        (DATA + closing(1011, "node failed"), "web-80-1: the server closed the connection with code 1011 node failed"),
        (DATA, "the connection of /api/v1/namespaces/ns/pods/web/portforward was lost"),
    ],
)
def test_failure_resets_the_connection_and_is_logged(
    script: bytes, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    # The reset may arrive before `connect` has returned.
    with forwarded(FakeDuplex(script)) as forward, pytest.raises(ConnectionResetError), connected(forward) as sock:
        received(sock)
    assert message in caplog.text


def test_connection_that_cannot_be_opened_is_reset_and_the_next_is_forwarded() -> None:
    duplexes = (ConnectionFailed("no node"), FakeDuplex(DATA, closing()))
    with forwarded(*duplexes) as forward:
        with pytest.raises(ConnectionResetError):
            exchange(forward)
        assert exchange(forward) == b"hello"


@pytest.mark.parametrize("resets", [False, True])
def test_local_program_that_leaves_ends_the_connection(*, resets: bool) -> None:
    duplex = FakeDuplex(PORTS, silent=True)
    with forwarded(duplex) as forward:
        with connected(forward) as sock:
            sock.sendall(b"x")
            if resets:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        assert duplex.closed.wait(5 + QUIET_SECONDS)


def test_half_closed_connection_that_stays_silent_is_reset_and_not_ended() -> None:
    with forwarded(FakeDuplex(DATA, silent=True)) as forward, connected(forward) as sock:
        sock.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionResetError):
            received(sock)


def test_end_of_the_block_resets_connections_at_once() -> None:
    with forwarded(FakeDuplex(DATA, silent=True)) as forward:
        sock = connected(forward)
        assert sock.recv(5) == b"hello"
        began = SYSTEM_CLOCK.now()
    with sock, pytest.raises(ConnectionResetError):
        received(sock)
    assert SYSTEM_CLOCK.now() - began < 3  # of a loaded machine
    with pytest.raises(ConnectionRefusedError):
        connected(forward)


def test_stop_ends_forwarded_connections() -> None:
    stop = StopEvent()
    with ends_with(stop), forwarded(FakeDuplex(DATA, silent=True)) as forward, connected(forward) as sock:
        assert sock.recv(5) == b"hello"
        stop.set()
        with pytest.raises(ConnectionResetError):
            received(sock)


def test_missing_permission_is_an_error_of_the_block() -> None:
    client = pods(refusal(403, "Forbidden", "no"))
    with no_thread_left("portforward"), pytest.raises(Forbidden), client.port_forward("web", 80):
        pass


def test_local_port_that_is_in_use_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(OSError, match="in use"):
        pods().port_forward("web", 80, local_port=other.getsockname()[1]).__enter__()


@pytest.fixture(scope="module")
def simulated() -> Iterator[PodClient]:
    with running_pod() as client:
        yield client


def echo(forward: PortForward, data: bytes) -> bytes:
    with connected(forward) as sock, Group() as group:
        group.start(sock.sendall, data, name="sender")
        echoed = bytearray()
        while len(echoed) < len(data):
            echoed += sock.recv(65536)
        return bytes(echoed)


@pytest.mark.parametrize("size", [1, 10_000, 1_000_000])
def test_data_flows_in_both_directions_at_once(simulated: PodClient, size: int) -> None:
    data = bytes(number * number % 256 for number in range(size))
    with no_thread_left("portforward"), simulated.port_forward("web", 80) as forward:
        assert echo(forward, data) == data


def test_hundred_connections_are_forwarded_at_once(simulated: PodClient) -> None:
    words = [b"%d" % number for number in range(100)]
    with simulated.port_forward("web", 80) as forward, ThreadPoolExecutor(100) as pool:
        assert list(pool.map(lambda word: echo(forward, word), words)) == words


def test_port_that_refuses_resets_the_connection(simulated: PodClient) -> None:
    with simulated.port_forward("web", 81) as forward, pytest.raises(ConnectionResetError):
        exchange(forward)


def test_pod_that_does_not_exist_is_an_error(simulated: PodClient) -> None:
    with pytest.raises(NotFound), simulated.port_forward("none", 80):
        pass


class SilentDuplex(FakeDuplex):
    def receive(self, _: float | None) -> bytes:
        return super().receive(None)


def test_lost_lease_ends_a_forwarded_connection() -> None:
    duplex, lost = SilentDuplex(PORTS, silent=True), threading.Event()
    client = RESTClient(Config("http://api"), transport=SocketTransport(FakeDuplex(), duplex, protocol=V4))
    requester = FencedRequester(client, lambda: not lost.is_set())
    with (
        no_thread_left("portforward"),
        CoreV1(requester).pods("ns").port_forward("web", 80) as forward,
        connected(forward) as sock,
        suppress(ConnectionResetError),
    ):
        sock.sendall(b"a")
        eventually(lambda: len(duplex.frames()) == 1)
        lost.set()
        sock.sendall(b"b")
        assert received(sock) == b""
    assert [data[1:] for _, data in duplex.frames()] == [b"a"]
