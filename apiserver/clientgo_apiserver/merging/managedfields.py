"""Field management: `metadata.managedFields`, updated on every write as by kube-apiserver.

An entry belongs to a manager, an operation (Apply or Update), an apiVersion and a subresource. An Update takes over the
fields it changes; an Apply that changes the fields of other managers is a conflict unless it is forced.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from clientgo.meta.apply.mergerules import FieldPath, MergeRules
from clientgo.meta.jsonvalues import html_escaped, same
from clientgo_apiserver.merging.comparison import Comparison, UntypedObject, added, check_unique, compare, managed
from clientgo_apiserver.merging.fieldsets import (
    Tree,
    contains,
    difference,
    read_tree,
    tree_of,
    union,
    with_atomic_fields,
)
from clientgo_apiserver.merging.pruning import VersionView

Object = dict[str, Any]
Entries = dict[str, Object]
"""Entries of managedFields by identifier."""

_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode
_MAX_CACHED = 4096  # bytes of a set of fields
_MAX_UPDATE_ENTRIES = 10
_OLD_UPDATES = "ancient-changes"
_SCALE_REPLICAS = ("f:spec", "f:replicas")


@dataclass(frozen=True, slots=True)
class ManagedType:
    """Facts of a kind that field management needs."""

    rules: MergeRules
    zero: Object = field(default_factory=dict)
    """The empty object. Its fields have no owner: Go's structs always have them."""
    ignored: tuple[FieldPath, ...] = ()
    """Fields that writes do not change: the status, or all but the status."""
    views: Mapping[str, VersionView] | None = None
    """Versions of the kind by apiVersion; by default, objects are the same in all versions."""
    strict: bool = False
    """True if an unknown version is an error; else its entries are dropped."""
    managed_zero: Object = field(init=False, repr=False, compare=False)
    _view: VersionView = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "managed_zero", managed(self.zero))
        object.__setattr__(self, "_view", VersionView(self.rules, _unchanged, self.ignored))

    def at(self, api_version: str) -> VersionView | None:
        """Return the view of a version, the same one each time; None if the version is unknown."""
        return self._view if self.views is None else self.views.get(api_version)


class UnknownVersion(ValueError):
    """An entry has a version from which the kind cannot be converted."""


def _unchanged(obj: Object) -> Object:
    return obj


class FieldManager(NamedTuple):
    """A field manager: the identity of an entry in managedFields."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    def entry(self, fields: Tree, time: str) -> Object:
        """Return an entry with these fields; without a time if it is empty."""
        entry: Object = {"manager": self.name, "operation": self.operation, "apiVersion": self.api_version}
        if time:
            entry["time"] = time
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": fields}
        return {**entry, "subresource": self.subresource} if self.subresource else entry


def identifier(entry: Object) -> str:
    """Return the identity of an entry as Kubernetes writes it: managers are sorted by this text."""
    operation = entry.get("operation")
    api_version = entry.get("apiVersion") if operation != "Apply" else None
    return _identifier(entry.get("manager"), operation, api_version, entry.get("subresource"))


@lru_cache(maxsize=1024)
def _identifier(*values: str | None) -> str:
    named = zip(("manager", "operation", "apiVersion", "subresource"), values, strict=True)
    return html_escaped(_encode({name: value for name, value in named if value})).decode()


def current_entries(entries: list[Object], kind: ManagedType) -> Entries:
    """Return entries by identifier, as sets of the present schema; those of unknown versions are dropped.

    Raises:
        UnknownVersion: an entry has an unknown version, and the kind is strict.
    """
    current: Entries = {}
    for entry in entries:
        fields, version = entry.get("fieldsV1", {}), entry.get("apiVersion", "")
        view = kind.at(version)
        if view is None and kind.strict:
            raise UnknownVersion(version)
        if view is not None:
            encoded = _encode(fields)
            if len(encoded) > _MAX_CACHED or not _is_reconciled(encoded, view.rules):
                entry = {**entry, "fieldsV1": with_atomic_fields(fields, view.rules)}
            current[identifier(entry)] = entry
    return current


@lru_cache(maxsize=1024)  # most updates leave the sets of managers as they are
def _is_reconciled(encoded: bytes, rules: MergeRules) -> bool:
    tree = _decode(encoded)
    return with_atomic_fields(tree, rules) is tree


class Changes:
    """Differences between two states of an object in each version in which managers own fields."""

    def __init__(self, old: Object, new: Object, kind: ManagedType, api_version: str) -> None:
        self._states = (old, new)
        self._api_version = api_version  # of the states
        self._kind = kind
        self._found: dict[VersionView | None, Comparison] = {None: Comparison({}, {})}

    def at(self, api_version: str) -> Comparison:
        """Return the differences in a version; none if it is unknown.

        Raises:
            UntypedObject: the fields have no owners.
        """
        view = self._kind.at(api_version)
        if view is not None and view not in self._found:
            old, new = map(view.convert, self._states)
            if api_version != self._api_version:
                check_unique(old, view.rules)
                check_unique(new, view.rules)
            self._found[view] = compare(managed(old, view.ignored), managed(new, view.ignored), view.rules)
        return self._found[view]

    def left(self, entry: Object) -> Object | None:
        """Return another manager's entry without the fields that changed; None if nothing is left."""
        fields = entry.get("fieldsV1", {})
        for lost in self.at(entry.get("apiVersion", "")):
            fields = difference(fields, lost)
        return None if not fields else entry if fields is entry.get("fieldsV1") else {**entry, "fieldsV1": fields}


