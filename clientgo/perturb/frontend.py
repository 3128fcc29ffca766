"""HTTP server in front of the gate, on loopback and without TLS, for operators in other processes."""

from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from typing import Any, cast

from clientgo.errors import ConnectionFailed
from clientgo.lifecycle import Group
from clientgo.perturb.programs.clock import Crashed
from clientgo.perturb.programs.gate import GateTransport, failure_body
from clientgo.perturb.programs.streams import GateDuplex
from clientgo.rest.connections.tcp import shut_down
from clientgo.rest.transport import HTTPReply

JSON = "application/json"
PIECE = 64 * 1024


class GateServer:
    """Server whose requests pass a gate."""

    def __init__(self, gate: GateTransport) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.gate = gate
        self._group = Group()
        self._group.start(self._server.serve_forever, 0.05, name="perturb-http")
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __repr__(self) -> str:
        return f"<GateServer {self.url}>"

    def close(self) -> None:
        """Stop serving; requests that wait must have been ended by their gate."""
        self._server.shutdown()
        self._server.server_close()
        self._group.stop()
        self._group.join(5.0)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    gate: GateTransport

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a connection that the operator has closed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # the name of the base class
        """Log nothing."""

    def _answer(self) -> None:
        try:
            self._pass()
        except (Crashed, ConnectionFailed):
            self.close_connection = True  # the client sees a connection that breaks

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _answer  # noqa: N815

    def _pass(self) -> None:
        gate, body = cast(_Server, self.server).gate, self._body()
        headers = tuple((name, _readable(name, value)) for name, value in self.headers.items())
        if "Upgrade" in self.headers:
            self._switch(gate, headers)
            return
        if "watch=true" in self.path or "watch=1" in self.path:
            if "sendInitialEvents=true" in self.path:
                # Streamed lists cannot show an older revision; clients then list.
                self._reply(HTTPReply(422, {}, failure_body(422, "Invalid")))
                return
            self._stream(gate, headers)
            return
        self._reply(gate.request(self.command, self.path, headers, body, 0.0))

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            chunks = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(chunks)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _reply(self, reply: HTTPReply) -> None:
        self.send_response(reply.status)
        for name, value in {"content-type": JSON, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def _switch(self, gate: GateTransport, headers: tuple[tuple[str, str], ...]) -> None:
        """Switch to a WebSocket, and copy both directions until it ends."""
        protocol = self.headers["Upgrade"]
        if protocol.lower() != "websocket":
            gate.unsupported = f"{self.command} {self.path.partition('?')[0]} with {protocol}: use WebSockets"
        result = gate.upgrade(self.path, headers, 0.0)
        if isinstance(result, HTTPReply):
            self._reply(result)
            return
        self.close_connection = True
        self.send_response(result.status)
        for name, value in result.headers.items():
            self.send_header(name, value)
        self.end_headers()
        upload = Group()
        upload.start(self._upload, result, name="perturb-upload")
        try:
            while data := result.receive(None):
                self.wfile.write(data)
        finally:
            result.close()
            shut_down(self.connection)
            upload.join(5.0)

    def _upload(self, duplex: GateDuplex) -> None:
        with suppress(Crashed, ConnectionFailed, OSError):
            while data := cast(BufferedReader, self.rfile).read1(PIECE):
                duplex.send(data)
        duplex.close()

    def _stream(self, gate: GateTransport, headers: tuple[tuple[str, str], ...]) -> None:
        stream = gate.stream("GET", self.path, headers, 0.0, idle_timeout=0.0)
        try:
            self.send_response(stream.status)
            self.send_header("content-type", JSON)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for line in stream:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True
        finally:
            stream.close()


def _readable(name: str, value: str) -> str:
    """Return a header that requests JSON in place of protobuf, which the engine does not read."""
    is_protobuf = name.lower() == "accept" and "protobuf" in value
    return JSON if is_protobuf else value
