"""Requesters of the manager's client: time limit of a reconciliation, field validation, and recording of own writes.

A thread cannot be interrupted, so the limit applies to requests: inside the block of `limited`, each request ends when
the time is up, including retries and waits, and none is sent afterwards. A read that waits for a cache ends too, and a
coroutine is cancelled. Other waits of a reconciler are not limited. A helper thread is limited if started with
`contextvars.copy_context().run`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, NotFound, StatusDetails
from clientgo.log import get_logger
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import GroupVersionResource
from clientgo.meta.shallow_json import UNREADABLE
from clientgo.rest.deadlines import DeadlineRequester
from clientgo.rest.limits import Deadline
from clientgo.rest.request import JSON, ForwardingRequester, Request, Requester
from clientgo.stop.lifecycle import MaybeCoroutine, finished

log = get_logger(__name__)

R = TypeVar("R")

PARTIAL = "PartialObjectMetadata"

# Not the deadline of the request under way (`clientgo.rest.limits`): a stream may be read after its request has ended.
_DEADLINE: ContextVar[Deadline | None] = ContextVar("reconciliation", default=None)


class ReconciliationTimeout(ClientGoError):
    """A request was not sent because the time limit of the reconciliation is over; retried as after other errors."""


@contextmanager
def limited(seconds: float, *, clock: Clock = SYSTEM_CLOCK) -> Iterator[None]:
    """Limit all requests in the block to `seconds` together; 0 for no limit."""
    if seconds <= 0:
        yield
        return
    deadline = Deadline(seconds, clock)
    deadline.start()
    token = _DEADLINE.set(deadline)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def finished_in_time(result: MaybeCoroutine[R]) -> R:
    """Return the result of a reconciler, once it has ended if it is a coroutine; see `lifecycle.finished`."""
    deadline = _DEADLINE.get()
    return finished(result, timeout=None if deadline is None else max(0.0, deadline.remaining()))


def limit_of_wait(seconds: float | None) -> float | None:
    """Return `seconds`, or the time left of the reconciliation if that is less, at least 0; None means no limit."""
    deadline = _DEADLINE.get()
    if deadline is None:
        return seconds
    return max(0.0, deadline.remaining() if seconds is None else min(seconds, deadline.remaining()))


class LimitedRequester(DeadlineRequester):
    """Requester whose requests end with the time limit of the reconciliation that sends them.

    Requests raise `ReconciliationTimeout` if no time is left.
    """

    def deadline(self) -> Deadline | None:
        """Return the deadline of the running reconciliation."""
        return _DEADLINE.get()

    def too_late(self, request: Request) -> ClientGoError:
        """Return the error of a request after the time limit."""
        what = f"{request.verb} {request.resource.resource}"
        return ReconciliationTimeout(f"{what} not sent: the time limit of this reconciliation has passed")


FieldValidation = Literal["Strict", "Warn", "Ignore"]

_WRITES = ("create", "update", "patch", "apply")


class ValidatingRequester(ForwardingRequester):
    """Requester that sets the field validation of each write; ValueError for an unknown one.

    It tells the server how to treat unknown and duplicate fields. `Strict` rejects the write with `BadRequest`, or
    `Invalid` for a patch, and names the fields; `Warn` drops them and returns a warning, which is logged; `Ignore`
    drops them. The server's default is `Warn` (kube-apiserver since 1.27).
    """

    def __init__(self, requester: Requester, validation: FieldValidation) -> None:
        if validation not in get_args(FieldValidation):
            allowed = ", ".join(get_args(FieldValidation))
            raise ValueError(f"invalid field validation {validation!r}: expected one of {allowed}")
        super().__init__(requester)
        self._query = {"fieldValidation": validation}

    def _forwarded(self, request: Request) -> Request:
        if request.verb not in _WRITES:
            return request
        return msgspec.structs.replace(request, query={**request.query, **self._query})


class Outcome(NamedTuple):
    """Effect of a write on one object, as far as the response tells.

    `stored`: the response contains the object. `deleted`: it is gone. `deleting`: it is gone, or remains with a
    deletionTimestamp. The uid is empty if the response does not name it.
    """

    effect: Literal["stored", "deleted", "deleting"]
    name: ObjectName
    uid: str = ""
    kind: str = ""


class WriteObserver(Protocol):
    """Cached objects of one representation of a kind, which reflect own writes."""

    @property
    def needs_whole_objects(self) -> bool:
        """True if the metadata of a response is not sufficient."""

    def before(self, request: Request) -> Any:
        """Return the state before a write that `record` needs."""

    def record(self, request: Request, outcomes: list[Outcome] | None, body: bytes, before: Any) -> None:
        """Record the outcomes of a write; None if it deleted all objects that match, without naming them."""


class WriteObservers(Protocol):
    """Observers by resource."""

    def observers(self, resource: GroupVersionResource) -> Sequence[WriteObserver]:
        """Return the observers of a resource. Those added later must show all writes to it that were sent before."""


class RecordingRequester(ForwardingRequester):
    """Requester that records the outcome of each write that succeeded, except of dry runs.

    The writes of all methods of a client pass here. A write that fails is not recorded, although one that
    timed out may have been stored; but a deletion that does not find its object shows that the object is gone.
    """

    def __init__(self, requester: Requester, observers: WriteObservers) -> None:
        super().__init__(requester)
        self._observers = observers

    def do(self, request: Request) -> bytes:
        """Return the body of the response."""
        if request.verb not in _RECORDED or _is_dry_run(request):
            return self._requester.do(request)
        before = {observer: observer.before(request) for observer in self._observers.observers(request.resource)}
        if request.accept != JSON and any(observer.needs_whole_objects for observer in before):
            request = msgspec.structs.replace(request, accept=JSON)
        try:
            body = self._requester.do(request)
        except NotFound as error:
            if request.verb == "delete" and error.details.name:  # without a name the kind itself is missing
                self._record(request, None, before)
            raise
        self._record(request, body, before)
        return body

    def _record(self, request: Request, body: bytes | None, before: dict[WriteObserver, Any]) -> None:
        """Record the outcomes of a write; None is the body if a deletion did not find its object."""
        observers = self._observers.observers(request.resource)  # some may be new
        if not observers:
            return
        outcomes = [Outcome("deleted", _name_in(request))] if body is None else _outcomes(request, body)
        for observer in observers:
            try:
                observer.record(request, outcomes, body or b"", before.get(observer))
            except Exception:  # the write succeeded, and its caller must learn that
                log.exception("write not recorded: reads are stale until its event", extra={"request": request.path})


_DELETIONS = frozenset(("delete", "deletecollection"))
_RECORDED = _DELETIONS.union(_WRITES)


class _Meta(msgspec.Struct, rename="camel", frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class _Response(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _Meta = _Meta()
    items: list[msgspec.Raw] | None = None
    spec: msgspec.Raw = msgspec.Raw()
    status: msgspec.Raw = msgspec.Raw()
    details: StatusDetails | None = None


class _Item(msgspec.Struct):
    metadata: _Meta = _Meta()


class _Finalizers(msgspec.Struct):
    finalizers: list[str] | None = None


class _DeleteOptions(msgspec.Struct, rename="camel", frozen=True):
    dry_run: list[str] | None = None


class _Eviction(msgspec.Struct, rename="camel"):
    metadata: _Meta = _Meta()
    delete_options: _DeleteOptions | None = None


_RESPONSE = msgspec.json.Decoder(_Response)
_EVICTION = msgspec.json.Decoder(_Eviction)


def _is_dry_run(request: Request) -> bool:
    if "dryRun" in request.query:
        return True
    if request.verb not in _DELETIONS and request.subresource != "eviction":
        return False
    options: _DeleteOptions | None = None
    with suppress(*UNREADABLE):  # the server rejects other bodies
        if request.verb in _DELETIONS:
            options = msgspec.json.decode(request.body or b"{}", type=_DeleteOptions)
        else:
            options = _EVICTION.decode(request.body or b"{}").delete_options
    return options is not None and bool(options.dry_run)


def _outcomes(request: Request, body: bytes) -> list[Outcome] | None:
    """Return the effects of a successful write; none if the response does not describe objects of the resource."""
    try:
        response = _RESPONSE.decode(body)
        is_status = response.kind == "Status" and response.api_version in ("", "v1")
        if is_status and bytes(response.status) != b'"Success"':
            return []
        if request.verb == "deletecollection":
            items = [msgspec.json.decode(item, type=_Item).metadata for item in response.items or ()]
            return None if is_status else [Outcome("deleting", ObjectName(o.namespace, o.name), o.uid) for o in items]
        if is_status:
            return _outcomes_without_object(request, response)
        if response.metadata.name != (request.name or response.metadata.name):
            return []
        if response.api_version not in ("", request.resource.api_version) and response.kind != PARTIAL:
            return []  # another kind, such as Scale
        effect: Literal["stored", "deleted"] = "deleted" if _is_gone(request, response) else "stored"
    except UNREADABLE:
        return []  # the caller reports it
    name = ObjectName(request.namespace, response.metadata.name)
    return [Outcome(effect, name, response.metadata.uid, response.kind)] if name.name else []


def _outcomes_without_object(request: Request, response: _Response) -> list[Outcome]:
    if request.verb == "delete" and not request.subresource:
        return [Outcome("deleted", _name_in(request), response.details.uid if response.details is not None else "")]
    if request.subresource == "eviction":
        uid = _EVICTION.decode(request.body or b"{}").metadata.uid
        return [Outcome("deleting", _name_in(request), uid)]
    return []


def _is_gone(request: Request, response: _Response) -> bool:
    """Return True if the object in a response is deleted: nothing delays its deletion any more."""
    meta = response.metadata
    if meta.deletion_timestamp is None:
        return request.verb == "delete" and not request.subresource
    if meta.finalizers or meta.deletion_grace_period_seconds:
        return False
    if request.resource.group or request.resource.resource != "namespaces":
        return True
    # A namespace has further finalizers; without a spec they are unknown.
    spec = bytes(response.spec)
    return bool(spec) and not msgspec.json.decode(spec, type=_Finalizers).finalizers


def _name_in(request: Request) -> ObjectName:
    return ObjectName(request.namespace, request.name)
