"""Removal of the fields that a manager applied before and does not apply any more, as in structured-merge-diff."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from clientgo.meta.apply.mergerules import FieldPath, MergeRules, items
from clientgo_apiserver.merging.comparison import field_set
from clientgo_apiserver.merging.fieldsets import (
    Tree,
    children_of,
    difference,
    intersection,
    is_atomic,
    is_member,
    is_merged,
    union,
    with_named_fields,
)

Object = dict[str, Any]


class VersionView(msgspec.Struct, frozen=True, eq=False):
    """One version of a kind: its merge rules, the conversion of an object to it, and the fields that writes ignore."""

    rules: MergeRules
    convert: Callable[[Object], Object]
    ignored: tuple[FieldPath, ...] = ()

    def named(self, tree: Tree) -> Tree:
        """Return a set of this version with every declared field above its paths."""
        return with_named_fields(tree, self.rules)

    def fields(self, obj: Object) -> Tree:
        """Return the set of all fields of an object of this version, with every declared field above them."""
        return self.named(field_set(obj, self.rules))

    def without(self, obj: Object, tree: Tree) -> Object:
        """Return an object of this version without these fields."""
        pruned: Object = without(obj, tree, self.rules)
        return pruned


def prune(merged: Object, last: Tree, at: VersionView, owned: Iterable[tuple[VersionView, Tree]]) -> Object:
    """Return the object, in the version `at`, without the fields of `last` that no longer have an owner.

    `owned` has the sets of all managers, by version; that of `at` comes first. An item of a list and an entry of a map
    has an owner only if a set contains its own path. A declared field has one if a set contains anything in it.
    """
    last = at.named(last)
    source, pruned = merged, at.without(merged, last)
    for view, tree in owned:
        source, pruned = view.convert(source), view.convert(pruned)
        owned_fields = union(view.fields(pruned), view.named(tree))
        pruned = view.without(source, difference(view.fields(source), owned_fields))
    remaining = at.fields(at.convert(pruned))
    # What the applier did not own stays.
    return at.without(merged, intersection(difference(at.fields(merged), remaining), last))


def without(value: Any, gone: Tree, rules: MergeRules, path: FieldPath = ()) -> Any:
    """Return the value without the fields of a set, in one pass; a container that becomes empty stays."""
    rule = rules(path)
    if isinstance(value, dict):
        if is_atomic(rule):
            return {}
        members = ((f"f:{field}", field, child) for field, child in value.items())
        return {
            field: without(child, children_of(gone[element]), rules, (*path, field)) if gone.get(element) else child
            for element, field, child in members
            if element not in gone or not is_member(gone[element])
        }
    if isinstance(value, list):
        if rule is None or not is_merged(rule):
            return []
        return [
            without(item, children_of(gone[element]), rules, path) if gone.get(element) else item
            for element, item in items(value, rule)
            if element not in gone or not is_member(gone[element])
        ]
    return value
