"""HTTP server over real sockets: responses, limits and shutdown."""

import logging
import math
import socket
import threading

import pytest

from clientgo.errors import ConfigError
from clientgo.serving import Access, Handler, Limits, Response, Route, Server, ServingRequest
from clientgo.serving.message import Takeover
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import on_stop
from tests.serving.serving_client import ask, exchange, raw, serving, until_closed

pytestmark = pytest.mark.integration

GET = b"GET /hello HTTP/1.1\r\nHost: x\r\n"


def hello(request: ServingRequest) -> Response:
    return Response(200, f"hello {request.first('name', 'world')}\n")


def echo(request: ServingRequest) -> Response:
    return Response(200, request.body)


def fails(_: ServingRequest) -> Response:
    raise ValueError("the reason is secret")


def exits(_: ServingRequest) -> Response:
    raise SystemExit(1)


ROUTES: dict[str, Handler] = {
    "/hello": hello,
    "/hello/inner/": lambda request: Response(200, f"below {request.path}"),
    "/fails": fails,
    "/exits": exits,
    "/echo": Route(echo, methods=("PUT",)),
    "/private": Route(hello, access=Access.PRIVATE),
}


def test_route_answers() -> None:
    with serving(ROUTES) as server:
        response = ask(server, "/hello?name=me")
        assert (response.status, response.body) == (200, "hello me\n")
        assert ask(server, "/hello/inner/x").body == "below /hello/inner/x"
        assert ask(server, "/hello/inner").status == 404


def test_head_is_a_get_without_its_body() -> None:
    with serving(ROUTES) as server:
        response = ask(server, "/hello", method="HEAD")
        assert (response.status, response.body, response.headers["Content-Length"]) == (200, "", "12")
        received = exchange(server, b"HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        assert received.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/nothing", 404, "404 page not found\n"),
        ("POST", "/hello", 405, "Method Not Allowed: use HEAD, GET\n"),
        ("GET", "/echo", 405, "Method Not Allowed: use PUT\n"),
        ("GET", "/fails", 500, "Internal Server Error: see the program's log\n"),
        ("GET", "/exits", 500, "Internal Server Error: see the program's log\n"),
    ],
)
def test_failed_request_gets_one_sentence(method: str, path: str, status: int, body: str) -> None:
    with serving(ROUTES) as server:
        response = ask(server, path, method=method)
        assert (response.status, response.body) == (status, body)


def test_rejected_method_gets_the_allowed_ones() -> None:
    with serving(ROUTES) as server:
        assert ask(server, "/hello", method="DELETE").headers["Allow"] == "HEAD, GET"


def test_handler_error_appears_only_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with serving(ROUTES) as server:
        assert "secret" not in ask(server, "/fails").body
    assert "the reason is secret" in caplog.text


def test_connection_is_kept_for_the_next_request() -> None:
    with serving(ROUTES) as server, raw(server) as sock:
        for _ in range(3):
            sock.sendall(GET + b"\r\n")
            assert b"hello world" in sock.recv(4096)
        sock.sendall(GET + b"Connection: close\r\n\r\n")
        assert b"\r\nConnection: close\r\n" in until_closed(sock)


def test_route_may_take_the_connection_over() -> None:
    def repeat(sock: socket.socket, received: bytes) -> None:
        sock.sendall(b"first " + received)
        while data := sock.recv(100):
            sock.sendall(data.upper())

    routes: dict[str, Handler] = {"/over": lambda _: Takeover(serve=repeat), "": lambda _: Takeover()}
    with serving(routes) as server:
        assert exchange(server, GET + b"\r\n") == b""  # a connection that breaks
        with raw(server) as sock:
            sock.sendall(b"GET /over HTTP/1.1\r\nHost: x\r\n\r\nearly")
            assert sock.recv(100) == b"first early"
            sock.sendall(b"late")
            assert sock.recv(100) == b"LATE"


