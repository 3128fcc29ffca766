"""Scripted server at the `Transport` seam: replies, rejections, broken connections and streams, without sockets.

    transport = FakeTransport(reply({"kind": "PodList", "items": []}), dropped())
    client = RESTClient(Config("http://fake"), transport=transport)

Each request takes the next matching step of the script; `transport.sent` records the requests. A watch takes a
`FakeStream`, which a test fills from any thread with events or arbitrary bytes.
"""

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConnectionFailed
from clientgo.meta.codec import encode_value
from clientgo.meta.objects import EMPTY_MAP
from clientgo.rest.connections.http1 import Headers
from clientgo.rest.transport import HTTPReply, HTTPStream, IdleTimeout


class NothingScripted(AssertionError):
    """A request for which no step of the script is left."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as the transport received it; `streamed` is true for watches."""

    method: str
    target: str
    headers: Headers
    body: bytes | None
    timeout: float
    streamed: bool

    def header(self, name: str) -> str:
        """Return the first value of a header; empty if it was not sent."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")


Step = HTTPReply | ConnectionFailed | HTTPStream


def reply(body: object = b"", *, status: int = 200, headers: Mapping[str, str] = EMPTY_MAP) -> HTTPReply:
    """Return a response; `body` is bytes, or a value that is encoded as JSON."""
    lower = {name.lower(): value for name, value in headers.items()}
    return HTTPReply(status, lower, body if isinstance(body, bytes) else encode_value(body))


def refusal(status: int, reason: str = "", message: str = "", *, retry_after: int | None = None) -> HTTPReply:
    """Return a failure Status; `retry_after` seconds are sent as a header."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": status,
    }
    return reply(body, status=status, headers={} if retry_after is None else {"Retry-After": str(retry_after)})


def refused() -> ConnectionFailed:
    """Return the error of a refused connection."""
    return ConnectionFailed("connection refused", sent=False, refused=True)


def dropped() -> ConnectionFailed:
    """Return the error of a connection that broke after the request was sent."""
    return ConnectionFailed("the server closed the connection before it responded")


def timed_out() -> ConnectionFailed:
    """Return the error of a request that was not answered in time."""
    return ConnectionFailed("the server was silent", timeout=True)


@dataclass(slots=True)
class _Route:
    method: str
    path: str
    steps: deque[Step]
    last: Step | None

    def fits(self, method: str, target: str) -> bool:
        path = target.partition("?")[0]
        return self.method in ("", method) and self.path in ("", path)

    def next(self) -> Step | None:
        return self.steps.popleft() if self.steps else self.last


class FakeTransport:
    """A `Transport` that answers from a script; thread-safe.

    The steps answer requests in order. `on` adds steps for one method and path, which take precedence.

    Raises:
        NothingScripted: no step is left for a request.
    """

    def __init__(self, *steps: Step) -> None:
        self.sent: list[Sent] = []
        self.closed = False
        self.resets = 0
        self._lock = threading.Lock()
        self._routes = [_Route("", "", deque(steps), None)]

    def __repr__(self) -> str:
        return f"<FakeTransport {len(self.sent)} sent, {sum(len(route.steps) for route in self._routes)} steps left>"

    def on(self, method: str, path: str, *steps: Step, always: Step | None = None) -> None:
        """Answer requests of that method and path with `steps`, and with `always` once these are used up."""
        with self._lock:
            self._routes.insert(0, _Route(method, path, deque(steps), always))

    def then(self, *steps: Step) -> None:
        """Append steps to the script."""
        with self._lock:
            self._routes[-1].steps.extend(steps)

    def request(self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float) -> HTTPReply:
        """Return the next step, which must be a reply or a failure."""
        step = self._next(Sent(method, target, headers, body, timeout, streamed=False))
        if isinstance(step, HTTPReply):
            return step
        raise NothingScripted(f"{method} {target} was sent, but the next step is a stream")

    def stream(self, method: str, target: str, headers: Headers, timeout: float, *, idle_timeout: float) -> HTTPStream:
        """Return the next step; a reply becomes a stream of its body."""
        step = self._next(Sent(method, target, headers, None, timeout, streamed=True))
        if isinstance(step, HTTPReply):
            step = FakeStream(step.body, status=step.status, headers=step.headers, end=True)
        if isinstance(step, FakeStream):
            step.idle_timeout = idle_timeout
        return step

    def reset(self) -> None:
        """Count the call in `resets`."""
        with self._lock:
            self.resets += 1

    def close(self) -> None:
        """Record the call in `closed`."""
        self.closed = True

    def _next(self, sent: Sent) -> HTTPReply | HTTPStream:
        with self._lock:
            self.sent.append(sent)
            step = next(
                (reply for r in self._routes if r.fits(sent.method, sent.target) and (reply := r.next()) is not None),
                None,
            )
        if step is None:
            raise NothingScripted(f"no answer is scripted for {sent.method} {sent.target}")
        if isinstance(step, ConnectionFailed):
            # A new instance each time: a repeated step would otherwise collect every traceback.
            raise step.with_message(str(step))
        return step


