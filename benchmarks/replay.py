"""Server that replays a prepared list and many watch events as fast as possible.

The bundled server sends some thousand changes per second, which is too slow to measure informers. Plain HTTP, one
thread per connection. `python -m benchmarks.replay FOOS EVENTS` prints its address, and starts the events when it reads
a line.
"""

import json
import socket
import sys
import threading

from benchmarks.objects import stored_foo

_NO_STREAMED_LIST = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":422,"reason":"Invalid",'
    b'"message":"sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch"}'
)


def main(foos: int, events: int) -> None:
    """Serve until the process is ended."""
    go = threading.Event()
    listed = _list(foos)
    frames = b"".join(_chunk(_event(n % foos, foos + 1 + n)) for n in range(events))
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    threading.Thread(target=_accept, args=(listener, listed, frames, go), daemon=True).start()  # noqa: TID251
    sys.stdin.readline()
    go.set()
    sys.stdin.readline()


def _accept(listener: socket.socket, listed: bytes, frames: bytes, go: threading.Event) -> None:
    while True:
        connection, _ = listener.accept()
        arguments = (connection, listed, frames, go)
        threading.Thread(target=_serve, args=arguments, daemon=True).start()  # noqa: TID251


def _serve(connection: socket.socket, listed: bytes, frames: bytes, go: threading.Event) -> None:
    lines = connection.makefile("rb")
    while request := lines.readline():
        while lines.readline().strip():
            pass
        if b"watch=" not in request:
            connection.sendall(_answer(b"200 OK", listed))
        elif b"sendInitialEvents" in request:
            connection.sendall(_answer(b"422 Unprocessable Entity", _NO_STREAMED_LIST))
        else:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.sendall(head)
            go.wait()
            connection.sendall(frames)


def _answer(status: bytes, body: bytes) -> bytes:
    head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _list(foos: int) -> bytes:
    # Of one template: encoding a million objects takes longer than listing them.
    foo = json.loads(stored_foo("foo-%(n)d", 0))
    foo["metadata"] |= {"uid": "6b1b0a3c-7f0a-4c56-a3c2-%(n)012d", "resourceVersion": "%(n)d"}
    template = json.dumps(foo, separators=(",", ":")).encode()
    items = b",".join(template % {b"n": n} for n in range(foos))
    kind = b'"kind":"FooList","apiVersion":"samplecontroller.k8s.io/v1alpha1"'
    return b'{%s,"metadata":{"resourceVersion":"%d"},"items":[%s]}' % (kind, foos, items)


def _event(number: int, version: int) -> bytes:
    return b'{"type":"MODIFIED","object":%s}\n' % stored_foo(f"foo-{number}", version, replicas=version % 9)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
