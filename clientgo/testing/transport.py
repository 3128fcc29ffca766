"""A server as a script, at the `Transport` seam: replies, refusals, broken connections, streams. No sockets.

    transport = FakeTransport(reply({"kind": "PodList", "items": []}), dropped())
    client = RESTClient(Config("http://fake"), transport=transport)

Each request takes the next step of the script that fits it; `transport.sent` tells afterwards what was asked. A watch
takes a `FakeStream`, which a test fills from any thread: with events, with bytes cut anywhere, with garbage, or with
nothing.
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
    """A request came that no step of the script was left for."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as the transport saw it; `streamed` tells a watch from an ordinary request."""

    method: str
    target: str
    headers: Headers
    body: bytes | None
    timeout: float
    streamed: bool

    def header(self, name: str) -> str:
        """The first value of a header; empty if it was not sent."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")


Step = HTTPReply | ConnectionFailed | HTTPStream


def reply(body: object = b"", *, status: int = 200, headers: Mapping[str, str] = EMPTY_MAP) -> HTTPReply:
    """An answer; `body` is bytes, or anything that can be written as JSON."""
    lower = {name.lower(): value for name, value in headers.items()}
    return HTTPReply(status, lower, body if isinstance(body, bytes) else encode_value(body))


def refusal(status: int, reason: str = "", message: str = "", *, retry_after: int | None = None) -> HTTPReply:
    """An answer that is a Status of failure; `retry_after` seconds are sent as the header."""
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
    """No server is there."""
    return ConnectionFailed("connection refused", sent=False, refused=True)


def dropped() -> ConnectionFailed:
    """The connection broke after the request was sent."""
    return ConnectionFailed("the server closed the connection before it answered")


def timed_out() -> ConnectionFailed:
    """The server took the request and was silent."""
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
    """A `Transport` that answers by a script; safe for any number of threads.

    The steps given here answer requests in order. `on` adds steps for one method and path, which go first.

    Raises:
        NothingScripted: a request came for which no step is left.
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
        """Answer requests of that method and path by `steps`, and by `always` when these are used up."""
        with self._lock:
            self._routes.insert(0, _Route(method, path, deque(steps), always))

    def then(self, *steps: Step) -> None:
        """Add steps to the end of the script."""
        with self._lock:
            self._routes[-1].steps.extend(steps)

    def request(self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float) -> HTTPReply:
        """The next step, which must be an answer or a failure."""
        step = self._next(Sent(method, target, headers, body, timeout, streamed=False))
        if isinstance(step, HTTPReply):
            return step
        raise NothingScripted(f"{method} {target} was sent, but a stream is scripted")

    def stream(self, method: str, target: str, headers: Headers, timeout: float, *, idle_timeout: float) -> HTTPStream:
        """The next step; an answer becomes a stream of its body."""
        step = self._next(Sent(method, target, headers, None, timeout, streamed=True))
        if isinstance(step, HTTPReply):
            step = FakeStream(step.body, status=step.status, headers=step.headers, end=True)
        if isinstance(step, FakeStream):
            step.idle_timeout = idle_timeout
        return step

    def reset(self) -> None:
        """Counted in `resets`."""
        self.resets += 1

    def close(self) -> None:
        """Noted in `closed`."""
        self.closed = True

    def _next(self, sent: Sent) -> HTTPReply | HTTPStream:
        with self._lock:
            self.sent.append(sent)
            step = next(
                (found for r in self._routes if r.fits(sent.method, sent.target) and (found := r.next()) is not None),
                None,
            )
        if step is None:
            raise NothingScripted(f"no answer is scripted for {sent.method} {sent.target}")
        if isinstance(step, ConnectionFailed):
            # A fresh one each time: a repeated step would otherwise gather every raiser's traceback.
            raise step.with_message(str(step))
        return step


class FakeStream:
    """A body that a test sends piece by piece, from any thread, and ends as it likes.

    Reading blocks while nothing is there; after `idle_timeout` seconds on `clock` it raises `IdleTimeout`, as the real
    one does. `opened` is set once someone reads.
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
        """Let these bytes arrive, as they are cut here."""
        with self._condition:
            self._chunks.extend(chunks)
            self._condition.notify_all()

    def event(self, kind: str, obj: object) -> None:
        """Let one whole watch frame arrive; `obj` is bytes of JSON or anything that can be written as such."""
        self.send(frame(kind, obj))

    def end(self) -> None:
        """End the body as a server does that has said all."""
        self._finish(True)

    def drop(self, error: ConnectionFailed | None = None) -> None:
        """Break the connection off; in the middle of a frame, if one was sent by halves."""
        self._finish(error or ConnectionFailed("the server closed the connection in the middle of its answer"))

    def close(self) -> None:
        """What the reader's side calls; `closed` is set."""
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
                    raise IdleTimeout(f"the server was silent for {self.idle_timeout:g} s")
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
    """One watch frame on the wire: `{"type": kind, "object": obj}` and a line break."""
    raw: Any = msgspec.Raw(obj) if isinstance(obj, bytes) else obj
    return encode_value({"type": kind, "object": raw}) + b"\n"


def garbled() -> "FakeStream":
    """A stream that sends bytes which are no frame."""
    return FakeStream(b'{"type":"ADDED","object":\n', end=True)


def truncated(kind: str, obj: object) -> "FakeStream":
    """A stream whose only frame is cut off in the middle by a server that then ends as if all were well."""
    whole = frame(kind, obj)
    return FakeStream(whole[: len(whole) // 2], end=True)
