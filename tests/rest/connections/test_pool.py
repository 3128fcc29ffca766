"""Connection pool over loopback: keep-alive, dead connections, blocked readers."""

import errno
import socket
import ssl
import threading

import pytest

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConnectionFailed
from clientgo.rest.bounds import SILENCE
from clientgo.rest.config import Config
from clientgo.rest.connections.dial import CONNECT_TIMEOUT, Dialer
from clientgo.rest.connections.error_messages import exchange_failure
from clientgo.rest.connections.pool import IDLE_SECONDS, PoolTransport
from clientgo.rest.connections.tcp import SOCKET_OPTIONS
from clientgo.rest.transport import HTTPReply, IdleTimeout
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from tests.rest.loopback import CLOSE, RESET, Loopback, chunked, http, loopback

pytestmark = pytest.mark.integration

OK = http(b"ok")


def pool(server: Loopback, clock: Clock = SYSTEM_CLOCK) -> PoolTransport:
    return PoolTransport(Dialer(Config(server.address), environ={}), clock=clock)


def get(transport: PoolTransport, target: str = "/", *, timeout: float = 5.0) -> HTTPReply:
    return transport.request("GET", target, (), None, timeout)


def test_consecutive_requests_share_a_connection() -> None:
    with loopback([OK, chunked(b"a", b"b"), OK]) as server:
        transport = pool(server)
        assert [get(transport).body for _ in range(3)] == [b"ok", b"ab", b"ok"]
        assert server.connections == 1
        transport.close()


def test_closed_idle_connection_is_replaced() -> None:
    with loopback([OK, CLOSE], [OK]) as server:
        transport = pool(server)
        assert get(transport).body == b"ok"
        assert server.left.wait(5)
        assert transport.request("POST", "/", (), b"{}", 5.0).body == b"ok"
        assert server.connections == 2
        transport.close()


def test_get_is_retried_if_its_keep_alive_connection_is_closed() -> None:
    # The server reads the second request and then closes: the look before it was too early to see that.
    with loopback([OK, b""], [OK]) as server:
        transport = pool(server)
        get(transport)
        closer = Group()
        closer.start(_close_when_silent, server, name="closer")
        assert get(transport).body == b"ok"
        assert server.connections == 2
        closer.join(5)
        transport.close()


def test_write_is_not_retried_if_the_server_may_have_received_it() -> None:
    with loopback([OK, b""], [OK]) as server:
        transport = pool(server)
        get(transport)
        closer = Group()
        closer.start(_close_when_silent, server, name="closer")
        with pytest.raises(ConnectionFailed, match="before it responded") as failed:
            transport.request("POST", "/", (), b"{}", 5.0)
        assert failed.value.sent
        assert server.connections == 1
        closer.join(5)
        transport.close()


def _close_when_silent(server: Loopback) -> None:
    assert server.silent.wait(5)
    server.hang_up()


def test_get_on_a_new_connection_is_not_sent_twice() -> None:
    with loopback([CLOSE], [OK]) as server:
        with pytest.raises(ConnectionFailed) as failed:
            get(pool(server))
        assert failed.value.sent
        assert server.connections == 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        pytest.param(CLOSE, "closed the connection before it responded", id="closed"),
        pytest.param(RESET, "closed the connection before it responded", id="reset"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", r"no data from .* for 0\.2 s", id="half a body"
        ),
        pytest.param(b"nonsense\r\n\r\n", "did not respond with HTTP/1.1", id="nonsense"),
    ],
)
def test_network_error_has_a_one_line_message(reply: bytes, words: str) -> None:
    with loopback([reply]) as server:
        with pytest.raises(ConnectionFailed, match=words) as failed:
            get(pool(server), timeout=0.2)
        assert server.address in str(failed.value)
        assert failed.value.__cause__ is not None


def test_silent_server_is_a_timeout_of_a_sent_request() -> None:
    with loopback([b""]) as server, pytest.raises(ConnectionFailed) as failed:
        get(pool(server), timeout=0.2)
    assert failed.value.timeout
    assert failed.value.sent


def test_refused_connection_is_not_sent() -> None:
    with loopback() as server:
        address = server.address
    with pytest.raises(ConnectionFailed, match="is the API server running") as failed:
        PoolTransport(Dialer(Config(address), environ={})).request("POST", "/", (), b"{}", 5.0)
    assert failed.value.refused
    assert not failed.value.sent


def test_vanished_machine_has_its_own_message() -> None:
    failed = exchange_failure(TimeoutError(errno.ETIMEDOUT, "Connection timed out"), "http://h", 85.0)
    assert str(failed) == "http://h is gone: its machine does not respond any more"
    assert failed.timeout


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system has no limit for unacknowledged data")
def test_dead_peer_is_detected_within_90_seconds() -> None:
    config = Config("http://h")
    options = {option: value for level, option, value in SOCKET_OPTIONS if level == socket.IPPROTO_TCP}
    waiting = options[socket.TCP_KEEPIDLE] + options[socket.TCP_KEEPINTVL] * options[socket.TCP_KEEPCNT]
    sending = options[socket.TCP_USER_TIMEOUT] / 1000
    assert max(waiting, sending, config.watch_idle_timeout, SILENCE, CONNECT_TIMEOUT) < 90


def test_response_to_a_rejected_large_body_is_read() -> None:
    with loopback([http(b"too large", "413 Request Entity Too Large", "Connection: close\r\n")]) as server:
        transport = pool(server)
        assert transport.request("POST", "/", (), b"x" * 3_000_000, 5.0).status == 413
        assert "0 idle" in repr(transport)


