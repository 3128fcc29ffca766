"""Strategic merge patch: lists of built-in kinds merge by key, and `$patch` directives say what merging cannot.

Directives: `$patch: replace|delete|merge` in a map or a list item, `$retainKeys`, `$deleteFromPrimitiveList/<field>`
and `$setElementOrder/<field>`.
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

from clientgo.meta.apply.fieldsets import FieldPath, MergeRules
from clientgo.meta.apply.mergerules import MergeRule
from clientgo.meta.jsonvalues import canonical
from clientgo.meta.patches import PatchError, UnmergeablePatch

_DELETE = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_DELETED: Any = object()


def apply(target: Any, patch: Any, rules: MergeRules, path: FieldPath = ()) -> Any:
    """Return `target` with the patch merged in by the merge rules of its kind.

    Raises:
        PatchError: a directive is unknown or a list item lacks its merge key.
    """
    if not isinstance(patch, dict):
        return patch
    directive = patch.get("$patch")
    if directive == "replace":
        return {field: value for field, value in patch.items() if field != "$patch"}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise UnmergeablePatch("unknown patch type: {} in map: {}", directive, patch)
    merged = dict(target) if isinstance(target, dict) else {}
    retained = patch.get("$retainKeys")
    if retained is not None:
        _check_list(retained, "retainKeys")
        merged = {field: value for field, value in merged.items() if field in retained}
    _remove_primitives(merged, patch)
    for field, value in patch.items():
        if field.startswith("$"):
            continue
        if value is None:
            merged.pop(field, None)
        else:
            merged[field] = _member(merged.get(field), value, rules, (*path, field))
    _order_members(merged, patch, target if isinstance(target, dict) else {}, (rules, path))
    return merged


def _member(target: Any, value: Any, rules: MergeRules, path: FieldPath) -> Any:
    if isinstance(value, list):
        rule = rules(path)
        if rule is None or not rule.merge or not isinstance(target, list):
            return _plain(value)
        return _merge_list(target, value, rule, (rules, path))
    return apply(target, value, rules, path)


def _merge_list(
    target: list[Any], patch: list[Any], rule: MergeRule, position: tuple[MergeRules, FieldPath]
) -> list[Any]:
    if not rule.patch_key:
        present = set(map(canonical, target))
        return _ordered([*target, *(value for value in patch if canonical(value) not in present)], patch, target)
    if any(isinstance(item, dict) and item.get("$patch") == "replace" and len(item) == 1 for item in patch):
        return [_plain(item) for item in patch if item.get("$patch") != "replace"]
    key, merged = rule.patch_key, list(target)
    places = defaultdict[bytes, deque[int]](deque)  # of the items with each key
    for at, name in enumerate(_names(merged, key)):
        places[canonical(name)].append(at)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise UnmergeablePatch("map: {} does not contain declared merge key: {}", item, key)
        index = places[canonical(item[key])]
        if item.get("$patch") == "delete":
            if index:
                merged[index.popleft()] = _DELETED
        elif not index:
            index.append(len(merged))
            merged.append(apply({}, item, *position))
        else:
            merged[index[0]] = apply(merged[index[0]], item, *position)
    remaining = [item for item in merged if item is not _DELETED]
    return _ordered(remaining, _names(patch, key), _names(target, key), key)


def _remove_primitives(merged: dict[str, Any], patch: dict[str, Any]) -> None:
    for field, values in patch.items():
        if field.startswith(_DELETE):
            _check_list(values, "primitive list")
            name = field[len(_DELETE) :]
            removed = set(map(canonical, values))
            merged[name] = [value for value in merged.get(name) or () if canonical(value) not in removed]


def _order_members(
    merged: dict[str, Any], patch: dict[str, Any], target: dict[str, Any], position: tuple[MergeRules, FieldPath]
) -> None:
    rules, path = position
    for field, order in patch.items():
        if not field.startswith(_ORDER) or not isinstance(merged.get(field[len(_ORDER) :]), list):
            continue
        _check_list(order, "setElementOrder list")
        name = field[len(_ORDER) :]
        rule = rules((*path, name))
        key = rule.patch_key if rule is not None else ""
        _check_order(patch.get(name), order, key)
        merged[name] = _ordered(merged[name], _names(order, key), _names(target.get(name) or (), key), key)


def _check_order(items: Any, order: list[Any], key: str) -> None:
    """Check that the items of a patch occur in the order that it gives for its list."""
    present = [item for item in items or () if not (isinstance(item, dict) and item.get("$patch") == "delete")]
    ordered = map(canonical, _names(order, key))
    if not all(canonical(name) in ordered for name in _names(present, key)):
        template = "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n"
        raise UnmergeablePatch(template, present, order)


def _names(items: Iterable[Any], key: str) -> list[Any]:
    return [item.get(key) if isinstance(item, dict) else item for item in items]


def _ordered(items: list[Any], order: list[Any], before: list[Any], key: str = "") -> list[Any]:
    """Sort items as listed; others come behind a listed one unless they were `before` it in the target."""
    places, earlier = _places(order), _places(before)
    named = [(canonical(name), item) for name, item in zip(_names(items, key), items, strict=True)]
    listed = deque(sorted((pair for pair in named if pair[0] in places), key=lambda pair: places[pair[0]]))
    unordered = deque(pair for pair in named if pair[0] not in places)
    result = []
    while listed and unordered:
        first, second = unordered[0][0], listed[0][0]
        ahead = first in earlier and second in earlier and earlier[first] < earlier[second]
        result.append((unordered if ahead else listed).popleft())
    return [item for _, item in (*result, *listed, *unordered)]


def _places(values: list[Any]) -> dict[bytes, int]:
    """Return the position of the first of each value."""
    return {canonical(value): index for index, value in reversed([*enumerate(values)])}


def _check_list(value: Any, what: str) -> None:
    if not isinstance(value, list):
        raise PatchError(f"invalid patch format of {what}")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            field: _plain(child) for field, child in value.items() if not field.startswith("$") and child is not None
        }
    if isinstance(value, list):
        return [_plain(item) for item in value if not (isinstance(item, dict) and "$patch" in item)]
    return value
