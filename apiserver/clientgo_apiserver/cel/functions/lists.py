"""Functions of CEL on lists, sets, maps and optional values."""

from collections.abc import Callable
from datetime import timedelta
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from clientgo_apiserver.cel.functions.operators import OPERATORS
from clientgo_apiserver.cel.functions.strings import text_index, text_last_index
from clientgo_apiserver.cel.values import NONE, CelError, OptionalValue, contains, equal, kind_of, less


def _compare(first: Any, second: Any) -> int:
    return -1 if less(first, second) else int(less(second, first))


_KEY = cmp_to_key(_compare)


def _sum(items: list[Any]) -> Any:
    total = items[0] if items else 0
    for item in items[1:]:
        total = OPERATORS["_+_"](total, item)
    return total


def _extreme(name: str, pick: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    def run(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        return pick(items, key=_KEY)

    return run


def _index_of(value: Any, target: Any, *offset: int) -> int:
    if isinstance(value, str):
        return text_index(value, target, *offset)
    return next((index for index, item in enumerate(value) if equal(item, target)), -1)


def _includes(value: Any, target: Any) -> bool:
    return contains(value, target) if isinstance(value, list) else equal(value, target)


def _last_index_of(value: Any, target: Any, *offset: int) -> int:
    if isinstance(value, str):
        return text_last_index(value, target, *offset)
    return max((index for index, item in enumerate(value) if equal(item, target)), default=-1)


def _distinct(items: list[Any]) -> list[Any]:
    distinct: list[Any] = []
    distinct.extend(item for item in items if not contains(distinct, item))
    return distinct


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        flat += _flatten(item, depth - 1) if isinstance(item, list) and depth else [item]
    return flat


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    message = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise CelError(f"{message}negative indexes not supported")
    if start > end:
        raise CelError(f"{message}start index must be less than or equal to end index")
    if end > len(items):
        raise CelError(f"{message}list is length {len(items)}")
    return items[start:end]


def _sorted_by(items: list[Any], keys: list[Any]) -> list[Any]:
    if len({kind_of(key) for key in keys}) > 1:
        raise CelError("list elements must have the same type")
    order = sorted(range(len(items)), key=lambda index: _KEY(keys[index]))
    return [items[index] for index in order]


def _inserted(target: dict[Any, Any], *entries: Any) -> dict[Any, Any]:
    added = {entries[0]: entries[1]} if len(entries) == 2 else entries[0]
    for key in added:
        if key in target:
            raise CelError(f"insert failed: key {key} already exists")
    return {**target, **added}


def _value(optional: OptionalValue) -> Any:
    if not optional.values:
        raise CelError("optional.none() dereference")
    return optional.values[0]


def _is_zero(value: Any) -> bool:
    return value is None or value in ("", b"", [], {}, 0, False, timedelta(0))


def _unwrapped(items: list[OptionalValue]) -> list[Any]:
    return [value for item in items for value in item.values]


def _contains_all(items: list[Any], required: list[Any]) -> bool:
    return all(contains(items, other) for other in required)


LISTS: dict[str, Callable[..., Any]] = {
    "@sortByAssociatedKeys": _sorted_by,
    "cel.@mapInsert": _inserted,
    "distinct": _distinct,
    "first": lambda items: OptionalValue((items[0],)) if items else NONE,
    "flatten": _flatten,
    "hasValue": lambda optional: bool(optional.values),
    "includes": _includes,
    "indexOf": _index_of,
    "isSorted": lambda items: not any(less(after, before) for before, after in pairwise(items)),
    "last": lambda items: OptionalValue((items[-1],)) if items else NONE,
    "lastIndexOf": _last_index_of,
    "lists.range": lambda count: list(range(count)),
    "max": _extreme("max", max),
    "min": _extreme("min", min),
    "optional.none": lambda: NONE,
    "optional.of": lambda value: OptionalValue((value,)),
    "optional.ofNonZeroValue": lambda value: NONE if _is_zero(value) else OptionalValue((value,)),
    "optional.unwrap": _unwrapped,
    "or": lambda first, second: first if first.values else second,
    "orValue": lambda optional, value: optional.values[0] if optional.values else value,
    "reverse": lambda items: items[::-1],
    "sets.contains": _contains_all,
    "sets.equivalent": lambda first, second: _contains_all(first, second) and _contains_all(second, first),
    "sets.intersects": lambda first, second: any(contains(second, item) for item in first),
    "slice": _slice,
    "sort": lambda items: sorted(items, key=_KEY),
    "sum": _sum,
    "unwrapOpt": _unwrapped,
    "value": _value,
}
