"""A server on a free port of this machine, and clients that ask it: well-behaved ones, and a bare socket."""

import http.client
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from clientgo.lifecycle import Group
from clientgo.serving import Handler, Server


@dataclass(frozen=True)
class Answer:
    status: int
    body: str
    headers: Mapping[str, str]


@contextmanager
def serving(routes: Mapping[str, Handler], address: str = "127.0.0.1:0", **options: Any) -> Iterator[Server]:
    """The server, started; afterwards all of its threads have ended."""
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
    """One request on a connection of its own."""
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
    """A bare socket, connected."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        yield sock


def exchange(server: Server, data: bytes) -> bytes:
    """What comes back for these bytes until the server closes; nothing more is sent."""
    with raw(server) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        return until_closed(sock)


def until_closed(sock: socket.socket) -> bytes:
    """All that comes until the other side closes, in order or not."""
    received = b""
    try:
        while data := sock.recv(65536):
            received += data
    except ConnectionResetError:
        pass  # closed while bytes of ours were unread, which is what a refusal does
    return received


def wait_until(condition: Callable[[], bool], sock: socket.socket) -> None:
    """Look again each time something comes, for as long as the socket's timeout allows."""
    while not condition():
        assert sock.recv(1), "closed before the condition held"
