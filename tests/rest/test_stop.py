"""Requests that a stop ends, whatever the server does."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clientgo.errors import ConfigError, ConnectionFailed, ServiceUnavailable, TooManyRequests
from clientgo.meta import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config, Delegated
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.pool import PoolTransport
from clientgo.rest.request import Request
from clientgo.rest.transport import HTTPReply
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import StopEvent, scope_of
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.transport import FakeStream, FakeTransport, dropped, refusal, reply, timed_out
from tests.processes import is_running
from tests.rest.loopback import CLOSE, chunked, http, loopback

HOST = Config("http://api")
PODS = GroupVersionResource("", "v1", "pods")
LIST = Request(verb="list", resource=PODS)
CREATE = Request(verb="create", resource=PODS, body=b"{}")
WATCH = Request(verb="watch", resource=PODS)
FRAME = b'{"type":"ADDED","object":{}}\n'


@contextmanager
def server_without_a_word() -> Iterator[tuple[str, threading.Event]]:
    """A port whose listener accepts no connection: its backlog is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        begun = threading.Event()
        begun.set()
        yield f"127.0.0.1:{listener.getsockname()[1]}", begun


def outcome_of(call: Callable[[], object], stop: threading.Event, begun: threading.Event) -> Any:
    """Set `stop` while the call is in progress in a thread, and return its result or error."""
    outcomes: list[object] = []

    def run() -> None:
        try:
            outcomes.append(call())
        except Exception as error:  # noqa: BLE001  # returned
            outcomes.append(error)

    caller = Group()
    caller.start(run, name="caller")
    assert begun.wait(10)
    stop.set()
    caller.join(10)
    return outcomes[0]


def read(client: RESTClient, request: Request) -> list[object]:
    return list(client.watch(request)) if request.verb == "watch" else [client.do(request)]


