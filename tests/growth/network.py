"""Growth cases of what arrives from a network: HTTP messages, watch frames, warnings."""

import socket
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import error_from_response
from clientgo.rest.connections.http1 import ReplyReader
from clientgo.rest.headers import warnings_in
from clientgo.rest.retry import retry_for_response
from clientgo.rest.watchstream import FrameSplitter
from clientgo.serving import Response, ServingRequest
from clientgo.serving.authorization import bearer_token
from clientgo.serving.connection import Limits, ServingConnection
from clientgo.serving.message import RejectedRequest, parse_head
from clientgo.serving.probes import probe_routes
from clientgo.serving.routing import Router
from clientgo.typed.pods import LogStream
from tests.serving.serving_client import now

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
MEMBER = zlib.compress(Random(0).randbytes(4096), wbits=31)
FRAME = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'
SHORT = ServingRequest("GET", "/a")
REQUEST = b"PUT / HTTP/1.1\r\nHost: x\r\n"


def pieces(data: bytes, size: int = 1) -> list[bytes]:
    """Split data, by default into single bytes, as a peer may send it."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def in_pieces(size: int, make: Callable[[int], bytes]) -> Callable[[int], list[bytes]]:
    return lambda count: pieces(make(count), size)


def reply(data: list[bytes]) -> object:
    arriving = iter(data)
    reader = ReplyReader(lambda _: next(arriving, b""))
    return reader.body(reader.head("GET"))


def gzipped(count: int) -> list[bytes]:
    return [OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % (len(MEMBER) * count), MEMBER * count]


def frames(data: list[bytes]) -> object:
    splitter = FrameSplitter()
    return [frame for piece in data for frame in splitter.feed(piece)] + splitter.finish()


class Peer(socket.socket):
    """Client of a server that has sent these pieces."""

    def __init__(self, data: list[bytes]) -> None:
        super().__init__()
        self._data = iter(data)

    def settimeout(self, value: float | None, /) -> None:
        """Do nothing: nothing is waited for."""

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Return the next piece."""
        return next(self._data, b"")


def served(data: list[bytes]) -> object:
    with Peer(data) as peer:
        connection = ServingConnection(peer, "", Limits(request=1000.0), SYSTEM_CLOCK)
        now(connection.wait_for_request())
        return now(connection.read_body(now(connection.read_head())))


def served_in_a_row(data: list[bytes]) -> object:
    with Peer(data) as peer:
        connection = ServingConnection(peer, "", Limits(request=1000.0), SYSTEM_CLOCK)
        for _ in range(data[0].count(b"\r\n\r\n")):
            now(connection.wait_for_request())
            now(connection.read_head())
        return connection


def ok(_: ServingRequest) -> Response:
    return Response()


def probed(count: int) -> object:
    routes = probe_routes({f"check-{number}": lambda: None for number in range(count)})
    excluded = [f"check-{number}" for number in range(0, 2 * count, 2)]
    return Router(routes).answer(ServingRequest("GET", "/healthz", {"verbose": [""], "exclude": excluded}))


CASES: dict[str, tuple[Any, ...]] = {
    "reply with many headers": (in_pieces(65536, lambda n: OK + b"A: b\r\n" * n + b"\r\n"), reply),
    "head of a reply in single bytes": (in_pieces(1, lambda n: OK + b"A: %b\r\n\r\n" % (b"x" * n)), reply, 600),
    "chunk in single bytes": (in_pieces(1, lambda n: CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (n, b"x" * n)), reply, 600),
    "small chunks": (in_pieces(64, lambda n: CHUNKED + b"1\r\nx\r\n" * n + b"0\r\n\r\n"), reply, 200),
    "trailers": (in_pieces(64, lambda n: CHUNKED + b"0\r\n" + b"A: b\r\n" * n + b"\r\n"), reply, 200),
    "members of a gzip body": (gzipped, reply, 50),
    "Retry-After": (lambda n: {"Retry-After": " " * n + "1" * n}, lambda h: error_from_response(429, b"{}", h), 600),
    "Retry-After of a retry": (lambda n: {"retry-after": "1" * n}, lambda h: retry_for_response(0, 429, h), 600),
    "warnings": (lambda n: ", ".join(['299 - "a\\"b"'] * n), warnings_in),
    "warning without an end": (lambda n: '299 - "' + '\\"' * n, warnings_in, 600),
    "frames in one piece": (lambda n: [FRAME * n], frames),
    "frames in pieces": (lambda n: pieces(FRAME * n, 77), frames),
    "frame in single bytes": (lambda n: [*pieces(FRAME[:-2] + b" " * n), b"}\n"], frames, 300),
    "line of a log in single bytes": (in_pieces(1, lambda n: b"x" * n), lambda data: list(LogStream(data)), 600),
    "nested frame": (lambda n: [b'{"type":"ADDED","object":%b0%b}\n' % (b'{"a":' * n, b"}" * n)], frames, 1000),
    "request with many headers": (lambda n: REQUEST + b"\r\n".join([b"A:  %b  " % (b"b" * 200)] * n), parse_head, 120),
    "request with many parameters": (
        lambda n: b"GET /?%b HTTP/1.0" % (b"a=%20&" * n),
        parse_head,
        120,
        RejectedRequest,
    ),
    "head of a request in single bytes": (in_pieces(1, lambda n: REQUEST + b"A:%b\r\n\r\n" % (b" " * n)), served, 600),
    "body of a request in single bytes": (
        in_pieces(1, lambda n: REQUEST + b"Content-Length: %d\r\n\r\n%b" % (n, bytes(n))),
        served,
        600,
    ),
    "requests in one piece": (lambda n: [(REQUEST + b"\r\n") * n], served_in_a_row),
    "authorization": (lambda n: {"authorization": "Bearer " + " " * n + "x"}, bearer_token, 600),
    "routes": (lambda n: Router({f"/{'a/' * i}": ok for i in range(n)}), lambda router: router.answer(SHORT)),
    "checks of a probe": (lambda n: n, probed),
}