def test_takeover_ends_with_its_client() -> None:
    stopped = threading.Event()

    def wait(sock: socket.socket, _: bytes) -> None:
        with on_stop(stopped.set):
            sock.sendall(b"x")
            assert stopped.wait(10)

    with serving({"/hello": lambda _: Takeover(serve=wait)}) as server:
        with raw(server) as sock:
            sock.sendall(GET + b"\r\n")
            assert sock.recv(1) == b"x"
        assert stopped.wait(10)


def test_requests_sent_at_once_are_answered_in_order() -> None:
    first, second = (f"GET /hello?name={name} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for name in ("a", "b"))
    with serving(ROUTES) as server:
        received = exchange(server, b"\r\n" + first + second)
    assert received.index(b"hello a") < received.index(b"hello b")


def test_body_is_read_by_its_length() -> None:
    head = b"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
    with serving(ROUTES) as server:
        assert ask(server, "/echo", method="PUT", body=b"5" * 60_000).body == "5" * 60_000
        received = exchange(server, head + b"4321" + GET + b"\r\n")
    assert b"4321HTTP/1.1 200 OK" in received


def test_expect_continue_is_answered() -> None:
    with serving(ROUTES) as server, raw(server) as sock:
        sock.sendall(b"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert sock.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"ok")
        assert sock.recv(4096).endswith(b"\r\n\r\nok")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400 Bad Request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400 Bad Request"),
        (GET + b"X: " + b"x" * 20_000 + b"\r\n\r\n", b"431 Request Header Fields Too Large"),
        (b"x" * 40_000, b"431 Request Header Fields Too Large"),
        (b"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n", b"413 "),
        (b"PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", b"501 Not Implemented"),
    ],
)
def test_malformed_request_is_rejected_and_the_connection_closed(sent: bytes, status: bytes) -> None:
    with serving(ROUTES) as server:
        received = exchange(server, sent)
        assert received.startswith(b"HTTP/1.1 " + status)
        assert received.count(b"HTTP/1.1 ") == 1
        assert ask(server, "/hello").status == 200


def test_slow_reader_gets_the_error_response() -> None:
    with serving(ROUTES) as server, raw(server) as sock:
        sock.sendall(b"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 400000\r\n\r\n" + b"x" * 200_000)
        sock.sendall(b"x" * 200_000)
        assert sock.recv(4096).startswith(b"HTTP/1.1 413 ")
        assert sock.recv(4096) == b""


@pytest.mark.parametrize(
    ("head", "status"),
    [("POST /nothing", b"404 "), ("POST /hello", b"405 "), ("PUT /closed", b"401 "), ("PUT /small", b"413 ")],
)
def test_body_of_a_rejected_request_is_not_read(head: str, status: bytes) -> None:
    routes: dict[str, Handler] = {**ROUTES, "/small": Route(echo, methods=("PUT",), access=Access.OPEN, largest=9)}
    routes["/closed"] = Route(echo, methods=("PUT",))
    with serving(routes, authorizer=lambda _: Response(401)) as server, raw(server) as sock:
        # The client never sends the body: a server that waits for it does not respond.
        sock.sendall(f"{head} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n".encode())
        received = sock.recv(4096)
        assert received.startswith(b"HTTP/1.1 " + status)
        assert b"\r\nConnection: close\r\n" in received


def send_until_refused(sock: socket.socket) -> None:
    while True:
        sock.sendall(b"x" * 10_000)


def test_rejected_client_that_keeps_sending_is_disconnected() -> None:
    with serving(ROUTES, limits=Limits(drain=0.1)) as server, raw(server) as sock:
        sock.sendall(b"nonsense\r\n\r\n")
        received = until_closed(sock)
        assert received.startswith(b"HTTP/1.1 400 ")
        with pytest.raises(ConnectionError):
            send_until_refused(sock)


@pytest.mark.parametrize("begun", [b"", b"GET", GET, b"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nonly"])
def test_stalled_client_is_disconnected(begun: bytes) -> None:
    with serving(ROUTES, limits=Limits(request=0.1, idle=0.1)) as server, raw(server) as sock:
        sock.sendall(begun)
        assert until_closed(sock) == b""


