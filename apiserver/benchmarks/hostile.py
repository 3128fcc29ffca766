"""Requests that ask for more than a server should do, each beside another client that GETs all the time.

`python apiserver/benchmarks/hostile.py [NAME ...]` prints, for each request: its status, its seconds, the longest GET
of the other client meanwhile, and the peak memory of the server. The last line has the worst of each, and the number of
answers with status 500.
"""

import argparse
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from apiserver.benchmarks.hostilerequests import ROWS, Row
from apiserver.benchmarks.server import Server, server

MAX_BLOCK, MAX_MEMORY = 0.1, 300
"""Goals: seconds of the longest GET of the other client, and MB of the server."""

_TIMEOUT = 30.0
_TOO_LARGE = b"etcdserver: request is too large"
_OTHER = "/api/v1/namespaces/default"


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
    """Send a request and receive its response, or the head of a stream's; return status and body, 0 for none."""
    connection.settimeout(_TIMEOUT)
    data = b""
    with contextlib.suppress(OSError):
        connection.sendall(sent)
        while b"\r\n\r\n" not in data:
            data += (piece := connection.recv(1 << 20))
            if not piece:
                return 0, b""
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        missing = int(lengths[0].split(b":")[1]) - len(body) if lengths else 0
        while missing > 0 and (piece := connection.recv(1 << 20)):
            data += piece
            missing -= len(piece)
    return (int(data[9:12]) if data else 0), data


def measure(row: Row, target: Server) -> tuple[int, float, float, int, bool]:
    """Measure the last request of a row.

    Returns:
        Its status, its seconds, the other client's longest GET, the peak in MB, and whether the answer is none that a
        real server gives: no response, or 500 other than for an object that is too large for etcd.
    """
    *first, last = [target.request(*request) for request in row.requests()]
    for request in first:
        exchange(target.connect(), request)
    Path(f"/proc/{target.pid}/clear_refs").write_text("5")  # resets the peak
    with other_client(target) as client:
        client.warm.wait(_TIMEOUT)
        client.longest = 0.0
        began = time.perf_counter()
        status, body = exchange(target.connect(), last)
        seconds = time.perf_counter() - began
        exchange(target.connect(), target.request("GET", _OTHER))
    bad = status == 0 or (status == 500 and _TOO_LARGE not in body)
    return status, seconds, client.longest, peak(target.pid), bad


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
    rows = [row for row in ROWS if not options.names or any(name in row.name for name in options.names)]
    figures = {}
    print(
        "| request | status | seconds | longest GET of another client | peak memory |\n| --- | --- | --- | --- | --- |"
    )
    with server() as target:
        for row in rows:
            figures[row.name] = status, seconds, longest, memory, _ = measure(row, target)
            print(f"| {row.name} | {status} | {seconds:.2f} | {1000 * longest:.0f} ms | {memory} MB |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    late = sum(longest > MAX_BLOCK for _, _, longest, _, _ in figures.values())
    large = sum(memory > MAX_MEMORY for *_, memory, _ in figures.values())
    failed = sum(bad for *_, bad in figures.values())
    most = max(memory for *_, memory, _ in figures.values())
    longest = max(longest for _, _, longest, _, _ in figures.values())
    print(f"\n{len(figures)} requests: {late} blocked another client above {MAX_BLOCK:g} s, at most {longest:.2f} s;")
    print(f"{large} took more than {MAX_MEMORY} MB, at most {most};")
    print(f"{failed} got no answer, or a status 500 that a real server does not give")


if __name__ == "__main__":
    main()
