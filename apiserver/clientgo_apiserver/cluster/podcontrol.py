"""Base class of the controllers of workloads: claims, creates and deletes the objects that they control.

As in Kubernetes, a workload adopts objects without a controller that its selector matches, and releases those that it
no longer matches. Replicas are created in bursts, as by kube-controller-manager, a few in each turn of the event loop.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec

from clientgo_apiserver.api.conditions import condition_of, is_true
from clientgo_apiserver.api.limits import MAX_WAITING_PODS
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.cluster.base import InternalController, annotation, controller_reference, is_deleting
from clientgo_apiserver.cluster.events import ComponentEvents
from clientgo_apiserver.cluster.internal import InReview, Internal
from clientgo_apiserver.cluster.owned import Owned, controller_of
from clientgo_apiserver.state import Handle
from clientgo_apiserver.storage.keys import PODS
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.storage.stored import Key, name_of

FINISHED = ("Succeeded", "Failed")
"""Phases of pods that have ended."""

SLICE = 5
"""Pods created or deleted in a row, while other clients wait."""
BURST = 500
"""Pods created or deleted by one sync, as by kube-controller-manager."""

_PACED = 25  # pods of a sync if a workload has more than a burst
_PAUSE_SECONDS = 0.001  # between its syncs, for each child, because all are looked at
_FULL = "pods is forbidden: {} pods already wait for a node, and this server has no more of them; add nodes"
_RETRY_SECONDS, _MAX_RETRY_SECONDS = 0.1, 60.0


class _Burst(msgspec.Struct):
    """Creations and deletions of a sync of `obj` that have not run yet."""

    obj: Object
    steps: deque[Callable[[], object]]


class WorkloadController(InternalController):
    """Reconciles every object of the only key in `_sources` when its spec or children change."""

    _kind: ClassVar[str]
    _child: ClassVar[Key] = PODS
    _messages: ClassVar[Mapping[str, str]] = {
        "SuccessfulCreate": "Created pod: {pod}",
        "FailedCreate": "Error creating: {error}",
        "SuccessfulDelete": "Deleted pod: {pod}",
    }
    _component: ClassVar[str] = ""
    """Source of its events, if it is not that of its kind's name."""
    _rank: ClassVar[int] = 0
    """Rank of the syncs because of children (see `_schedule`)."""
    _own_annotations: ClassVar[tuple[str, ...]] = ()
    """Annotations of a workload that its controller writes."""
    _unreported: ClassVar[tuple[str, ...]] = ()
    """Reasons of failed creations that cause no event."""

    def __init__(self, internal: Internal, owned: Owned) -> None:
        super().__init__(internal)
        self._owned = owned
        self._events = ComponentEvents(internal.state, self._component or f"{self._kind.lower()}-controller")
        self._failures: dict[tuple[str, ...], int] = {}
        # A pod of a template that is created several times in this turn, and what became of the first one.
        self._created: tuple[Object, Object] | None = None
        self._bursts: dict[tuple[str, ...], _Burst] = {}
        # Time and timer of the next sync of an object that no change will cause.
        self._wakeups: dict[tuple[str, ...], tuple[float, Handle]] = {}

    @property
    def _key(self) -> Key:
        return self._sources[0]

    def _reconcile(self, obj: Object, children: list[Object]) -> None:
        raise NotImplementedError

    def start(self) -> None:
        """Bring the stored objects up to date, and react to every change of them and of what they control."""
        super().start()
        self._owned.follow(self._child, self._kind, self._changed_child)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == self._key:
            if new is None:
                self._failures.pop(name_of(old or {}), None)
            elif old is None or self._desired(old) != self._desired(new):
                self._schedule(*name_of(new))

    def _desired(self, obj: Object) -> tuple[Any, ...]:
        """Return what a controller acts on, without what it writes itself."""
        meta = obj["metadata"]
        annotations = meta.get("annotations") or {}
        if self._own_annotations:
            annotations = {name: text for name, text in annotations.items() if name not in self._own_annotations}
        return obj.get("spec"), meta.get("generation"), annotations, meta.get("labels"), meta.get("deletionTimestamp")

    def _changed_child(self, controller: Object | None, old: Object | None, new: Object | None) -> None:
        if controller is not None:
            namespace = (new or old or {})["metadata"]["namespace"]
            self._follow(str(controller["uid"]), namespace, controller["name"])
        elif new is not None and _may_be_adopted(old, new):
            for workload in self._store.list(self._key, new["metadata"]["namespace"]):
                if self._selects(workload, new):
                    self._schedule(*name_of(workload))

    def _sync(self, *names: str) -> None:
        obj = self._store.get(self._key, *names)
        burst = self._bursts.pop(names, None)
        if obj is None or (burst is not None and self._continues(burst, obj)):
            return
        try:
            self._reconcile(obj, self._claimed(obj))
        except ApiFailure as failure:
            if failure.code >= 500:
                raise
            self._retry(names)
        else:
            self._failures.pop(names, None)

    def _retry(self, names: tuple[str, ...]) -> None:
        """Sync again after a delay that doubles with each failure in a row: a quota, or a conflicting name."""
        failures = self._failures[names] = self._failures.get(names, 0) + 1
        delay = min(_RETRY_SECONDS * 2**failures, _MAX_RETRY_SECONDS)
        self._again_at(self._state.clock.time() + delay, *names)

    def _follow(self, uid: str, *names: str) -> None:
        """Sync a workload because of a child: soon, or, if it has many, at about the pace of a real controller."""
        count = self._owned.count(uid, self._child)
        if count < BURST:
            self._schedule(*names, rank=self._rank)
        else:
            self._again_at(self._state.clock.time() + count * _PAUSE_SECONDS, *names)

    def _run_steps(self, obj: Object, steps: Iterable[Callable[[], object]]) -> None:
        """Run what a sync has decided, some steps now and the others in later turns, and sync again after the last.

        The others are dropped if the workload changes or a step is rejected.
        """
        running = self._bursts.get(name_of(obj))
        if running is not None:
            running.steps.extend(steps)
        elif remaining := deque(steps):
            self._bursts[name_of(obj)] = _Burst(obj, remaining)
            self._advance(self._bursts[name_of(obj)])

    def _advance(self, burst: _Burst) -> None:
        names = name_of(burst.obj)
        self._created = None
        for _ in range(min(SLICE, len(burst.steps))):
            try:
                burst.steps.popleft()()
            except ApiFailure:
                self._bursts.pop(names, None)
                raise
        if burst.steps:
            self._schedule(*names)
        else:
            self._bursts.pop(names, None)

    def _continues(self, burst: _Burst, obj: Object) -> bool:
        """Run the next steps of a burst; return whether there is nothing else to do now."""
        if burst.obj["metadata"]["uid"] != obj["metadata"]["uid"] or self._desired(burst.obj) != self._desired(obj):
            return False
        self._bursts[name_of(obj)] = burst
        try:
            self._advance(burst)
        except ApiFailure as failure:
            if failure.code >= 500:
                raise
            return False  # the sync that follows is rejected too, and shows it
        if not burst.steps:
            self._follow(obj["metadata"]["uid"], *name_of(obj))
        return True

    def _creatable(self, obj: Object) -> int:
        """Return how many pods a sync may create."""
        return BURST if self._owned.count(obj["metadata"]["uid"], self._child) < BURST else _PACED

    def _again_at(self, due: float | None, *names: str) -> None:
        """Sync again at that time, in seconds since the epoch, or earlier: each sync tells when the next is due."""
        if due is None:
            return
        pending = self._wakeups.get(names)
        if pending is not None:
            if pending[0] <= due:
                return
            pending[1].cancel()
        delay = max(0.0, due - self._state.clock.time())
        self._wakeups[names] = due, self._later(delay, self._wake, *names)

    def _wake(self, *names: str) -> None:
        self._wakeups.pop(names, None)  # absent if this call is a retry
        self._schedule(*names)

    def _selects(self, workload: Object, child: Object) -> bool:
        selector = workload["spec"].get("selector")
        return bool(selector) and selects(selector, child["metadata"].get("labels") or {})

    def _claimed(self, obj: Object) -> list[Object]:
        """Return the children, after those that match were adopted and others released."""
        children, namespace = self._owned.by(obj, self._child), obj["metadata"]["namespace"]
        if is_deleting(obj):
            return children
        claimed = []
        for child in children:
            if self._selects(obj, child):
                claimed.append(child)
            elif not is_deleting(child):
                uid = obj["metadata"]["uid"]
                references = [owner for owner in child["metadata"]["ownerReferences"] if owner.get("uid") != uid]
                self._set_owners(child, references)
        for orphan in self._owned.orphans(self._child, namespace):
            if not is_deleting(orphan) and orphan_may_be_claimed(orphan) and self._selects(obj, orphan):
                owners = [*(orphan["metadata"].get("ownerReferences") or ()), controller_reference(obj)]
                claimed.append(self._set_owners(orphan, owners))
        return claimed

    def _set_owners(self, child: Object, references: list[Object]) -> Object:
        meta = {"uid": child["metadata"]["uid"], "ownerReferences": references or None}
        return self._internal.patch(self._child, *name_of(child), {"metadata": meta})

    def _pod(self, obj: Object, template: Object, *, name: str = "", labels: Mapping[str, str] | None = None) -> Object:
        """Return a pod of the workload's template; without a name the server generates one."""
        meta = template.get("metadata") or {}
        metadata: Object = {
            "namespace": obj["metadata"]["namespace"],
            "labels": {**(meta.get("labels") or {}), **(labels or {})},
            "ownerReferences": [controller_reference(obj)],
            **{field: meta[field] for field in ("annotations", "finalizers") if meta.get(field)},
        }
        metadata |= {"generateName": f"{obj['metadata']['name']}-", **({"name": name} if name else {})}
        spec = dict(template["spec"])
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def _create_pod(self, pod: Object, *, derived: bool = False) -> Object:
        try:
            if len(self._owned.waiting) >= MAX_WAITING_PODS:
                raise ApiFailure(403, "Forbidden", _FULL.format(MAX_WAITING_PODS))
            created = self._again(pod) if derived else None
            if created is None:
                created = self._internal.create(PODS, pod["metadata"]["namespace"], pod, derived=derived)
                self._created = (pod, created)
        except ApiFailure as failure:
            causes = (failure.details or {}).get("causes") or ()
            is_ending = any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
            if not isinstance(failure, InReview) and failure.reason not in self._unreported and not is_ending:
                self._record(pod, "FailedCreate", failure.message)
            raise
        self._record(created, "SuccessfulCreate")
        return created

    def _again(self, pod: Object) -> Object | None:
        """Create another pod like the one that was created before, if that is of the same template."""
        if self._created is None or self._created[0] is not pod:
            return None
        return self._internal.create_like(PODS, self._created[1])

    def _delete_stored(self, child: Object) -> None:
        """Delete a child, unless it has gone since the sync began."""
        stored = self._store.get(self._child, *name_of(child))
        if stored is not None and stored["metadata"]["uid"] == child["metadata"]["uid"] and not is_deleting(stored):
            self._delete(child)

    def _delete(self, child: Object) -> None:
        self._internal.delete(self._child, *name_of(child), uid=child["metadata"]["uid"])
        if self._child == PODS:
            self._record(child, "SuccessfulDelete")

    def _record(self, pod: Object, reason: str, error: str = "") -> None:
        owner = controller_of(pod)
        workload = self._store.get(self._key, pod["metadata"]["namespace"], owner["name"]) if owner else None
        if workload is not None:
            names = {"pod": pod["metadata"].get("name", ""), "workload": workload["metadata"]["name"]}
            message = self._messages[reason].format(**names, error=error)
            self._events.record(workload, reason, message, kind="Warning" if error else "Normal")

    def _update_status(self, obj: Object, status: Object, annotations: Mapping[str, str] | None = None) -> None:
        """Merge the status and annotations in one write, unless they are that already; None removes a field."""
        stored = self._store.get(self._key, *name_of(obj))
        if stored is None or stored["metadata"]["uid"] != obj["metadata"]["uid"]:
            return
        before = stored.get("status") or {}
        changed = {field: value for field, value in status.items() if before.get(field) != value}
        set_annotations = {name: text for name, text in (annotations or {}).items() if annotation(stored, name) != text}
        if changed or set_annotations:
            self._internal.put_status(self._key, stored, changed, set_annotations)