def test_slow_sender_gets_no_extra_time() -> None:
    with serving(ROUTES, limits=Limits(request=0.3)) as server, raw(server) as sock:
        sock.settimeout(0.05)
        sent = 0
        while True:
            try:
                sock.sendall(b"G")
                sent += 1
                if sock.recv(1) == b"":
                    break
            except TimeoutError:
                continue  # it listens still
            except ConnectionError:
                break
        assert 2 <= sent <= 40


def test_idle_connection_times_out() -> None:
    with serving(ROUTES, limits=Limits(idle=0.1)) as server, raw(server) as sock:
        sock.sendall(GET + b"\r\n")
        assert until_closed(sock).endswith(b"hello world\n")


@pytest.mark.parametrize("used", [True, False])
def test_connection_may_be_idle_for_longer_than_a_request_may_take(used: bool) -> None:
    with serving(ROUTES, limits=Limits(request=0.05)) as server, raw(server) as sock:
        if used:
            sock.sendall(GET + b"\r\n")
            assert sock.recv(4096).endswith(b"hello world\n")
        sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            sock.recv(1)


def test_silent_clients_do_not_block_others() -> None:
    with serving(ROUTES, limits=Limits(waiting=3, crowded=0.1)) as server:
        silent = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(9)]
        try:
            assert ask(server, "/hello").status == 200
            assert silent[0].recv(1) == b"", "the oldest was evicted"
        finally:
            for sock in silent:
                sock.close()


def test_silent_clients_time_out_without_eviction() -> None:
    with serving(ROUTES, limits=Limits(waiting=1, crowded=math.inf, idle=0.2)) as server, raw(server) as silent:
        assert ask(server, "/hello").status == 200
        assert until_closed(silent) == b""


class Slow:
    """Handler that responds once it is released."""

    def __init__(self) -> None:
        self.asked, self.go = threading.Semaphore(0), threading.Event()

    def __call__(self, _: ServingRequest) -> Response:
        self.asked.release()
        self.go.wait(10)
        return Response()


SLOWLY = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"


def test_further_requests_wait_for_a_place() -> None:
    slow, limits = Slow(), Limits(connections=1)
    with serving({"/slow": slow}, limits=limits) as server, raw(server) as first:
        first.sendall(SLOWLY)
        assert slow.asked.acquire(timeout=10)
        with raw(server) as second:
            second.sendall(SLOWLY)
            assert not slow.asked.acquire(timeout=1)
            slow.go.set()
            assert first.recv(4096).startswith(b"HTTP/1.1 200 OK")
            assert second.recv(4096).startswith(b"HTTP/1.1 200 OK")


def test_one_connection_is_evicted_for_each_new_client() -> None:
    with serving(ROUTES, limits=Limits(waiting=1, crowded=0.0)) as server, raw(server) as first:
        first.settimeout(0.3)
        with pytest.raises(TimeoutError):
            first.recv(1)
        with raw(server) as second:
            assert until_closed(first) == b""
            second.sendall(GET + b"\r\n")
            assert second.recv(4096).startswith(b"HTTP/1.1 200 OK")


def test_eviction_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with serving(ROUTES, limits=Limits(waiting=1, crowded=0.0)) as server, raw(server) as first, raw(server) as second:
        assert until_closed(first) == b""
        assert ask(server, "/hello").status == 200
        assert until_closed(second) == b""
    message = "too many connections; evicting the oldest without a request"
    assert [record.msg for record in caplog.records].count(message) == 1


def test_idle_connection_makes_room_for_another_client() -> None:
    slow, limits = Slow(), Limits(waiting=1, crowded=0.1)
    with serving({**ROUTES, "/slow": slow}, limits=limits) as server, raw(server) as idle:
        idle.sendall(GET + b"\r\n")
        assert b"\r\nConnection: keep-alive\r\n" in idle.recv(4096)
        with raw(server) as working:
            working.sendall(SLOWLY)
            assert slow.asked.acquire(timeout=10)
            assert ask(server, "/hello").status == 200
            assert until_closed(idle) == b""
            slow.go.set()
            assert working.recv(4096).startswith(b"HTTP/1.1 200 OK")


