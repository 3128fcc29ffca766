"""Sets of fields in the form of managedFields (FieldsV1), and the difference of two objects as such sets.

A set is a tree: `{"f:spec": {"f:replicas": {}}}` contains the path `spec.replicas`; a node contains its own path if it
is empty or has a "." member. Items of lists that merge by key are `k:{...}`, members of sets are `v:...`; other lists
are one field. Trees are immutable: `add` and `remove` return new ones that share unchanged branches.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from clientgo.meta.apply.mergerules import MergeRule

Tree = dict[str, Any]
FieldPath = tuple[str, ...]
MergeRules = Callable[[FieldPath], MergeRule | None]

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode
# Keys with a default in Kubernetes' schemas, which items may omit.
_KEY_DEFAULTS = {"protocol": "TCP"}
_NESTED = (dict, list)
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
    return not tree or "." in tree


def add(tree: Tree, path: FieldPath) -> Tree:
    """Return the set with this path added."""
    if not path:
        return {**tree, ".": {}} if tree and "." not in tree else tree
    child = tree.get(path[0])
    if child is None:
        return {**tree, path[0]: _chain(path[1:])}
    if not child and len(path) > 1:
        child = {".": {}}
    return {**tree, path[0]: add(child, path[1:])}


def remove(tree: Tree, path: FieldPath) -> Tree:
    """Return the set without this path and the branches that become empty."""
    child = tree.get(path[0])
    if child is None:
        return tree
    rest = {element: node for element, node in tree.items() if element != path[0]}
    if len(path) == 1:
        kept = {element: node for element, node in child.items() if element != "."}
        return {**rest, path[0]: kept} if kept else rest
    smaller = remove(child, path[1:])
    if smaller is child:
        return tree
    return {**rest, path[0]: smaller} if smaller else rest


def paths(tree: Tree, prefix: FieldPath = ()) -> Iterator[FieldPath]:
    """Iterate over all paths of the set."""
    for element, node in tree.items():
        if element == ".":
            yield prefix
        elif not node:
            yield (*prefix, element)
        else:
            yield from paths(node, (*prefix, element))


def tree_of(found: Iterable[FieldPath]) -> Tree:
    """Return the set of these paths."""
    tree: Tree = {}
    for path in found:
        _insert(tree, path)
    return tree


def is_tree(value: Any) -> bool:
    """Report whether a value from a client is a valid set of fields."""
    return isinstance(value, dict) and all(is_tree(child) for child in value.values())


def managed(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object without the fields that no manager owns."""
    kept = {field: value for field, value in obj.items() if field not in ("apiVersion", "kind", "metadata")}
    meta = {field: value for field, value in obj.get("metadata", {}).items() if field not in _UNMANAGED_META}
    return {**kept, "metadata": meta} if meta else kept


def fields_of(value: Any, rules: MergeRules, where: FieldPath = (), prefix: FieldPath = ()) -> Iterator[FieldPath]:
    """Iterate over the paths of all fields of a value, which is at `where` by field names and `prefix` by elements."""
    rule = rules(where)
    if isinstance(value, dict) and value and not _atomic(rule):
        for field, child in value.items():
            yield from fields_of(child, rules, (*where, field), (*prefix, f"f:{field}"))
    elif isinstance(value, list) and value and rule is not None and rule.list_type in ("map", "set"):
        for element, item in items(value, rule):
            path = (*prefix, element)
            yield path
            if rule.list_type == "map":
                yield from fields_of(item, rules, where, path)
    elif prefix:
        yield prefix


def all_of(obj: dict[str, Any], rules: MergeRules) -> Tree:
    """Return the set of all fields of a new object.

    It equals `tree_of` the changes of a `Difference` from nothing, but takes one pass: most writes create an object.
    """
    tree: Tree = {}
    if not _atomic(rules(())):
        for field, child in obj.items():
            node = tree[f"f:{field}"] = {}
            _grow(node, child, rules, (field,), held=isinstance(child, dict))
    return tree


