"""Sets of fields in the form of managedFields (FieldsV1).

A set is a tree: `{"f:spec": {"f:replicas": {}}}` contains the path `spec.replicas`; a node contains its own path if it
is empty or has a "." member. Items of lists that merge by key are `k:{...}`, members of sets are `v:...`; other lists
and atomic maps are one field. Functions never change their arguments: results share unchanged branches.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from clientgo.meta.apply.mergerules import FieldPath, MergeRule, MergeRules
from clientgo.meta.jsonvalues import canonical, html_escaped

Tree = dict[str, Any]

_decode = msgspec.json.Decoder().decode
_KINDS = "fkvi"
"""Kinds of elements in their order: fields, keys, values, and indexes, which only clients may send."""


def contains(tree: Tree, path: FieldPath) -> bool:
    """Report whether the set contains exactly this path."""
    for element in path:
        if element not in tree:
            return False
        tree = tree[element]
    return is_member(tree)


def paths(tree: Tree, prefix: FieldPath = ()) -> Iterator[FieldPath]:
    """Iterate over all paths of the set in the order of structured-merge-diff: those of each node come first."""
    ordered = sorted(children_of(tree).items(), key=lambda child: _order(child[0]))
    yield from ((*prefix, element) for element, node in ordered if is_member(node))
    for element, node in ordered:
        if node:
            yield from paths(node, (*prefix, element))


@lru_cache(maxsize=4096)
def _order(element: str) -> tuple[Any, ...]:
    kind = _KINDS.find(element[0])
    if kind == 1:
        return (kind, *((name, _order_of_value(value)) for name, value in sorted(read_element(element).items())))
    return (kind, element if kind == 0 else _order_of_value(read_element(element)))


def _order_of_value(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    return (0, value) if isinstance(value, int | float) else (1, value) if isinstance(value, str) else (3, "")


def read_tree(value: Any) -> Tree:
    """Return a set of fields that a client sent in canonical form; elements of unknown kinds are left out.

    Raises:
        ValueError: it is not a set of fields.
    """
    if not isinstance(value, dict):
        raise ValueError(f"invalid set of fields {value!r:.100}: expected an object")
    tree: Tree = {}
    for element, node in value.items():
        if element == ".":
            tree["."] = {}
        elif element[1:2] != ":":
            raise ValueError(f'invalid element {element!r:.100} in a set of fields: expected ".", "f:", "k:" or "v:"')
        elif element[0] in _KINDS:
            tree[_read(element)] = read_tree(node)
    return {} if len(tree) == 1 and "." in tree else tree


def _read(element: str) -> str:
    if element[0] == "f":
        return element
    if element[0] == "i":
        return f"i:{int(element[2:])}"
    try:
        value = read_element(element)
    except msgspec.DecodeError as error:
        raise ValueError(f"invalid element {element!r:.100} in a set of fields: {error}") from error
    if element[0] == "k" and not isinstance(value, dict):
        raise ValueError(f"invalid key {element!r:.100} in a set of fields: expected an object")
    return element[:2] + html_escaped(canonical(value)).decode()


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
            children = union(children_of(existing), children_of(node))
            merged[element] = node_of(children, member=is_member(existing) or is_member(node))
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
            member = is_member(node) and is_member(also)
            shared = node_of(intersection(node, also), member=member)
            if shared is not None:
                common[element] = shared
    return common


def with_named_fields(tree: Tree, rules: MergeRules, path: FieldPath = ()) -> Tree:
    """Return the set with every declared field above its paths; items and entries of maps are members or not."""
    rule = rules(path)
    named: Tree = {}
    for element, node in tree.items():
        if node:
            field = element[:2] == "f:"
            below = with_named_fields(node, rules, (*path, element[2:]) if field else path)
            node = {".": {}, **below} if field and not is_entry(element[2:], rule) else below
        named[element] = node
    return named


def with_atomic_fields(tree: Tree, rules: MergeRules, path: FieldPath = ()) -> Tree:
    """Return the set with the paths below atomic fields replaced by these; the same object if there are none.

    A set has such paths if the field was not atomic when the set was written.
    """
    changed: Tree = {}
    for element, node in tree.items():
        if node:
            field_path = (*path, element[2:]) if element[:2] == "f:" else path
            is_one_field = _is_whole(element, node, rules(field_path))
            below = {} if is_one_field else with_atomic_fields(node, rules, field_path)
            if below is not node:
                changed[element] = below
    return {**tree, **changed} if changed else tree


def _is_whole(element: str, node: Tree, rule: MergeRule | None) -> bool:
    if element[:2] != "f:":
        return rule is not None and rule.atomic_items
    return is_atomic(rule) or (not is_merged(rule) and any(child[:2] in ("k:", "v:") for child in node))


def tree_of(path: Iterable[str]) -> Tree:
    """Return the set of one path."""
    tree: Tree = {}
    for element in reversed([*path]):
        tree = {element: tree}
    return tree


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
            text += f"[={element[2:]}]" if element.startswith("v:") else f"[{element[2:]}]"
    return text


def is_member(node: Tree) -> bool:
    """Report whether a node contains its own path."""
    return not node or "." in node


def children_of(node: Tree) -> Tree:
    """Return the paths below a node."""
    return {element: child for element, child in node.items() if element != "."} if "." in node else node


def node_of(children: Tree, *, member: bool) -> Tree | None:
    """Return a node with these children that contains its own path or not; None if it contains nothing."""
    if not member:
        return children or None
    return {".": {}, **children} if children else {}


def _without(node: Tree, gone: Tree) -> Tree | None:
    member = is_member(node)
    stays = member and not is_member(gone)
    children = children_of(node)
    remaining = difference(children, children_of(gone))
    return node if stays == member and remaining is children else node_of(remaining, member=stays)


def is_atomic(rule: MergeRule | None) -> bool:
    """Report whether a map is one field."""
    return rule is not None and rule.list_type == "atomic"


def is_merged(rule: MergeRule | None) -> bool:
    """Report whether the items of a list are fields."""
    return rule is not None and rule.list_type in ("map", "set")


def has_leaf_items(rule: MergeRule | None) -> bool:
    """Report whether an item is one field, whose members have no owners."""
    return rule is not None and (rule.list_type == "set" or rule.atomic_items)


def is_entry(field: str, rule: MergeRule | None) -> bool:
    """Report whether a member of a map is an entry, not a declared field."""
    return rule is not None and rule.declared is not None and field not in rule.declared
