"""Garbage collection: what belongs to nothing any more is deleted, as Kubernetes' collector does it.

An object lives as long as one of its owners does; owners are told apart by uid, so one that was deleted and made again
under the same name counts as gone. Deleting an owner goes one of three ways, which the server marks on it:
background (the owner is gone at once, its dependents follow), foreground (finalizer `foregroundDeletion`: the owner
waits for every dependent that blocks it) and orphan (finalizer `orphan`: the dependents lose the owner and stay).
"""

import logging
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from clientgo.apiserver.controllers.cluster import Cluster, Key, Object
from clientgo.apiserver.http.status import ApiFailure

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
"""The finalizers that mark how an owner is being deleted."""

_IGNORED: frozenset[Key] = frozenset({("", "events"), ("events.k8s.io", "events")})
_BATCH = 64  # items a turn of the event loop, so that a large collection does not keep requests waiting
_REMEMBERED = 4096  # uids of deleted owners, so that a dependent made late needs no kind that may be gone as well
_RETRY_SECONDS, _RETRIES = 0.05, 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Item:
    """Where an object is stored, and which one of those that had its name."""

    key: Key
    namespace: str
    name: str
    uid: str


class GarbageCollector:
    """Follows owner references through every kind, from `start` to `stop`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._dependents: defaultdict[str, set[_Item]] = defaultdict(set)
        self._gone: OrderedDict[str, None] = OrderedDict()
        self._waiting: deque[_Item] = deque()
        self._queued: set[_Item] = set()
        self._failures: dict[_Item, int] = {}
        self._running = False
        self._unsubscribe: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<GarbageCollector {len(self._dependents)} owners, {len(self._waiting)} waiting>"

    def start(self) -> None:
        """Learn what is stored, collect what has lost its owners, and follow every change from now on."""
        self._unsubscribe = self._cluster.subscribe(self._changed)
        for key in {resource.storage for resource in self._cluster.registry.resources()}:
            for obj in self._cluster.list(key):
                self._changed("ADDED", key, None, obj)

    def stop(self) -> None:
        """Collect nothing more."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        self._waiting.clear()
        self._queued.clear()

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        if obj is None or key in _IGNORED:
            return
        if kind == "DELETED":
            self._forget(_item(key, obj), obj)
            return
        before = _owners(old) if old is not None else []
        after = _owners(obj)
        if after != before:
            item = _item(key, obj)
            self._relink(item, before, after)
            if after:
                self._enqueue(item)
        if _is_deleting(obj) and set(_finalizers(obj)) & {FOREGROUND, ORPHAN}:
            self._enqueue(_item(key, obj))

    def _relink(self, item: _Item, before: list[Object], after: list[Object]) -> None:
        for uid in {owner.get("uid", "") for owner in before} - {owner.get("uid", "") for owner in after}:
            self._unlink(item, uid)
        for owner in after:
            self._dependents[owner.get("uid", "")].add(item)
        # An owner that waits for its blocking dependents may have lost one.
        for owner in before:
            self._enqueue_owner(item, owner)

    def _unlink(self, item: _Item, uid: str) -> None:
        self._dependents[uid].discard(item)
        if not self._dependents[uid]:
            del self._dependents[uid]

    def _forget(self, item: _Item, obj: Object) -> None:
        self._gone[item.uid] = None
        if len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)
        for owner in _owners(obj):
            self._unlink(item, owner.get("uid", ""))
            self._enqueue_owner(item, owner)
        for dependent in self._dependents.get(item.uid, ()):
            self._enqueue(dependent)

    def _enqueue_owner(self, item: _Item, reference: Object) -> None:
        found = self._owner(item, reference)
        if found is not None and FOREGROUND in _finalizers(found[1]):
            self._enqueue(found[0])

    def _enqueue(self, item: _Item) -> None:
        if item in self._queued or self._unsubscribe is None:
            return
        self._queued.add(item)
        self._waiting.append(item)
        if not self._running:
            self._running = True
            self._cluster.call_soon(self._work)

    def _work(self) -> None:
        for _ in range(min(_BATCH, len(self._waiting))):
            item = self._waiting.popleft()
            self._queued.discard(item)
            self._try(item)
        self._running = bool(self._waiting)
        if self._running:
            self._cluster.call_soon(self._work)

    def _try(self, item: _Item) -> None:
        try:
            self._process(item)
        except ApiFailure as failure:
            if failure.code != 404:
                self._retry(item, failure)
            return
        self._failures.pop(item, None)

    def _retry(self, item: _Item, failure: ApiFailure) -> None:
        # What cannot be written now can be later; what is refused for itself will be refused again.
        count = self._failures[item] = self._failures.get(item, 0) + (failure.code < 500)
        if count > _RETRIES:
            del self._failures[item]
            _log.warning("garbage collection gave up", extra={"item": item, "reason": failure.message})
            return
        self._cluster.call_later(_RETRY_SECONDS * 2**count, self._enqueue, item)

    def _process(self, item: _Item) -> None:
        obj = self._cluster.get(item.key, item.namespace, item.name)
        if obj is None or _uid(obj) != item.uid:
            return
        if _is_deleting(obj):
            self._process_deleting(item, obj)
            return
        if _owners(obj):
            self._process_owned(item, obj)

    def _process_deleting(self, item: _Item, obj: Object) -> None:
        if ORPHAN in _finalizers(obj):
            for dependent in list(self._dependents.get(item.uid, ())):
                self._drop_owners(dependent, {item.uid})
            self._drop_finalizer(item, ORPHAN)
        elif FOREGROUND in _finalizers(obj):
            dependents = list(self._dependents.get(item.uid, ()))
            if not any(self._blocks(dependent, item.uid) for dependent in dependents):
                self._drop_finalizer(item, FOREGROUND)
            for dependent in dependents:
                self._enqueue(dependent)

    def _blocks(self, dependent: _Item, uid: str) -> bool:
        obj = self._cluster.get(dependent.key, dependent.namespace, dependent.name)
        if obj is None or _uid(obj) != dependent.uid:
            return False
        return any(owner.get("uid") == uid and owner.get("blockOwnerDeletion") for owner in _owners(obj))

    def _process_owned(self, item: _Item, obj: Object) -> None:
        solid, absent, leaving = self._classify(item, obj)
        if solid:
            if absent | leaving:
                self._drop_owners(item, absent | leaving)
            return
        if not absent and not leaving:
            return
        finalizers = _finalizers(obj)
        policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        if leaving and self._dependents.get(item.uid):
            # Its own dependents go first, so that an owner above that waits for it has waited for all below.
            policy = "Foreground"
        self._cluster.delete(item.key, item.namespace, item.name, uid=item.uid, propagation=policy)

    def _classify(self, item: _Item, obj: Object) -> tuple[set[str], set[str], set[str]]:
        """Part the owners' uids: those that live, those that are gone, those that wait for their dependents to go.

        An owner of a kind that is not served counts as none of these: its kind may be served again.
        """
        solid: set[str] = set()
        absent: set[str] = set()
        leaving: set[str] = set()
        for reference in _owners(obj):
            uid = reference.get("uid", "")
            if uid in self._gone:
                absent.add(uid)
            elif self._resource_key(reference) is None:
                solid.add(uid)
            elif (found := self._owner(item, reference)) is None:
                absent.add(uid)
            elif _is_deleting(found[1]) and FOREGROUND in _finalizers(found[1]):
                leaving.add(uid)
            else:
                solid.add(uid)
        return solid, absent, leaving

    def _resource_key(self, reference: Object) -> tuple[Key, bool] | None:
        group, _, version = str(reference.get("apiVersion", "")).rpartition("/")
        resource = self._cluster.registry.by_kind(group, version, str(reference.get("kind", "")))
        return None if resource is None else (resource.storage, resource.namespaced)

    def _owner(self, item: _Item, reference: Object) -> tuple[_Item, Object] | None:
        found = self._resource_key(reference)
        if found is None:
            return None
        key, namespaced = found
        if namespaced and not item.namespace:
            return None  # a cluster-scoped object cannot belong to a namespaced one
        namespace = item.namespace if namespaced else ""
        obj = self._cluster.get(key, namespace, str(reference.get("name", "")))
        if obj is None or _uid(obj) != reference.get("uid"):
            return None
        return _item(key, obj), obj

    def _drop_owners(self, item: _Item, uids: set[str]) -> None:
        obj = self._cluster.get(item.key, item.namespace, item.name)
        if obj is None or _uid(obj) != item.uid:
            return
        kept = [owner for owner in _owners(obj) if owner.get("uid") not in uids]
        self._patch_metadata(item, {"ownerReferences": kept or None})

    def _drop_finalizer(self, item: _Item, finalizer: str) -> None:
        obj = self._cluster.get(item.key, item.namespace, item.name)
        if obj is None or finalizer not in _finalizers(obj):
            return
        kept = [name for name in _finalizers(obj) if name != finalizer]
        self._patch_metadata(item, {"finalizers": kept or None})

    def _patch_metadata(self, item: _Item, metadata: Object) -> None:
        patch = {"metadata": {"uid": item.uid, **metadata}}
        self._cluster.patch(item.key, item.namespace, item.name, patch)


def _item(key: Key, obj: Object) -> _Item:
    metadata = obj.get("metadata", {})
    return _Item(key, metadata.get("namespace", ""), metadata.get("name", ""), metadata.get("uid", ""))


def _uid(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("uid", ""))


def _owners(obj: Object) -> list[Object]:
    return obj.get("metadata", {}).get("ownerReferences") or []


def _finalizers(obj: Object) -> list[str]:
    return obj.get("metadata", {}).get("finalizers") or []


def _is_deleting(obj: Object) -> bool:
    return bool(obj.get("metadata", {}).get("deletionTimestamp"))