class FakeStream:
    """Response body that a test sends in pieces, from any thread.

    Reading blocks until data arrives; after `idle_timeout` seconds on `clock` it raises `IdleTimeout`, as a real
    stream. `opened` is set by the first read.
    """

    def __init__(
        self,
        *chunks: bytes,
        status: int = 200,
        headers: Mapping[str, str] = EMPTY_MAP,
        end: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.status = status
        self.headers = headers
        self.idle_timeout: float | None = None
        self.opened = threading.Event()
        self.closed = threading.Event()
        self._chunks = deque(chunks)
        self._outcome: ConnectionFailed | bool = end
        self._clock = clock
        self._condition = threading.Condition()

    def __repr__(self) -> str:
        return f"<FakeStream {self.status}, {len(self._chunks)} chunks left>"

    def send(self, *chunks: bytes) -> None:
        """Send these chunks."""
        with self._condition:
            self._chunks.extend(chunks)
            self._condition.notify_all()

    def event(self, kind: str, obj: object) -> None:
        """Send one complete watch frame; `obj` is bytes of JSON or a value that is encoded as JSON."""
        self.send(frame(kind, obj))

    def end(self) -> None:
        """End the body."""
        self._finish(True)

    def drop(self, error: ConnectionFailed | None = None) -> None:
        """Break the connection, possibly in the middle of a frame."""
        self._finish(error or ConnectionFailed("the server closed the connection in the middle of its response"))

    def close(self) -> None:
        """Close the stream from the reader's side; `closed` is set."""
        with self._condition:
            self.closed.set()
            self._condition.notify_all()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        self.opened.set()
        with self._condition:
            deadline = None if self.idle_timeout is None else self._clock.now() + self.idle_timeout
            while not (self._chunks or self._outcome or self.closed.is_set()):
                if deadline is not None and self._clock.now() >= deadline:
                    raise IdleTimeout(f"no data from the server for {self.idle_timeout:g} s")
                self._clock.wait(self._condition, deadline)
            if self.closed.is_set():
                raise StopIteration
            if self._chunks:
                return self._chunks.popleft()
            if isinstance(self._outcome, ConnectionFailed):
                raise self._outcome
            raise StopIteration

    def _finish(self, outcome: ConnectionFailed | bool) -> None:
        with self._condition:
            self._outcome = outcome
            self._condition.notify_all()


def frame(kind: str, obj: object) -> bytes:
    """Encode one watch frame: `{"type": kind, "object": obj}` and a line break."""
    raw: Any = msgspec.Raw(obj) if isinstance(obj, bytes) else obj
    return encode_value({"type": kind, "object": raw}) + b"\n"


def garbled() -> "FakeStream":
    """Return a stream whose bytes are not a valid frame."""
    return FakeStream(b'{"type":"ADDED","object":\n', end=True)


def truncated(kind: str, obj: object) -> "FakeStream":
    """Return a stream whose only frame is cut off in the middle, although the body ends normally."""
    complete = frame(kind, obj)
    return FakeStream(complete[: len(complete) // 2], end=True)
