"""Server-side apply: merging an apply configuration into an object, with conflict detection."""

from collections import Counter, deque
from typing import Any

import msgspec

from clientgo.errors import Restorable
from clientgo.meta.apply.mergerules import FieldPath, MergeRule, MergeRules, items
from clientgo.meta.jsonvalues import html_escaped, same
from clientgo.meta.objects import LAST_APPLIED
from clientgo_apiserver.merging.comparison import UntypedObject, compare, field_set, managed
from clientgo_apiserver.merging.fieldsets import (
    Tree,
    contains,
    difference,
    has_leaf_items,
    intersection,
    is_atomic,
    is_merged,
    paths,
    show,
    union,
)
from clientgo_apiserver.merging.managedfields import (
    Changes,
    Entries,
    FieldManager,
    ManagedType,
    current_entries,
    first_entries,
    identifier,
    sort,
)
from clientgo_apiserver.merging.pruning import VersionView, prune

BEFORE_FIRST_APPLY = "before-first-apply"
_KUBECTL = "kubectl"
_NAME: Tree = {"f:metadata": {"f:name": {}}}
"""What every configuration has, so that no apply removes the metadata."""

Object = dict[str, Any]


class ApplyConflict(Restorable, Exception):
    """Other managers own fields that would change; text and `causes` are those of the server's Status."""

    def __init__(self, text: str, causes: list[dict[str, str]]) -> None:
        super().__init__(text)
        self.causes = causes


class Applied(msgspec.Struct, frozen=True):
    """The result of an apply: the object and its managedFields."""

    obj: Object
    entries: list[Object]


def apply(live: Object, config: Object, who: FieldManager, kind: ManagedType, *, force: bool, time: str) -> Applied:
    """Merge `config` into `live` (empty for a new object) for this manager.

    What an object without managers contains belongs to `before-first-apply`.

    Raises:
        ApplyConflict: other managers own fields that would change, and `force` is not set.
        UntypedObject: the fields of the live object have no owners.
    """
    entries: list[Object] = live.get("metadata", {}).get("managedFields", [])
    if live and not entries:
        first = FieldManager(BEFORE_FIRST_APPLY, "Update", who.api_version, who.subresource)
        entries = first_entries(live, first, kind, time=time)
    other_entries = current_entries(entries, kind)
    name = identifier(who.entry({}, ""))
    mine = other_entries.pop(name, {})
    applied = _fields_of(config, kind)
    merged = _pruned(merge(live, config, kind.rules, ()), mine, (who.api_version, applied), other_entries, kind)
    changes = Changes(live, merged, kind, who.api_version)
    if not force:
        allowed = _last_applied(live, kind) if who.name == _KUBECTL else {}
        _raise_conflicts(other_entries, changes, allowed)
    reduced = [remaining for entry in other_entries.values() if (remaining := changes.left(entry)) is not None]
    # As on a real server, an apply that changes nothing does not set a time; what is ignored here counts there.
    # Here an entry of an unknown version counts, too.
    last = next((entry.get("time", "") for entry in entries if identifier(entry) == name), "")
    when = last if live and same(managed(live), managed(merged)) else time
    if who.name == _KUBECTL:
        merged = _with_last_applied(merged, config)
    return Applied(merged, sort([*reduced, *([who.entry(applied, when)] if applied else [])]))


def _fields_of(obj: Object, kind: ManagedType) -> Tree:
    fields = field_set(managed(obj, kind.ignored), kind.rules)
    return {element: node for element, node in fields.items() if node or element != "f:metadata"}


def _pruned(
    merged: Object, mine: Object, applied: tuple[str, Tree], other_entries: Entries, kind: ManagedType
) -> Object:
    """Return the merged object without what this manager applied before and that has no owner now."""
    (version, fields), last = applied, mine.get("fieldsV1", {})
    last_version = mine.get("apiVersion", version)
    at, current = kind.at(last_version), kind.at(version)
    if at is None or current is None or (at is current and not difference(last, fields)):
        return merged  # nothing is missing
    owned: dict[VersionView, Tree] = {at: {}, current: union(fields, _NAME)}
    for entry in other_entries.values():
        view = kind.at(entry.get("apiVersion", ""))
        if view is not None:
            owned[view] = union(owned.get(view, {}), entry.get("fieldsV1", {}))
    return current.convert(prune(at.convert(merged), last, at, owned.items()))


def _raise_conflicts(other_entries: Entries, changes: Changes, allowed: Tree) -> None:
    conflicts = [
        (name, entry, path)
        for name, entry in sorted(other_entries.items())
        for path in paths(intersection(entry.get("fieldsV1", {}), changes.at(entry.get("apiVersion", "")).changed))
        if not contains(allowed, path)
    ]
    if conflicts:
        raise _conflict([(entry, path) for _, entry, path in conflicts])


def _last_applied(live: Object, kind: ManagedType) -> Tree:
    """Return the fields that `kubectl apply` set, and that are unchanged: `kubectl apply --server-side` owns them."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED, "")
    try:
        config = msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return {}
    if not isinstance(config, dict) or config.get("apiVersion") != live.get("apiVersion"):
        return {}
    if not isinstance(config.get("metadata") or {}, dict):
        return {}
    try:
        changed, removed = compare(managed(config, kind.ignored), managed(live, kind.ignored), kind.rules)
        return difference(_fields_of(config, kind), union(changed, removed))
    except UntypedObject:
        return {}


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
    if isinstance(live, dict) and live and not is_atomic(rule):
        if config is None:
            return live  # a null owns the field but changes nothing
        if isinstance(config, dict):
            return {**live, **{name: merge(live.get(name), config[name], rules, (*path, name)) for name in config}}
    if isinstance(live, list) and live and rule is not None and is_merged(rule):
        if config is None:
            return live
        if isinstance(config, list):
            return _merge_items(live, config, rule, rules, path)
    return config


def _merge_items(
    live_items: list[Any], config_items: list[Any], rule: MergeRule, rules: MergeRules, path: FieldPath
) -> list[Any]:
    """Merge items in the order of structured-merge-diff.

    Items of both lists are in the order of the configuration; those of the live list alone stay between the same items
    as far as possible. An item that is twice in the live list is replaced, and so is an atomic one.
    """
    live, mine = items(live_items, rule), dict(items(config_items, rule))
    times = Counter(element for element, _ in live)
    before = {element: item for element, item in live if times[element] == 1 and not has_leaf_items(rule)}
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


def _conflict(conflicts: list[tuple[Object, FieldPath]]) -> ApplyConflict:
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
