"""States of a cluster during a run: objects by resource, namespace and name, and the changes between them."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Object = dict[str, Any]


SOON = 5.0
"""Seconds in which an operator does what waits for no time: longer than its first retries of a failed write."""


class ObjectRef(NamedTuple):
    """Name of one object; `resource` is the plural and its group, as in `deployments.apps`."""

    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.resource} {f'{self.namespace}/' if self.namespace else ''}{self.name}"


class ObjectChange(NamedTuple):
    """Change of one object in a step, by `actor`: user, operator or server; `at` is in seconds of the run."""

    revision: int
    kind: str
    ref: ObjectRef
    old: Object | None
    new: Object | None
    actor: str
    step: int
    at: float = 0.0
    is_blind: bool = False
    """True if the operator cannot see the current state then, or has not reacted to it yet."""

    def apply(self, objects: dict[ObjectRef, Object]) -> None:
        """Carry the change out in a dict of objects."""
        if self.new is None or self.kind == "DELETED":
            objects.pop(self.ref, None)
        else:
            objects[self.ref] = self.new


class ClusterState(Mapping[ObjectRef, Object]):
    """Objects at one revision; they must not be modified.

    Without those that every cluster has, Events, and Leases by which replicas of the operator elect a leader.
    """

    def __init__(self, objects: Mapping[ObjectRef, Object]) -> None:
        self._objects = objects
        self.normal: tuple[object, Mapping[ObjectRef, Any]] | None = None
        """Form of the objects by which runs are compared, and what it depends on."""

    def __repr__(self) -> str:
        return f"<ClusterState {len(self._objects)} objects>"

    def __getitem__(self, ref: ObjectRef) -> Object:
        return self._objects[ref]

    def __iter__(self) -> Iterator[ObjectRef]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def find(self, resource: str, name: str, namespace: str = "default") -> Object | None:
        """Return the object of that name, or None; cluster-scoped ones have an empty namespace."""
        return self._objects.get(ObjectRef(resource, namespace, name))

    def all(self, resource: str) -> list[Object]:
        """Return the objects of a resource, such as `pods` or `deployments.apps`, by name."""
        return [self._objects[ref] for ref in sorted(self._objects) if ref.resource == resource]


EVENTS = frozenset(("events", "events.events.k8s.io"))


def is_deleting(obj: Object) -> bool:
    """Return whether an object is being deleted."""
    return "deletionTimestamp" in obj["metadata"]


def content_of(obj: Object) -> Object:
    """Return an object without its metadata and status."""
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def _owner_of(obj: Object) -> str:
    owners = obj["metadata"].get("ownerReferences") or ()
    owner = next((each for each in owners if each.get("controller")), owners[0] if owners else None)
    return NO_OWNER if owner is None else f"{owner['kind']} {owner['name']}"


def owner_uids(obj: Object) -> list[str]:
    """Return the uids of the object's owners."""
    return [owner["uid"] for owner in obj["metadata"].get("ownerReferences") or ()]


def was_collected(ref: ObjectRef, changes: Iterable[ObjectChange]) -> bool:
    """Return whether a user's object went with an owner, which the operator may have been about to remove."""
    actors = [(change.kind, change.actor) for change in changes if change.ref == ref]
    return bool(actors) and actors[0] == ("ADDED", "user") and actors[-1] == ("DELETED", "server")


ALL_OWNERS, NO_OWNER = "", "none"


def most_objects(
    changes: Iterable[ObjectChange], ignored: Sequence[Container[ObjectRef]] = ()
) -> dict[tuple[str, str], int]:
    """Return the largest number of objects at a time by resource and owner, also of `ALL_OWNERS`.

    Those that are being deleted or whose owner is gone do not count, nor do those that are `ignored` in a step.
    """
    most: dict[tuple[str, str], int] = {}
    objects: dict[ObjectRef, Object] = {}
    step = None
    for change in changes:
        change.apply(objects)
        if change.kind == "ADDED" or (change.kind == "DELETED" and change.step != step):  # others only lower counts
            step = change.step
            uids = {obj["metadata"]["uid"] for obj in objects.values() if not is_deleting(obj)}
            passed = ignored[step] if 0 <= step < len(ignored) else ()
            counts = Counter(
                (ref.resource, owner)
                for ref, obj in objects.items()
                if ref not in passed and _counts(obj, uids)
                for owner in (ALL_OWNERS, _owner_of(obj))
            )
            most.update((key, count) for key, count in counts.items() if count > most.get(key, 0))
    return most


def _counts(obj: Object, uids: set[str]) -> bool:
    owners = owner_uids(obj)
    return not is_deleting(obj) and (not owners or any(uid in uids for uid in owners))
