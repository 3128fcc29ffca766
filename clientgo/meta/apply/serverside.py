"""Server-side apply: merging an apply configuration into an object, with conflict detection."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from clientgo.errors import Restorable
from clientgo.meta.apply.fieldsets import (
    FieldPath,
    MergeRules,
    Tree,
    compare,
    contains,
    difference,
    field_set,
    intersection,
    items,
    managed,
    paths,
    read_element,
    show,
    union,
)
from clientgo.meta.apply.managedfields import FieldManager, ManagedType, after_update, sort
from clientgo.meta.jsonvalues import html_escaped, same

BEFORE_FIRST_APPLY = "before-first-apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl"
_METADATA = ("f:metadata",)
_IDENTITY = ("manager", "operation", "apiVersion", "subresource")

Object = dict[str, Any]


class ApplyConflict(Restorable, Exception):
    """Other managers own fields that would change; text and `causes` are those of the server's Status."""

    def __init__(self, text: str, causes: list[dict[str, str]]) -> None:
        super().__init__(text)
        self.causes = causes


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of an apply: the object and its managedFields."""

    obj: Object
    entries: list[Object]


def apply(live: Object, config: Object, who: FieldManager, kind: ManagedType, *, force: bool, time: str) -> Applied:
    """Merge `config` into `live` (empty for a new object) for this manager.

    What an object without managers contains belongs to `before-first-apply`.

    Raises:
        ApplyConflict: other managers own fields that would change, and `force` is not set.
    """
    rules = kind.rules
    entries: list[Object] = live.get("metadata", {}).get("managedFields", [])
    if live and not entries:
        first = FieldManager(BEFORE_FIRST_APPLY, "Update", who.api_version)
        entries = after_update([], {}, live, first, kind, time=time)
    applied = _fields_of(config, kind)
    mine: Object = next((entry for entry in entries if who.owns(entry)), {})
    other_entries = [entry for entry in entries if not who.owns(entry)]
    merged = _prune(merge(live, config, rules, ()), mine.get("fieldsV1", {}), applied, other_entries, rules)
    changed, removed = compare(managed(live, kind.ignored), managed(merged, kind.ignored), rules)
    conflicts = [
        (entry, path) for entry in other_entries for path in paths(intersection(entry.get("fieldsV1", {}), changed))
    ]
    if conflicts and not force:
        last_applied = _last_applied(live, kind) if who.name == _KUBECTL else {}
        remaining = [(entry, path) for entry, path in conflicts if not contains(last_applied, path)]
        if remaining:
            raise _conflict(remaining)
    lost = union(changed, removed)
    reduced = [
        {**entry, "fieldsV1": fields}
        for entry in other_entries
        if (fields := difference(entry.get("fieldsV1", {}), lost))
    ]
    # As on a real server, an apply that changes nothing does not set a time; what is ignored here counts there.
    when = mine.get("time", "") if live and same(managed(live), managed(merged)) else time
    if who.name == _KUBECTL:
        merged = _with_last_applied(merged, config)
    return Applied(merged, sort([*reduced, *([who.entry(applied, when)] if applied else [])]))


def _fields_of(obj: Object, kind: ManagedType) -> Tree:
    fields = field_set(managed(obj, kind.ignored), kind.rules)
    return {element: node for element, node in fields.items() if node or element != "f:metadata"}


def _last_applied(live: Object, kind: ManagedType) -> Tree:
    """Return the fields that `kubectl apply` set, and that are unchanged: `kubectl apply --server-side` owns them."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED, "")
    try:
        config = msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return {}
    if not isinstance(config, dict) or config.get("apiVersion") != live.get("apiVersion"):
        return {}
    changed, removed = compare(managed(config, kind.ignored), managed(live, kind.ignored), kind.rules)
    return difference(_fields_of(config, kind), union(changed, removed))


def _with_last_applied(merged: Object, config: Object) -> Object:
    """Return the object with the annotation of `kubectl apply` updated if it has one, for users who go back to it."""
    notes = merged["metadata"].get("annotations") or {}
    if not notes.get(LAST_APPLIED):
        return merged
    meta = dict(config["metadata"])
    if meta.get("annotations"):
        meta["annotations"] = {key: value for key, value in meta["annotations"].items() if key != LAST_APPLIED}
    text = html_escaped(msgspec.json.encode({**config, "metadata": meta}, order="sorted")).decode() + "\n"
    return {**merged, "metadata": {**merged["metadata"], "annotations": {**notes, LAST_APPLIED: text}}}


def merge(live: Any, config: Any, rules: MergeRules, path: FieldPath) -> Any:
    """Return the live value merged with the configuration; lists that merge keep the items of other managers."""
    rule = rules(path)
    atomic = rule is not None and rule.list_type == "atomic"
    if isinstance(live, dict) and isinstance(config, dict) and not atomic:
        merged = dict(live)
        for field, value in config.items():
            merged[field] = merge(live.get(field), value, rules, (*path, field))
        return merged
    if config is None and isinstance(live, dict) and not atomic:
        return live  # a null owns the field but changes nothing
    if isinstance(live, list) and isinstance(config, list) and rule is not None and rule.list_type in ("map", "set"):
        return _merge_items(items(live, rule), dict(items(config, rule)), rules, path)
    return config