def test_stop_closes_idle_connections_and_finishes_responses() -> None:
    go, event = threading.Event(), threading.Event()

    def slow(_: ServingRequest) -> Response:
        event.set()
        go.wait(10)
        return Response(200, b"done")

    group, server = Group(), Server("127.0.0.1:0", {"/slow": slow}, name="probes")
    server.start(group)
    with raw(server) as idle, raw(server) as busy:
        busy.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        assert event.wait(10)
        assert "probes-accept" in group.alive()
        server.stop()
        assert until_closed(idle) == b""
        with pytest.raises(ConnectionRefusedError), raw(server):
            pass
        go.set()
        received = until_closed(busy)
    assert b"\r\nConnection: close\r\n" in received
    assert received.endswith(b"done")
    group.join(10)
    with pytest.raises(ConnectionRefusedError):
        ask(server, "/slow")
    server.stop()


@pytest.mark.parametrize("begins", ["before the stop", "after the stop"])
def test_client_that_does_not_take_its_response_does_not_delay_the_stop(begins: str) -> None:
    go, event = threading.Event(), threading.Event()

    def large(_: ServingRequest) -> Response:
        event.set()
        go.wait(10)
        return Response(200, b"x" * 50_000_000)

    group, server = Group(), Server("127.0.0.1:0", {"/large": large}, limits=Limits(response=600.0))
    server.start(group)
    with raw(server) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        assert event.wait(10)
        if begins == "before the stop":
            go.set()
            assert client.recv(1)
        group.stop()
        go.set()
        group.join(10)


def test_stopped_server_can_be_started_again() -> None:
    server = Server("127.0.0.1:0", ROUTES)
    with Group().ending_within(20) as group:
        for _ in range(3):
            server.start(group)
            assert ask(server, "/hello").status == 200
            with pytest.raises(RuntimeError, match="the server serving is running: stop it before starting it again"):
                server.start(group)
            server.stop()


def test_end_of_a_stopped_server_does_not_stop_the_next_start() -> None:
    first, server = Group(), Server("127.0.0.1:0", ROUTES)
    server.start(first)
    server.stop()
    with Group().ending_within(20) as second:
        server.start(second)
        first.join(10)
        assert ask(server, "/hello").status == 200


@pytest.mark.parametrize("address", ["0", None])
def test_server_without_an_address_does_nothing(address: str | None) -> None:
    group, server = Group(), Server(address, ROUTES)
    server.start(group)
    assert group.alive() == []
    assert (server.port, server.url, repr(server)) == (0, "", "<Server serving off>")
    server.stop()


def test_every_interface_is_listened_on() -> None:
    with serving(ROUTES, address=":0") as server:
        assert server.url == f"http://127.0.0.1:{server.port}"
        assert repr(server) == f"<Server serving {server.url}>"
        assert ask(server, "/hello").status == 200


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6")
def test_every_interface_means_both_protocols() -> None:
    with serving(ROUTES, address=":0") as server, socket.create_connection(("::1", server.port), timeout=10) as sock:
        sock.sendall(GET + b"Connection: close\r\n\r\n")
        assert until_closed(sock).endswith(b"hello world\n")


@pytest.mark.parametrize("address", ["8081", "localhost", "[::1", "1:2:3", ":65536", ""])
def test_invalid_address_is_rejected(address: str) -> None:
    with pytest.raises(ConfigError, match=r"address|port"):
        Server(address, ROUTES)


def test_address_in_use_is_reported() -> None:
    with serving(ROUTES) as server:
        other = Server(f"127.0.0.1:{server.port}", ROUTES)
        with Group() as group, pytest.raises(ConfigError, match=rf"cannot listen on 127\.0\.0\.1:{server.port}: "):
            other.start(group)


def test_access_log_has_no_query_or_headers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "clientgo.serving")
    with serving(ROUTES, name="metrics") as server:
        ask(server, "/hello?name=canary", headers={"Authorization": "Bearer canary"})
    [record] = [record for record in caplog.records if record.msg == "request handled"]
    assert record.levelno == logging.DEBUG
    facts = vars(record)
    assert (facts["server"], facts["method"], facts["path"], facts["status"]) == ("metrics", "GET", "/hello", 200)
    assert not any("canary" in str(vars(record)) for record in caplog.records)
