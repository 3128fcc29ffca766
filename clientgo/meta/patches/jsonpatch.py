"""JSON Patch (RFC 6902): create a patch from two values, and apply one as kube-apiserver does.

kube-apiserver (evanphx/json-patch 4) deviates from the RFC, and so does `apply`: an absent member reads as null, so
that `replace` may add it, `copy` may copy it and `test` may compare it; `add` without a value adds null; a negative
index counts from the end of a list.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from clientgo.meta.jsonvalues import Json, same, same_text
from clientgo.meta.patches import PatchError

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


# `from` is a keyword, so the class can't be written as one.
Operation = TypedDict("Operation", {"op": str, "path": str, "value": NotRequired[Json], "from": NotRequired[str]})
"""One step of a patch, as JSON has it."""


def diff(old: Json, new: Json) -> list[Operation]:
    """Return the operations (add, remove, replace) that turn `old` into `new`; none if they are equal.

    Only what differs is named, so that two webhooks that change different fields do not undo each other's changes.
    """
    found: list[Operation] = []
    _compare(old, new, "", found)
    return found


def common_ends(old: list[Json], new: list[Json]) -> tuple[int, int]:
    """Return the number of equal items at the beginning, and at the end, of both lists."""
    begin, shorter = 0, min(len(old), len(new))
    while begin < shorter and same(old[begin], new[begin]):
        begin += 1
    end = 0
    while end < shorter - begin and same(old[-1 - end], new[-1 - end]):
        end += 1
    return begin, end


def apply(value: Json, patch: Iterable[Mapping[str, Any]]) -> Json:
    """Return `value` with the patch applied, all of it or nothing.

    Raises:
        PatchError: an operation is unknown, its path is not found, or its test fails.
    """
    for operation in patch:
        op = operation.get("op")
        function = _OPERATIONS.get(op) if isinstance(op, str) else None
        if function is None:
            raise PatchError(f"unknown JSON Patch operation {op!r}: expected one of {', '.join(_OPERATIONS)}")
        try:
            value = function(value, _pointer(operation.get("path")), operation)
        except PatchError as error:
            raise PatchError(f"{op} {operation.get('path')}: {error}") from error
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
    """Compare lists: keep equal items at both ends, compare the others in pairs, and add or remove the rest."""
    begin, end = common_ends(old, new)
    pairs = min(len(old), len(new)) - begin - end
    for index in range(begin, begin + pairs):
        _compare(old[index], new[index], f"{path}/{index}", found)
    behind = begin + pairs
    # From the last on, because each that goes moves those behind it up.
    found += [{"op": "remove", "path": f"{path}/{index}"} for index in range(len(old) - end - 1, behind - 1, -1)]
    for index in range(behind, len(new) - end):
        found.append({"op": "add", "path": f"{path}/{index}", "value": new[index]})


def _move(value: Json, path: Sequence[str], operation: Mapping[str, Any]) -> Json:
    source = _pointer(operation.get("from"))
    return _inserted(_removed(value, source), path, _found(value, source))


def _test(value: Json, path: Sequence[str], operation: Mapping[str, Any]) -> Json:
    found = _found(value, path)
    if not same_text(found, operation.get("value")):  # kube-apiserver compares the texts of numbers
        raise PatchError(f"test failed: expected {operation.get('value')!r}, got {found!r}")
    return value


_OPERATIONS: Mapping[str, Callable[[Json, Sequence[str], Mapping[str, Any]], Json]] = {
    "add": lambda value, path, operation: _inserted(value, path, operation.get("value")),
    "remove": lambda value, path, _: _removed(value, path),
    "replace": lambda value, path, operation: _replaced(value, path, operation.get("value")),
    "move": _move,
    "copy": lambda value, path, operation: _inserted(value, path, _found(value, _pointer(operation.get("from")))),
    "test": _test,
}


def _replaced(value: Json, path: Sequence[str], new: Json) -> Json:
    return _edited(value, path, lambda parent, step: _with(parent, step, new)) if path else new


def _inserted(value: Json, path: Sequence[str], new: Json) -> Json:
    def insert(parent: Json, step: str) -> Json:
        if isinstance(parent, list):
            index = len(parent) if step == "-" else _index(step, len(parent) + 1)
            return [*parent[:index], new, *parent[index:]]
        return _with(parent, step, new)

    return _edited(value, path, insert)


def _removed(value: Json, path: Sequence[str]) -> Json:
    def remove(parent: Json, step: str) -> Json:
        if isinstance(parent, list):
            index = _index(step, len(parent))
            return [*parent[:index], *parent[index + 1 :]]
        if not isinstance(parent, dict) or step not in parent:
            raise _not_found(parent, step)
        return {name: item for name, item in parent.items() if name != step}

    return _edited(value, path, remove)


def _edited(value: Json, path: Sequence[str], edit: Callable[[Json, str], Json]) -> Json:
    """Copy the containers along the path, and apply `edit` to the last of them."""
    if not path:
        raise PatchError("the whole document can only be replaced or tested")
    step, *rest = path
    return edit(value, step) if not rest else _with(value, step, _edited(_child(value, step), rest, edit))


def _with(parent: Json, step: str, new: Json) -> Json:
    if isinstance(parent, dict):
        return {**parent, step: new}
    if isinstance(parent, list):
        index = _index(step, len(parent))
        return [*parent[:index], new, *parent[index + 1 :]]
    raise _not_found(parent, step)


def _found(value: Json, path: Sequence[str]) -> Json:
    """Return the value at the path; None for an absent last member."""
    for at, step in enumerate(path):
        value = value.get(step) if at == len(path) - 1 and isinstance(value, dict) else _child(value, step)
    return value


def _child(parent: Json, step: str) -> Json:
    if isinstance(parent, dict) and step in parent:
        return parent[step]
    if isinstance(parent, list):
        return parent[_index(step, len(parent))]
    raise _not_found(parent, step)


def _not_found(parent: Json, step: str) -> PatchError:
    names = ((dict, "an object"), (list, "a list"), (str, "a string"), (bool, "a boolean"), (type(None), "null"))
    name = next((name for cls, name in names if isinstance(parent, cls)), "a number")
    return PatchError(f"path not found: {step!r} (parent is {name})")


def _index(step: str, length: int) -> int:
    # As Go's strconv.Atoi: a sign and leading zeros are read, digits of other scripts are not.
    if _INTEGER.fullmatch(step) is None or not -length <= int(step) < length:
        raise PatchError(f"invalid index {step!r}: the list accepts -{length} to {length - 1}")
    return int(step) % length


def _pointer(path: Any) -> list[str]:
    if path == "":
        return []
    if not isinstance(path, str) or not path.startswith("/"):
        raise PatchError(f"invalid JSON pointer {path!r}: expected a string that starts with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