def present_entries(submitted: list[Object] | None, live: list[Object]) -> list[Object]:
    """Return the entries that an update starts from: those of the client, or the live ones if they are unreadable.

    An empty list and one empty entry are requests to remove all of them.
    """
    if submitted == live:
        return live
    if submitted in ([], [{}]):
        return []
    try:
        return [_read(entry) for entry in submitted or ()] or live
    except ValueError:
        return live


def _read(entry: Object) -> Object:
    is_valid = entry.get("operation") in ("Apply", "Update") and entry.get("fieldsType") == "FieldsV1"
    if not is_valid or not entry.get("apiVersion"):
        raise ValueError("invalid entry of managedFields: operation, apiVersion or fieldsType")
    return {**entry, "fieldsV1": read_tree(entry.get("fieldsV1", {}))}


def after_update(
    entries: list[Object], old: Object, new: Object, who: FieldManager, kind: ManagedType, *, time: str
) -> list[Object]:
    """Return the entries after an update from `old` to `new` by `who`, which then owns the changed fields alone.

    `old` is empty for a new object. An object without managers stays without. As on a real server, one that cannot be
    compared has no managers any more.
    """
    try:
        if not entries:
            return [] if old else first_entries(new, who, kind, time=time)
        return _after_update(entries, Changes(old, new, kind, who.api_version), who, kind, time=time)
    except (UntypedObject, UnknownVersion):
        return []


def first_entries(obj: Object, who: FieldManager, kind: ManagedType, *, time: str) -> list[Object]:
    """Return the entries of a new object: all of its fields belong to one manager.

    Raises:
        UntypedObject: the fields have no owners.
    """
    fields = added(kind.managed_zero, managed(obj, kind.ignored), kind.rules)
    return [who.entry(fields, time)] if fields else []


def _after_update(
    entries: list[Object], changes: Changes, who: FieldManager, kind: ManagedType, *, time: str
) -> list[Object]:
    current = current_entries(entries, kind)
    updated = {name: reduced for name, entry in current.items() if (reduced := changes.left(entry)) is not None}
    changed = changes.at(who.api_version).changed
    if changed:
        entry = who.entry(changed, time)
        name = identifier(entry)
        updated[name] = {**entry, "fieldsV1": union(updated.get(name, {}).get("fieldsV1", {}), changed)}
    return sort([*_capped(updated).values()])


