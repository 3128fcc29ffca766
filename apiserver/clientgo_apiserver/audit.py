"""Audit log: writes in the order of the store, as audit.k8s.io/v1 events.

Events have the form of a real server's at level Metadata, one per request. The annotation `REVISION` adds the
resourceVersions of the write, comma-separated. Every version since the log began is in exactly one event; changes that
the server makes without a request, as when it empties a namespace, are logged as its own.

Events are emitted before the response, so that a client finds its own. If a sink fails, the event is lost and logged,
and the request continues, as by default on a real server.
"""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from clientgo.clock import Clock
from clientgo.log import get_logger
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.api.users import MASTERS, authenticated
from clientgo_apiserver.auth.authorization import Attributes
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Key, name_of

AuditSink = Callable[[Object], object]

REVISION = "apiserver.clientgo.dev/resource-version"
_READS = frozenset({"get", "list", "watch", "head", "options"})
_VERBS = {"ADDED": "create", "MODIFIED": "update", "DELETED": "delete"}
_SERVER = authenticated("system:apiserver", MASTERS)
_log = get_logger(__name__)


class AuditFile:
    """Audit sink that appends each event to a file as one line of JSON; only its owner may read the file.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def __call__(self, event: Object) -> None:
        """Append the event; it is in the file when this returns.

        Raises:
            OSError: the file cannot be written.
        """
        os.write(self._file, msgspec.json.encode(event) + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class _Account(msgspec.Struct):
    """Writes of one request so far, and the events of requests that it caused."""

    received: str
    revisions: list[int] = []
    written: Object = {}
    events: list[tuple[int, Object]] = []
    code: int = 0  # of the response
    ended: bool = False


# Of the request that runs: others run while it waits for a webhook. Callbacks that it schedules see it, too, ended.
_ACCOUNT: ContextVar[_Account | None] = ContextVar("audit account", default=None)


def _current() -> _Account | None:
    account = _ACCOUNT.get()
    return None if account is None or account.ended else account


class Audit:
    """Sends an event to `sink` for each write, and with `reads` for every resource request."""

    def __init__(self, store: Store, clock: Clock, sink: AuditSink, *, reads: bool = False) -> None:
        self._store = store
        self._clock = clock
        self._sink = sink
        self._reads = reads
        self._uncommitted: list[Object] = []
        self._last = store.revision
        store.subscribe(self._changed)

    def __repr__(self) -> str:
        return f"<Audit to {self._sink}>"

    @contextmanager
    def account(self, request: HTTPRequest, attributes: Callable[[], Attributes]) -> Iterator[_Account]:
        """Account for the writes of a request within the block, which sets `code`, and send its event."""
        parent, account = _current(), _Account(self._now())
        token = _ACCOUNT.set(account)
        try:
            yield account
        finally:
            _ACCOUNT.reset(token)
            account.ended = True
        requested = attributes()
        if not requested.path and (self._reads or requested.verb not in _READS):
            first = account.revisions[0] if account.revisions else 0
            account.events.append((first, self._request_event(request, account, requested)))
        if parent is not None:
            # A reaction to a write ends before the write: events follow the store's order, not that of the responses.
            parent.events += account.events
        else:
            self._emit_committed([event for _, event in sorted(account.events, key=lambda pair: pair[0])])

    def _request_event(self, request: HTTPRequest, account: _Account, attributes: Attributes) -> Object:
        event = self._event(account, attributes, account.code)
        query = urlencode(request.query)
        event["auditID"] = request.audit_id or event["auditID"]
        event["requestURI"] = f"{request.path}?{query}" if query else request.path
        event["sourceIPs"] = [request.source or "::1"]
        agent = request.headers.get("user-agent") or request.query.get("fieldManager", "")
        if request.annotations:
            event["annotations"] = {**event.get("annotations", {}), **request.annotations}
        event["userAgent"] = f"{agent}/internal" if request.internal else agent
        return event

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        assert obj is not None, "a change has an object"
        undone = self._store.revision <= self._last
        self._last = self._store.revision
        if undone:
            return  # undone: the writer's event is corrected in `_committed`
        account = _current()
        if account is not None:
            account.revisions.append(self._store.revision)
            account.written = obj["metadata"]
            return
        account = _Account(self._now(), [self._store.revision], obj["metadata"])
        version = obj["apiVersion"].rpartition("/")[2]
        attributes = Attributes(_SERVER, _VERBS[kind], key[0], version, key[1], "", *name_of(obj))
        self._emit_committed([self._event(account, attributes, 200)])

    def _emit_committed(self, events: list[Object]) -> None:
        """Emit the events once the changes are committed."""
        if self._store.committed and not self._uncommitted:
            for event in events:
                self._emit(event)
            return
        if not self._uncommitted:
            self._store.when_committed(self._committed)
        self._uncommitted += events

    def _committed(self, failure: ApiFailure | None) -> None:
        events, self._uncommitted = self._uncommitted, []
        for event in events:
            if failure is not None and event.get("annotations", {}).pop(REVISION, ""):
                event["responseStatus"]["code"] = failure.code
            self._emit(event)

    def _event(self, account: _Account, attributes: Attributes, code: int) -> Object:
        several = attributes.verb == "deletecollection"
        written = {} if several else account.written
        reference = {"resource": attributes.resource, "namespace": attributes.namespace}
        reference |= {"name": attributes.name or written.get("name", ""), "uid": written.get("uid", "")}
        reference |= {
            "apiGroup": attributes.group,
            "apiVersion": attributes.version,
            "subresource": attributes.subresource,
        }
        event: Object = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": str(uuid.uuid4()),
            # A watch is logged when it begins: its end says nothing about the server.
            "stage": "ResponseStarted" if attributes.verb == "watch" else "ResponseComplete",
            "verb": attributes.verb,
            "user": attributes.user.info,
            "objectRef": {member: value for member, value in reference.items() if value},
            "responseStatus": {"metadata": {}, "code": code},
            "requestReceivedTimestamp": account.received,
            "stageTimestamp": self._now(),
        }
        if account.revisions:
            event["annotations"] = {REVISION: ",".join(map(str, account.revisions))}
        return event

    def _emit(self, event: Object) -> None:
        try:
            self._sink(event)
        except OSError as error:
            _log.error("audit event lost", extra={"reason": str(error), "audit_id": event["auditID"]})

    def _now(self) -> str:
        # metav1.MicroTime; twice as fast as strftime.
        now = datetime.fromtimestamp(self._clock.time(), UTC)
        return now.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
