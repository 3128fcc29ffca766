"""A server on a free local port, and its clients: a well-behaved one and a raw socket."""

import http.client
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from clientgo.serving import Handler, Server
from clientgo.serving.connection import Steps
from clientgo.stop.lifecycle import Group

R = TypeVar("R")


@dataclass(frozen=True)
class Answer:
    status: int
    body: str
    headers: Mapping[str, str]


@contextmanager
def serving(routes: Mapping[str, Handler], address: str = "127.0.0.1:0", **options: Any) -> Iterator[Server]:
    """Run the server; all of its threads have ended after the block."""
    group = Group()
    server = Server(address, routes, **options)
    server.start(group)
    try:
        yield server
    finally:
        server.stop()
        group.join(10)


def ask(
    server: Server,
    path: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    context: ssl.SSLContext | None = None,
) -> Answer:
    """Send one request on a new connection."""
    connection = (
        http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        if context is None
        else http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)
    )
    try:
        connection.request(method, path, body=body, headers=dict(headers or {}))
        response = connection.getresponse()
        return Answer(response.status, response.read().decode(), dict(response.getheaders()))
    finally:
        connection.close()


@contextmanager
def raw(server: Server) -> Iterator[socket.socket]:
    """Return a connected raw socket."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        yield sock


def exchange(server: Server, data: bytes) -> bytes:
    """Send these bytes and return the response up to the end of the connection."""
    with raw(server) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        return until_closed(sock)


def until_closed(sock: socket.socket) -> bytes:
    """Return all data until the peer closes, gracefully or not."""
    received = b""
    try:
        while data := sock.recv(65536):
            received += data
    except ConnectionResetError:
        pass  # closed while bytes of ours were unread, which is what a refusal does
    return received


def wait_until(condition: Callable[[], bool], sock: socket.socket) -> None:
    """Check again after each received chunk, until the socket's timeout."""
    while not condition():
        assert sock.recv(1), "closed before the condition held"


def now(steps: Steps[R]) -> R:
    """Return the result of steps that need not wait."""
    try:
        wait = next(steps)
    except StopIteration as end:
        result: R = end.value
        return result
    raise AssertionError(f"not ready: {wait}")
