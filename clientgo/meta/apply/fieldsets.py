"""Sets of fields in the form of managedFields (FieldsV1), and the comparison of two objects as such sets.

A set is a tree: `{"f:spec": {"f:replicas": {}}}` contains the path `spec.replicas`; a node contains its own path if it
is empty or has a "." member. Items of lists that merge by key are `k:{...}`, members of sets are `v:...`; other lists
and atomic maps are one field. Functions never change their arguments: results share unchanged branches.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from clientgo.meta.apply.mergerules import MergeRule
from clientgo.meta.jsonvalues import canonical, html_escaped, same

Tree = dict[str, Any]
FieldPath = tuple[str, ...]
MergeRules = Callable[[FieldPath], MergeRule | None]

_decode = msgspec.json.Decoder().decode
_NESTED = (dict, list)
_ABSENT: Any = object()
# Fields that no manager owns: set by the server, or the object's name.
_UNMANAGED_META = frozenset(
    ("name", "namespace", "creationTimestamp", "selfLink", "uid", "resourceVersion", "generation", "managedFields")
)


def contains(tree: Tree, path: FieldPath) -> bool:
    """Report whether the set contains exactly this path."""
    for element in path:
        if element not in tree:
            return False
        tree = tree[element]
    return _is_member(tree)


def paths(tree: Tree, prefix: FieldPath = ()) -> Iterator[FieldPath]:
    """Iterate over all paths of the set."""
    for element, node in tree.items():
        if element == ".":
            yield prefix
        elif not node:
            yield (*prefix, element)
        else:
            yield from paths(node, (*prefix, element))


def is_tree(value: Any) -> bool:
    """Report whether a value from a client is a valid set of fields."""
    return isinstance(value, dict) and all(is_tree(child) for child in value.values())


def union(tree: Tree, other: Tree) -> Tree:
    """Return the set of the paths of both."""
    if not tree or not other:
        return tree or other
    merged = dict(tree)
    for element, node in other.items():
        existing = merged.get(element)
        if existing is None:
            merged[element] = node
        elif element != ".":
            children = union(_children(existing), _children(node))
            merged[element] = _node(children, member=_is_member(existing) or _is_member(node))
    return merged


def difference(tree: Tree, lost: Tree) -> Tree:
    """Return the set without the paths of `lost`; the same object if it contains none of them."""
    remaining: Tree = {}
    same = True
    for element, node in tree.items():
        gone = lost.get(element)
        remaining_node = node if gone is None or element == "." else _without(node, gone)
        same = same and remaining_node is node
        if remaining_node is not None:
            remaining[element] = remaining_node
    return tree if same else remaining


def intersection(tree: Tree, other: Tree) -> Tree:
    """Return the set of the paths that are in both."""
    common: Tree = {}
    for element, node in tree.items():
        if element in other and element != ".":
            also = other[element]
            member = _is_member(node) and _is_member(also)
            shared = _node(intersection(node, also), member=member)
            if shared is not None:
                common[element] = shared
    return common


def managed(obj: dict[str, Any], ignored: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the object without the fields that no manager owns and without `ignored` top-level fields."""
    managed_metadata = {
        field: value
        for field, value in obj.items()
        if field not in ("apiVersion", "kind", "metadata") and field not in ignored
    }
    if "metadata" not in ignored:
        metadata = obj.get("metadata") or {}
        # Always there, so that no manager owns the field itself.
        managed_metadata["metadata"] = {
            field: value for field, value in metadata.items() if field not in _UNMANAGED_META
        }
    return managed_metadata


def field_set(value: Any, rules: MergeRules) -> Tree:
    """Return the set of fields of an applied configuration: leaves, items of lists, and entries of maps."""
    return _node_of(value, rules, ()) or {}


def _node_of(value: Any, rules: MergeRules, path: FieldPath) -> Tree | None:
    if not isinstance(value, _NESTED):
        return {}
    rule = rules(path)
    if isinstance(value, dict) and value and not _atomic(rule):
        members = (
            (f"f:{name}", _node_of(child, rules, (*path, name)), _is_entry(name, rule)) for name, child in value.items()
        )
    elif isinstance(value, list) and rule is not None and _merges(rule):
        children, leaves = _children_by_element(value, rule, in_map=False), _leaf_items(rule)
        members = (
            (element, {} if leaves or not isinstance(item, dict) else _node_of(item, rules, path), True)
            for element, item in children.items()
        )
    else:
        return {}
    nodes = (
        (element, _node(_children(node or {}), member=is_member or node == {})) for element, node, is_member in members
    )
    return {element: node for element, node in nodes if node is not None} or None


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
        children = _added_members(zero, value, rules, path) if value and not _atomic(rule) else None
    else:
        children = _added_items(value, rule, rules, path) if rule is not None and _merges(rule) else None
    if children is None:
        return {}
    return {".": {}, **children} if zero is _ABSENT else children or None


