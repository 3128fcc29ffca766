"""Garbage collection: deletes objects whose owners are gone, as Kubernetes' collector does.

An object lives as long as one of its owners. Owners are identified by uid, so one that was deleted and created again
under the same name counts as gone. An owner is deleted in one of three ways, which the server records on it:
background (the owner is removed at once, its dependents follow), foreground (finalizer `foregroundDeletion`: the owner
waits for every dependent that blocks it) and orphan (finalizer `orphan`: the dependents lose the owner and stay).
"""

from collections import Counter, defaultdict, deque
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from clientgo.internal.boundeddict import BoundedDict
from clientgo.log import get_logger
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.cluster.base import InternalController, is_deleting
from clientgo_apiserver.cluster.events import EVENTS, ComponentEvents
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.gotypes.metadata import FOREGROUND, ORPHAN
from clientgo_apiserver.storage.keys import DEFINITIONS
from clientgo_apiserver.storage.stored import Key

_BATCH = 10  # items per turn of the event loop, so that a large collection does not delay requests
_MAX_DELETED = 4096  # deleted owners, for dependents that are created after the owner's kind was removed
_RETRY_SECONDS, _RETRIES = 0.05, 8

_log = get_logger(__name__)


class _Item(NamedTuple):
    """Key, name and uid of a stored object."""

    key: Key
    namespace: str
    name: str
    uid: str


class _Unresolvable(Exception):
    """The owners of an object cannot be determined: of a kind that is not served, or without a namespace."""


class _Owners(msgspec.Struct):
    """Uids of an object's owners: live ones, absent ones, and those that wait for their dependents."""

    solid: set[str]
    absent: set[str]
    waiting: set[str]


