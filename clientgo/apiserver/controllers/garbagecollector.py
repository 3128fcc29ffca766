"""Garbage collection: deletes objects whose owners are gone, as Kubernetes' collector does.

An object lives as long as one of its owners. Owners are identified by uid, so one that was deleted and created again
under the same name counts as gone. An owner is deleted in one of three ways, which the server records on it:
background (the owner is removed at once, its dependents follow), foreground (finalizer `foregroundDeletion`: the owner
waits for every dependent that blocks it) and orphan (finalizer `orphan`: the dependents lose the owner and stay).
"""

from collections import defaultdict, deque
from dataclasses import dataclass

from clientgo.apiserver.controllers.base import InternalController
from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.internal import Internal
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.storage.stored import Key
from clientgo.boundeddict import BoundedDict
from clientgo.log import get_logger

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
"""The finalizers that record how an owner is deleted."""

_IGNORED: frozenset[Key] = frozenset({("", "events"), ("events.k8s.io", "events")})
_BATCH = 64  # items per turn of the event loop, so that a large collection does not delay requests
_MAX_DELETED = 4096  # uids of deleted owners, for dependents that are created after the owner's kind was removed
_RETRY_SECONDS, _RETRIES = 0.05, 8

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Item:
    """Key, name and uid of a stored object."""

    key: Key
    namespace: str
    name: str
    uid: str


class GarbageCollector(InternalController):
    """Follows owner references through every kind."""

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._dependents: defaultdict[str, set[_Item]] = defaultdict(set)
        self._gone: BoundedDict[str, None] = BoundedDict(_MAX_DELETED)
        self._waiting: deque[_Item] = deque()
        self._queued: set[_Item] = set()
        self._failures: dict[_Item, int] = {}
        self._scheduled = False

    def __repr__(self) -> str:
        return f"<GarbageCollector {len(self._dependents)} owners, {len(self._waiting)} waiting>"

    def stop(self) -> None:
        """Stop collecting."""
        super().stop()
        self._waiting.clear()
        self._queued.clear()

    def _resync(self) -> None:
        for key in {resource.storage for resource in self._internal.registry.resources()}:
            for obj in self._internal.list(key):
                self._changed("ADDED", key, None, obj)

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
        # An owner that waits for its blocking dependents may have one fewer.
        for owner in before:
            self._enqueue_owner(item, owner)

    def _unlink(self, item: _Item, uid: str) -> None:
        self._dependents[uid].discard(item)
        if not self._dependents[uid]:
            del self._dependents[uid]

    def _forget(self, item: _Item, obj: Object) -> None:
        self._gone[item.uid] = None
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
        if item in self._queued or not self._running:
            return
        self._queued.add(item)
        self._waiting.append(item)
        if not self._scheduled:
            self._scheduled = True
            self._internal.call_soon(self._work)

    def _work(self) -> None:
        for _ in range(min(_BATCH, len(self._waiting))):
            item = self._waiting.popleft()
            self._queued.discard(item)
            self._try(item)
        self._scheduled = bool(self._waiting)
        if self._scheduled:
            self._internal.call_soon(self._work)

    def _try(self, item: _Item) -> None:
        try:
            self._process(item)
        except ApiFailure as failure:
            if failure.code != 404:
                self._retry(item, failure)
            return
        self._failures.pop(item, None)

    def _retry(self, item: _Item, failure: ApiFailure) -> None:
        # Server errors are retried without limit; a rejected write would be rejected again.
        count = self._failures[item] = self._failures.get(item, 0) + (failure.code < 500)
        if count > _RETRIES:
            del self._failures[item]
            _log.warning("garbage collection gave up", extra={"item": item, "reason": failure.message})
            return
        self._internal.call_later(_RETRY_SECONDS * 2**count, self._enqueue, item)

    def _process(self, item: _Item) -> None:
        obj = self._internal.get(item.key, item.namespace, item.name)
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
        obj = self._internal.get(dependent.key, dependent.namespace, dependent.name)
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
            # Its own dependents are deleted first, so that an owner that waits for it waits for all of them.
            policy = "Foreground"
        self._internal.delete(item.key, item.namespace, item.name, uid=item.uid, propagation=policy)

    def _classify(self, item: _Item, obj: Object) -> tuple[set[str], set[str], set[str]]:
        """Divide the owners' uids into live ones, absent ones, and those that wait for their dependents.

        An owner of a kind that is not served counts as live: its kind may be served again.
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
        resource = self._internal.registry.by_kind(group, version, str(reference.get("kind", "")))
        return None if resource is None else (resource.storage, resource.namespaced)

    def _owner(self, item: _Item, reference: Object) -> tuple[_Item, Object] | None:
        found = self._resource_key(reference)
        if found is None:
            return None
        key, namespaced = found
        if namespaced and not item.namespace:
            return None  # a cluster-scoped object cannot belong to a namespaced one
        namespace = item.namespace if namespaced else ""
        obj = self._internal.get(key, namespace, str(reference.get("name", "")))
        if obj is None or _uid(obj) != reference.get("uid"):
            return None
        return _item(key, obj), obj

    def _drop_owners(self, item: _Item, uids: set[str]) -> None:
        obj = self._internal.get(item.key, item.namespace, item.name)
        if obj is None or _uid(obj) != item.uid:
            return
        kept = [owner for owner in _owners(obj) if owner.get("uid") not in uids]
        self._patch_metadata(item, {"ownerReferences": kept or None})

    def _drop_finalizer(self, item: _Item, finalizer: str) -> None:
        obj = self._internal.get(item.key, item.namespace, item.name)
        if obj is None or finalizer not in _finalizers(obj):
            return
        kept = [name for name in _finalizers(obj) if name != finalizer]
        self._patch_metadata(item, {"finalizers": kept or None})

    def _patch_metadata(self, item: _Item, metadata: Object) -> None:
        patch = {"metadata": {"uid": item.uid, **metadata}}
        self._internal.patch(item.key, item.namespace, item.name, patch)


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
