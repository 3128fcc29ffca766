"""Field management: `metadata.managedFields`, updated on every write as by kube-apiserver.

An entry belongs to a manager, an operation (Apply or Update), an apiVersion and a subresource. An Update takes over the
fields it changes; an Apply that changes the fields of other managers is a conflict unless it is forced.
"""

from dataclasses import dataclass
from typing import Any

from clientgo.meta.apply.fieldsets import (
    Difference,
    FieldPath,
    MergeRules,
    Tree,
    add,
    all_of,
    contains,
    managed,
    remove,
    tree_of,
)

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FieldManager:
    """A field manager: the identity of an entry in managedFields."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    def owns(self, entry: Object) -> bool:
        """Report whether the entry belongs to this manager."""
        return (
            entry.get("manager", "") == self.name
            and entry.get("operation") == self.operation
            and entry.get("apiVersion") == self.api_version
            and entry.get("subresource", "") == self.subresource
        )

    def entry(self, fields: Tree, time: str) -> Object:
        """Return an entry with these fields."""
        entry: Object = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        return {**entry, "subresource": self.subresource} if self.subresource else entry


def after_update(
    entries: list[Object], old: Object, new: Object, who: FieldManager, *, rules: MergeRules, time: str
) -> list[Object]:
    """Return the entries after an update from `old` to `new` by `who`, which then owns the changed fields alone."""
    if not old and not entries:
        fields = all_of(managed(new), rules)
        return [who.entry(fields, time)] if fields else entries
    difference = Difference(managed(old), managed(new), rules)
    if not difference:
        return entries
    own: Tree = {}
    others: list[Object] = []
    for entry in entries:
        if who.owns(entry):
            own = without(entry.get("fieldsV1", {}), difference.removed)
        else:
            lost = [*difference.changed, *difference.removed]
            kept = without(entry.get("fieldsV1", {}), lost)
            if kept:
                others.append(entry if kept is entry.get("fieldsV1") else {**entry, "fieldsV1": kept})
    if own:
        for path in difference.changed:
            own = add(own, path)
    else:
        own = tree_of(difference.changed)
    return sort([*others, who.entry(own, time)] if own else others)


def without(tree: Tree, lost: list[FieldPath]) -> Tree:
    """Return the set without these paths; the same object if it contains none of them."""
    for path in lost:
        if contains(tree, path):
            tree = remove(tree, path)
    return tree


def sort(entries: list[Object]) -> list[Object]:
    """Sort entries as the server does: Apply entries first, then by time and name."""
    return sorted(entries, key=lambda e: (e.get("operation") != "Apply", e.get("time") or "", e.get("manager", "")))


def equal_ignoring_timestamps(one: Object, other: Object) -> bool:
    """Report whether two objects are equal except for resourceVersion and times in managedFields."""
    return _timeless(one) == _timeless(other)


def _timeless(obj: Object) -> Object:
    meta = {field: value for field, value in obj["metadata"].items() if field != "resourceVersion"}
    if "managedFields" in meta:
        meta["managedFields"] = [
            {field: value for field, value in entry.items() if field != "time"} for entry in meta["managedFields"]
        ]
    return {**obj, "metadata": meta}
