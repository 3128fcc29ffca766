"""API server of config maps, leases and events that turns hostile on command; a program of its own.

    python -m tests.stop.hostile OBJECTS NAMESPACES

It prints its port, and that for commands. Each line of a command is the mode from then on, also for open connections:

    answer   as an API server
    hang     never again
    trickle  byte by byte, a byte each 20 ms
    refuse   not listening, and all connections closed
    ignore   listening, and accepting no connection; nothing on those that are open
"""

import json
import re
import socket
import sys
import threading
from contextlib import suppress
from typing import Any

from clientgo.stop.lifecycle import Group

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
BYTE_SECONDS = 0.02


class HostileServer:
    """The server; each connection has a thread."""

    def __init__(self, objects: int, namespaces: int) -> None:
        self.mode = "answer"
        self.names = [(f"n{number % namespaces}", f"c{number}") for number in range(objects)]
        self.namespaces = namespaces
        self.leases: dict[str, Any] = {}
        self.version = 1000
        self.changed = threading.Condition()
        self.open: set[socket.socket] = set()
        self.filling: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.address = self.listener.getsockname()
        self.group = Group()

    def run(self) -> None:
        """Accept connections, and read the modes."""
        self.group.start(self.accept, name="accept")
        with socket.create_server(("127.0.0.1", 0)) as commands:
            print(self.address[1], commands.getsockname()[1], flush=True)
            sock, _ = commands.accept()
        with sock, sock.makefile("rw") as lines:
            for line in lines:
                self.turn(line.strip())
                lines.write(line)
                lines.flush()

    def turn(self, mode: str) -> None:
        """Change the mode."""
        with self.changed:
            self.mode = mode
            self.changed.notify_all()
        if mode == "refuse":
            for sock in (self.listener, *self.open.copy()):
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        if mode == "ignore":
            with suppress(OSError):  # ends accept(), and listens again with room for one
                self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.listen(0)
            for _ in range(4):
                sock = socket.socket()
                sock.setblocking(False)
                sock.connect_ex(self.address)
                self.filling.append(sock)

    def accept(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            if self.mode == "ignore":
                self.filling.append(sock)
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.open.add(sock)
            self.group.start(self.serve, sock, name="connection")

    def serve(self, sock: socket.socket) -> None:
        data = b""
        try:
            while True:
                head, body, data = _request(sock, data)
                method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
                if "watch=true" in target or "watch=1" in target:
                    self.watch(sock, target)
                    return
                self.send(sock, *self.answer(method, target.partition("?")[0], json.loads(body or b"{}")))
        except OSError:
            return
        finally:
            self.open.discard(sock)
            sock.close()

    def answer(self, method: str, path: str, sent: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body of a response."""
        self.version += 1
        meta = {"resourceVersion": str(self.version), "uid": f"u{path}"}
        collection = path.rpartition("/")[2] in ("configmaps", "leases", "events")
        if method == "GET" and collection:
            items = [
                _config_map(*name)
                for name in self.names
                if f"/namespaces/{name[0]}/" in f"{path}/" or "/namespaces/" not in path
            ]
            return 200, {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta, "items": items}
        if "/leases" in path:
            name = path if not collection else f"{path}/{sent['metadata']['name']}"
            if method != "GET":
                self.leases[name] = {**sent, "kind": "Lease", "apiVersion": "coordination.k8s.io/v1"}
                self.leases[name]["metadata"] = {**sent["metadata"], **meta}
            elif name not in self.leases:
                return 404, {
                    "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
                }  # fmt: skip
            return 200, self.leases[name]
        if method == "GET":
            namespace, name = re.findall(r"namespaces/([^/]+)/configmaps/([^/]+)", path)[0]
            return 200, _config_map(namespace, name)
        return 201 if method == "POST" else 200, {**sent, "metadata": {**sent.get("metadata", {}), **meta}}

    def send(self, sock: socket.socket, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        self.write(sock, head.encode() + data)

    def watch(self, sock: socket.socket, target: str) -> None:
        events = []
        if "sendInitialEvents=true" in target:
            path = target.partition("?")[0]
            for namespace, name in self.names:
                if f"/namespaces/{namespace}/" in f"{path}/" or "/namespaces/" not in path:
                    events.append({"type": "ADDED", "object": _config_map(namespace, name)})
            meta = {"resourceVersion": "999", "annotations": {"k8s.io/initial-events-end": "true"}}
            bookmark = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta}
            events.append({"type": "BOOKMARK", "object": bookmark})
        data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
        self.write(sock, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for begin in range(0, len(data), 50_000):
            part = data[begin : begin + 50_000]
            self.write(sock, b"%x\r\n%b\r\n" % (len(part), part))
        while True:
            self.wait_while("answer")
            self.write(sock, b"100000\r\n" + b" " * 1000)

    def write(self, sock: socket.socket, data: bytes) -> None:
        """Send, as the mode has it."""
        self.wait_while("hang", "ignore")
        if self.mode != "trickle":
            sock.sendall(data)
            return
        for number in range(len(data)):
            sock.sendall(data[number : number + 1])
            with self.changed:
                self.changed.wait(BYTE_SECONDS)

    def wait_while(self, *modes: str) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.mode not in modes)


def _config_map(namespace: str, name: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "uid": f"u-{name}", "resourceVersion": "7", "labels": {"app": "a"}}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": {"key": "value" * 20}}


def _request(sock: socket.socket, data: bytes) -> tuple[bytes, bytes, bytes]:
    while b"\r\n\r\n" not in data:
        data += _received(sock)
    head, _, remainder = data.partition(b"\r\n\r\n")
    match = _LENGTH.search(head)
    length = int(match[1]) if match else 0
    while len(remainder) < length:
        remainder += _received(sock)
    return head, remainder[:length], remainder[length:]


def _received(sock: socket.socket) -> bytes:
    data = sock.recv(65536)
    if not data:
        raise ConnectionError("closed")
    return data


if __name__ == "__main__":
    HostileServer(int(sys.argv[1]), int(sys.argv[2])).run()
