"""Controllers of namespaces: their deletion, and the objects that each of them has.

A namespace that is being deleted loses its pods first and then everything else. Its conditions tell what remains; once
nothing does, it loses the finalizer `kubernetes`, and goes if no others are left.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

import msgspec

from clientgo_apiserver.admission.namespaces import FINALIZER
from clientgo_apiserver.api.conditions import condition_of
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.cluster.base import InternalController, is_deleting
from clientgo_apiserver.cluster.internal import InReview, Internal
from clientgo_apiserver.gotypes.metadata import mark_deleted
from clientgo_apiserver.storage.keys import ACCOUNTS, NAMESPACES, NODES, PODS
from clientgo_apiserver.storage.stored import Key, Name, name_of

_CONFIG_MAPS: Key = ("", "configmaps")
_ROOT_CA = "kube-root-ca.crt"
_CONTENTS = {ACCOUNTS: "default", _CONFIG_MAPS: _ROOT_CA}
_BATCH = 20  # objects deleted in one turn of the event loop, so that requests are not delayed
_RETRY_SECONDS, _MAX_RETRY_SECONDS = 0.25, 60.0  # after a rejected deletion
_STATUS_SECONDS = 1.0  # between two writes of the conditions, however many objects go meanwhile

_DONE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Reason and message of the conditions whose status is False."""


_Target = tuple[Key, Name]


class _Termination(msgspec.Struct):
    """Progress of one namespace: the objects to delete, and those that remain though deleted, with their finalizers.

    `rejected` has the objects whose deletion was rejected, and the messages.
    """

    objects: Iterator[_Target]
    due: deque[_Target] = msgspec.field(default_factory=deque)
    remaining: dict[_Target, list[str]] = {}
    rejected: dict[_Target, str] = {}
    rejections: int = 0  # rounds of deletions with a rejected one
    is_retrying: bool = False  # later
    kinds: Counter[Key] = msgspec.field(default_factory=Counter)
    finalizers: Counter[str] = msgspec.field(default_factory=Counter)
    pods_only: bool = True
    written_at: float = -_STATUS_SECONDS
    is_waiting: bool = False  # for the time of the next write

    def count(self, target: _Target, obj: Object | None) -> None:
        """Count what remains of a deleted object: its present state, or None once it is gone."""
        counted = self.remaining.pop(target, None)
        if counted is not None:
            self.kinds[target[0]] -= 1
            self.finalizers.subtract(counted)
        if obj is not None:
            remaining = self.remaining[target] = obj["metadata"].get("finalizers") or []
            self.kinds[target[0]] += 1
            self.finalizers.update(remaining)


