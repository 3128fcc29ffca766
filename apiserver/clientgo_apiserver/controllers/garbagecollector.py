"""Garbage collection: deletes objects whose owners are gone, as Kubernetes' collector does.

An object lives as long as one of its owners. Owners are identified by uid, so one that was deleted and created again
under the same name counts as gone. An owner is deleted in one of three ways, which the server records on it:
background (the owner is removed at once, its dependents follow), foreground (finalizer `foregroundDeletion`: the owner
waits for every dependent that blocks it) and orphan (finalizer `orphan`: the dependents lose the owner and stay).
"""

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any

from clientgo.internal.boundeddict import BoundedDict
from clientgo.log import get_logger
from clientgo_apiserver.controllers.base import InternalController, is_deleting
from clientgo_apiserver.http.status import ApiFailure
from clientgo_apiserver.internal import Internal
from clientgo_apiserver.resources import Object, Resource
from clientgo_apiserver.storage.stored import Key

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

    def __repr__(self) -> str:
        return f"<GarbageCollector {len(self._dependents)} owners, {len(self._waiting)} waiting>"

    def start(self) -> None:
        """Check the owners of all stored objects, and react to every change from now on."""
        super().start()
        for key in self._store.stored_keys():
            for obj in self._store.list(key):
                self._changed("ADDED", key, None, obj)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        if obj is None or key in _IGNORED:
            return
        if kind == "DELETED":
            self._forget(_item(key, obj), obj)
            return
        before, after, item = _owners(old) if old is not None else [], _owners(obj), _item(key, obj)
        if after != before:
            for uid in {owner.get("uid", "") for owner in before} - {owner.get("uid", "") for owner in after}:
                self._unlink(item, uid)
            for owner in after:
                self._dependents[owner.get("uid", "")].add(item)
            # An owner that waits for its blocking dependents may have one fewer.
            for owner in before:
                self._enqueue_owner(item, owner)
            if after:
                self._enqueue(item)
        if is_deleting(obj) and set(_finalizers(obj)) & {FOREGROUND, ORPHAN}:
            self._enqueue(item)

    def _forget(self, item: _Item, obj: Object) -> None:
        self._gone[item.uid] = None
        for owner in _owners(obj):
            self._unlink(item, owner.get("uid", ""))
            self._enqueue_owner(item, owner)
        for dependent in self._dependents.get(item.uid, ()):
            self._enqueue(dependent)

    def _unlink(self, item: _Item, uid: str) -> None:
        self._dependents[uid].discard(item)
        if not self._dependents[uid]:
            del self._dependents[uid]

    def _enqueue_owner(self, item: _Item, reference: Object) -> None:
        owner = self._owner(item, reference)
        if owner is not None and FOREGROUND in _finalizers(owner[1]):
            self._enqueue(owner[0])

    def _enqueue(self, item: _Item) -> None:
        if item not in self._queued:
            self._queued.add(item)
            self._waiting.append(item)
            self._schedule()

    def _sync(self, *names: str) -> None:
        for _ in range(min(_BATCH, len(self._waiting))):
            item = self._waiting.popleft()
            self._queued.discard(item)
            try:
                self._process(item)
                self._failures.pop(item, None)
            except ApiFailure as failure:
                if failure.code != 404:
                    self._retry(item, failure)
        if self._waiting:
            self._schedule()

    def _retry(self, item: _Item, failure: ApiFailure) -> None:
        # Server errors are retried without limit; a rejected write would be rejected again.
        count = self._failures[item] = self._failures.get(item, 0) + (failure.code < 500)
        if count > _RETRIES:
            del self._failures[item]
            _log.warning("garbage collection gave up", extra={"item": item, "reason": failure.message})
            return
        self._later(_RETRY_SECONDS * 2**count, self._enqueue, item)

    def _process(self, item: _Item) -> None:
        obj = self._stored(item)
        if obj is None:
            return
        dependents = list(self._dependents.get(item.uid, ()))
        if not is_deleting(obj):
            if _owners(obj):
                self._process_owned(item, obj)
        elif ORPHAN in _finalizers(obj):
            for dependent in dependents:
                self._drop_owners(dependent, {item.uid})
            self._drop_finalizer(item, ORPHAN)
        elif FOREGROUND in _finalizers(obj):
            if not any(self._blocks(dependent, item.uid) for dependent in dependents):
                self._drop_finalizer(item, FOREGROUND)
            for dependent in dependents:
                self._enqueue(dependent)

    def _stored(self, item: _Item) -> Object | None:
        obj = self._store.get(item.key, item.namespace, item.name)
        return obj if obj is not None and obj["metadata"].get("uid", "") == item.uid else None

    def _blocks(self, dependent: _Item, uid: str) -> bool:
        obj = self._stored(dependent) or {"metadata": {}}
        return any(owner.get("uid") == uid and owner.get("blockOwnerDeletion") for owner in _owners(obj))

    def _process_owned(self, item: _Item, obj: Object) -> None:
        if not item.namespace and any(self._is_namespaced(owner) for owner in _owners(obj)):
            # No namespace to look for the owner in: it is unresolvable, and Kubernetes never collects the object.
            return
        solid, absent, leaving = self._classify(item, obj)
        if solid and absent | leaving:
            self._drop_owners(item, absent | leaving)
        if solid or not absent | leaving:
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
            elif self._resource(reference) is None:
                solid.add(uid)
            elif (owner := self._owner(item, reference)) is None:
                absent.add(uid)
            elif is_deleting(owner[1]) and FOREGROUND in _finalizers(owner[1]):
                leaving.add(uid)
            else:
                solid.add(uid)
        return solid, absent, leaving

    def _resource(self, reference: Object) -> Resource | None:
        group, _, version = str(reference.get("apiVersion", "")).rpartition("/")
        return self._state.registry.by_kind(group, version, str(reference.get("kind", "")))

    def _is_namespaced(self, reference: Object) -> bool:
        resource = self._resource(reference)
        return resource is not None and resource.namespaced

    def _owner(self, item: _Item, reference: Object) -> tuple[_Item, Object] | None:
        resource = self._resource(reference)
        if resource is None or (resource.namespaced and not item.namespace):
            return None
        obj = self._store.get(
            resource.storage, item.namespace if resource.namespaced else "", str(reference.get("name", ""))
        )
        if obj is None or obj["metadata"].get("uid", "") != reference.get("uid"):
            return None
        return _item(resource.storage, obj), obj

    def _drop_owners(self, item: _Item, uids: set[str]) -> None:
        obj = self._stored(item)
        if obj is not None:
            self._patch(
                item, "ownerReferences", [reference for reference in _owners(obj) if reference.get("uid") not in uids]
            )

    def _drop_finalizer(self, item: _Item, finalizer: str) -> None:
        obj = self._stored(item)
        if obj is not None and finalizer in _finalizers(obj):
            self._patch(item, "finalizers", [name for name in _finalizers(obj) if name != finalizer])

    def _patch(self, item: _Item, field: str, remaining: list[Any]) -> None:
        patch = {"metadata": {"uid": item.uid, field: remaining or None}}
        self._internal.patch(item.key, item.namespace, item.name, patch)


def _item(key: Key, obj: Object) -> _Item:
    meta = obj["metadata"]
    return _Item(key, meta.get("namespace", ""), meta["name"], meta.get("uid", ""))


def _owners(obj: Object) -> list[Object]:
    return obj["metadata"].get("ownerReferences") or []


def _finalizers(obj: Object) -> list[str]:
    return obj["metadata"].get("finalizers") or []
