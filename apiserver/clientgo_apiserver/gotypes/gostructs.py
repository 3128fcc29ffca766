"""API values as Kubernetes' internal Go structs, which error messages show: all fields, capitalized and in order."""

import difflib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from clientgo.meta.schema.gotypes import META
from clientgo_apiserver.gotypes.messages import Message, ProtobufField, find_message
from clientgo_apiserver.gotypes.table import sections
from clientgo_apiserver.releases.release import cached_by_release

_LETTER_ZEROS: Mapping[str, Any] = {"s": "", "i": 0, "l": 0, "b": False, "d": 0}
_ZEROS: Mapping[str, Any] = {"string": "", "int32": 0, "bool": False, "Quantity": "0", "IntOrString": 0}
_HOST = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


class _Member(NamedTuple):
    """Field of an internal struct: its name, the lower-case name in JSON, its zero value, and the field of the API."""

    name: str
    key: str
    zero: Any
    field: ProtobufField | None


def go_struct(name: str, value: Any) -> Any:
    """Return an API value as the internal struct of this name; without such a type, return it as it is.

    Types of the API machinery have no internal ones: their fields are in the order of the type.
    """
    message = _find(name) or find_message(META, name)
    return value if message is None or value is None else _struct(message, value)


@cached_by_release
def _find(name: str) -> Message | None:
    candidates = (find_message(api_version, name) for api_version in sections() if api_version != META)
    return next((message for message in candidates if message is not None), None)


def _struct(message: Message, value: Any) -> Any:
    if message.api_version == META:  # which has no internal types
        return _in_order(message, value)
    if message.name == "PodSpec":
        # In the API, these are fields of the pod; in the internal type, of its security context.
        host = {field: value[field] for field in _HOST if field in value}
        value = {**value, "securityContext": {**(value.get("securityContext") or {}), **host}}
    values = {field.lower(): member for field, member in value.items()}
    struct: dict[str, Any] = {}
    for name, key, zero, field in _members(message):
        if field is not None and field.message is not None and not field.name:
            struct.update(_struct(field.message, value))
        elif key == "metadata":
            struct.update(value.get("metadata") or {})
        else:
            struct[name] = _member(field, zero, values.get(key))
    return struct


def _in_order(message: Message, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    fields = {field.name: field for field in message.fields.values()}
    ordered = {name: _ordered_member(field, value[name]) for name, field in fields.items() if name in value}
    return {**ordered, **{name: member for name, member in value.items() if name not in ordered}}


def _ordered_member(field: ProtobufField, value: Any) -> Any:
    if field.mapped and isinstance(value, dict):
        return dict(sorted(value.items()))
    if field.message is None or value is None:
        return value
    return [_in_order(field.message, item) for item in value] if field.repeated else _in_order(field.message, value)


@cache
def _members(message: Message) -> tuple[_Member, ...]:
    fields = {field.go_name: field for field in message.fields.values()}
    members = {name: _Member(name, field.name.lower(), _zero(field), field) for name, field in fields.items()}
    words = [word.partition(":") for row in message.entry.rows("internal") for word in row.split()]
    return tuple(_internal(members, words) if words else members.values())


def _internal(members: Mapping[str, _Member], words: list[tuple[str, str, str]]) -> Iterator[_Member]:
    """Yield the fields of an internal type that differs from that of the API."""
    for name, _, type_name in words:
        member = members.get(name) or _Member(name, name.lower(), None, None)
        yield member._replace(zero=_ZEROS[type_name]) if type_name else member


def _zero(field: ProtobufField) -> Any:
    if field.pointer or field.repeated or field.mapped:
        return None
    return _ZEROS.get(field.type, _LETTER_ZEROS.get(field.type))


def _member(field: ProtobufField | None, zero: Any, value: Any) -> Any:
    if field is None or field.message is None:
        return zero if value is None else value
    if value is None:
        plain = not (field.pointer or field.repeated or field.mapped or field.message.api_version == META)
        return _struct(field.message, {}) if plain else zero
    if field.mapped:
        return dict(sorted(value.items()))
    return [_struct(field.message, item) for item in value] if field.repeated else _struct(field.message, value)


def go_diff(name: str, old: Any, new: Any) -> str:
    """Return the differences of two values, as internal structs of this name, in the unified format."""
    before, after = (f"{_pretty(go_struct(name, value))}\n".splitlines(keepends=True) for value in (old, new))
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])


def _pretty(value: Any) -> str:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    for letter, escaped in _ESCAPED.items():
        text = text.replace(letter, escaped)
    return text
