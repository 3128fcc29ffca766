"""Gate between an operator and the server: every request and every watch frame waits until the engine lets it pass.

The operator uses a real `RESTClient`, whose transport this is. The engine answers one request or delivers one frame at
a time, while all threads wait; so the order of everything is the engine's decision, and equal runs are equal.
"""

import math
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from clientgo.errors import ConnectionFailed
from clientgo.meta.objects import EMPTY_MAP
from clientgo.perturb.programs.clock import Crashed
from clientgo.perturb.programs.streams import GateDuplex
from clientgo.perturb.programs.waits import wait_reported
from clientgo.perturb.state import EVENTS, ObjectRef
from clientgo.rest.transport import Headers, HTTPReply, HTTPStream, Received
from clientgo_apiserver.handlers.watching import WatchServer
from clientgo_apiserver.inmemory import ServedReply

WRITES = ("POST", "PUT", "PATCH", "DELETE")
UPGRADE = "CONNECT"
"""Method of a request that switches the protocol of its connection, such as for a command in a pod."""

GateResult = HTTPReply | HTTPStream | GateDuplex


class RequestTarget(NamedTuple):
    """Parts of a request's path: `resource` is the plural and its group, as in `deployments.apps`."""

    resource: str
    namespace: str
    name: str
    subresource: str

    def __str__(self) -> str:
        name = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.resource} {name}{'/' + self.subresource if self.subresource else ''}".rstrip()


def target_of(target: str) -> RequestTarget:
    """Return the parts of a path with a query; all are empty for a path that names no resource."""
    segments = target.partition("?")[0].strip("/").split("/")
    is_core = segments[0] == "api"
    group, segments = ("", segments[2:]) if is_core else ("".join(segments[1:2]), segments[3:])
    namespace = ""
    if len(segments) > 2 and segments[0] == "namespaces" and segments[2] not in ("status", "finalize"):
        namespace, segments = segments[1], segments[2:]
    plural, name, subresource = [*segments, "", "", ""][:3]
    return RequestTarget(f"{plural}.{group}" if group else plural, namespace, name, subresource)


class Outgoing:
    """One request of the operator that waits for the engine."""

    def __init__(self, method: str, target: str, headers: Headers, body: bytes | None, *, is_watch: bool) -> None:
        self.method = method
        self.target = target
        self.subject = target_of(target)
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body or b""
        self.is_watch = is_watch
        self._result: GateResult | BaseException | None = None
        self._finished = threading.Condition()

    def __repr__(self) -> str:
        return f"<Outgoing {self.method} {self.target}>"

    @property
    def is_write(self) -> bool:
        """True if it may change an object that a scenario is about, or runs a command in a pod."""
        return self.method == UPGRADE or (
            self.method in WRITES
            and "dryRun=" not in self.target
            and self.subject.resource not in _NO_WRITES
            and not self.subject.resource.endswith("reviews.authorization.k8s.io")
        )

    @property
    def order(self) -> tuple[int, str, str, bytes]:
        """Key that orders requests which wait at the same time."""
        return (WRITES.index(self.method) + 1 if self.method in WRITES else 0, self.target, self.method, self.body)

    def finish(self, result: GateResult | BaseException) -> None:
        """Return the result to the operator, or raise it there."""
        with self._finished:
            self._result = result
            self._finished.notify_all()

    def wait(self) -> GateResult:
        """Wait for the result, in the operator's thread."""
        with self._finished:
            while self._result is None:
                wait_reported(self._finished)
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result

    def named(self, number: int) -> bytes:
        """Return the body; in place of a generated name, which is random, it has one with this number."""
        if self.method != "POST" or b"generateName" not in self.body:
            return self.body
        body = msgspec.json.decode(self.body)
        metadata = body.get("metadata") or {}
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = f"{metadata['generateName']}{number:05d}"
        return msgspec.json.encode(body)


_NO_WRITES = EVENTS | {"tokenreviews.authentication.k8s.io"}


