"""Applying the patches of the API to plain JSON values: merge patch (RFC 7386), JSON patch (RFC 6902), strategic merge.

Pure: what comes in is not changed, what goes out shares the parts that were not touched. The strategic merge knows
list keys by the name of the field, which is right for the built-in kinds a test is likely to hold; the bundled API
server has the exact table.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_NAMED = ("containers", "initContainers", "ephemeralContainers", "volumes", "env", "imagePullSecrets", "secrets")

MERGE_KEYS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_NAMED, ("name",)),
    "ports": ("containerPort", "port"),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "conditions": ("type",),
    "addresses": ("type",),
    "ownerReferences": ("uid",),
    "topologySpreadConstraints": ("topologyKey",),
}
"""By which key the items of a list are told apart, the first that all of them carry."""

SETS = frozenset(("finalizers",))
"""Lists of plain values that join instead of replacing each other."""


class BadPatch(ValueError):
    """The patch can't be applied to this object; the message says what is wrong in it."""


def merge_patch(target: Any, patch: Any) -> Any:
    """`target` with a merge patch applied: null deletes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def strategic_merge_patch(target: Any, patch: Any) -> Any:
    """`target` with a strategic merge patch applied, `$patch`, `$retainKeys` and list keys included."""
    if not isinstance(patch, dict):
        return patch
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    merged = dict(target) if isinstance(target, dict) and directive != "replace" else {}
    for key, value in patch.items():
        if key.startswith("$"):
            _directive(merged, key, value)
        elif value is None:
            merged.pop(key, None)
        elif isinstance(value, list):
            merged[key] = _merge_lists(key, merged.get(key), value)
        else:
            merged[key] = strategic_merge_patch(merged.get(key), value)
    return merged


def _directive(merged: dict[str, Any], key: str, value: Any) -> None:
    if key == "$retainKeys":
        for name in [name for name in merged if name not in value]:
            del merged[name]
    elif key.startswith("$deleteFromPrimitiveList/"):
        name = key.partition("/")[2]
        merged[name] = [item for item in merged.get(name) or [] if item not in value]
    # $setElementOrder only orders, $patch was looked at by the caller.


def _merge_lists(field: str, old: Any, new: list[Any]) -> list[Any]:
    old = old if isinstance(old, list) else []
    if field in SETS:
        return [*old, *(item for item in new if item not in old)]
    kept = [item for item in new if not (isinstance(item, dict) and item.get("$patch") == "replace" and len(item) == 1)]
    key = list_key(field, kept)
    if len(kept) < len(new) or key is None:
        return kept
    merged = {item.get(key): item for item in old if isinstance(item, dict)}
    for item in kept:
        if item.get("$patch") == "delete":
            merged.pop(item[key], None)
        else:
            merged[item[key]] = strategic_merge_patch(merged.get(item[key]), item)
    return list(merged.values())


def list_key(field: str, items: Sequence[Any]) -> str | None:
    """By which key the items of the list in `field` are told apart; None if the list is one value."""
    for key in MERGE_KEYS.get(field, ()):
        if all(isinstance(item, dict) and key in item for item in items):
            return key
    return None


def json_patch(target: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """`target` with a JSON patch applied, all of it or nothing.

    Raises:
        BadPatch: an operation is unknown, its path leads nowhere, or its `test` fails.
    """
    for operation in operations:
        apply = _OPERATIONS.get(str(operation.get("op")))
        if apply is None:
            raise BadPatch(f"unknown operation {operation.get('op')!r} in a JSON patch")
        try:
            target = apply(target, operation)
        except BadPatch as error:
            raise BadPatch(f"{operation['op']} {operation.get('path')}: {error}") from error
    return target


def _pointer(text: Any) -> list[str]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise BadPatch(f"{text!r} is not a JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _look(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        if isinstance(value, list):
            value = value[_index(value, part, end=False)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            raise BadPatch(f"there is no {part!r}")
    return value


def _index(items: list[Any], part: str, *, end: bool) -> int:
    if end and part == "-":
        return len(items)
    if not part.isdigit() or int(part) > len(items) - (0 if end else 1):
        raise BadPatch(f"{part!r} is no index into a list of {len(items)}")
    return int(part)


def _edited(value: Any, path: Sequence[str], edit: Callable[[Any, str], Any]) -> Any:
    # Copies only along the path, so that the object before the patch stays as it was.
    if len(path) == 1:
        return edit(value, path[0])
    inner = _edited(_look(value, path[:1]), path[1:], edit)
    if isinstance(value, list):
        at = int(path[0])
        return [*value[:at], inner, *value[at + 1 :]]
    return {**value, path[0]: inner}


def _insert(target: Any, path: Sequence[str], new: Any) -> Any:
    def edit(value: Any, part: str) -> Any:
        if isinstance(value, list):
            at = _index(value, part, end=True)
            return [*value[:at], new, *value[at:]]
        if isinstance(value, dict):
            return {**value, part: new}
        raise BadPatch(f"{part!r} can't be put into a {type(value).__name__}")

    return _edited(target, path, edit) if path else new


def _drop(target: Any, path: Sequence[str]) -> Any:
    def edit(value: Any, part: str) -> Any:
        _look(value, [part])
        if isinstance(value, list):
            return [item for at, item in enumerate(value) if at != int(part)]
        return {key: item for key, item in value.items() if key != part}

    if not path:
        raise BadPatch("the whole object can't be removed")
    return _edited(target, path, edit)


def _add(target: Any, operation: Mapping[str, Any]) -> Any:
    return _insert(target, _pointer(operation.get("path")), operation.get("value"))


def _remove(target: Any, operation: Mapping[str, Any]) -> Any:
    return _drop(target, _pointer(operation.get("path")))


def _replace(target: Any, operation: Mapping[str, Any]) -> Any:
    path = _pointer(operation.get("path"))
    _look(target, path)
    return _insert(_drop(target, path) if path else target, path, operation.get("value"))


def _copy(target: Any, operation: Mapping[str, Any]) -> Any:
    return _insert(target, _pointer(operation.get("path")), _look(target, _pointer(operation.get("from"))))


def _move(target: Any, operation: Mapping[str, Any]) -> Any:
    source = _pointer(operation.get("from"))
    moved = _look(target, source)
    return _insert(_drop(target, source), _pointer(operation.get("path")), moved)


def _test(target: Any, operation: Mapping[str, Any]) -> Any:
    found = _look(target, _pointer(operation.get("path")))
    if found != operation.get("value") or isinstance(found, bool) != isinstance(operation.get("value"), bool):
        raise BadPatch(f"found {found!r}, not {operation.get('value')!r}")
    return target


_OPERATIONS: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "add": _add, "remove": _remove, "replace": _replace, "copy": _copy, "move": _move, "test": _test,
}  # fmt: skip