def test_response_above_the_limit_is_not_read_and_its_connection_is_closed() -> None:
    with loopback([http(b"x" * 11)]) as server:
        transport = PoolTransport(Dialer(Config(server.address), environ={}), max_response_bytes=10)
        with pytest.raises(ConnectionFailed, match=r"larger than 10 bytes: raise Config\.max_response_bytes") as failed:
            get(transport)
        assert not failed.value.broken  # another try would read as much again
        assert server.ended.wait(5)


def test_old_idle_connection_is_not_used_again() -> None:
    clock = FakeClock()
    with loopback([OK, OK], [OK]) as server:
        transport = pool(server, clock)
        get(transport)
        clock.step(IDLE_SECONDS)
        get(transport)
        assert server.connections == 2
        transport.close()


def test_reset_closes_idle_connections() -> None:
    with loopback([OK, OK], [OK]) as server:
        transport = pool(server)
        get(transport)
        transport.reset()
        get(transport)
        assert server.connections == 2
        transport.close()


def test_closed_transport_keeps_no_connections() -> None:
    with loopback([OK]) as server:
        transport = pool(server)
        transport.close()
        get(transport)
        assert server.ended.wait(5)


def test_path_of_the_address_prefixes_every_path() -> None:
    with loopback([OK]) as server:
        transport = PoolTransport(Dialer(Config(f"{server.address}/k8s/clusters/c-1/"), environ={}))
        get(transport, "/api/v1")
        assert server.requests[0].startswith(b"GET /k8s/clusters/c-1/api/v1 HTTP/1.1\r\nHost: 127.0.0.1:")
        transport.close()


def test_sockets_have_keep_alive_and_no_delay() -> None:
    with loopback([OK]) as server:
        sock = Dialer(Config(server.address), environ={}).dial()
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        expected = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
        for name, value in expected.items():
            if hasattr(socket, name):
                assert sock.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) == value
        sock.close()


def test_stream_returns_received_chunks_at_once() -> None:
    with loopback([chunked(b"one", b"two", end=False)]) as server:
        transport = pool(server)
        stream = transport.stream("GET", "/", (), 5.0, idle_timeout=5.0)
        assert stream.status == 200
        pieces = iter(stream)
        received = next(pieces)
        assert received in (b"one", b"onetwo")
        assert received == b"onetwo" or next(pieces) == b"two"
        stream.close()


def test_close_in_another_thread_wakes_a_blocked_reader() -> None:
    with loopback([chunked(b"one", end=False)]) as server:
        stream = pool(server).stream("GET", "/", (), 5.0, idle_timeout=60.0)
        pieces = iter(stream)
        next(pieces)
        remainder: list[bytes] = []
        reader = Group()
        reader.start(lambda: remainder.extend(pieces), name="reader")
        assert server.silent.wait(5)
        began = SYSTEM_CLOCK.now()
        stream.close()
        reader.join(5)
        assert SYSTEM_CLOCK.now() - began < 1.0
        assert remainder == []
        assert server.ended.wait(5)


def test_idle_timeout_of_an_open_stream_may_be_changed() -> None:
    with loopback([chunked(b"one", end=False)]) as server:
        stream = pool(server).stream("GET", "/", (), 5.0, idle_timeout=60.0)
        pieces = iter(stream)
        assert next(pieces) == b"one"
        stream.idle_timeout = 0.2
        with pytest.raises(IdleTimeout, match=r"no data from .* for 0\.2 s") as failed:
            next(pieces)
        assert failed.value.timeout
        assert list(pieces) == []


@pytest.mark.parametrize("limit", [None, 1e12], ids=["no limit", "more than a socket can wait"])
def test_stream_is_read_without_a_practical_idle_timeout(limit: float | None) -> None:
    with loopback([chunked(b"one")]) as server:
        transport = pool(server)
        stream = transport.stream("GET", "/", (), 5.0, idle_timeout=5.0)
        stream.idle_timeout = limit
        assert list(stream) == [b"one"]
        transport.close()


def test_stream_that_ends_leaves_its_connection_for_the_next_request() -> None:
    with loopback([chunked(b"one"), OK]) as server:
        transport = pool(server)
        assert list(transport.stream("GET", "/", (), 5.0, idle_timeout=5.0)) == [b"one"]
        assert get(transport).body == b"ok"
        assert server.connections == 1
        transport.close()


def test_truncated_stream_raises() -> None:
    with loopback([chunked(b"one", end=False), CLOSE]) as server:
        stream = pool(server).stream("GET", "/", (), 5.0, idle_timeout=5.0)
        with pytest.raises(ConnectionFailed, match="in the middle of its response"):
            list(stream)


def test_many_threads_share_one_transport() -> None:
    with loopback(*[[OK] * 80 for _ in range(8)]) as server:
        transport = pool(server)
        bodies: list[bytes] = []
        lock = threading.Lock()

        def work() -> None:
            for _ in range(20):
                body = get(transport).body
                with lock:
                    bodies.append(body)

        with Group() as group:
            for number in range(4):
                group.start(work, name=f"worker-{number}")
        assert bodies == [b"ok"] * 80
        assert server.connections <= 8
        transport.close()


def test_tls_error_in_a_reply_is_named() -> None:
    failed = exchange_failure(ssl.SSLError(1, "[SSL: BAD_RECORD_MAC] bad record mac (_ssl.c:2580)"), "https://h", 5.0)
    assert str(failed) == "TLS with https://h failed: [SSL: BAD_RECORD_MAC] bad record mac"
