"""JSON patches (RFC 6902): what turns one JSON value into another, and what one makes of a value.

An API server takes from a mutating webhook nothing else. A patch made here names what differs and no more, so that two
webhooks that change different fields of an object do not undo each other, and managedFields say who set what.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

Json = Any
"""What JSON can hold: None, bool, int, float, str, lists and dicts with names for keys."""


class PatchError(ValueError):
    """The patch does not fit the value; the message is one sentence."""


# `from` is a keyword, so the class can't be written as one.
Operation = TypedDict("Operation", {"op": str, "path": str, "value": NotRequired[Json], "from": NotRequired[str]})
"""One step of a patch, as JSON has it."""


def diff(old: Json, new: Json) -> list[Operation]:
    """The operations (add, remove, replace) that turn `old` into `new`; none if they are the same."""
    found: list[Operation] = []
    _compare(old, new, "", found)
    return found


def same(old: Json, new: Json) -> bool:
    """Whether both are the same JSON: `true` is not `1`, and `1` is not `1.0`, which Python would have it."""
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if isinstance(old, dict):
        return old.keys() == new.keys() and all(same(value, new[name]) for name, value in old.items())
    if isinstance(old, list):
        return len(old) == len(new) and all(map(same, old, new))
    return bool(old == new)


def apply(value: Json, patch: Iterable[Mapping[str, Any]]) -> Json:
    """What the patch makes of the value, which itself stays as it is.

    Raises:
        PatchError: an operation is none, or names what is not there, or its test fails.
    """
    for operation in patch:
        value = _applied(value, operation)
    return value


def _compare(old: Json, new: Json, path: str, found: list[Operation]) -> None:
    if old is new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        _compare_members(old, new, path, found)
    elif isinstance(old, list) and isinstance(new, list):
        _compare_items(old, new, path, found)
    elif not same(old, new):
        found.append({"op": "replace", "path": path, "value": new})


def _compare_members(old: dict[str, Json], new: dict[str, Json], path: str, found: list[Operation]) -> None:
    for name, value in old.items():
        below = f"{path}/{_escaped(name)}"
        if name in new:
            _compare(value, new[name], below, found)
        else:
            found.append({"op": "remove", "path": below})
    for name, value in new.items():
        if name not in old:
            found.append({"op": "add", "path": f"{path}/{_escaped(name)}", "value": value})


def _compare_items(old: list[Json], new: list[Json], path: str, found: list[Operation]) -> None:
    """Equal items at both ends stay; of those between, pairs are compared and the rest goes or comes."""
    begin, shorter = 0, min(len(old), len(new))
    while begin < shorter and same(old[begin], new[begin]):
        begin += 1
    end = 0
    while end < shorter - begin and same(old[-1 - end], new[-1 - end]):
        end += 1
    pairs = shorter - begin - end
    for index in range(begin, begin + pairs):
        _compare(old[index], new[index], f"{path}/{index}", found)
    behind = begin + pairs
    # From the last on, because each that goes moves those behind it up.
    found += [{"op": "remove", "path": f"{path}/{index}"} for index in range(len(old) - end - 1, behind - 1, -1)]
    for index in range(behind, len(new) - end):
        found.append({"op": "add", "path": f"{path}/{index}", "value": new[index]})


def _applied(value: Json, operation: Mapping[str, Any]) -> Json:
    op, path = operation.get("op"), _pointer(operation.get("path"))
    if op in ("add", "replace", "test") and "value" not in operation:
        raise PatchError(f"the operation {op!r} has no value")
    match op:
        case "add":
            return _put(value, path, operation["value"])
        case "remove":
            return _without(value, path)
        case "replace":
            _at(value, path)
            return _put(_without(value, path), path, operation["value"]) if path else operation["value"]
        case "move":
            source = _pointer(operation.get("from"))
            if source == path[: len(source)] and source != path:
                raise PatchError("a value can't be moved into itself")
            return _put(_without(value, source), path, _at(value, source)) if source != path else value
        case "copy":
            return _put(value, path, _at(value, _pointer(operation.get("from"))))
        case "test":
            if not same(_at(value, path), operation["value"]):
                raise PatchError(f"the test of {operation['path']!r} fails")
            return value
    raise PatchError(f"{op!r} is no operation of JSON patch")


def _at(value: Json, path: Sequence[str]) -> Json:
    for step in path:
        value = value[_member(value, step)]
    return value


def _put(value: Json, path: Sequence[str], new: Json) -> Json:
    if not path:
        return new
    step, *rest = path
    if not rest and isinstance(value, dict):
        return {**value, step: new}
    if not rest and isinstance(value, list):
        index = len(value) if step == "-" else _index(step, len(value))
        return [*value[:index], new, *value[index:]]
    return _with(value, _member(value, step), _put(value[_member(value, step)], rest, new))


def _without(value: Json, path: Sequence[str]) -> Json:
    if not path:
        raise PatchError("the whole value can't be removed")
    step, *rest = path
    where = _member(value, step)
    if rest:
        return _with(value, where, _without(value[where], rest))
    if isinstance(value, list):
        return [*value[:where], *value[where + 1 :]]
    return {name: one for name, one in value.items() if name != where}


def _with(value: Json, where: Any, new: Json) -> Json:
    copy = value.copy()
    copy[where] = new
    return copy


def _member(value: Json, step: str) -> Any:
    """The name or index that a step of a path stands for in `value`, where there is something."""
    if isinstance(value, dict):
        if step not in value:
            raise PatchError(f"there is no member {step!r}")
        return step
    if isinstance(value, list):
        return _index(step, len(value) - 1)
    raise PatchError(f"there is nothing below a {type(value).__name__}: no {step!r}")


def _index(step: str, last: int) -> int:
    # No sign, no leading zero, and no digits of other scripts, which int() would take.
    if not (step.isascii() and step.isdigit()) or (step[0] == "0" and step != "0") or int(step) > last:
        raise PatchError(f"there is no item {step!r}")
    return int(step)


def _pointer(path: Any) -> list[str]:
    if path == "":
        return []
    if not isinstance(path, str) or not path.startswith("/"):
        raise PatchError(f"{path!r} is no path")
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