def is_active(pod: Object) -> bool:
    """Return whether a pod counts as a replica: it has not ended and is not being deleted."""
    return not is_deleting(pod) and phase_of(pod) not in FINISHED


def phase_of(pod: Object) -> str:
    """Return a pod's phase; Pending if it has none."""
    return str((pod.get("status") or {}).get("phase") or "Pending")


def is_ready(pod: Object) -> bool:
    """Return whether a pod has the condition Ready."""
    return is_true(pod, "Ready")


def seconds_of(text: str) -> float:
    """Return a metav1.Time as seconds since the epoch; those outside Python's years as the first or last second."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        limit = datetime.min if text.startswith(("-", "0000")) else datetime.max
        return limit.replace(tzinfo=UTC).timestamp()


def available_at(pod: Object, min_ready_seconds: float) -> float | None:
    """Return the time from which a pod counts as available; None while it is not ready."""
    condition = condition_of(pod, "Ready")
    if condition.get("status") != "True":
        return None
    return seconds_of(condition["lastTransitionTime"]) + min_ready_seconds


def split_available(pods: Iterable[Object], spec: Object, now: float) -> tuple[int, int, float | None]:
    """Return the numbers of ready and of available pods, and when the next one becomes available."""
    times = [available_at(pod, float(spec.get("minReadySeconds") or 0)) for pod in pods]
    ready = [time for time in times if time is not None]
    later = [time for time in ready if time > now]
    return len(ready), len(ready) - len(later), min(later, default=None)


def deletion_rank(pod: Object, crowd: int = 0) -> tuple[Any, ...]:
    """Return the sort key by which replicas are deleted: unassigned, pending, unready and young ones first.

    `crowd` is the number of related pods on the pod's node: of ready pods, those of crowded nodes come first.
    """
    meta, ready = pod["metadata"], is_ready(pod)
    cost = (meta.get("annotations") or {}).get("controller.kubernetes.io/pod-deletion-cost", "0")
    return (
        bool(pod["spec"].get("nodeName")),
        ("Pending", "Unknown", "Running").index(phase_of(pod)) if phase_of(pod) not in FINISHED else -1,
        ready,
        int(cost) if cost.lstrip("-").isdecimal() else 0,
        -crowd,
        # The youngest first.
        -seconds_of(condition_of(pod, "Ready")["lastTransitionTime"]) if ready else 0.0,
        -max(
            (each.get("restartCount") or 0 for each in (pod.get("status") or {}).get("containerStatuses") or ()),
            default=0,
        ),
        -seconds_of(meta["creationTimestamp"]),
        meta["name"],
    )


def orphan_may_be_claimed(orphan: Object) -> bool:
    """Return whether a workload adopts the object: a pod that has ended stays an orphan."""
    return orphan["kind"] != "Pod" or phase_of(orphan) not in FINISHED


def _may_be_adopted(old: Object | None, new: Object) -> bool:
    return (
        old is None or controller_of(old) is not None or old["metadata"].get("labels") != new["metadata"].get("labels")
    )
