"""Responses as the bytes of a connection."""

import re
import socket
from collections.abc import Iterator

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS
from clientgo_apiserver.http.messages import HTTPRequest, HTTPResponse
from clientgo_apiserver.server import ApiServer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with ApiServer(simulate=False) as running:
        yield running


def exchange(server: ApiServer, *requests: str) -> bytes:
    """Send all requests at once, and return everything until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10) as connection:
        connection.sendall("".join(f"{request}\r\n\r\n" for request in requests).encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


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