class GarbageCollector(InternalController):
    """Follows owner references through every kind; each change costs the same, however many dependents there are."""

    _service_account = "generic-garbage-collector"
    _further = None

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._events = ComponentEvents(internal.state, "garbage-collector-controller")
        # Dictionaries, and no sets: the order of deletions must not depend on the process.
        self._dependents: defaultdict[str, dict[_Item, None]] = defaultdict(dict)
        self._blocking: Counter[str] = Counter()  # dependents that block the deletion of their owner, by its uid
        self._leaving: dict[str, _Item] = {}  # owners that wait for their blocking dependents, by uid
        self._namespaces: dict[str, str] = {}  # of every object, by uid
        self._gone: BoundedDict[tuple[str, ...], None] = BoundedDict(_MAX_DELETED)
        self._invalid: deque[tuple[_Item, Object]] = deque()  # references to owners in other namespaces
        self._unresolved: dict[_Item, None] = {}
        self._waiting: deque[_Item] = deque()
        self._queued: set[_Item] = set()
        self._failures: dict[_Item, int] = {}

    def __repr__(self) -> str:
        return f"<GarbageCollector {len(self._dependents)} owners, {len(self._waiting)} waiting>"

    def start(self) -> None:
        """Check the owners of all stored objects, and react to every change from now on."""
        super().start()
        stored = [(key, obj) for key in self._store.stored_keys() for obj in self._store.list(key)]
        for key, obj in stored:
            self._namespaces[_item(key, obj).uid] = obj["metadata"].get("namespace", "")
        for key, obj in stored:
            self._changed("ADDED", key, None, obj)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        if obj is None or key == EVENTS or (old is not None and new is not None and not _concerns_owners(old, new)):
            return
        if key == DEFINITIONS:
            for item in self._unresolved:
                self._enqueue(item)
        item = _item(key, obj)
        if new is None:
            self._namespaces.pop(item.uid, None)
            self._leaving.pop(item.uid, None)
            self._relate(item, _owners(obj), [])
            if item.uid in self._dependents:
                self._gone[_coordinates(obj["apiVersion"], obj["kind"], item)] = None
                for dependent in self._dependents[item.uid]:
                    self._enqueue(dependent)
            return
        if old is None:
            self._namespaces[item.uid] = item.namespace
        before, after = _owners(old) if old is not None else [], _owners(obj)
        if before != after:
            self._relate(item, before, after)
            self._enqueue(item)
        if is_deleting(obj):
            self._follow_deletion(item, obj, old)

    def _follow_deletion(self, item: _Item, obj: Object, old: Object | None) -> None:
        finalizers = _finalizers(obj)
        before = _finalizers(old) if old is not None and is_deleting(old) else []
        if ORPHAN in finalizers:
            self._enqueue(item)
        if FOREGROUND in finalizers and FOREGROUND not in before:
            self._leaving[item.uid] = item
            for dependent in self._dependents.get(item.uid, ()):  # before the owner, which may wait for none of them
                self._enqueue(dependent)
            self._enqueue(item)

    def _relate(self, item: _Item, before: list[Object], after: list[Object]) -> None:
        """Update the dependents of the owners before and after a change."""
        blocked, blocks = _blocking(before), _blocking(after)
        for uid in [uid for uid in blocked if uid not in blocks]:
            self._dependents[uid].pop(item, None)
            if not self._dependents[uid]:
                del self._dependents[uid]
        invalid = None
        for uid in [uid for uid in blocks if uid not in blocked]:
            self._dependents[uid][item] = None
            if self._namespaces.get(uid, "") not in ("", item.namespace):
                invalid = uid
        if invalid is not None:
            self._invalid.append((item, next(owner for owner in after if owner.get("uid") == invalid)))
        for uid in blocked | blocks:
            self._blocking[uid] += blocks.get(uid, False) - blocked.get(uid, False)
            if not self._blocking[uid]:
                del self._blocking[uid]
                if uid in self._leaving:
                    self._enqueue(self._leaving[uid])

    def _enqueue(self, item: _Item) -> None:
        if item not in self._queued:
            self._queued.add(item)
            self._waiting.append(item)
            self._schedule()

    def _sync(self, *names: str) -> None:
        while self._invalid:
            self._report(*self._invalid.popleft())
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

    def _report(self, item: _Item, owner: Object) -> None:
        obj = self._stored(item)
        if obj is not None:
            kind = f"{owner.get('apiVersion')}/{owner.get('kind')}"
            identity = f"[{kind}, namespace: {item.namespace}, name: {owner.get('name')}, uid: {owner.get('uid')}]"
            message = f'ownerRef {identity} does not exist in namespace "{item.namespace}"'
            self._events.record(obj, "OwnerRefInvalidNamespace", message, kind="Warning")

    def _retry(self, item: _Item, failure: ApiFailure) -> None:
        # Server errors are retried without limit; a rejected write would be rejected again, unless policies change.
        count = self._failures[item] = self._failures.get(item, 0) + (failure.code < 500)
        if count > _RETRIES and not self._internal.may_be_rejected():
            del self._failures[item]
            _log.warning("garbage collection gave up", extra={"item": item, "reason": failure.message})
            return
        self._later(_RETRY_SECONDS * 2 ** min(count, _RETRIES), self._enqueue, item)

    def _process(self, item: _Item) -> None:
        obj = self._stored(item)
        self._unresolved.pop(item, None)
        if obj is None:
            return
        if not is_deleting(obj):
            if _owners(obj):
                self._process_owned(item, obj)
        elif ORPHAN in _finalizers(obj):
            self._orphan(item)
        elif FOREGROUND in _finalizers(obj) and not self._blocking[item.uid]:
            self._drop_finalizer(item, FOREGROUND)

    def _orphan(self, item: _Item) -> None:
        """Remove the owner from some of its dependents, and let it go once none has it."""
        for dependent in list(islice(self._dependents.get(item.uid, ()), _BATCH)):
            self._drop_owners(dependent, {item.uid})
        if self._dependents.get(item.uid):
            self._enqueue(item)
        else:
            self._drop_finalizer(item, ORPHAN)

    def _stored(self, item: _Item) -> Object | None:
        obj = self._store.get(item.key, item.namespace, item.name)
        return obj if obj is not None and obj["metadata"].get("uid", "") == item.uid else None

    def _process_owned(self, item: _Item, obj: Object) -> None:
        try:
            owners = self._classify(item, obj)
        except _Unresolvable:
            self._unresolved[item] = None  # the object stays, and is looked at again when other kinds are served
            return
        if owners.solid:
            if owners.absent | owners.waiting:
                self._drop_owners(item, owners.absent | owners.waiting)
            return
        finalizers = _finalizers(obj)
        policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        dependents = self._dependents.get(item.uid)
        if owners.waiting and dependents:
            # Its own dependents are deleted first, so that an owner that waits for it waits for all of them. If one
            # of them waits as well they own each other in a circle, in which none may block.
            policy = "Foreground"
            if any(dependent.uid in self._leaving for dependent in dependents):
                self._patch(item, "ownerReferences", [{**each, "blockOwnerDeletion": False} for each in _owners(obj)])
        self._internal.delete(item.key, item.namespace, item.name, uid=item.uid, propagation=policy)

    def _classify(self, item: _Item, obj: Object) -> _Owners:
        """Look up the owners.

        Raises:
            _Unresolvable: one is of a kind that is not served, or is namespaced, unlike the object.
        """
        owners = _Owners(set(), set(), set())
        for reference in _owners(obj):
            uid = reference.get("uid", "")
            if self._is_gone(item, reference):
                owners.absent.add(uid)
                continue
            resource = self._resource(reference)
            if resource is None or (resource.namespaced and not item.namespace):
                raise _Unresolvable
            namespace = item.namespace if resource.namespaced else ""
            owner = self._store.get(resource.storage, namespace, str(reference.get("name", "")))
            if owner is None or owner["metadata"].get("uid", "") != uid:
                owners.absent.add(uid)
            elif is_deleting(owner) and FOREGROUND in _finalizers(owner):
                owners.waiting.add(uid)
            else:
                owners.solid.add(uid)
        return owners

    def _is_gone(self, item: _Item, reference: Object) -> bool:
        api_version, kind = str(reference.get("apiVersion", "")), str(reference.get("kind", ""))
        name, uid = str(reference.get("name", "")), reference.get("uid", "")
        return any((api_version, kind, namespace, name, uid) in self._gone for namespace in ("", item.namespace))

    def _resource(self, reference: Object) -> Resource | None:
        group, _, version = str(reference.get("apiVersion", "")).rpartition("/")
        return self._state.registry.by_kind(group, version, str(reference.get("kind", "")))

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


