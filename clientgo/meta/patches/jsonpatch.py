"""JSON Patch (RFC 6902): create a patch from two values, and apply one as kube-apiserver does.

kube-apiserver (evanphx/json-patch 4) deviates from the RFC, and so does `apply`: an absent member reads as null, so
that `replace` may add it, `copy` may copy it and `test` may compare it; `add` without a value adds null; a negative
index counts from the end of a list; what stands before the first slash of a path is ignored. A document is an object or
a list, and cannot be copied or moved.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import msgspec

from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.jsonvalues import Json, same, same_text
from clientgo.meta.patches import PatchError

MAX_OPERATIONS = 10_000
"""Operations that kube-apiserver accepts in a patch (maxJSONPatchOperations)."""

MAX_COPIED_BYTES = 3 * 1024 * 1024
"""Total size as JSON of the values that a patch may copy (kube-apiserver's JSONPatchMaxCopyBytes)."""

_INTEGER = lazy_pattern(r"[+-]?[0-9]{1,18}")


# `from` is a keyword, so the class cannot be written as one.
Operation = TypedDict("Operation", {"op": str, "path": str, "value": NotRequired[Json], "from": NotRequired[str]})
"""One step of a patch, as JSON has it."""


def diff(old: Json, new: Json) -> list[Operation]:
    """Return the operations (add, remove, replace) that turn `old` into `new`; none if they are equal.

    Only what differs is named, so that two webhooks that change different fields do not undo each other's changes.
    """
    operations: list[Operation] = []
    _compare(old, new, "", operations)
    return operations


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
    """Return `value` with the patch applied, all of it or nothing; `value` is not changed.

    Raises:
        PatchError: an operation is unknown, its path is not found, its test fails, or the patch copies too much.
    """
    document = _Document(value)
    for operation in patch:
        op = operation.get("op")
        function = _OPERATIONS.get(op) if isinstance(op, str) else None
        if function is None:
            raise PatchError(f"unknown JSON Patch operation {op!r}: expected one of {', '.join(_OPERATIONS)}")
        try:
            function(document, _pointer(operation.get("path")), operation)
        except PatchError as error:
            raise PatchError(f"{op} {operation.get('path')}: {error}") from error
    return document.root


def _compare(old: Json, new: Json, path: str, operations: list[Operation]) -> None:
    if old is new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        _compare_members(old, new, path, operations)
    elif isinstance(old, list) and isinstance(new, list):
        _compare_items(old, new, path, operations)
    elif not same(old, new):
        operations.append({"op": "replace", "path": path, "value": new})


def _compare_members(old: dict[str, Json], new: dict[str, Json], path: str, operations: list[Operation]) -> None:
    for name, value in old.items():
        below = f"{path}/{_escaped(name)}"
        if name in new:
            _compare(value, new[name], below, operations)
        else:
            operations.append({"op": "remove", "path": below})
    for name, value in new.items():
        if name not in old:
            operations.append({"op": "add", "path": f"{path}/{_escaped(name)}", "value": value})


def _compare_items(old: list[Json], new: list[Json], path: str, operations: list[Operation]) -> None:
    """Compare lists: keep equal items at both ends, compare the others in pairs, and add or remove the rest."""
    begin, end = common_ends(old, new)
    pairs = min(len(old), len(new)) - begin - end
    for index in range(begin, begin + pairs):
        _compare(old[index], new[index], f"{path}/{index}", operations)
    behind = begin + pairs
    # From the last on, because each that goes moves those behind it up.
    operations += [{"op": "remove", "path": f"{path}/{index}"} for index in range(len(old) - end - 1, behind - 1, -1)]
    for index in range(behind, len(new) - end):
        operations.append({"op": "add", "path": f"{path}/{index}", "value": new[index]})


class _Document:
    """A document that operations change; containers of the original value are copied before their first change."""

    def __init__(self, root: Json) -> None:
        self.root = root
        self._copied_bytes = 0
        # Containers that belong to this document alone, by id. They are kept, so that no id is used again.
        self._private: dict[int, Json] = {}

    def add(self, path: Sequence[str], value: Json) -> None:
        """Set a member of an object, or insert an item into a list."""
        parent, step = self._parent(path)
        if isinstance(parent, list):
            parent.insert(len(parent) if step == "-" else _index(step, len(parent) + 1), value)
        else:
            _set(parent, step, value)

    def remove(self, path: Sequence[str]) -> None:
        """Remove a member or an item."""
        parent, step = self._parent(path)
        if isinstance(parent, list):
            del parent[_index(step, len(parent))]
        elif isinstance(parent, dict) and step in parent:
            del parent[step]
        else:
            raise _not_found(parent, step)

    def replace(self, path: Sequence[str], value: Json) -> None:
        """Replace a member, an item, or the whole document."""
        if path:
            _set(*self._parent(path), value)
        elif isinstance(value, dict | list):
            self.root = value
        else:
            raise PatchError("the whole document can only be replaced by an object or a list")

    def move(self, path: Sequence[str], source: Sequence[str]) -> None:
        """Move a value to another path."""
        value = self.get(source)
        self.remove(source)
        self.add(path, value)

    def copy(self, path: Sequence[str], source: Sequence[str]) -> None:
        """Copy a value to another path."""
        value = self.get(source)
        self._copied_bytes += len(msgspec.json.encode(value))
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise PatchError(f"the patch copies more than {MAX_COPIED_BYTES} bytes")
        self.add(path, _clone(value))

    def test(self, path: Sequence[str], expected: Json) -> None:
        """Check that the value is the expected one."""
        value = self.get(path)
        if not same_text(value, expected):  # kube-apiserver compares the texts of numbers
            raise PatchError(f"test failed: expected {expected!r}, got {value!r}")

    def get(self, path: Sequence[str]) -> Json:
        """Return the value at the path; None for an absent last member."""
        value = self.root
        for at, step in enumerate(path):
            value = value.get(step) if at == len(path) - 1 and isinstance(value, dict) else _child(value, step)
        return value

    def _parent(self, path: Sequence[str]) -> tuple[Json, str]:
        """Return the container that a path ends in, which may be changed, and the last step."""
        if not path:
            raise PatchError("the whole document can only be replaced or tested")
        *steps, last = path
        parent = self.root = self._own(self.root)
        for step in steps:
            child = self._own(_child(parent, step))
            _set(parent, step, child)
            parent = child
        return parent, last

    def _own(self, value: Json) -> Json:
        if not isinstance(value, dict | list) or id(value) in self._private:
            return value
        copy = value.copy()
        self._private[id(copy)] = copy
        return copy


_OPERATIONS: Mapping[str, Callable[[_Document, Sequence[str], Mapping[str, Any]], None]] = {
    "add": lambda document, path, operation: document.add(path, operation.get("value")),
    "remove": lambda document, path, _: document.remove(path),
    "replace": lambda document, path, operation: document.replace(path, operation.get("value")),
    "move": lambda document, path, operation: document.move(path, _source(operation)),
    "copy": lambda document, path, operation: document.copy(path, _source(operation)),
    "test": lambda document, path, operation: document.test(path, operation.get("value")),
}


def _clone(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _clone(item) for name, item in value.items()}
    return [_clone(item) for item in value] if isinstance(value, list) else value


def _set(parent: Json, step: str, value: Json) -> None:
    if isinstance(parent, dict):
        parent[step] = value
    elif isinstance(parent, list):
        parent[_index(step, len(parent))] = value
    else:
        raise _not_found(parent, step)


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
    if not isinstance(path, str) or (path and "/" not in path):
        raise PatchError(f"invalid JSON pointer {path!r}: expected a string that starts with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _source(operation: Mapping[str, Any]) -> list[str]:
    path = _pointer(operation.get("from"))
    if not path:
        raise PatchError("the whole document cannot be moved or copied")
    return path


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
