"""Responses as the bytes of a connection."""

import gzip
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRWPair

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS
from clientgo_apiserver.http.messages import HTTPRequest, HTTPResponse
from clientgo_apiserver.server import ApiServer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with ApiServer(simulate=False) as running:
        yield running


def exchange(server: ApiServer, *requests: str, data: bytes = b"") -> bytes:
    """Send all requests at once, and return everything until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10) as connection:
        connection.sendall("".join(f"{request}\r\n\r\n" for request in requests).encode() + data)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@contextmanager
def opened(server: ApiServer) -> Iterator[BufferedRWPair]:
    """Connect, and close the connection at the end."""
    connection = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10)
    with connection, connection.makefile("rwb") as stream:
        yield stream


def watch_head(stream: BufferedRWPair, query: str, accept: str) -> list[str]:
    """Start a watch and return the lines of the response's head."""
    path = f"{CONFIG_MAPS}?watch=true&{query}"
    stream.write(f"GET {path} HTTP/1.1\r\nHost: h\r\nAccept-Encoding: {accept}\r\n\r\n".encode())
    stream.flush()
    return [line.decode().strip() for line in iter(stream.readline, b"\r\n")]


def read_chunk(stream: BufferedRWPair) -> bytes:
    size = int(stream.readline(), 16)
    return stream.read(size + 2)[:size]


@pytest.mark.parametrize("head", ["GET /version HTTP/1.0", "GET /version HTTP/1.1\r\nHost: h\r\nConnection: close"])
def test_connection_of_a_client_that_keeps_none_is_closed(server: ApiServer, head: str) -> None:
    response = exchange(server, head)
    assert response.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nconnection: close\r\n" in response


def test_requests_sent_at_once_are_answered_in_their_order(server: ApiServer) -> None:
    paths = ("/readyz", "/nothing", "/version", CONFIG_MAPS)
    heads = [f"GET {path} HTTP/1.1\r\nHost: h" for path in paths]
    responses = exchange(server, *heads, "GET /livez HTTP/1.1\r\nHost: h\r\nConnection: close")
    assert re.findall(rb"HTTP/1.1 (\d+)", responses) == [b"200", b"404", b"200", b"200", b"200"]
    assert responses.index(b"gitVersion") < responses.index(b"ConfigMapList")


def test_response_to_head_has_a_length_and_no_body(server: ApiServer) -> None:
    head, _, body = exchange(server, "HEAD /version HTTP/1.1\r\nHost: h\r\nConnection: close").partition(b"\r\n\r\n")
    assert int(re.findall(rb"content-length: (\d+)", head)[0]) > 0
    assert body == b""


def test_header_with_a_line_break_is_never_sent(server: ApiServer) -> None:
    def respond(_: HTTPRequest) -> HTTPResponse:
        return HTTPResponse(200, headers=[("X-Text", "a\r\nSet-Cookie: b")])

    server.run(lambda api: api.extra.update(broken=respond))
    response = exchange(server, "GET /broken HTTP/1.1\r\nHost: h\r\nConnection: close")
    assert response.startswith(b"HTTP/1.1 500 ")
    assert b"Set-Cookie" not in response


LISTED = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@pytest.mark.parametrize(
    ("version", "query", "accept", "compressed"),
    [
        ("1.37", LISTED, "gzip", True),
        ("1.37", LISTED, "deflate, gzip", True),
        ("1.37", LISTED, "", False),
        ("1.37", LISTED, "gzip;q=1", False),
        ("1.37", "allowWatchBookmarks=true", "gzip", True),  # begins with the objects, as one that asks for them
        ("1.37", "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "gzip", False),
        ("1.37", "", "gzip", False),
        ("1.37", "resourceVersion=1&allowWatchBookmarks=true", "gzip", False),
        ("1.36", LISTED, "gzip", False),
    ],
)
def test_streaming_list_is_compressed_since_1_37(version: str, query: str, accept: str, *, compressed: bool) -> None:
    with ApiServer(simulate=False, version=version) as running, opened(running) as stream:
        head = watch_head(stream, query, accept)
    assert ("Content-Encoding: gzip" in head and "Vary: Accept-Encoding" in head) is compressed


def test_compressed_events_are_complete_files_that_can_be_read_as_they_come(server: ApiServer) -> None:
    data = b'{"metadata": {"name": "late"}}'
    with opened(server) as stream:
        watch_head(stream, LISTED, "gzip")
        first = gzip.decompress(read_chunk(stream))
        exchange(server, f"POST {CONFIG_MAPS} HTTP/1.0\r\nContent-Length: {len(data)}", data=data)
        second = gzip.decompress(read_chunk(stream))
    assert b"k8s.io/initial-events-end" in first
    assert b'"name":"late"' in second
