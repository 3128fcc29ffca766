"""Strategic merge patch: lists of built-in kinds merge by key, and `$patch` directives say what merging cannot.

Directives: `$patch: replace|delete` in a map or a list item, `$retainKeys`, `$deleteFromPrimitiveList/<field>` and
`$setElementOrder/<field>`. They are obeyed in the server's order: that of the whole map, the keys to retain, ordered
lists, and then the other fields; in a list deletions, replacement, and then the items to merge. What the target lacks
is not merged but taken, without the parts that have a `$patch`.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from clientgo.meta.apply.mergerules import FieldPath, MergeRule, MergeRules
from clientgo.meta.jsonvalues import Json
from clientgo.meta.patches import PatchError
from clientgo_apiserver.merging.mergelists import (
    DIRECTIVE,
    InvalidDirective,
    Places,
    UnmergeablePatch,
    check_order,
    in_order,
    item_type,
    merge_scalars,
    mistyped,
    name_of,
    obey_directives,
    type_of,
    unknown_directive,
    without_scalars,
)

Object = dict[str, Any]
FieldCheck = Callable[[FieldPath, type], None]
"""Check that a kind has a field that merges as a dict or a list; raises UnmergeablePatch."""

MAX_COMPARED_ITEMS = 500_000
"""Total length of the lists that a patch may merge."""

_RETAIN = "$retainKeys"
_DELETE = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"
_NO_RULE = MergeRule()
_ABSENT: Any = object()


def apply(target: Object, patch: Object, rules: MergeRules) -> Object:
    """Return `target` with the patch merged in by the merge rules of its kind.

    Raises:
        PatchError: a directive is malformed, or the patch does not fit the rules or the target.
    """
    return Merger(rules).merge(target, deepcopy(patch))


def _any_field(path: FieldPath, kind: type) -> None:
    """Accept every field."""


class Merger:
    """Merging of patches into objects of one kind.

    A patch is consumed: directives that were obeyed, and lists that were merged in order, are removed from it. This is
    how a server shows the patch in later errors.
    """

    def __init__(
        self, rules: MergeRules, check: FieldCheck = _any_field, *, max_items: int = MAX_COMPARED_ITEMS
    ) -> None:
        self._rules = rules
        self._check = check
        self._max_items = max_items
        self._compared_items = 0
        # Maps that belong to the result alone, by id. They are kept, so that no id is used again.
        self._private: dict[int, Object] = {}

    def merge(self, target: Object, patch: Object, path: FieldPath = ()) -> Object:
        """Return the map `target` at this path with the patch merged in.

        Raises:
            PatchError: a directive is malformed, or the patch does not fit the rules or the target.
        """
        if DIRECTIVE in patch:
            return _replacement(patch)
        merged = self._own(target)
        _retain_keys(merged, patch)
        for directive in [name for name in patch if name.startswith(_ORDER)]:
            self._merge_in_order(merged, patch, directive, path)
        # A server takes the fields in any order; that of the document is its most frequent one.
        for name, value in patch.items():
            deletes = name.startswith(_DELETE)
            field = (_field_of(name, _DELETE, "primitive list") or name) if deletes else name
            self._merge_field(merged, value, (*path, field), deletes=deletes)
        return merged

    def _merge_field(self, merged: Object, value: Json, path: FieldPath, *, deletes: bool) -> None:
        field = path[-1]
        current = merged.get(field, _ABSENT)
        if value is None:
            merged.pop(field, None)
        elif type_of(current) is not type_of(value):
            if not deletes:
                _drop_nulls(value)
                if _has_directive(value):
                    merged.pop(field, None)
                else:
                    merged[field] = _without_directives(value)
        elif isinstance(value, dict):
            self._check(path, dict)
            merged[field] = value if self._rule(path).replace else self.merge(current, value, path)
        elif isinstance(value, list):
            self._check(path, list)
            merged[field], _ = self._merge_list(current, value, path, deletes=deletes)
        else:
            merged[field] = value

    def _own(self, target: Object) -> Object:
        """Return a map that may be changed: a copy, unless this one is already private."""
        if id(target) in self._private:
            return target
        copy = dict(target)
        self._private[id(copy)] = copy
        return copy

    def _rule(self, path: FieldPath) -> MergeRule:
        return self._rules(path) or _NO_RULE

    def _merge_list(
        self, current: list[Json], items: list[Json], path: FieldPath, *, deletes: bool = False
    ) -> tuple[list[Json], list[Json]]:
        """Return the merged list, and the list whose order decides about items that the patch does not order."""
        rule = self._rule(path)
        if not (rule.merge or deletes):
            return items, current
        if not current and not items:
            return current, current
        self._compared_items += len(current) + len(items)
        if self._compared_items > self._max_items:  # many items of one name, each with an item for the same long list
            raise PatchError(f"the patch merges lists of more than {self._max_items} items")
        if item_type(current, items) is not dict:
            return (without_scalars if deletes else merge_scalars)(current, items), current
        key = rule.patch_key
        if not key:
            raise UnmergeablePatch("cannot merge lists without merge key for struct")
        remaining, plain, replaced = obey_directives(current, items, key)
        merged = self._merge_items(remaining, plain, key, path)
        # As in the server's memory, new items take the places of deleted ones.
        before = merged[: len(current)] if replaced is None else replaced
        return in_order(merged, plain, remaining, key, (current, items)), before

    def _merge_items(self, remaining: list[Object], items: list[Object], key: str, path: FieldPath) -> list[Object]:
        merged, places = list(remaining), Places(remaining, key)
        for item in items:
            name_of(item, key)
            position = places.find(item)
            if position is None:
                places.append(item)
                merged.append(item)
                self._private[id(item)] = item
            else:
                merged[position] = self.merge(merged[position], item, path)
        return merged

    def _merge_in_order(self, merged: Object, patch: Object, directive: str, path: FieldPath) -> None:
        """Merge the list that a `$setElementOrder` is for, and remove both from the patch."""
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise mistyped([], order)
        field = _field_of(directive, _ORDER, "setElementOrder list")
        present = [value for each in (merged, patch) if (value := each.get(field, _ABSENT)) is not _ABSENT]
        for value in present:
            if not isinstance(value, list):
                raise mistyped([], value)
        path = (*path, field)
        self._check(path, list)
        key = self._rule(path).patch_key
        check_order(patch.get(field, []), order, key)
        if not present:
            return
        before = merged.get(field, [])
        if field not in patch:
            result = before
        elif field not in merged:
            result = _without_directives(patch[field])
        else:
            result, before = self._merge_list(before, patch[field], path)
        merged[field] = in_order(result, order, before, key, (merged.get(field, []), patch.get(field, [])))
        patch.pop(field, None)


def _replacement(patch: Object) -> Object:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        del patch[DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise unknown_directive(patch)


def _retain_keys(merged: Object, patch: Object) -> None:
    """Obey `$retainKeys`: remove the fields that it does not list."""
    if _RETAIN not in patch:
        return
    keys = patch.pop(_RETAIN)
    sets = [name for name, value in patch.items() if value is not None and not name.startswith((_DELETE, _ORDER))]
    if not isinstance(keys, list) or any(isinstance(key, dict | list) for key in keys):
        raise InvalidDirective("invalid patch format of retainKeys")
    retained = {key for key in keys if isinstance(key, str)}
    if not retained.issuperset(sets):
        raise InvalidDirective("invalid patch format of retainKeys")
    for name in merged.keys() - retained:
        del merged[name]


def _field_of(directive: str, prefix: str, what: str) -> str:
    """Return the field that a directive is for."""
    head, slash, field = directive.partition("/")
    if head != prefix or not slash:
        raise InvalidDirective(f"invalid patch format of {what}")
    return field


def _drop_nulls(value: Json) -> None:
    """Remove members that are null from all maps of a value."""
    if isinstance(value, dict):
        for name in [name for name, child in value.items() if child is None]:
            del value[name]
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _drop_nulls(child)


def _without_directives(value: Json) -> Json:
    """Return a value without the maps that have a `$patch`; members of maps are removed from the value itself."""
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _has_directive(item)]
    if isinstance(value, dict):
        for name, child in [*value.items()]:
            if _has_directive(child):
                del value[name]
            else:
                value[name] = _without_directives(child)
    return value


def _has_directive(value: Json) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value
