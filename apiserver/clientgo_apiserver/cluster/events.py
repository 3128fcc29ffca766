"""Events: those that simulated controllers record about objects, and the expiry of all.

Repeated events are counted, similar ones combined, and many about one object dropped, as client-go's recorder does.
They are written when events are first read, because there are several for each pod and hardly any is read; of many that
wait, the oldest are dropped. An event that the store rejects is written later.
"""

import uuid
from collections import deque
from functools import partial
from typing import NamedTuple

import msgspec

from clientgo.internal.boundeddict import BoundedDict
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.cluster.base import InternalController, is_deleting
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.gotypes.metadata import rfc3339
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import NAMESPACES
from clientgo_apiserver.storage.stored import Key, Name, name_of

EVENTS: Key = ("", "events")
TTL_SECONDS = 3600.0
"""Lifetime of an event after its last write (kube-apiserver's --event-ttl)."""

_MAX_REMEMBERED = 4096  # objects and events, as client-go's caches
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")
_SIMILAR, _SIMILAR_SECONDS = 10, 600.0
_BURST, _SECONDS_PER_EVENT = 25, 300.0
_BATCH = 50  # events that expire in a row


class _Recorded(NamedTuple):
    """An event to be written, about an object; `host` is the node of a kubelet."""

    involved: tuple[str, ...]
    reason: str
    message: str
    kind: str
    host: str
    at: float


class _Bucket(msgspec.Struct):
    """Token bucket of one object's events."""

    tokens: float
    filled_at: float

    def take(self, now: float) -> bool:
        self.tokens = min(float(_BURST), self.tokens + (now - self.filled_at) / _SECONDS_PER_EVENT)
        self.filled_at = now
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


class ComponentEvents:
    """Records events of one component, such as `replicaset-controller`, straight into the store."""

    def __init__(self, state: State, component: str) -> None:
        self._state = state
        self._component = component
        self._buckets: BoundedDict[str, _Bucket] = BoundedDict(_MAX_REMEMBERED)
        self._stored: BoundedDict[tuple[str, ...], Name] = BoundedDict(_MAX_REMEMBERED)
        # Messages of one reason about one object, and the time of the first one.
        self._messages: BoundedDict[tuple[str, ...], tuple[float, set[str]]] = BoundedDict(_MAX_REMEMBERED)

    def __repr__(self) -> str:
        return f"<ComponentEvents {self._component}>"

    def record(self, obj: Object, reason: str, message: str, *, kind: str = "Normal", host: str = "") -> None:
        """Record an event about an object; `kind` is Normal or Warning, `host` the node of a kubelet."""
        meta, waiting = obj["metadata"], self._state.recorded
        involved = (obj["kind"], meta.get("namespace", ""), meta["name"], meta["uid"], obj["apiVersion"])
        recorded = _Recorded(
            (*involved, meta.get("resourceVersion", "")), reason, message, kind, host, self._state.clock.time()
        )
        waiting.append(partial(self._write, recorded))
        if len(waiting) == 1:
            self._state.delay(EVENTS, self._state.write_recorded)

    def _write(self, recorded: _Recorded) -> None:
        uid, at = recorded.involved[3], recorded.at
        if at + TTL_SECONDS <= self._state.clock.time():
            return
        bucket = self._buckets.use(uid) or _Bucket(float(_BURST), at)
        self._buckets[uid] = bucket
        if bucket.take(at):
            try:
                self._count(recorded)
            except ApiFailure:
                bucket.tokens += 1.0  # it is tried again
                raise

    def _count(self, recorded: _Recorded) -> None:
        """Write an event, or count it with an earlier one."""
        uid, reason, at = recorded.involved[3], recorded.reason, recorded.at
        group = (uid, recorded.kind, reason)
        message, is_combined = self._combined(group, recorded.message, at)
        key = group if is_combined else (*group, message)
        stored = self._stored.use(key)
        event = self._state.store.get(EVENTS, *stored) if stored is not None else None
        if event is not None:
            moment = rfc3339(int(at))
            self._put({**event, "count": event["count"] + 1, "lastTimestamp": moment, "message": message})
            return
        event = self._new(recorded, message)
        namespace = self._state.store.get(NAMESPACES, "", event["metadata"]["namespace"])
        if namespace is not None and not is_deleting(namespace):  # else a creation would be rejected
            self._put(event)
            self._stored[key] = name_of(event)

    def _put(self, event: Object) -> None:
        """Store an event as JSON, a fifth of its size."""
        self._state.store.put(EVENTS, event).shrink()

    def _combined(self, group: tuple[str, ...], message: str, now: float) -> tuple[str, bool]:
        """Return the message and whether the event is counted with others of its reason, whose messages differ."""
        since, messages = self._messages.use(group) or (now, set())
        if now - since > _SIMILAR_SECONDS:
            since, messages = now, set()
        messages.add(message)
        self._messages[group] = since, messages
        if len(messages) < _SIMILAR:
            return message, False
        messages.discard(message)
        return f"(combined from similar events): {message}", True

    def _new(self, recorded: _Recorded, message: str) -> Object:
        involved, host = dict(zip(_INVOLVED, recorded.involved, strict=True)), recorded.host
        now = rfc3339(int(recorded.at))
        # The revision makes names unique although a clock that tests step stands still.
        name = f"{involved['name']}.{int(recorded.at * 1e9) + self._state.store.revision:x}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": name,
                "namespace": involved["namespace"] or "default",
                "uid": str(uuid.uuid4()),
                "creationTimestamp": now,
            },
            "involvedObject": {field: value for field, value in involved.items() if value},
            "reason": recorded.reason,
            "message": message[:1024],
            "source": {"component": self._component, **({"host": host} if host else {})},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": recorded.kind,
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": host,
        }


class EventExpiry(InternalController):
    """Removes each event an hour after its last write."""

    _sources = (EVENTS,)

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        # All have the same lifetime, so they expire in the order in which they were written.
        self._expiring: deque[tuple[float, Name, int]] = deque()

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key != EVENTS or new is None:
            return
        due = self._state.clock.time() + TTL_SECONDS
        self._expiring.append((due, name_of(new), int(new["metadata"]["resourceVersion"])))
        if len(self._expiring) == 1:
            self._later(TTL_SECONDS, self._sync)

    def _sync(self, *names: str) -> None:
        now = self._state.clock.time()
        for _ in range(_BATCH):
            if not self._expiring or self._expiring[0][0] > now:
                break
            _, name, revision = self._expiring[0]
            entry = self._store.entry(EVENTS, *name)
            if entry is not None and entry.revision == revision:
                self._store.remove(EVENTS, *name)
            self._expiring.popleft()  # only now: a write that fails is tried again
        if self._expiring:
            self._later(max(0.0, self._expiring[0][0] - now), self._sync)