def _added_items(values: list[Any], rule: MergeRule, rules: MergeRules, path: FieldPath) -> Tree:
    tree: Tree = {}
    leaves = _leaf_items(rule)
    for element, item in items(values, rule):
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
    for kind in _NESTED:
        if (isinstance(old, kind) and old) or (isinstance(new, kind) and new):
            rule = rules(path)
            if not _atomic(rule) if kind is dict else _merges(rule):
                return _compare_parts(old, new, rule, rules, path)
    return _leaf(new)


def _leaf(new: Any) -> _Nodes:
    return (None, {}) if new is _ABSENT else ({}, None)


def _compare_parts(old: Any, new: Any, rule: MergeRule | None, rules: MergeRules, path: FieldPath) -> _Nodes:
    in_map = any(isinstance(side, dict) and side for side in (old, new))
    before, after = _children_by_element(old, rule, in_map=in_map), _children_by_element(new, rule, in_map=in_map)
    nested = _NESTED if in_map else () if _leaf_items(rule) else (dict,)
    changed: Tree = {}
    removed: Tree = {}
    for name in {**after, **before}:
        was, child = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if was is child or same(was, child):
            continue
        if isinstance(child, nested) or isinstance(was, nested):
            come, gone = _compare(was, child, rules, (*path, name) if in_map else path)
        else:
            come, gone = _leaf(child)
        element = f"f:{name}" if in_map else name
        if come is not None:
            changed[element] = come
        if gone is not None:
            removed[element] = gone
    mixed = _is_scalar(old) or _is_scalar(new)
    return _node(changed, member=old is _ABSENT or mixed), _node(removed, member=new is _ABSENT)


def _children_by_element(value: Any, rule: MergeRule | None, *, in_map: bool) -> dict[str, Any]:
    """Return the members of a map by name, or the items of a list that merges by element: duplicates as a tuple."""
    if in_map:
        return value if isinstance(value, dict) else {}
    by_element: dict[str, Any] = {}
    if isinstance(value, list) and rule is not None:
        for element, item in items(value, rule):
            by_element[element] = (by_element[element], item) if element in by_element else item
    return by_element


def items(values: list[Any], rule: MergeRule) -> list[tuple[str, Any]]:
    """Return the items of a list that merges, each with its element: `k:{...}` or `v:...`."""
    if rule.list_type == "set":
        return [("v:" + html_escaped(canonical(value)).decode(), value) for value in values]
    pairs = []
    defaults = dict(rule.key_defaults)
    for item in values:
        members = item if isinstance(item, dict) else {}
        key = {name: members.get(name) for name in rule.map_keys or (rule.patch_key,)}
        key = {name: defaults.get(name) if value is None else value for name, value in key.items()}
        key = {name: value for name, value in key.items() if value is not None}
        pairs.append(("k:" + html_escaped(canonical(key)).decode(), item))
    return pairs


def read_element(element: str) -> Any:
    """Decode a `k:` or `v:` element: the keys, or the value."""
    return _decode(element[2:].encode())


def show(path: FieldPath) -> str:
    """Return a path in the notation of conflicts: `.spec.containers[name="nginx"].image`."""
    text = ""
    for element in path:
        if element.startswith("f:"):
            text += "." + element[2:]
        elif element.startswith("k:"):
            text += "[" + ",".join(f"{k}={canonical(v).decode()}" for k, v in read_element(element).items()) + "]"
        else:
            text += f"[={element[2:]}]"
    return text


def _is_member(node: Tree) -> bool:
    return not node or "." in node


def _children(node: Tree) -> Tree:
    return {element: child for element, child in node.items() if element != "."} if "." in node else node


def _node(children: Tree, *, member: bool) -> Tree | None:
    """Return a node with these children that contains its own path or not; None if it contains nothing."""
    if not member:
        return children or None
    return {".": {}, **children} if children else {}


def _without(node: Tree, gone: Tree) -> Tree | None:
    member = _is_member(node)
    stays = member and not _is_member(gone)
    children = _children(node)
    remaining = difference(children, _children(gone))
    return node if stays == member and remaining is children else _node(remaining, member=stays)


def _atomic(rule: MergeRule | None) -> bool:
    return rule is not None and rule.list_type == "atomic"


def _merges(rule: MergeRule | None) -> bool:
    return rule is not None and rule.list_type in ("map", "set")


def _leaf_items(rule: MergeRule | None) -> bool:
    return rule is not None and (rule.list_type == "set" or rule.atomic_items)


def _is_entry(field: str, rule: MergeRule | None) -> bool:
    """Report whether a member is an entry of a map, which is a field even if it has members."""
    return rule is not None and rule.declared is not None and field not in rule.declared


def _is_scalar(value: Any) -> bool:
    return value is not None and value is not _ABSENT and not isinstance(value, _NESTED)
