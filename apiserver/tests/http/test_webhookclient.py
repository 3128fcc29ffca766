"""HTTP calls of webhooks on the event loop: framing, reuse of connections, failures, and the end of hanging calls."""

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.http.webhookclient import (
    CallFailed,
    WebhookClient,
    WebhookEndpoint,
    WebhookReview,
    concurrently,
)
from tests.models.budget import examples

pytestmark = pytest.mark.integration

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n" + b'{"code": 1}'


REVIEW = {"apiVersion": "example.com/v1", "kind": "Review"}


class Answer(WebhookReview):
    code: int | None = None


class Peer:
    """Server that sends `replies[n]` to the nth request, and closes a connection after `each` requests."""

    def __init__(self, *replies: bytes, each: int = 1) -> None:
        self._replies = list(replies)
        self._each = each
        self.closed = asyncio.Event()
        self.connections = 0
        self.writers: list[asyncio.StreamWriter] = []
        self.requests: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        for _ in range(self._each):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            self.requests.append(head + await reader.readexactly(length))
            writer.write(self._replies.pop(0))
        writer.close()
        await writer.wait_closed()
        self.closed.set()


def talk(
    peer: Peer,
    dialogue: Callable[[WebhookClient, Callable[[], Awaitable[Answer]]], Awaitable[Any]],
    host: str = "127.0.0.1",
    seconds: float = 5.0,
    **options: Any,
) -> Any:
    """Run `dialogue(client, call)` beside the peer; `call()` posts a review to it at this host, with a timeout."""

    async def run() -> Any:
        server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
        endpoint = WebhookEndpoint(f"http://{host}:{server.sockets[0].getsockname()[1]}/a b")
        client = WebhookClient(**options)
        try:
            async with server:
                return await dialogue(client, lambda: client.post(endpoint, {**REVIEW, "ü": "ö"}, seconds, Answer))
        finally:
            client.close()
            for writer in peer.writers:
                writer.transport.abort()
            await asyncio.sleep(0)

    return asyncio.run(run())


def test_request_has_the_path_the_timeout_and_the_body() -> None:
    peer = Peer(OK)
    assert talk(peer, lambda _, call: call()) == Answer(code=1)
    (request,) = peer.requests
    assert request.startswith(b"POST /a%20b?timeout=5s HTTP/1.1\r\nHost: 127.0.0.1:")
    assert request.endswith('\r\n\r\n{"apiVersion":"example.com/v1","kind":"Review","ü":"ö"}'.encode())


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(OK, id="length"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + OK, id="interim"),
        pytest.param(
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"cod\r\n6\r\ne": 1}\r\n0\r\n\r\n', id="chunked"
        ),
        pytest.param(b'HTTP/1.0 200 OK\r\n\r\n{"code": 1}', id="until the end"),
    ],
)
def test_response_of_any_framing_is_read(reply: bytes) -> None:
    assert talk(Peer(reply), lambda _, call: call()) == Answer(code=1)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"", "EOF"),
        (OK[:-1], "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nContent-", "unexpected EOF"),
        (b"220 smtp.example.com ESMTP\r\n", ""),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", ""),
        (b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", "the server answered 500: no"),
        (b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", "the server answered 302"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "json: cannot unmarshal array into Go value of type"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{", "couldn't get version/kind; json parse error"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + b"[" * 200, "yaml: "),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"code": "1"}',
         "json: cannot unmarshal string into Go struct field Answer.code of type int32"),
    ],
)  # fmt: skip
def test_unusable_response_is_a_failed_call(reply: bytes, reason: str) -> None:
    with pytest.raises(CallFailed, match=reason or "Post"):
        talk(Peer(reply), lambda _, call: call())


@settings(max_examples=examples(50), deadline=None)
@given(reply=st.binary(max_size=60) | st.binary(max_size=40).map(lambda tail: OK[:40] + tail))
def test_any_bytes_are_a_response_or_a_failed_call(reply: bytes) -> None:
    with contextlib.suppress(CallFailed):
        talk(Peer(reply), lambda _, call: call())


def test_connection_is_used_again_until_the_peer_closes_it() -> None:
    async def three_calls(_: WebhookClient, call: Callable[[], Awaitable[Answer]]) -> None:
        for _number in range(2):
            assert await call() == Answer(code=1)
        await peer.closed.wait()
        for _turn in range(2):
            await asyncio.sleep(0)  # the loop sees that the peer has closed
        assert await call() == Answer(code=1)

    peer = Peer(OK, OK, OK, each=2)
    talk(peer, three_calls)
    assert peer.connections == 2


def test_hanging_calls_delay_no_others_and_end_when_the_client_is_closed() -> None:
    class Hanging(Peer):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if self.connections < 100:
                self.connections += 1
                self.writers.append(writer)
                await reader.read()
            else:
                await super().serve(reader, writer)

    async def dialogue(client: WebhookClient, call: Callable[[], Awaitable[Answer]]) -> list[int]:
        hanging = [asyncio.ensure_future(call()) for _ in range(100)]
        while peer.connections < 100:
            await asyncio.sleep(0)
        assert await call() == Answer(code=1)
        client.close()
        failures = await asyncio.gather(*hanging, call(), return_exceptions=True)
        return [failure.code for failure in failures if isinstance(failure, ApiFailure)]

    peer = Hanging(OK)
    assert talk(peer, dialogue, seconds=30.0) == [503] * 101  # none times out before, even on a slow machine


def test_hanging_lookup_delays_neither_other_names_nor_the_end() -> None:
    release, begun, ended = threading.Event(), list[bytes](), list[bytes]()

    def look_up(host: Any, *args: Any, **options: Any) -> Any:
        if host != b"slow.example":
            return socket.getaddrinfo(host, *args, **options)
        begun.append(host)
        release.wait(10)
        ended.append(host)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    async def dialogue(client: WebhookClient, call: Callable[[], Awaitable[Answer]]) -> list[int]:
        slow = WebhookEndpoint("http://slow.example/")
        hanging = [asyncio.ensure_future(client.post(slow, REVIEW, 20.0, Answer)) for _ in range(50)]
        while not begun:
            await asyncio.sleep(0.001)
        assert await call() == Answer(code=1)
        client.close()
        failures = await asyncio.gather(*hanging, return_exceptions=True)
        return [failure.code for failure in failures if isinstance(failure, ApiFailure)]

    assert talk(Peer(OK), dialogue, host="localhost", resolve=look_up) == [503] * 50
    assert (begun, ended) == ([b"slow.example"], [])
    release.set()


@pytest.mark.parametrize(
    "error",
    [socket.gaierror(socket.EAI_NONAME, "Name or service not known"), ValueError("embedded null character")],
    ids=lambda error: type(error).__name__,
)
def test_name_that_cannot_be_looked_up_is_a_failed_call(error: Exception) -> None:
    def look_up(*_: Any, **__: Any) -> Any:
        raise error

    with pytest.raises(CallFailed, match=re.escape(str(error.args[-1]))):
        talk(Peer(), lambda _, call: call(), host="unknown.example", resolve=look_up)


def test_concurrent_calls_return_in_order_and_raise_the_first_error() -> None:
    async def call(number: int) -> int:
        if number == 2:
            raise CallFailed("second")
        return number

    assert asyncio.run(concurrently(map(call, (0, 1, 3)))) == [0, 1, 3]
    with pytest.raises(CallFailed, match="second"):
        asyncio.run(concurrently(map(call, range(4))))
