"""HTTP server in front of the gate, on loopback and without TLS, for operators in other processes."""

import socket
from collections.abc import Mapping
from contextlib import closing, suppress
from functools import partial

import msgspec

from clientgo.errors import ConnectionFailed
from clientgo.perturb.programs.clock import Crashed
from clientgo.perturb.programs.gate import GateTransport, failure_body, target_of
from clientgo.perturb.programs.streams import GateDuplex
from clientgo.rest.connections.tcp import shut_down
from clientgo.rest.transport import Headers, HTTPReply, HTTPStream
from clientgo.serving.connection import Limits
from clientgo.serving.message import JSON, Response, ServingRequest, Takeover
from clientgo.serving.routing import Route
from clientgo.serving.server import Server
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import on_stop
from clientgo_apiserver.gotypes.messages import find_message
from clientgo_apiserver.http.protobuf import MEDIA_TYPE as PROTOBUF
from clientgo_apiserver.http.protobuf import decode, read_envelope

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PIECE = 64 * 1024
_CLIENTS = 4096
_MAX_BODY = 64 * 1024 * 1024
_ENDED = (Crashed, ConnectionFailed, OSError)


class GateServer:
    """Server whose requests pass a gate."""

    def __init__(self, gate: GateTransport) -> None:
        self._gate = gate
        self._group = Group()
        route = Route(self._handle, METHODS, largest=_MAX_BODY)
        limits = Limits(connections=_CLIENTS, waiting=_CLIENTS)
        self._server = Server("127.0.0.1:0", {"": route}, name="perturb-http", limits=limits)
        self._server.start(self._group)
        self.url = self._server.url

    def __repr__(self) -> str:
        return f"<GateServer {self.url}>"

    def close(self) -> None:
        """Stop serving; requests that wait must have been ended by their gate."""
        self._group.stop()
        self._group.join(5.0)

    def _handle(self, request: ServingRequest) -> Response:
        headers, body = _readable(request)
        watched = _watched(request.target)
        try:
            if "upgrade" in request.headers:
                return self._switch(request, headers)
            if not watched and request.first("watch") not in ("true", "1"):
                return _response(self._gate.request(request.method, request.target, headers, body, 0.0))
            if request.first("sendInitialEvents") == "true":
                # Streamed lists cannot show an older revision; clients then list.
                return Response(422, failure_body(422, "Invalid"), JSON)
            stream = self._gate.stream("GET", watched or request.target, headers, 0.0, idle_timeout=0.0)
            return Takeover(serve=partial(_send_stream, stream))
        except (Crashed, ConnectionFailed):
            return Takeover()  # the client sees a connection that breaks

    def _switch(self, request: ServingRequest, headers: Headers) -> Response:
        protocol = request.headers["upgrade"]
        if protocol.lower() != "websocket":
            self._gate.unsupported = f"{request.method} {request.path} with {protocol}: use WebSockets"
        result = self._gate.upgrade(request.target, headers, 0.0)
        return _response(result) if isinstance(result, HTTPReply) else Takeover(serve=partial(_copy, result))


def _watched(target: str) -> str:
    """Return the target of a watch by its path, such as /api/v1/watch/pods, as one by its query; empty for others."""
    path, _, query = target.partition("?")
    segments = path.split("/")
    version_end = 3 if segments[1] == "api" else 4
    if segments[version_end : version_end + 1] != ["watch"]:
        return ""
    path = "/".join(segments[:version_end] + segments[version_end + 1 :])
    queries = [query, "watch=true"]
    if name := target_of(path).name:
        path = path.removesuffix(f"/{name}")
        queries.append(f"fieldSelector=metadata.name%3D{name}")
    return f"{path}?{'&'.join(filter(None, queries))}"


def _response(reply: HTTPReply) -> Response:
    headers = dict(reply.headers)
    return Response(reply.status, reply.body, headers.pop("content-type", JSON), headers)


def _send_stream(stream: HTTPStream, sock: socket.socket, _: bytes) -> None:
    """Send a response in chunks."""
    with closing(stream), on_stop(stream.close), suppress(*_ENDED):
        headers = {"Content-Type": JSON, "Transfer-Encoding": "chunked", "Connection": "close"}
        sock.sendall(_head(stream.status, headers))
        for line in stream:
            sock.sendall(b"%x\r\n%s\r\n" % (len(line), line))
        sock.sendall(b"0\r\n\r\n")


def _copy(duplex: GateDuplex, sock: socket.socket, received: bytes) -> None:
    """Switch protocols, and copy both directions until one ends."""
    upload = Group()
    with closing(duplex), on_stop(duplex.close), suppress(*_ENDED):
        sock.sendall(_head(duplex.status, duplex.headers))
        upload.start(_upload, duplex, sock, received, name="perturb-upload")
        while data := duplex.receive(None):
            sock.sendall(data)
    shut_down(sock)
    upload.join(5.0)


def _upload(duplex: GateDuplex, sock: socket.socket, received: bytes) -> None:
    with closing(duplex), suppress(*_ENDED):
        while data := received or sock.recv(PIECE):
            duplex.send(data)
            received = b""


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} ", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _readable(request: ServingRequest) -> tuple[Headers, bytes]:
    """Return the headers and the body with JSON in place of protobuf, which the engine does not read."""
    headers, body = dict(request.headers), request.body
    if "protobuf" in headers.get("accept", ""):
        headers["accept"] = JSON
    if headers.get("content-type", "").startswith(PROTOBUF) and (decoded := _as_json(body)):
        headers["content-type"], body = JSON, decoded
    return tuple(headers.items()), body


def _as_json(body: bytes) -> bytes:
    """Return an object in protobuf as JSON; empty if it is none, which the server then rejects."""
    try:
        envelope = read_envelope(body)
        message = find_message(envelope.api_version, envelope.kind)
        if message is None:
            return b""
        fields = decode(message, envelope.raw)
    except ValueError:
        return b""
    return msgspec.json.encode({"apiVersion": envelope.api_version, "kind": envelope.kind, **fields})
