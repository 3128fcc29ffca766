"""Requests that ask for more than a server should do, each beside another client that GETs all the time.

`python -m apiserver.benchmarks.hostile [NAME ...]` prints, for each request: its status, its seconds, the longest GET
of the other client meanwhile, the processor time of the longest turn of the event loop, which other load of the machine
does not affect, and the peak memory of the server. The last lines have the worst of each, and the number of answers
with status 500.
"""

import argparse
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from apiserver.benchmarks.hostilemore import LISTS
from apiserver.benchmarks.hostilerequests import ROWS, Request, Row
from apiserver.benchmarks.hostilespecs import SPECS
from apiserver.benchmarks.hostilestreams import STREAMS
from apiserver.benchmarks.hostileworkloads import LIVES, WORKLOADS
from apiserver.benchmarks.server import Server, server

MAX_BLOCK, MAX_MEMORY = 0.1, 300
"""Goals: seconds of the longest GET of the other client, and MB of the server."""

_TIMEOUT = 30.0
_TOO_LARGE = b"etcdserver: request is too large"
_OTHER = "/api/v1/namespaces/default"
_END = b"0\r\n\r\n"


class OtherClient:
    """A client that GETs a namespace again and again, and keeps the longest duration."""

    def __init__(self, target: Server) -> None:
        self._sent = target.request("GET", _OTHER)
        self._connection = target.connect()
        self._ended = threading.Event()
        self.longest = 0.0
        self.warm = threading.Event()

    def run(self) -> None:
        """Send requests until `end` is called."""
        while not self._ended.is_set():
            began = time.perf_counter()
            exchange(self._connection, self._sent)
            self.longest = max(self.longest, time.perf_counter() - began)
            self.warm.set()

    def end(self) -> None:
        """End the requests."""
        self._ended.set()


@contextlib.contextmanager
def other_client(target: Server) -> Iterator[OtherClient]:
    """Run another client during the block."""
    client = OtherClient(target)
    thread = threading.Thread(target=client.run, name="other", daemon=True)  # noqa: TID251  # the benchmark's own
    thread.start()
    try:
        yield client
    finally:
        client.end()
        thread.join(_TIMEOUT)


def exchange(connection: socket.socket, sent: bytes) -> tuple[int, bytes]:
    """Send a request and receive its response to the end; return status and body, 0 for none."""
    connection.settimeout(_TIMEOUT)
    data = b""
    with contextlib.suppress(OSError):
        connection.sendall(sent)
        while b"\r\n\r\n" not in data:
            data += (piece := connection.recv(1 << 20))
            if not piece:
                return 0, b""
        head, _, body = data.partition(b"\r\n\r\n")
        pieces, last = [body], body[-len(_END) :]
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        missing = int(lengths[0].split(b":")[1]) - len(body) if lengths else 1
        while missing > 0 and (lengths or not last.endswith(_END)) and (piece := connection.recv(1 << 20)):
            pieces.append(piece)
            missing -= len(piece) if lengths else 0
            last = (last + piece)[-len(_END) :]
        data = head + b"".join(pieces)
    return (int(data[9:12]) if data else 0), data


def rendered(target: Server, request: Request) -> bytes:
    """Return the bytes of a request."""
    method, path, body, kind = request
    return (
        target.request(method, path, body, kind)
        if body
        else target.request(method, path).replace(b"\r\nUser-Agent: load", b"\r\nUser-Agent: load" + kind.encode(), 1)
    )


@dataclass(frozen=True)
class Figures:
    """Cost of a request: see the module's description. `bad` is true for an answer that a real server never gives."""

    status: int
    seconds: float
    longest: float
    turn: float
    memory: int
    bad: bool

    def __str__(self) -> str:
        blocked = f"{1000 * self.longest:.0f} ms | {self.turn:.0f} ms"
        return f"{self.status} | {self.seconds:.2f} | {blocked} | {self.memory} MB"


def longest_turn(target: Server) -> float:
    """Return the milliseconds of the longest turn since the last call."""
    body = exchange(target.connect(), target.request("GET", "/debug/requests"))[1]
    return float(json.loads(body[body.index(b"{") :])["longest"])


def measure(row: Row, target: Server) -> Figures:
    """Measure the last request of a row, or what it runs."""
    *first, last = row.requests()
    connection = target.connect()
    for request in first:
        exchange(connection, rendered(target, request))
    Path(f"/proc/{target.pid}/clear_refs").write_text("5")  # resets the peak
    with other_client(target) as client:
        client.warm.wait(_TIMEOUT)
        longest_turn(target)
        client.longest = 0.0
        began = time.perf_counter()
        run = STREAMS.get(row.name)
        status, body = exchange(target.connect(), rendered(target, last)) if run is None else run(target)
        seconds = time.perf_counter() - began
        threading.Event().wait(row.pause)
        exchange(target.connect(), target.request("GET", _OTHER))
    bad = status == 0 or (status == 500 and _TOO_LARGE not in body)
    return Figures(status, seconds, client.longest, longest_turn(target), peak(target.pid), bad)


def peak(pid: int) -> int:
    """Return the peak memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def main() -> None:
    """Measure the rows, all or those named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a part of a row's name; all by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    options = parser.parse_args()
    figures: dict[str, Figures] = {}
    print("| request | status | seconds | longest GET of another client | longest turn | peak memory |")
    print("| --- | --- | --- | --- | --- | --- |")
    for rows in (ROWS, LISTS, SPECS, WORKLOADS, LIVES):
        selected = [row for row in rows if not options.names or any(name in row.name for name in options.names)]
        if selected:
            with server(module="apiserver.benchmarks.turns") as target:
                for row in selected:
                    figures[row.name] = measure(row, target)
                    print(f"| {row.name} | {figures[row.name]} |", flush=True)
    if options.json:
        encoded = {name: asdict(row) for name, row in figures.items()}
        options.json.write_text(json.dumps(encoded, indent=1) + "\n", encoding="utf-8")
    summarize(list(figures.values()))


def summarize(figures: list[Figures]) -> None:
    """Print the worst figures."""
    late = sum(each.longest > MAX_BLOCK for each in figures)
    turns = sum(each.turn > 1000 * MAX_BLOCK for each in figures)
    large = sum(each.memory > MAX_MEMORY for each in figures)
    longest = max(each.longest for each in figures)
    print(f"\n{len(figures)} requests: {late} blocked another client above {MAX_BLOCK:g} s, at most {longest:.2f} s;")
    print(f"{turns} had a turn above {MAX_BLOCK:g} s, at most {max(each.turn for each in figures):.0f} ms;")
    print(f"{large} took more than {MAX_MEMORY} MB, at most {max(each.memory for each in figures)};")
    bad = sum(each.bad for each in figures)
    print(f"{bad} got no answer, or a status 500 that a real server does not give")


if __name__ == "__main__":
    main()