def _merge_items(live: list[tuple[str, Any]], mine: dict[str, Any], rules: MergeRules, path: FieldPath) -> list[Any]:
    """Merge items in the order of structured-merge-diff.

    Items of both lists are in the order of the configuration; those of the live list alone stay between the same items
    as far as possible. An item that is twice in the live list is replaced.
    """
    times = Counter(element for element, _ in live)
    before = {element: item for element, item in live if times[element] == 1}
    shared = deque(element for element in mine if element in times)
    remaining, applied, merged, result = deque(live), deque(mine), set[str](), list[Any]()
    while remaining or applied:
        if remaining:
            element, item = remaining[0]
            if element not in mine:
                result.append(item)
                remaining.popleft()
                continue
            if applied and element != applied[0] and shared and element != shared[0]:
                remaining.popleft()  # another of both lists comes first
                continue
            if element in merged or (applied and element == applied[0]):
                remaining.popleft()
        if applied:
            element = applied.popleft()
            merged.add(element)
            result.append(merge(before.get(element), mine[element], rules, path))
            if shared and shared[0] == element:
                shared.popleft()
    return result


def _prune(merged: Object, before: Tree, applied: Tree, other_entries: list[Object], rules: MergeRules) -> Object:
    """Remove fields that this manager set before and does not set now, unless another manager owns them."""

    def is_dropped(path: FieldPath) -> bool:
        return not _within(applied, path) and not any(
            _within(entry.get("fieldsV1", {}), path) for entry in other_entries
        )

    dropped = {path for path in paths(before) if is_dropped(path)}
    dropped |= {parent for path in dropped for parent in _parents(path, rules) if is_dropped(parent)}
    # Items before their fields: an item without its key cannot be found.
    tree: Tree = {}
    for path in sorted(dropped, key=len):
        if not _is_key(path):
            _insert(tree, path)
    pruned: Object = _without(merged, tree, rules, ())
    return pruned


def _insert(tree: Tree, path: FieldPath) -> None:
    """Add a path that is to be removed, unless one above it is; None ends such a path."""
    for element in path[:-1]:
        below: Tree | None = tree.setdefault(element, {})
        if below is None:
            return
        tree = below
    tree[path[-1]] = None


def _parents(path: FieldPath, rules: MergeRules) -> Iterator[FieldPath]:
    """Iterate over the declared fields above a path, which are removed with their last member."""
    for end in range(1, len(path)):
        *above, element = path[:end]
        rule = rules(tuple(name[2:] for name in above if name.startswith("f:")))
        declared = rule is None or rule.declared is None or element[2:] in rule.declared
        if element.startswith("f:") and declared and path[:end] != _METADATA:
            yield path[:end]


def _is_key(path: FieldPath) -> bool:
    """Report whether the path is the key of a list item, which is kept with the item."""
    return len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in read_element(path[-2])


def _within(tree: Tree, path: FieldPath) -> bool:
    """Report whether the set contains the path or a path below it."""
    for element in path:
        if element not in tree:
            return False
        tree = tree[element]
    return True


def _without(value: Any, gone: Tree, rules: MergeRules, path: FieldPath) -> Any:
    """Return the value without the fields in a tree of `_insert`, in one pass over it."""
    if isinstance(value, dict):
        members = ((f"f:{field}", field, child) for field, child in value.items())
        return {
            field: _without(child, gone[element], rules, (*path, field)) if gone.get(element) else child
            for element, field, child in members
            if element not in gone or gone[element] is not None
        }
    rule = rules(path)
    if isinstance(value, list) and rule is not None and rule.list_type in ("map", "set"):
        return [
            _without(item, gone[element], rules, path) if gone.get(element) else item
            for element, item in items(value, rule)
            if element not in gone or gone[element] is not None
        ]
    return value


def _conflict(conflicts: list[tuple[Object, FieldPath]]) -> ApplyConflict:
    conflicts = sorted(conflicts, key=lambda conflict: [conflict[0].get(name, "") for name in _IDENTITY])
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {_named(entry)}", "field": show(path)}
        for entry, path in conflicts
    ]
    if len(causes) == 1:
        text = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        by_manager: dict[str, list[str]] = {}
        for cause in causes:
            by_manager.setdefault(cause["message"].replace("conflict with", "conflicts with"), []).append(
                cause["field"]
            )
        lines = [f"{who}:\n" + "\n".join(f"- {field}" for field in fields) for who, fields in by_manager.items()]
        text = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return ApplyConflict(text, causes)


def _named(entry: Object) -> str:
    text = f'"{entry.get("manager", "")}"'
    if entry.get("subresource"):
        text += f' with subresource "{entry["subresource"]}"'
    if entry.get("operation") == "Update":
        text += f" using {entry.get('apiVersion', '')}"
    return text