class _Metadata(msgspec.Struct, rename="camel", frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


class _Line(msgspec.Struct):
    type: str
    object: _Object


_decode = msgspec.json.Decoder(_Line).decode


class Frame(NamedTuple):
    """One frame of a watch: the change of one object, or a bookmark or error."""

    revision: int
    order: int
    body: "WatchBody"
    line: bytes
    type: str
    namespace: str
    name: str

    @property
    def resource(self) -> str:
        """Resource that the watch is for."""
        return self.body.subject.resource

    @property
    def ref(self) -> ObjectRef:
        """Name of the object."""
        return ObjectRef(self.resource, self.namespace, self.name)

    def as_type(self, kind: str) -> "Frame":
        """Return the frame as one of another type."""
        return self._replace(type=kind, line=self.line.replace(f'"{self.type}"'.encode(), f'"{kind}"'.encode(), 1))


class WatchBody:
    """Streamed response of a watch; implements `HTTPStream`."""

    status = 200
    headers: Mapping[str, str] = EMPTY_MAP

    def __init__(self, subject: RequestTarget, served: WatchServer) -> None:
        self.subject = subject
        self.served = served
        self.idle_timeout: float | None = None  # ignored: no connection is silent
        self.is_open = True
        self.ends_at = math.inf
        """Time at which the server ends it, as the client has asked for."""
        self._changed = threading.Condition()
        self._lines: deque[bytes] = deque()
        self._error: BaseException | None = None
        self._count = 0

    def take(self) -> list[Frame]:
        """Return the frames that the server has sent since the last call."""
        frames = []
        for line in self.served.take_lines():
            decoded = _decode(line)
            meta = decoded.object.metadata
            self._count += 1
            version = int(meta.resource_version) if meta.resource_version.isdigit() else 0
            frames.append(Frame(version, self._count, self, line + b"\n", decoded.type, meta.namespace, meta.name))
        return frames

    def deliver(self, frame: Frame) -> None:
        """Let the operator read a frame."""
        with self._changed:
            self._lines.append(frame.line)
            self._changed.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        """End the stream; the reader raises the error, if there is one."""
        with self._changed:
            self._error, self.is_open = error, False
            self._changed.notify_all()

    def close(self) -> None:
        """End the stream from any thread, in the operator."""
        self.end()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        with self._changed:
            while self.is_open and not self._lines:
                wait_reported(self._changed)
            if self._error is not None:
                raise self._error
            if not self._lines:
                raise StopIteration
            return self._lines.popleft()


class GateTransport:
    """Transport of one start of the operator; implements `clientgo.rest.transport.Transport`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Outgoing] = []
        self.was_used = False
        """True once there was a request."""
        self.unsupported = ""
        """What the program has asked for in vain, because perturbation does not support it."""
        self._dead = False

    def request(self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float) -> HTTPReply:
        """Wait for the engine, and return the response."""
        outgoing = Outgoing(method, target, headers, body, is_watch=False)
        if method in WRITES and outgoing.subject.resource in EVENTS:
            self._check()
            return _stored_event(outgoing)
        result = self._pass(outgoing)
        assert isinstance(result, HTTPReply), "not a watch"
        return result

    def stream(self, method: str, target: str, headers: Headers, timeout: float, *, idle_timeout: float) -> HTTPStream:
        """Wait for the engine, and return the stream."""
        result = self._pass(Outgoing(method, target, headers, None, is_watch="watch=" in target))
        assert not isinstance(result, GateDuplex), "not an upgrade"
        return whole_stream(result) if isinstance(result, HTTPReply) else result

    def upgrade(self, target: str, headers: Headers, timeout: float) -> HTTPReply | GateDuplex:
        """Wait for the engine, and return the connection, or the response of another status than 101."""
        result = self._pass(Outgoing(UPGRADE, target, headers, None, is_watch=False))
        assert isinstance(result, HTTPReply | GateDuplex), "not a watch"
        return result

    def reset(self) -> None:
        """Do nothing: there are no connections."""

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def waiting(self) -> list[Outgoing]:
        """Return the requests that wait for the engine, in the order in which it answers them."""
        with self._lock:
            return sorted(self._waiting, key=lambda outgoing: outgoing.order)

    def finish(self, outgoing: Outgoing, result: GateResult | BaseException) -> None:
        """Answer a waiting request."""
        with self._lock:
            self._waiting.remove(outgoing)
        outgoing.finish(result)

    def kill(self) -> None:
        """Raise `Crashed` in all requests, now and later."""
        with self._lock:
            self._dead, waiting, self._waiting = True, self._waiting, []
        for outgoing in waiting:
            outgoing.finish(Crashed())

    def _pass(self, outgoing: Outgoing) -> GateResult:
        self.was_used = True
        with self._lock:
            if not self._dead:
                self._waiting.append(outgoing)
        self._check()
        return outgoing.wait()

    def _check(self) -> None:
        if self._dead:
            raise Crashed


def _stored_event(outgoing: Outgoing) -> HTTPReply:
    """Return the response to an Event, which is not stored: senders run at any time, and Events are no result."""
    body = msgspec.json.decode(outgoing.body or b"{}")
    if outgoing.method != "POST":
        _, namespace, name, _ = outgoing.subject
        version = outgoing.target.strip("/").split("/namespaces/")[0].partition("/")[2]
        body |= {"kind": "Event", "apiVersion": version, "metadata": {"namespace": namespace, "name": name}}
    return HTTPReply(201 if outgoing.method == "POST" else 200, EMPTY_MAP, msgspec.json.encode(body))


class _WholeStream(Received[bytes]):
    """Response without a stream, for a request that expects one; implements `HTTPStream`."""

    def __init__(self, reply: HTTPReply) -> None:
        super().__init__(reply.body)
        self.status, self.headers = reply.status, reply.headers
        self.idle_timeout: float | None = None


def whole_stream(reply: HTTPReply) -> HTTPStream:
    """Return a response as a stream of its body."""
    return _WholeStream(reply)


def timed_out(*, stored: bool) -> ConnectionFailed:
    """Return the error of a request that was not answered in time."""
    return ConnectionFailed("the server was silent" if stored else "no connection in time", sent=stored, timeout=True)


FAULTS = {
    "error-409": (409, "Conflict"),
    "error-429": (429, "TooManyRequests"),
    "error-500": (500, "InternalError"),
    "timeout-before": (0, ""),
}
"""Status and reason of the response that a write gets in place of the server's; 0 for none."""


def failure_body(status: int, reason: str) -> bytes:
    """Return the Status of an injected failure."""
    body = {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status,
        "message": "injected by a perturbation",
    }  # fmt: skip
    return msgspec.json.encode(body)


def http_reply(reply: ServedReply) -> HTTPReply:
    """Return a server's response as that of a transport."""
    return HTTPReply(reply.status, {name.lower(): value for name, value in reply.headers.items()}, reply.body)
