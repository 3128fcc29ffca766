"""Who set which field: `metadata.managedFields`, kept on every write as the real server keeps it.

An entry belongs to a manager, an operation (Apply or Update), an apiVersion and a subresource. An Update takes the
fields it changed from everybody else; an Apply that would do so is a conflict unless it is forced.
"""

from dataclasses import dataclass
from typing import Any

from clientgo.meta.apply.fieldsets import Difference, Path, Rules, Tree, add, all_of, contains, managed, remove, tree_of

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FieldManager:
    """Whose fields an entry lists, and since when."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    def owns(self, entry: Object) -> bool:
        """Whether the entry is this manager's."""
        return (
            entry.get("manager", "") == self.name
            and entry.get("operation") == self.operation
            and entry.get("apiVersion") == self.api_version
            and entry.get("subresource", "") == self.subresource
        )

    def entry(self, fields: Tree, time: str) -> Object:
        """The entry that says these fields are this manager's."""
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
    entries: list[Object], old: Object, new: Object, who: FieldManager, *, rules: Rules, time: str
) -> list[Object]:
    """The entries after `who` turned `old` into `new`: what it changed is its own now, and nobody else's."""
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


def without(tree: Tree, lost: list[Path]) -> Tree:
    """The set without these paths; the same object when it holds none of them."""
    for path in lost:
        if contains(tree, path):
            tree = remove(tree, path)
    return tree


def sort(entries: list[Object]) -> list[Object]:
    """Apply entries first, then by time and name, as the server lists them."""
    return sorted(entries, key=lambda e: (e.get("operation") != "Apply", e.get("time") or "", e.get("manager", "")))


def equal_ignoring_timestamps(one: Object, other: Object) -> bool:
    """Whether two objects differ in nothing but the times of managedFields and their version."""
    return _timeless(one) == _timeless(other)


def _timeless(obj: Object) -> Object:
    meta = {field: value for field, value in obj["metadata"].items() if field != "resourceVersion"}
    if "managedFields" in meta:
        meta["managedFields"] = [
            {field: value for field, value in entry.items() if field != "time"} for entry in meta["managedFields"]
        ]
    return {**obj, "metadata": meta}