class Difference:
    """The difference of two objects: paths of added or modified fields (`changed`) and of removed fields."""

    __slots__ = ("_rules", "changed", "removed")

    def __init__(self, old: Any, new: Any, rules: MergeRules) -> None:
        self.changed: list[FieldPath] = []
        self.removed: list[FieldPath] = []
        self._rules = rules
        self._compare(old, new, (), ())

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)

    def _compare(self, old: Any, new: Any, where: FieldPath, prefix: FieldPath) -> None:
        if old is new or old == new:
            return
        rule = self._rules(where)
        if isinstance(old, dict) and isinstance(new, dict) and not _atomic(rule):
            self._members(
                [(f"f:{field}", (*where, field), child) for field, child in old.items()],
                [(f"f:{field}", (*where, field), child) for field, child in new.items()],
                prefix,
            )
        elif isinstance(old, list) and isinstance(new, list) and rule and rule.list_type in ("map", "set"):
            self._members(
                [(element, where, item) for element, item in items(old, rule)],
                [(element, where, item) for element, item in items(new, rule)],
                prefix,
            )
        else:
            self._replaced(old, new, where, prefix)

    def _members(
        self, old: list[tuple[str, FieldPath, Any]], new: list[tuple[str, FieldPath, Any]], prefix: FieldPath
    ) -> None:
        before = {element: child for element, _, child in old}
        after = {element for element, _, _ in new}
        for element, where, child in new:
            path = (*prefix, element)
            if element in before:
                self._compare(before[element], child, where, path)
            else:
                self.changed += self._all(child, where, path)
        for element, where, child in old:
            if element not in after:
                self.removed += self._all(child, where, (*prefix, element))

    def _replaced(self, old: Any, new: Any, where: FieldPath, prefix: FieldPath) -> None:
        gone, come = set(self._all(old, where, prefix)), self._all(new, where, prefix)
        self.changed += come
        self.removed += sorted(gone - set(come))

    def _all(self, value: Any, where: FieldPath, prefix: FieldPath) -> list[FieldPath]:
        own = [prefix] if isinstance(value, dict) and value and not _atomic(self._rules(where)) else []
        return [*own, *(path for path in fields_of(value, self._rules, where, prefix) if path not in own)]


def items(values: list[Any], rule: MergeRule) -> list[tuple[str, Any]]:
    """Return the items of a list that merges, each with its element: `k:{...}` or `v:...`."""
    if rule.list_type == "set":
        return [("v:" + _encode(value).decode(), value) for value in values]
    found = []
    for item in values:
        members = item if isinstance(item, dict) else {}
        key = {name: members.get(name, _KEY_DEFAULTS.get(name)) for name in rule.map_keys or (rule.patch_key,)}
        key = {name: value for name, value in key.items() if value is not None}
        found.append(("k:" + _encode(key).decode(), item))
    return found


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
            text += "[" + ",".join(f"{k}={_encode(v).decode()}" for k, v in read_element(element).items()) + "]"
        else:
            text += f"[={element[2:]}]"
    return text


def _atomic(rule: MergeRule | None) -> bool:
    return rule is not None and rule.list_type == "atomic"


def _chain(path: FieldPath) -> Tree:
    tree: Tree = {}
    for element in reversed(path):
        tree = {element: tree}
    return tree


def _grow(node: Tree, value: Any, rules: MergeRules, where: FieldPath, *, held: bool) -> None:
    """Add all fields of a value below its node; with `held`, the set contains the node's own path as well."""
    if isinstance(value, dict):
        if value and not _atomic(rules(where)):
            if held and not node:
                node["."] = {}
            _grow_members(node, value, rules, where)
            return
    elif isinstance(value, list) and value:
        rule = rules(where)
        if rule is not None and rule.list_type in ("map", "set"):
            if held and not node:
                node["."] = {}
            for element, item in items(value, rule):
                inner = node.setdefault(element, {})
                if rule.list_type == "map":
                    _grow(inner, item, rules, where, held=True)
            return
    if node and "." not in node:
        node["."] = {}  # another item with the same key had fields here


def _grow_members(node: Tree, value: dict[str, Any], rules: MergeRules, where: FieldPath) -> None:
    for field, child in value.items():
        element = f"f:{field}"
        known = node.get(element)
        if known is not None:
            _grow(known, child, rules, (*where, field), held=True)
            continue
        inner = node[element] = {}
        if isinstance(child, _NESTED):
            _grow(inner, child, rules, (*where, field), held=False)


def _insert(tree: Tree, path: FieldPath) -> None:
    node = tree
    fresh = False
    for element in path:
        if not node and node is not tree and not fresh:
            node["."] = {}  # an empty node is a path; as a parent it needs a "."
        fresh = element not in node
        node = node.setdefault(element, {})
    if not fresh and node and "." not in node:
        node["."] = {}