class NamespaceController(InternalController):
    """Empties and removes namespaces that are being deleted; an object that goes costs the same in a full one."""

    _service_account = "namespace-controller"
    _sources = (NAMESPACES,)
    _further = None

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._terminations: dict[str, _Termination] = {}

    def __repr__(self) -> str:
        return f"<NamespaceController {len(self._terminations)} terminating>"

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == NAMESPACES:
            if new is None:
                self._terminations.pop((old or {})["metadata"]["name"], None)
            elif is_deleting(new):
                self._schedule(new["metadata"]["name"])
        elif self._terminations:
            target = key, name_of(new or old or {})
            namespace = target[1][0]
            termination = self._terminations.get(namespace)
            if termination is not None:
                if target in termination.remaining:
                    termination.count(target, new)
                elif old is None:
                    termination.due.append(target)
                self._schedule(namespace)

    def _sync(self, *names: str) -> None:
        (name,) = names
        namespace = self._store.get(NAMESPACES, "", name)
        if namespace is None or not is_deleting(namespace):
            self._terminations.pop(name, None)
            return
        termination = self._terminations.get(name)
        if termination is None:
            termination = self._terminations[name] = _Termination(self._objects(name, (PODS,)))
        due = termination.due
        self._delete_due(termination)
        if not due:
            due.extend(islice(termination.objects, _BATCH))
        if not due and termination.pods_only and not termination.kinds[PODS]:
            termination.pods_only, termination.objects = False, self._objects(name, self._store.stored_keys())
            due.extend(islice(termination.objects, _BATCH))
        if due:
            self._schedule(name)
        elif termination.rejected:
            self._show_rejected(namespace, termination)
        elif termination.remaining:
            self._show_remaining(namespace, termination)
        else:
            self._finalize(namespace)

    def _objects(self, namespace: str, keys: Iterable[Key]) -> Iterator[_Target]:
        """Yield the names of the objects of these kinds, those of a kind when it is reached."""
        return ((key, name) for key in keys if key != NAMESPACES for name in self._store.names(key, namespace))

    def _delete_due(self, termination: _Termination) -> None:
        for _ in range(min(_BATCH, len(termination.due))):
            key, target = termination.due[0]
            try:
                self._delete(key, target)
            except InReview:
                raise
            except ApiFailure as failure:
                termination.rejected[termination.due.popleft()] = failure.message
                continue
            termination.due.popleft()  # only now: a write that fails is tried again
            termination.count((key, target), self._store.get(key, *target))

    def _delete(self, key: Key, name: Name) -> None:
        obj = self._store.get(key, *name)
        if obj is None or is_deleting(obj):
            return
        has_kubelet = key == PODS and self._store.get(NODES, "", obj["spec"].get("nodeName", "")) is not None
        if has_kubelet or self._internal.may_be_rejected():
            self._internal.delete_from(key, *name)
        elif obj["metadata"].get("finalizers"):
            self._store.put(key, {**obj, "metadata": mark_deleted(obj["metadata"], self._state.clock)})
        else:
            self._store.remove(key, *name)

    def _show_rejected(self, namespace: Object, termination: _Termination) -> None:
        self._show(namespace, termination)
        if not termination.is_retrying:
            termination.is_retrying = True
            delay = min(_RETRY_SECONDS * 2**termination.rejections, _MAX_RETRY_SECONDS)
            termination.rejections += 1
            self._later(delay, self._try_again, namespace["metadata"]["name"], termination)

    def _try_again(self, name: str, termination: _Termination) -> None:
        termination.due.extend(termination.rejected)
        termination.rejected, termination.is_retrying = {}, False
        self._schedule(name)

    def _show_remaining(self, namespace: Object, termination: _Termination) -> None:
        now = self._state.clock.time()
        if now - termination.written_at < _STATUS_SECONDS:
            if not termination.is_waiting:
                termination.is_waiting = True
                self._later(_STATUS_SECONDS, self._schedule, namespace["metadata"]["name"])
            return
        termination.is_waiting = False
        # kube-controller-manager reports what remains once the pods are gone, which go first.
        termination.written_at = now
        self._show(namespace, None if termination.pods_only else termination)

    def _show(self, namespace: Object, termination: _Termination | None) -> None:
        changed = self._with_conditions(namespace, termination)
        if changed != namespace:
            self._store.put(NAMESPACES, changed)

    def _finalize(self, namespace: Object) -> None:
        """Remove the finalizer of namespaces, and the namespace if no others are left."""
        name, spec = namespace["metadata"]["name"], namespace.get("spec") or {}
        remaining = [finalizer for finalizer in spec.get("finalizers") or () if finalizer != FINALIZER]
        if not remaining and not namespace["metadata"].get("finalizers"):
            self._store.remove(NAMESPACES, "", name)
            return
        fields = {member: value for member, value in spec.items() if member != "finalizers"}
        changed = {**namespace, "spec": {**fields, **({"finalizers": remaining} if remaining else {})}}
        changed = self._with_conditions(changed, None)
        if changed != namespace:
            self._store.put(NAMESPACES, changed)

    def _with_conditions(self, namespace: Object, termination: _Termination | None) -> Object:
        kinds, finalizers = [], []
        if termination is not None:
            counts = termination.kinds.items()
            kinds = [f"{plural}.{group} has {count} resource instances" for (group, plural), count in counts if count]
            held = termination.finalizers.items()
            finalizers = [f"{name} in {count} resource instances" for name, count in held if count]
        reasons = {}
        if termination is not None and termination.rejected:
            messages = sorted({target[0]: message for target, message in termination.rejected.items()}.values())
            text = f"Failed to delete all resource types, {len(messages)} remaining: {', '.join(messages)}"
            reasons["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
        if kinds:
            text = f"Some resources are remaining: {', '.join(sorted(kinds))}"
            reasons["NamespaceContentRemaining"] = ("SomeResourcesRemain", text)
        if finalizers:
            text = f"Some content in the namespace has finalizers remaining: {', '.join(sorted(finalizers))}"
            reasons["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
        conditions = [self._condition(namespace, kind, reasons.get(kind)) for kind in _DONE]
        status = namespace.get("status") or {}
        other_conditions = [each for each in status.get("conditions") or () if each.get("type") not in _DONE]
        return {**namespace, "status": {**status, "conditions": [*other_conditions, *conditions]}}

    def _condition(self, namespace: Object, kind: str, remaining: tuple[str, str] | None) -> Object:
        before, status = condition_of(namespace, kind), str(remaining is not None)
        reason, message = remaining or _DONE[kind]
        since = before["lastTransitionTime"] if before.get("status") == status else self._now()
        return {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}


class NamespaceContents(InternalController):
    """Creates the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt` of each namespace.

    Deleted ones are created again, and a changed ConfigMap gets its certificate back.
    """

    _sources = (NAMESPACES,)
    _further = tuple(_CONTENTS)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == NAMESPACES and old is None and new is not None:
            self._schedule(new["metadata"]["name"])
        elif key in _CONTENTS and old is not None and old["metadata"]["name"] == _CONTENTS[key]:
            self._schedule(old["metadata"]["namespace"])

    def _sync(self, *names: str) -> None:
        (namespace,) = names
        stored = self._store.get(NAMESPACES, "", namespace)
        if stored is None or is_deleting(stored):
            return
        for key, name in _CONTENTS.items():
            existing = self._store.get(key, namespace, name)
            if existing is None:
                self._attempt("create", (namespace, name), partial(self._create, key, namespace))
            elif key == _CONFIG_MAPS and existing.get("data") != self._data():
                patch = [{"op": "add", "path": "/data", "value": self._data()}]
                write = partial(self._internal.patch, key, namespace, name, patch, kind="json")
                self._attempt("restore the certificate", (namespace, name), write)

    def _data(self) -> dict[str, str]:
        return {"ca.crt": self._state.options.root_ca}

    def _create(self, key: Key, namespace: str) -> None:
        meta: Object = {"name": _CONTENTS[key], "namespace": namespace}
        obj: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
        if key == _CONFIG_MAPS:
            described = {"kubernetes.io/description": "Certificate that verifies connections to the API server."}
            meta = {**meta, "annotations": described}
            obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": self._data()}
        self._internal.create(key, namespace, obj)
