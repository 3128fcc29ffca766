"""Field management: `metadata.managedFields`, updated on every write as by kube-apiserver.

An entry belongs to a manager, an operation (Apply or Update), an apiVersion and a subresource. An Update takes over the
fields it changes; an Apply that changes the fields of other managers is a conflict unless it is forced.
"""

from dataclasses import dataclass, field
from typing import Any

from clientgo.meta.apply.fieldsets import (
    FieldPath,
    MergeRules,
    Tree,
    added,
    compare,
    contains,
    difference,
    is_tree,
    managed,
    union,
)
from clientgo.meta.jsonvalues import same

Object = dict[str, Any]

_MAX_UPDATE_ENTRIES = 10
_OLD_UPDATES = "ancient-changes"


@dataclass(frozen=True, slots=True)
class ManagedType:
    """Facts of a kind that field management needs."""

    rules: MergeRules
    zero: Object = field(default_factory=dict)
    """The empty object. Its fields have no owner: Go's structs always have them."""
    ignored: tuple[str, ...] = ()
    """Top-level fields that writes do not change: the status, or all but the status."""


@dataclass(frozen=True, slots=True)
class FieldManager:
    """A field manager: the identity of an entry in managedFields."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    def owns(self, entry: Object) -> bool:
        """Report whether the entry belongs to this manager, who applies in any version."""
        return (
            entry.get("manager", "") == self.name
            and entry.get("operation") == self.operation
            and (self.operation == "Apply" or entry.get("apiVersion") == self.api_version)
            and entry.get("subresource", "") == self.subresource
        )

    def entry(self, fields: Tree, time: str) -> Object:
        """Return an entry with these fields; without a time if it is empty."""
        entry: Object = {"manager": self.name, "operation": self.operation, "apiVersion": self.api_version}
        if time:
            entry["time"] = time
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": fields}
        return {**entry, "subresource": self.subresource} if self.subresource else entry


def present_entries(submitted: list[Object] | None, live: list[Object]) -> list[Object]:
    """Return the entries that an update starts from: those of the client, or the live ones if they are unreadable.

    An empty list and one empty entry are requests to remove all of them.
    """
    if submitted is live:
        return live
    if submitted in ([], [{}]):
        return []
    return submitted if submitted and all(map(_is_readable, submitted)) else live


def _is_readable(entry: Object) -> bool:
    is_valid = entry.get("operation") in ("Apply", "Update") and entry.get("fieldsType") == "FieldsV1"
    return is_valid and is_tree(entry.get("fieldsV1", {}))


def after_update(
    entries: list[Object], old: Object, new: Object, who: FieldManager, kind: ManagedType, *, time: str
) -> list[Object]:
    """Return the entries after an update from `old` to `new` by `who`, which then owns the changed fields alone.

    `old` is empty for a new object. An object without managers stays without.
    """
    after = managed(new, kind.ignored)
    if not entries:
        fields = {} if old else added(managed(kind.zero), after, kind.rules)
        return [who.entry(fields, time)] if fields else []
    changed, removed = compare(managed(old, kind.ignored), after, kind.rules)
    lost = union(changed, removed)
    updated: list[Object] = []
    for entry in entries:
        fields = difference(entry.get("fieldsV1", {}), lost)
        if changed and who.owns(entry):
            changed = union(fields, changed)
        elif fields:
            updated.append(entry if fields is entry.get("fieldsV1") else {**entry, "fieldsV1": fields})
    return _capped(sort([*updated, who.entry(changed, time)] if changed else updated))


def _capped(entries: list[Object]) -> list[Object]:
    """Merge the oldest Update entries of one version into one as long as there are more than ten."""
    if len(entries) <= _MAX_UPDATE_ENTRIES:
        return entries
    updates = [entry for entry in entries if entry.get("operation") == "Update"]
    excess, buckets = len(updates) - _MAX_UPDATE_ENTRIES, dict[str, Object]()
    for entry in updates:
        version = entry.get("apiVersion", "")
        first = buckets.setdefault(version, entry)
        if excess <= 0:
            return entries
        if first is not entry:
            fields = union(first.get("fieldsV1", {}), entry.get("fieldsV1", {}))
            bucket = FieldManager(_OLD_UPDATES, "Update", version).entry(fields, entry.get("time", ""))
            entries = sort([bucket, *(item for item in entries if item is not first and item is not entry)])
            buckets[version], excess = bucket, excess - 1
    return entries


def after_scale(entries: list[Object], path: FieldPath, who: FieldManager) -> list[Object]:
    """Return the entries after a change of the replicas, at this path, through the scale subresource.

    As on a real server, it is recorded only if the replicas have an owner, and without a time.
    """
    if not any(contains(entry.get("fieldsV1", {}), path) for entry in entries):
        return entries
    fields: Tree = {}
    for element in reversed(path):
        fields = {element: fields}
    time = next((entry.get("time", "") for entry in entries if who.owns(entry)), "")
    reduced = [(entry, difference(entry.get("fieldsV1", {}), fields)) for entry in entries if not who.owns(entry)]
    return sort(
        [*({**entry, "fieldsV1": remaining} for entry, remaining in reduced if remaining), who.entry(fields, time)]
    )


def sort(entries: list[Object]) -> list[Object]:
    """Sort entries as the server does: Apply entries first, then by time and manager."""
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return sorted(entries, key=lambda entry: [entry.get(name) or "" for name in names])


def equal_ignoring_timestamps(obj: Object, other: Object) -> bool:
    """Report whether two objects are equal except for resourceVersion and times in managedFields."""
    # Metadata is compared last: it takes a copy, and most objects that differ do so elsewhere.
    return (
        obj.keys() == other.keys()
        and all(same(value, other[field]) for field, value in obj.items() if field != "metadata")
        and same(_timeless(obj["metadata"]), _timeless(other["metadata"]))
    )


def _timeless(meta: Object) -> Object:
    metadata = {field: value for field, value in meta.items() if field != "resourceVersion"}
    if "managedFields" in metadata:
        metadata["managedFields"] = [
            {field: value for field, value in entry.items() if field != "time"} for entry in metadata["managedFields"]
        ]
    return metadata
