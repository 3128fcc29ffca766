"""Benchmark of the API server: one server process, one load process, loopback only, two cores.

`python apiserver/benchmarks/server.py [start gets writes watch list] [--on-disk] [--tls]` prints one line per figure.
One thread generates the load over many keep-alive connections and reads as little of the responses as possible, so that
the server is measured. Every part ends within about twenty seconds.
"""

import argparse
import base64
import contextlib
import json
import os
import re
import selectors
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos"
CONNECTIONS = 16
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Server:
    """Server process: its address, and the elapsed and CPU seconds until it was ready."""

    pid: int
    port: int
    seconds: float
    cpu: float
    tls: ssl.SSLContext | None = None
    token: str = ""

    def connect(self) -> socket.socket:
        """Connect, without Nagle's delay."""
        built = socket.create_connection(("127.0.0.1", self.port))
        built.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return built if self.tls is None else self.tls.wrap_socket(built, server_hostname="127.0.0.1")

    def request(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> bytes:
        """Return the bytes of one HTTP/1.1 request."""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: load\r\n"
        if self.token:
            head += f"Authorization: Bearer {self.token}\r\n"
        if body:
            head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body


@contextlib.contextmanager
def server(*arguments: str, module: str = "clientgo_apiserver") -> Iterator[Server]:
    """Start a server process with the CRD of Foo; without `--tls` over plain HTTP, without authentication."""
    tls = "--tls" in arguments
    flags = [argument for argument in arguments if argument != "--tls"] + ([] if tls else ["--anonymous"])
    command = [sys.executable, "-m", module, "--crd", str(ROOT / "artifacts" / "crd"), *flags]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kubeconfig"
        command += ["--kubeconfig-out", str(path)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            seconds = time.perf_counter() - began
            match = re.search(r"127\.0\.0\.1:(\d+)", line)
            assert match is not None, f"the server did not start: {line!r}"
            config: Any = yaml.safe_load(path.read_text())
            ca = config["clusters"][0]["cluster"].get("certificate-authority-data", "")
            context = ssl.create_default_context(cadata=base64.b64decode(ca).decode()) if tls else None
            token = config["users"][0]["user"].get("token", "")
            yield Server(process.pid, int(match[1]), seconds, cpu(process.pid), context, token)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=20)
            process.stdout.close()


def foo(name: str) -> bytes:
    """Return a Foo as a user would write it."""
    spec = {"deploymentName": name, "replicas": 1}
    head = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": {"name": name}}
    return json.dumps({**head, "spec": spec}).encode()


def receive(connection: socket.socket) -> bytes:
    """Receive at least one byte, and everything buffered in the TLS layer, which poll does not see."""
    data = connection.recv(1 << 20)
    while isinstance(connection, ssl.SSLSocket) and connection.pending():
        data += connection.recv(1 << 20)
    return data


def answer(connection: socket.socket, sent: bytes) -> tuple[int, bytes]:
    """Send one request; return status and body of its response."""
    connection.sendall(sent)
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(1 << 20)
    head, _, body = data.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    assert length is not None, head
    pieces, missing = [body], int(length[1]) - len(body)
    while missing > 0:
        pieces.append(connection.recv(1 << 20))
        missing -= len(pieces[-1])
    return int(head[9:12]), b"".join(pieces)


def whole(data: bytes) -> bool:
    """Return whether these bytes are a complete response."""
    end = data.find(b"\r\n\r\n")
    length = _LENGTH.search(data) if end >= 0 else None
    return length is not None and len(data) >= end + 4 + int(length[1])


def load(target: Server, make: Callable[[int], bytes], *, seconds: float = 0.0, count: int = 0) -> tuple[int, float]:
    """Keep all connections busy with `make(n)` for a time or number; return the number of responses and the seconds."""
    poll = selectors.DefaultSelector()
    sent = 0
    began = time.perf_counter()
    for _ in range(CONNECTIONS):
        connection = target.connect()
        connection.sendall(make(sent))
        poll.register(connection, selectors.EVENT_READ, [connection, b""])
        sent += 1
    busy = CONNECTIONS
    while busy:
        for key, _ in poll.select():
            connection, data = key.data
            key.data[1] = data = data + receive(connection)
            if not whole(data):
                continue
            assert data[9:10] == b"2", data
            if sent < count if count else time.perf_counter() - began < seconds:
                key.data[1] = b""
                connection.sendall(make(sent))
                sent += 1
            else:
                poll.unregister(connection)
                connection.close()
                busy -= 1
    return sent, time.perf_counter() - began


def gets(arguments: list[str]) -> str:
    """Measure GETs of one Foo."""
    with server(*arguments) as target:
        answer(target.connect(), target.request("POST", FOOS, foo("a")))
        sent = target.request("GET", f"{FOOS}/a")
        load(target, lambda _: sent, seconds=0.5)
        busy = -cpu(target.pid)
        done, used = load(target, lambda _: sent, seconds=4)
        busy += cpu(target.pid)
    return f"GETs of a Foo: {rate(done, used, busy)} over {CONNECTIONS} connections"


def writes(arguments: list[str]) -> str:
    """Measure creations, then merge patches of the spec."""
    with server(*arguments) as target:
        load(target, lambda n: target.request("POST", FOOS, foo(f"warm-{n}")), count=500)
        start = cpu(target.pid)
        built, making = load(target, lambda n: target.request("POST", FOOS, foo(f"f-{n}")), count=8000)
        middle = cpu(target.pid)

        def put(n: int) -> bytes:
            body = foo(f"f-{n}").replace(b'"replicas": 1', b'"replicas": 2')
            return target.request("PATCH", f"{FOOS}/f-{n}", body, "application/merge-patch+json")

        patched, patching = load(target, put, count=8000)
        end = cpu(target.pid)
    creations, patches = rate(built, making, middle - start), rate(patched, patching, end - middle)
    return f"creations of a Foo: {creations}; patches: {patches}; over {CONNECTIONS} connections"


def watch(arguments: list[str], watchers: int = 200, events: int = 1000) -> str:
    """Measure the delay from sending a write until each watcher has the event, at 100 writes per second."""
    with server(*arguments) as target:
        busy = -cpu(target.pid)
        sink = target.connect()
        poll = selectors.DefaultSelector()
        for number in range(watchers):
            stream = target.connect()
            stream.sendall(target.request("GET", f"{FOOS}?watch=1&timeoutSeconds=120"))
            poll.register(stream, selectors.EVENT_READ, [b"", number])
        head = 0
        while head < watchers:
            for key, _ in poll.select():
                head += receive(key.fileobj).count(b"HTTP/1.1 200")  # type: ignore[arg-type]
        sent: dict[int, float] = {}
        late: list[float] = []
        began = time.perf_counter()
        poll.register(sink, selectors.EVENT_READ)
        posted = 0
        while len(late) < watchers * events:
            now = time.perf_counter()
            if posted < events and now >= began + posted * 0.01:
                sent[posted] = now
                sink.sendall(target.request("POST", FOOS, foo(f"e-{posted}")))
                posted += 1
            for key, _ in poll.select(0.001):
                data = receive(key.fileobj)  # type: ignore[arg-type]
                arrived = time.perf_counter()
                if key.data is not None:
                    data = key.data[0] + data
                    names = re.findall(rb'"name":"e-(\d+)"', data[: data.rfind(b"\n") + 1])
                    key.data[0] = data[data.rfind(b"\n") + 1 :]
                    late.extend(arrived - sent[int(name)] for name in names)
        seconds = time.perf_counter() - began
        busy += cpu(target.pid)
    late.sort()
    p50, p99 = (1000 * late[int(len(late) * share)] for share in (0.5, 0.99))
    return (
        f"{watchers} watchers x {events} events: all {len(late):,} arrived in {seconds:.1f} s"
        f" ({1e6 * busy / len(late):.1f} us of the server's CPU each);"
        f" latency p50 {p50:.0f} ms, p99 {p99:.0f} ms, max {1000 * late[-1]:.0f} ms"
    )


def listing(arguments: list[str], total: int = 20_000) -> str:
    """Measure a list in pages of 500, and the memory per stored Foo."""
    with server(*arguments) as target:
        load(target, lambda n: target.request("POST", FOOS, foo(f"warm-{n}")), count=1000)
        before = resident(target.pid)
        load(target, lambda n: target.request("POST", FOOS, foo(f"f-{n:05}")), count=total)
        each = (resident(target.pid) - before) / total
        connection = target.connect()
        began = time.perf_counter()
        result, token, pages = 0, "", 0
        while True:
            status, body = answer(connection, target.request("GET", f"{FOOS}?limit=500&continue={token}"))
            assert status == 200, body
            page: Any = json.loads(body)
            result, pages, token = result + len(page["items"]), pages + 1, page["metadata"]["continue"]
            if not token:
                break
        seconds = time.perf_counter() - began
    assert result == total + 1000, result
    return f"{result:,} Foos listed in {pages} pages of 500: {seconds:.2f} s; memory: {each:,.0f} bytes a stored Foo"


def start(arguments: list[str]) -> str:
    """Measure the time from process start until the server prints its address."""
    measured = []
    for _ in range(5):
        with server(*arguments) as target:
            measured.append((target.seconds, target.cpu))
    seconds, used = zip(*measured, strict=True)
    return (
        f"start to ready, interpreter and definition included: {min(seconds):.2f} s (worst of 5: {max(seconds):.2f} s),"
        f" of which {min(used):.2f} s of processor time"
    )


def rate(count: int, seconds: float, busy: float) -> str:
    """Print requests per second, and the server's CPU time per request, which other load does not affect."""
    return f"{count / seconds:,.0f}/s ({1e6 * busy / count:.0f} us of the server's CPU each)"


def cpu(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


PARTS: dict[str, Callable[[list[str]], str]] = {
    "start": start,
    "gets": gets,
    "writes": writes,
    "watch": watch,
    "list": listing,
}


def main() -> None:
    """Measure the named parts, by default all; arguments after `--` go to the server."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--tls", action="store_true", help="run the server with TLS, tokens and roles (RBAC)")
    parser.add_argument("--on-disk", action="store_true", help="run the server with --data-dir, on a new folder")
    options = parser.parse_args()
    for part in options.parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["--data-dir", str(Path(folder) / "data")] if options.on_disk else []
            arguments += ["--tls"] if options.tls else []
            print(PARTS[part](arguments), flush=True)


if __name__ == "__main__":
    main()
