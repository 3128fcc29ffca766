"""Sets of the fields of an object, and of those in which two objects differ, as in structured-merge-diff.

An empty list or map, and a null, is one field. An entry of a map and an item of a list that merges are fields besides
their members; a declared field is one only where it appears or disappears.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from clientgo.meta.apply.mergerules import FieldPath, MergeRule, MergeRules, items
from clientgo.meta.jsonvalues import same
from clientgo_apiserver.merging.fieldsets import Tree, has_leaf_items, is_atomic, is_entry, is_merged, node_of

_Items = dict[str, list[Any]]

_NESTED = (dict, list)
_ABSENT: Any = object()
# Fields that no manager owns: set by the server, or the object's name.
_UNMANAGED_META = frozenset(
    ("name", "namespace", "creationTimestamp", "selfLink", "uid", "resourceVersion", "generation", "managedFields")
)


def managed(obj: dict[str, Any], ignored: tuple[FieldPath, ...] = ()) -> dict[str, Any]:
    """Return the object without the fields that no manager owns, and without the ignored ones."""
    top_level = [path[0] for path in ignored if len(path) == 1] if ignored else ()
    fields = {
        field: value
        for field, value in obj.items()
        if field not in ("apiVersion", "kind", "metadata") and field not in top_level
    }
    if "metadata" not in top_level:
        metadata = obj.get("metadata") or {}
        # Always there, so that no manager owns the field itself.
        fields["metadata"] = {field: value for field, value in metadata.items() if field not in _UNMANAGED_META}
    for path in ignored:
        if len(path) > 1 and isinstance(parent := fields.get(path[0]), dict):
            fields[path[0]] = {field: value for field, value in parent.items() if field != path[1]}
    return fields


def field_set(value: Any, rules: MergeRules) -> Tree:
    """Return the set of the fields of an object: leaves, items of lists that merge, and entries of maps."""
    return _node(value, rules, ()) or {}


def _node(value: Any, rules: MergeRules, path: FieldPath) -> Tree | None:
    """Return the node of a declared field, which is not one itself if it has members; None if it contains nothing."""
    if not isinstance(value, _NESTED):
        return {}
    rule = rules(path)
    if isinstance(value, dict):
        return {} if not value or is_atomic(rule) else dict(_members(value, rule, rules, path)) or None
    return dict(_items(value, rule, rules, path)) or None if rule is not None and is_merged(rule) else {}


def _members(value: dict[str, Any], rule: MergeRule | None, rules: MergeRules, path: FieldPath) -> Iterator[Any]:
    for field, child in value.items():
        node = _node(child, rules, (*path, field))
        if is_entry(field, rule):
            node = {".": {}, **node} if node else {}
        if node is not None:
            yield f"f:{field}", node


def _items(values: list[Any], rule: MergeRule, rules: MergeRules, path: FieldPath) -> Iterator[Any]:
    leaves = has_leaf_items(rule)
    for element, (item, *duplicates) in _by_element(values, rule).items():
        members = {} if leaves or duplicates or not isinstance(item, dict) else dict(_members(item, rule, rules, path))
        yield element, {".": {}, **members} if members else {}


class UntypedObject(ValueError):
    """An object whose fields have no owners, because an item of a list that merges has no identity."""


def _elements(values: list[Any], rule: MergeRule) -> list[tuple[str, Any]]:
    pairs = items(values, rule)
    for element, item in pairs:
        if element == "k:{}" or (rule.list_type == "set" and (item is None or isinstance(item, _NESTED))):
            raise UntypedObject(f"item without identity in a list that merges: {item!r:.100}")
    return pairs


def check_unique(value: Any, rules: MergeRules, path: FieldPath = ()) -> None:
    """Check that no list that merges has duplicates.

    A real server allows them in the version of the request alone: what it converts for managers of other versions must
    have none.

    Raises:
        UntypedObject: a list has some.
    """
    rule = rules(path) if isinstance(value, _NESTED) and value else None
    if isinstance(value, dict) and not is_atomic(rule):
        for field, child in value.items():
            if isinstance(child, _NESTED):
                check_unique(child, rules, (*path, field))
    elif isinstance(value, list) and rule is not None and is_merged(rule):
        pairs = _elements(value, rule)
        if len({element for element, _ in pairs}) < len(pairs):
            raise UntypedObject("duplicates in a list that merges")
        for _, item in pairs if not has_leaf_items(rule) else ():
            check_unique(item, rules, path)


def _by_element(value: Any, rule: MergeRule) -> _Items:
    """Return the items of a list that merges by element, which is that of several items if they are duplicates."""
    by_element: _Items = defaultdict(list)
    for element, item in _elements(value, rule) if isinstance(value, list) else ():
        by_element[element].append(item)
    return by_element


def added(zero: dict[str, Any], obj: dict[str, Any], rules: MergeRules) -> Tree:
    """Return the set of the fields that a new object has beyond those of an empty one.

    It equals `compare(zero, obj, rules).changed`, but takes one pass: most writes create an object.
    """
    return _added_members(zero, obj, rules, ())


def _added_members(zero: Any, obj: dict[str, Any], rules: MergeRules, path: FieldPath) -> Tree:
    tree: Tree = {}
    zero_members = zero if isinstance(zero, dict) else {}
    for field, child in obj.items():
        was = zero_members.get(field, _ABSENT)
        if was is _ABSENT or not same(was, child):
            node = _added_node(was, child, rules, (*path, field)) if isinstance(child, _NESTED) else {}
            if node is not None:
                tree[f"f:{field}"] = node
    return tree


def _added_node(zero: Any, value: Any, rules: MergeRules, path: FieldPath) -> Tree | None:
    rule = rules(path) if value else None
    if isinstance(value, dict):
        children = _added_members(zero, value, rules, path) if value and not is_atomic(rule) else None
    else:
        children = _added_items(value, rule, rules, path) if rule is not None and is_merged(rule) else None
    if children is None:
        return {}
    return {".": {}, **children} if zero is _ABSENT else children or None


def _added_items(values: list[Any], rule: MergeRule, rules: MergeRules, path: FieldPath) -> Tree:
    tree: Tree = {}
    leaves = has_leaf_items(rule)
    for element, item in _elements(values, rule):
        leaf = leaves or element in tree or not isinstance(item, dict)
        tree[element] = {} if leaf or not item else {".": {}, **_added_members(None, item, rules, path)}
    return tree


class Comparison(NamedTuple):
    """Sets of the fields that were added or modified (`changed`), and of those that were removed."""

    changed: Tree
    removed: Tree


def compare(old: dict[str, Any], new: dict[str, Any], rules: MergeRules) -> Comparison:
    """Compare two objects."""
    changed, removed = _compare(old, new, rules, ())
    return Comparison(changed or {}, removed or {})


_Nodes = tuple[Tree | None, Tree | None]


def _compare(old: Any, new: Any, rules: MergeRules, path: FieldPath) -> _Nodes:
    """Compare values that differ, of which one may be absent: null is of the type of the other."""
    rule = rules(path)
    if isinstance(old, dict) and isinstance(new, dict) and not is_atomic(rule):
        trees: tuple[Tree, Tree] = ({}, {})
        for element, (come, gone) in _different_members(old, new, rules, path):
            if come is not None:
                trees[0][element] = come
            if gone is not None:
                trees[1][element] = gone
        return trees[0] or None, trees[1] or None
    sides = (old, new)
    differences: list[tuple[str, _Nodes]] | None = None
    if not is_atomic(rule) and any(isinstance(side, dict) and side for side in sides):
        before, after = (side if isinstance(side, dict) else {} for side in sides)
        differences = [*_different_members(before, after, rules, path)]
    elif rule is not None and is_merged(rule) and any(isinstance(side, list) and side for side in sides):
        differences = [*_different_items(_by_element(old, rule), _by_element(new, rule), rule, rules, path)]
    changed = {element: come for element, (come, _) in differences or () if come is not None}
    removed = {element: gone for element, (_, gone) in differences or () if gone is not None}
    # Of two types, the one without members is one field, whose value differs.
    leaf = differences is None or any(_is_leaf(side, rule) for side in sides)
    return (
        node_of(changed, member=old is _ABSENT or (leaf and new is not _ABSENT)),
        node_of(removed, member=new is _ABSENT),
    )


def _is_leaf(value: Any, rule: MergeRule | None) -> bool:
    if isinstance(value, dict):
        return is_atomic(rule)
    return not is_merged(rule) if isinstance(value, list) else value is not None and value is not _ABSENT


def _different_members(
    before: dict[str, Any], after: dict[str, Any], rules: MergeRules, path: FieldPath
) -> Iterator[tuple[str, _Nodes]]:
    for name in {**after, **before}:
        was, now = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if was is not now and not same(was, now):
            nested = isinstance(was, _NESTED) or isinstance(now, _NESTED)
            yield f"f:{name}", _compare(was, now, rules, (*path, name)) if nested else _leaf(now)


def _leaf(new: Any) -> _Nodes:
    return (None, {}) if new is _ABSENT else ({}, None)


def _different_items(
    before: _Items, after: _Items, rule: MergeRule, rules: MergeRules, path: FieldPath
) -> Iterator[tuple[str, _Nodes]]:
    leaves = has_leaf_items(rule)
    for element in {**after, **before}:
        was, now = before.get(element, []), after.get(element, [])
        if not same(was, now):
            yield element, _compare_items(was, now, rules, path, leaves=leaves)


def _compare_items(was: list[Any], now: list[Any], rules: MergeRules, path: FieldPath, *, leaves: bool) -> _Nodes:
    """Compare the items of one element; duplicates are one field, whose members have no owners."""
    if len(was) > 1 and len(now) > 1:
        return {}, None
    old, new = (side[0] if len(side) == 1 else _ABSENT for side in (was, now))
    nested = not leaves and (isinstance(old, dict) or isinstance(new, dict))
    come, gone = _compare(old, new, rules, path) if nested else _leaf(new)
    if len(was) > 1:
        return come, {}
    return ({}, gone if was else None) if len(now) > 1 else (come, gone)
