"""Program for the test of forks: a parent and its children send requests with one client, and count wrong answers.

    python -m tests.rest.forking REQUESTS CHILDREN

Each process has threads that request names which no other process uses; the server answers with the name it was asked
for. The parent forks while its threads are in the middle of requests.
"""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing

from clientgo.errors import ClientGoError
from clientgo.meta import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Request
from clientgo.stop.lifecycle import Group

THREADS = 4


def serve(listener: socket.socket) -> None:
    """Answer every request with its path, in one thread per connection."""
    group = Group()
    while True:
        group.start(_answer, listener.accept()[0], name="answer")


def _answer(sock: socket.socket) -> None:
    with sock, sock.makefile("rb") as requests:
        for line in _request_lines(requests):
            path = line.split()[1].partition(b"?")[0]
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(path), path))


def _request_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line
        while next(lines, b"\r\n") != b"\r\n":
            pass


def wrong_answers(client: RESTClient, process: str, requests: int, *, begun: threading.Event) -> int:
    """Send requests from several threads, and return how many answers belong to another request, or failed."""
    wrong: list[str] = []

    def run(thread: int) -> None:
        for number in range(requests // THREADS):
            path = f"/{process}-{thread}-{number}"
            try:
                if client.raw("GET", path) != path.encode():
                    wrong.append(path)
            except ClientGoError:
                wrong.append(path)
            if number == 20:
                begun.set()

    with Group() as group:
        for thread in range(THREADS):
            group.start(run, thread, name=f"{process}-{thread}")
        group.join(60)
    return len(wrong)


def main(requests: int, children: int) -> None:
    """Print the number of wrong answers of all processes."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    if not (server := os.fork()):
        serve(listener)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()
    share, begun = requests // (children + 1), threading.Event()
    reading, writing = os.pipe()
    parent: list[int] = []
    # With a rate limiter, whose lock the parent's threads hold now and then.
    with closing(RESTClient(Config(address, qps=1e9, burst=1_000_000, timeout=5.0))) as client:
        open_connections(client, 3 * THREADS)
        group = Group()
        group.start(lambda: parent.append(wrong_answers(client, "parent", share, begun=begun)), name="parent")
        begun.wait(60)
        for child in range(children):
            if not os.fork():
                try:
                    wrong = wrong_answers(client, f"child{child}", share, begun=threading.Event())
                    os.write(writing, f"{wrong}\n".encode())
                finally:
                    os._exit(0)
        group.join(60)
    os.close(writing)
    with os.fdopen(reading) as results:
        wrong_in_children = [int(line) for line in results]
    os.kill(server, 9)
    total = sum(parent) + sum(wrong_in_children)
    print(f"{len(wrong_in_children)} children, {total} wrong answers of {share * (children + 1)}")


def open_connections(client: RESTClient, count: int) -> None:
    """Let the client keep that many idle connections."""
    streams = [
        client.stream(Request(verb="list", resource=GroupVersionResource("", "v1", "pods"))) for _ in range(count)
    ]
    for stream in streams:
        list(stream)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