def _capped(entries: Entries) -> Entries:
    """Merge the oldest Update entries of one version into one as long as there are more than ten.

    As on a real server, an older bucket is dropped if another entry of its version is still older.
    """
    updates = {name: entry for name, entry in entries.items() if entry.get("operation") == "Update"}
    excess = len(updates) - _MAX_UPDATE_ENTRIES
    if excess <= 0:
        return entries
    capped, first = dict(entries), dict[str, str]()
    for name, entry in sorted(updates.items(), key=lambda item: (item[1].get("time") or "", item[0])):
        version = entry.get("apiVersion", "")
        if excess <= 0:
            break
        if version not in first:
            first[version] = name
            continue
        bucket = FieldManager(_OLD_UPDATES, "Update", version)
        bucket_name = identifier(bucket.entry({}, ""))
        merged = capped[bucket_name] if bucket_name in capped else capped.pop(first[version])
        fields = union(entry.get("fieldsV1", {}), merged.get("fieldsV1", {}))
        capped[bucket_name] = bucket.entry(fields, entry.get("time", ""))
        del capped[name]
        excess -= 1
    return capped


def after_scale(entries: list[Object], path: FieldPath, who: FieldManager | None, *, changed: bool) -> list[Object]:
    """Return the entries after a write of the replicas, at this path, through the scale subresource.

    `who` is None if there are no replicas that a manager could own.

    As on a real server, it is recorded only if the replicas have an owner, and without a time. A write that changes
    nothing gives an owner by updates an entry of its own for the replicas.
    """
    fields, current = tree_of(path), {identifier(entry): entry for entry in entries}
    owned = False
    after: list[Object] = []
    for entry in current.values():
        if not contains(entry.get("fieldsV1", {}), path):
            after.append(entry)
            continue
        owned = True
        if not changed and entry.get("operation") == "Apply":
            after.append(entry)
            continue
        if remaining := difference(entry.get("fieldsV1", {}), fields):
            after.append({**entry, "fieldsV1": remaining})
        if not changed:
            after.append({name: value for name, value in entry.items() if name != "time"} | {"fieldsV1": fields})
    return sort([*after, who.entry(fields, "")] if who is not None and owned and changed else after)


def scale_entries(entries: list[Object], path: FieldPath, scale_version: str) -> list[Object]:
    """Return the entries of a Scale: those that have the replicas, which are at this path of the scaled object."""
    fields = tree_of(_SCALE_REPLICAS)
    owners = (entry for entry in entries if contains(entry.get("fieldsV1", {}), path))
    return [{**entry, "apiVersion": scale_version, "fieldsV1": fields} for entry in owners]


def after_applied_scale(entries: list[Object], scaled: list[Object], path: FieldPath, api_version: str) -> list[Object]:
    """Return the entries of an object, of this version, after an apply of its Scale, which has the entries `scaled`."""
    owners = {_owner(entry): entry for entry in scaled if contains(entry.get("fieldsV1", {}), _SCALE_REPLICAS)}
    fields, after = tree_of(path), list[Object]()
    for entry in entries:
        if not contains(entry.get("fieldsV1", {}), path) or owners.pop(_owner(entry), None) is not None:
            after.append(entry)
        elif remaining := difference(entry.get("fieldsV1", {}), fields):
            after.append({**entry, "fieldsV1": remaining})
    changed = {"apiVersion": api_version, "fieldsV1": fields}
    new = [{name: value for name, value in entry.items() if name != "time"} | changed for entry in owners.values()]
    return sort([*after, *new])


def _owner(entry: Object) -> tuple[str, ...]:
    return tuple(entry.get(name) or "" for name in ("manager", "operation", "subresource"))


def sort(entries: list[Object]) -> list[Object]:
    """Sort entries as the server does: Apply entries first, then by time and manager."""
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return sorted(entries, key=lambda entry: [entry.get(name) or "" for name in names])


def equal_ignoring_timestamps(obj: Object, other: Object) -> bool:
    """Report whether two objects are equal except for resourceVersion and times in managedFields."""
    # Metadata is compared last: it takes a copy, and most objects that differ do so elsewhere.
    return (
        obj.keys() == other.keys()
        and all(
            value is other[field] or same(value, other[field]) for field, value in obj.items() if field != "metadata"
        )
        and same(_timeless(obj["metadata"]), _timeless(other["metadata"]))
    )


def _timeless(meta: Object) -> Object:
    metadata = {field: value for field, value in meta.items() if field != "resourceVersion"}
    if "managedFields" in metadata:
        metadata["managedFields"] = [
            {field: value for field, value in entry.items() if field != "time"} for entry in metadata["managedFields"]
        ]
    return metadata
