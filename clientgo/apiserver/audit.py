"""The audit trail: who wrote what, in the order in which the store took it, as audit.k8s.io/v1 events.

A test of several writers asks it who did what, and when: nothing else tells, once the objects have changed again. Each
event has the shape of the real server's at level Metadata, one line a request. What is added is the annotation
`REVISION`: the resourceVersion the write made (several, parted by commas, where it made several; none where it changed
nothing). Every version of the store since the trail began stands in exactly one event: changes that the server makes
without a request, as when it empties a namespace, are told as its own.

Events are handed on before the write is answered, so that a client that was answered finds its own. A sink that fails
costs the event and no request, as the real server's default has it; the log tells.
"""

import logging
import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from clientgo.apiserver.auth.authorization import Attributes
from clientgo.apiserver.auth.users import MASTERS, authenticated
from clientgo.apiserver.http.messages import Request
from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.storage.store import Store
from clientgo.apiserver.storage.stored import Key
from clientgo.clock import Clock

Object = dict[str, Any]
Sink = Callable[[Object], object]

REVISION = "apiserver.clientgo.dev/resource-version"
_READS = frozenset({"get", "list", "watch", "head", "options"})
_VERBS = {"ADDED": "create", "MODIFIED": "update", "DELETED": "delete"}
_SERVER = authenticated("system:apiserver", MASTERS)
_log = logging.getLogger(__name__)


class AuditFile:
    """A sink that appends each event to a file as one line of JSON; nobody but its owner may read a file it makes.

    Raises:
        OSError: the file can't be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def __repr__(self) -> str:
        return f"<AuditFile {self._path}>"

    def __call__(self, event: Object) -> None:
        """Append the event; it is in the file when this returns, whatever becomes of the process.

        Raises:
            OSError: the file can't be written.
        """
        os.write(self._file, msgspec.json.encode(event) + b"\n")

    def close(self) -> None:
        """Let go of the file; nothing may be appended after."""
        os.close(self._file)


class _Account:
    """What one request has written so far."""

    __slots__ = ("received", "revisions", "written")

    def __init__(self, received: str) -> None:
        self.received = received
        self.revisions: list[int] = []
        self.written: Object = {}


class Audit:
    """Hands `sink` an event for each write, and with `reads` for every request that names a resource."""

    def __init__(self, store: Store, clock: Clock, sink: Sink, *, reads: bool = False) -> None:
        self._store = store
        self._clock = clock
        self._sink = sink
        self._reads = reads
        self._open: list[_Account] = []
        self._held: list[tuple[int, Object]] = []
        self._untold: list[Object] = []
        self._last = store.revision
        store.subscribe(self._changed)

    def __repr__(self) -> str:
        return f"<Audit to {self._sink}>"

    def begin(self, request: Request) -> None:
        """A request is being carried out; those it gives rise to may begin and end before it ends."""
        received = request.kept.setdefault("received", self._now())
        self._open.append(_Account(received))

    def end(self, request: Request, wanted: Attributes, code: int | None) -> None:
        """It was answered with this code, or (None) suspended: it has done nothing yet, and will begin again."""
        account = self._open.pop()
        if code is not None and not wanted.path and (self._reads or wanted.verb not in _READS):
            event = self._event(account, wanted, code)
            query = urlencode(request.query)
            event["requestURI"] = f"{request.path}?{query}" if query else request.path
            event["sourceIPs"] = [request.source or "::1"]
            agent = request.headers.get("user-agent") or request.query.get("fieldManager", "")
            if "annotations" in request.kept:
                event["annotations"] = {**event.get("annotations", {}), **request.kept["annotations"]}
            event["userAgent"] = f"{agent}/internal" if request.internal else agent
            self._held.append((account.revisions[0] if account.revisions else 0, event))
        if not self._open:
            # A reaction to a write ends before the write does: the store's order is told, not that of the answers.
            held, self._held = self._held, []
            self._tell([ready for _, ready in sorted(held, key=lambda one: one[0])])

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        assert obj is not None, "a change has an object"
        taken_back = self._store.revision <= self._last
        self._last = self._store.revision
        if taken_back:
            return  # what could not be kept: whoever made it is told in `_kept`
        if self._open:
            account = self._open[-1]
            account.revisions.append(self._store.revision)
            account.written = obj["metadata"]
            return
        meta = obj["metadata"]
        account = _Account(self._now())
        account.revisions.append(self._store.revision)
        account.written = meta
        version = obj["apiVersion"].rpartition("/")[2]
        place = (meta.get("namespace", ""), meta["name"])
        wanted = Attributes(_SERVER, _VERBS[kind], key[0], version, key[1], "", *place)
        self._tell([self._event(account, wanted, 200)])

    def _tell(self, events: list[Object]) -> None:
        """Hand the events on, once what they tell of is kept."""
        if self._store.committed and not self._untold:
            for event in events:
                self._hand_on(event)
            return
        if not self._untold:
            self._store.when_committed(self._kept)
        self._untold += events

    def _kept(self, failure: ApiFailure | None) -> None:
        untold, self._untold = self._untold, []
        for event in untold:
            if failure is not None and event.get("annotations", {}).pop(REVISION, ""):
                event["responseStatus"]["code"] = failure.code
            self._hand_on(event)

    def _event(self, account: _Account, wanted: Attributes, code: int) -> Object:
        several = wanted.verb == "deletecollection"
        written = {} if several else account.written
        reference = {
            "resource": wanted.resource,
            "namespace": wanted.namespace,
            "name": wanted.name or written.get("name", ""),
            "uid": written.get("uid", ""),
            "apiGroup": wanted.group,
            "apiVersion": wanted.version,
            "subresource": wanted.subresource,
        }
        event: Object = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": str(uuid.uuid4()),
            # A watch is told when it begins: when it ends says nothing about the server.
            "stage": "ResponseStarted" if wanted.verb == "watch" else "ResponseComplete",
            "verb": wanted.verb,
            "user": wanted.user.info,
            "objectRef": {member: value for member, value in reference.items() if value},
            "responseStatus": {"metadata": {}, "code": code},
            "requestReceivedTimestamp": account.received,
            "stageTimestamp": self._now(),
        }
        if account.revisions:
            event["annotations"] = {REVISION: ",".join(map(str, account.revisions))}
        return event

    def _hand_on(self, event: Object) -> None:
        try:
            self._sink(event)
        except OSError as error:
            _log.error("audit event lost", extra={"reason": str(error), "audit_id": event["auditID"]})

    def _now(self) -> str:
        # Half the time that strftime takes; metav1.MicroTime looks so.
        now = datetime.fromtimestamp(self._clock.time(), UTC)
        return now.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
