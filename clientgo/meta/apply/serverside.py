"""Server-side apply: merging an apply configuration into an object, with conflict detection."""

from dataclasses import dataclass
from typing import Any

from clientgo.meta.apply.fieldsets import (
    Difference,
    FieldPath,
    MergeRules,
    Tree,
    contains,
    fields_of,
    items,
    managed,
    paths,
    read_element,
    show,
    tree_of,
)
from clientgo.meta.apply.managedfields import FieldManager, sort, without

Object = dict[str, Any]


class ApplyConflict(Exception):
    """Other managers own fields that would change; text and `causes` are those of the server's Status."""

    def __init__(self, text: str, causes: list[dict[str, str]]) -> None:
        super().__init__(text)
        self.causes = causes


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of an apply: the object and its managedFields."""

    obj: Object
    entries: list[Object]


def apply(live: Object, config: Object, who: FieldManager, rules: MergeRules, *, force: bool, time: str) -> Applied:
    """Merge `config` into `live` (empty for a new object) for this manager.

    Raises:
        ApplyConflict: other managers own fields that would change, and `force` is not set.
    """
    entries: list[Object] = live.get("metadata", {}).get("managedFields", [])
    wanted = tree_of(fields_of(managed(config), rules))
    merged = merge(live, config, rules, ())
    before: Tree = next((entry.get("fieldsV1", {}) for entry in entries if who.owns(entry)), {})
    others = [entry for entry in entries if not who.owns(entry)]
    merged = _prune(merged, before, wanted, others, rules)
    difference = Difference(managed(live), managed(merged), rules)
    conflicts = _conflicts(others, [path for path in difference.changed if contains(wanted, path)])
    if conflicts and not force:
        raise _conflict(conflicts)
    lost = [*(path for _, path in conflicts), *difference.removed]
    kept = [{**entry, "fieldsV1": fields} for entry in others if (fields := without(entry.get("fieldsV1", {}), lost))]
    mine = [who.entry(wanted, time)] if wanted else []
    return Applied(merged, sort([*kept, *mine]))


def merge(live: Any, config: Any, rules: MergeRules, where: FieldPath) -> Any:
    """Return the live value merged with the configuration; lists that merge keep the items of other managers."""
    rule = rules(where)
    atomic = rule is not None and rule.list_type == "atomic"
    if isinstance(live, dict) and isinstance(config, dict) and not atomic:
        merged = dict(live)
        for field, value in config.items():
            merged[field] = merge(live.get(field), value, rules, (*where, field))
        return merged
    if isinstance(live, list) and isinstance(config, list) and rule is not None and rule.list_type in ("map", "set"):
        mine = dict(items(config, rule))
        found = [
            (element, merge(item, mine[element], rules, where) if element in mine else item)
            for element, item in items(live, rule)
        ]
        known = {element for element, _ in found}
        return [item for _, item in found] + [item for element, item in mine.items() if element not in known]
    return config


def _prune(merged: Object, before: Tree, wanted: Tree, others: list[Object], rules: MergeRules) -> Object:
    """Remove fields that this manager set before and does not set now, unless another manager owns them."""
    dropped = [
        path
        for path in paths(before)
        if not _within(wanted, path) and not any(_within(entry.get("fieldsV1", {}), path) for entry in others)
    ]
    # Items before their fields: an item without its key cannot be found.
    for path in sorted(dropped, key=len):
        if not _is_key(path):
            merged = _drop(merged, path, rules, ())
    return merged


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


def _drop(value: Any, path: FieldPath, rules: MergeRules, where: FieldPath) -> Any:
    """Return the value without the field at the path."""
    element, rest = path[0], path[1:]
    if element.startswith("f:") and isinstance(value, dict):
        field = element[2:]
        if field not in value:
            return value
        others = {name: child for name, child in value.items() if name != field}
        return {**others, field: _drop(value[field], rest, rules, (*where, field))} if rest else others
    rule = rules(where)
    if isinstance(value, list) and rule is not None and rule.list_type in ("map", "set"):
        found = items(value, rule)
        if not rest:
            return [item for name, item in found if name != element]
        return [_drop(item, rest, rules, where) if name == element else item for name, item in found]
    return value


def _conflicts(others: list[Object], changed: list[FieldPath]) -> list[tuple[Object, FieldPath]]:
    return [(entry, path) for entry in others for path in changed if contains(entry.get("fieldsV1", {}), path)]


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