def _concerns_owners(old: Object, new: Object) -> bool:
    """Return whether an update changes owners, or is part of a deletion."""
    before, after = old["metadata"], new["metadata"]
    is_deleted = "deletionTimestamp" in after or before["uid"] != after["uid"]
    return is_deleted or before.get("ownerReferences") != after.get("ownerReferences")


def _item(key: Key, obj: Object) -> _Item:
    meta = obj["metadata"]
    return _Item(key, meta.get("namespace", ""), meta["name"], meta.get("uid", ""))


def _coordinates(api_version: str, kind: str, item: _Item) -> tuple[str, ...]:
    """Return how owner references name an object: an owner is only gone under the name by which it is referenced."""
    return api_version, kind, item.namespace, item.name, item.uid


def _owners(obj: Object) -> list[Object]:
    return obj["metadata"].get("ownerReferences") or []


def _blocking(owners: list[Object]) -> dict[str, bool]:
    """Return the uids of owners, and whether they are blocked."""
    blocking: dict[str, bool] = {}
    for owner in owners:
        uid = owner.get("uid", "")
        blocking[uid] = blocking.get(uid, False) or bool(owner.get("blockOwnerDeletion"))
    return blocking


def _finalizers(obj: Object) -> list[str]:
    return obj["metadata"].get("finalizers") or []