@pytest.mark.integration
@pytest.mark.parametrize("request_", [LIST, CREATE, WATCH], ids=lambda request: request.verb)
@pytest.mark.parametrize(
    "script",
    [
        pytest.param((b"",), id="no response"),
        pytest.param((b"HTTP/1.1 200 OK\r\nContent-",), id="part of a head"),
        pytest.param((b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{",), id="part of a body"),
        pytest.param((chunked(FRAME, end=False),), id="part of a chunked body"),
    ],
)
def test_request_to_a_server_that_is_silent_ends_with_the_stop(script: tuple[bytes, ...], request_: Request) -> None:
    stop = threading.Event()
    with loopback(script) as server, closing(RESTClient(Config(server.address), stop=stop)) as client:
        error = outcome_of(lambda: read(client, request_), stop, server.silent)
        assert isinstance(error, ConnectionFailed)
        assert str(error) == "stopping: request interrupted"
        assert (error.stopping, error.sent, error.broken) == (True, True, False)
        assert server.connections == 1


@pytest.mark.integration
@pytest.mark.parametrize("verb", ["list", "watch"])
@pytest.mark.parametrize("route", ["full backlog", "TLS", "proxy", "TLS to a proxy"])
def test_request_that_is_connecting_ends_with_the_stop(route: str, verb: str) -> None:
    stop = threading.Event()
    with contextlib.ExitStack() as stack:
        if route == "full backlog":
            host, begun = stack.enter_context(server_without_a_word())
            config = Config(host)
        else:
            server = stack.enter_context(loopback())
            begun, address = server.silent, server.address.partition("//")[2]
            tls, proxy = Config(f"https://{address}", insecure=True), f"http{'s' * route.startswith('TLS')}://{address}"
            config = tls if route == "TLS" else Config("https://api.example", insecure=True, proxy_url=proxy)
        client = stack.enter_context(closing(RESTClient(config, stop=stop, environ={})))
        error = outcome_of(lambda: read(client, Request(verb=verb, resource=PODS)), stop, begun)
        assert isinstance(error, ConnectionFailed)
        assert str(error) == "stopping: request not sent"
        assert (error.stopping, error.sent) == (True, False)


def test_request_that_resolves_a_name_ends_with_the_stop() -> None:
    stop, resolving, release = threading.Event(), threading.Event(), threading.Event()

    def resolve(*_: object, **__: object) -> Any:
        resolving.set()
        release.wait(60)
        return []

    config = Config("http://api.example")
    transport = PoolTransport(Dialer(config, environ={}, resolve=resolve))
    client = RESTClient(config, transport=transport, stop=stop)
    error = outcome_of(lambda: client.do(LIST), stop, resolving)
    release.set()
    assert (str(error), error.stopping) == ("stopping: request not sent", True)


@pytest.mark.e2e
@pytest.mark.parametrize("output", ["", "exec 1>&- 2>&-; "], ids=["with its output open", "with its output closed"])
def test_stop_ends_a_hanging_credential_plugin_and_its_children(tmp_path: Path, output: str) -> None:
    script, pid, stop = tmp_path / "plugin", tmp_path / "pid", threading.Event()
    script.write_text(f"#!/bin/sh\nsleep 600 & echo $! > {pid}.new; {output}mv {pid}.new {pid}; wait\n")
    script.chmod(0o700)
    plugin = Delegated(exec={"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)})

    def connect() -> RESTClient:
        return RESTClient(Config("http://api.example", delegated=plugin), stop=stop, environ={})

    started, waiting = threading.Event(), Group()

    def report_start() -> None:
        eventually(pid.exists)
        started.set()

    waiting.start(report_start, name="waiting")
    error = outcome_of(lambda: connect().do(LIST), stop, started)
    assert (str(error), error.stopping) == ("stopping: request not sent", True)
    eventually(lambda: not is_running(int(pid.read_text())))


@pytest.mark.e2e
@pytest.mark.parametrize("ends_by", ["stop", "close"])
def test_plugin_that_its_request_has_left_ends_with_the_program_or_the_client(tmp_path: Path, ends_by: str) -> None:
    script, pid, stop = tmp_path / "plugin", tmp_path / "pid", StopEvent()
    script.write_text(f"#!/bin/sh\necho $$ > {pid}.new; mv {pid}.new {pid}; sleep 600\n")
    script.chmod(0o700)
    plugin = Delegated(exec={"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)})
    client = RESTClient(Config("http://api.example", delegated=plugin), stop=stop, environ={})
    with pytest.raises(ConnectionFailed, match="not fetched in time"):
        client.do(msgspec.structs.replace(LIST, timeout=0.1))
    eventually(pid.exists)
    assert is_running(int(pid.read_text()))
    {"stop": stop.set, "close": client.close}[ends_by]()
    eventually(lambda: not is_running(int(pid.read_text())))


@pytest.mark.integration
def test_stop_of_a_group_ends_the_requests_of_its_threads_and_no_others() -> None:
    with loopback((chunked(FRAME, end=False),), (chunked(FRAME, end=False),)) as server:
        client, group, other_items = RESTClient(Config(server.address)), Group(), Group()
        watches = [client.watch(WATCH)]
        other_items.start(lambda: list(watches[0]), name="other")
        ended: list[ConnectionFailed] = []

        def run() -> None:
            try:
                list(client.watch(WATCH))
            except ConnectionFailed as error:
                ended.append(error)

        group.start(run, name="watch")
        eventually(lambda: len(server.requests) == 2)
        group.stop()
        group.join(10)
        assert [error.stopping for error in ended] == [True]
        assert other_items.alive() == ["other"]
        watches[0].close()
        other_items.join(10)
        client.close()


def test_stop_ends_a_stream_with_an_error_because_its_rest_is_missing() -> None:
    stop, stream = threading.Event(), FakeStream(b"first")
    client = RESTClient(HOST, transport=FakeTransport(stream), stop=stop)
    lines = client.stream(Request(verb="get", resource=PODS, name="a", subresource="log"))
    error = outcome_of(lambda: list(lines), stop, stream.opened)
    assert (str(error), error.stopping) == ("stopping: request interrupted", True)
    assert stream.closed.is_set()


def test_closed_stream_ends_without_an_error_also_when_the_stop_follows() -> None:
    stop, stream = threading.Event(), FakeStream(b"first")
    client = RESTClient(HOST, transport=FakeTransport(stream), stop=stop)
    lines = client.stream(Request(verb="get", resource=PODS, name="a", subresource="log"))
    lines.close()
    stop.set()
    assert list(lines) == []


def test_response_that_is_complete_is_returned_although_the_program_stops() -> None:
    stop = threading.Event()
    client = RESTClient(HOST, transport=FakeTransport(reply(b"stored")), stop=stop)
    stop.set()
    assert client.do(CREATE) == b"stored"


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (refusal(429, retry_after=5), TooManyRequests),
        (refusal(503, retry_after=5), ServiceUnavailable),
        (dropped(), ConnectionFailed),
    ],
)
def test_request_after_the_stop_is_not_retried(step: Any, error: type[Exception]) -> None:
    stop, clock = threading.Event(), FakeClock()
    stop.set()
    transport = FakeTransport(step)
    with pytest.raises(error):
        RESTClient(HOST, transport=transport, stop=stop, clock=clock).do(LIST)
    assert (len(transport.sent), clock.now()) == (1, 0.0)


class Slow(FakeTransport):
    """Answers each request after `seconds`, or fails when its timeout is over."""

    def __init__(self, clock: FakeClock, seconds: float) -> None:
        super().__init__()
        self.clock = clock
        self.seconds = seconds
        self.timeouts: list[float] = []

    def request(self, method: str, target: str, headers: Any, body: bytes | None, timeout: float) -> HTTPReply:
        self.timeouts.append(timeout)
        self.clock.step(min(timeout, self.seconds))
        if self.seconds >= timeout:
            raise timed_out()
        return reply(b"{}")


def test_requests_after_the_stop_have_the_grace_together_while_the_server_hangs() -> None:
    stop, clock = threading.Event(), FakeClock()
    transport = Slow(clock, 60.0)
    client = RESTClient(HOST, transport=transport, stop=stop, stop_grace=0.5, clock=clock)
    stop.set()
    for _ in range(20):
        with pytest.raises(ConnectionFailed, match="stopping") as failed:
            client.do(CREATE)
        assert failed.value.stopping
    assert transport.timeouts == [0.5]
    assert clock.now() == 0.5


def test_server_that_answers_again_gets_the_whole_grace_again() -> None:
    stop, clock = threading.Event(), FakeClock()
    transport = Slow(clock, 60.0)
    client = RESTClient(HOST, transport=transport, stop=stop, stop_grace=0.5, clock=clock)
    stop.set()
    with pytest.raises(ConnectionFailed, match="stopping"):
        client.do(CREATE)
    clock.step(10)  # the user's code does something else
    transport.seconds = 0.1
    for _ in range(3):
        client.do(CREATE)
    assert transport.timeouts == [0.5] * 4


def test_request_after_the_stop_does_not_wait_for_the_rate_limiter() -> None:
    stop, clock = threading.Event(), FakeClock()
    config = Config("http://api", qps=0.1, burst=1)
    client = RESTClient(config, transport=FakeTransport(reply(b"a")), stop=stop, clock=clock)
    stop.set()
    assert client.do(LIST) == b"a"
    with pytest.raises(ConnectionFailed, match="stopping: request not sent"):
        client.do(LIST)


@pytest.mark.integration
@pytest.mark.parametrize("which", [0, 1], ids=["its own", "the other client's"])
def test_client_with_a_further_stop_event_shares_the_connections_and_ends_with_either(which: int) -> None:
    stops = threading.Event(), threading.Event()
    with loopback((http(b"1"), http(b"2"), b"")) as server:
        client = RESTClient(Config(server.address), stop=stops[1])
        other = client.with_stop(stops[0])
        assert (client.do(LIST), other.do(LIST)) == (b"1", b"2")
        error = outcome_of(lambda: other.do(LIST), stops[which], server.silent)
        assert error.stopping
        assert server.connections == 1
        client.close()


@pytest.mark.integration
def test_connection_is_used_again_after_a_request_that_no_stop_interrupted() -> None:
    stop = threading.Event()
    with loopback((http(b"1"), http(b"2"), CLOSE)) as server:
        client = RESTClient(Config(server.address))
        group = Group(stop=stop)
        group.start(client.do, LIST, name="first")
        group.join(10)
        called = threading.Event()
        scope_of(stop).add(called, called.set)
        stop.set()
        assert called.wait(10)
        assert client.do(LIST) == b"2"
        client.close()


def test_failed_plugin_is_no_stop() -> None:
    plugin = Delegated(exec={"apiVersion": "client.authentication.k8s.io/v1", "command": "does-not-exist-anywhere"})
    client = RESTClient(Config("http://api", delegated=plugin), transport=FakeTransport(), stop=threading.Event())
    with pytest.raises(ConfigError, match="not found"):
        client.do(LIST)
