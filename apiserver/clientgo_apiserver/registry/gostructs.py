"""API values as Kubernetes' internal Go structs, which error messages show: all fields, capitalized and in order."""

import difflib
import json
from functools import cache
from typing import Any

from clientgo_apiserver.datafiles import read_sections

_ZERO: dict[str, Any] = {"s": "", "i": 0, "b": False, "q": "0", "x": 0}
_HOST = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


@cache
def _fields(name: str) -> tuple[tuple[str, str], ...] | None:
    """Return the names and types of the fields of a struct, or None if it is not listed."""
    lines = _sections().get(name)
    if lines is None:
        return None
    pairs = (word.partition(":") for word in " ".join(lines).split())
    return tuple((field, kind) for field, _, kind in pairs)


@cache
def _sections() -> dict[str, list[str]]:
    return read_sections(__name__.rpartition(".")[0], "gostructs.txt")


def go_struct(name: str, value: Any) -> Any:
    """Return an API value as the internal struct of this name; a struct that is not listed is returned as it is."""
    fields = _fields(name)
    if fields is None or value is None:
        return value
    if name == "PodSpec":
        # In the API, these are fields of the pod; in the internal type, of its security context.
        host = {field: value[field] for field in _HOST if field in value}
        value = {**value, "securityContext": {**(value.get("securityContext") or {}), **host}}
    members = {field.lower(): member for field, member in value.items()}
    struct: dict[str, Any] = {}
    for field, kind in fields:
        if field == "~meta":
            struct.update(value.get("metadata") or {})
        elif field.startswith("~"):
            struct.update(go_struct(field[1:], value))
        else:
            struct[field] = _member(kind, members.get(field.lower()))
    return struct


def _member(kind: str, value: Any) -> Any:
    if kind == "{}":
        return None if value is None else dict(sorted(value.items()))
    if kind.startswith("[]"):
        return None if value is None else [go_struct(kind[2:], item) for item in value]
    if kind.startswith("*"):
        return go_struct(kind[1:], value)
    if kind and kind not in _ZERO:
        return go_struct(kind, value or {})
    return _ZERO.get(kind) if value is None else value


def go_diff(name: str, old: Any, new: Any) -> str:
    """Return the differences of two values, as internal structs of this name, in the unified format."""
    before, after = (f"{_pretty(go_struct(name, value))}\n".splitlines(keepends=True) for value in (old, new))
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])


def _pretty(value: Any) -> str:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    for letter, escaped in _ESCAPED.items():
        text = text.replace(letter, escaped)
    return text
