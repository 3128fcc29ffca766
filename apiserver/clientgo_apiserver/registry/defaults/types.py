"""Defaults by Go type, from `types.yaml`, and the fields that Go writes even if they are zero.

Both are applied in one walk from the object down, wherever a type occurs, so that a pod template has the defaults of
pods in every workload. Nothing is changed in place.
"""

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

from clientgo_apiserver.datafiles import read_data
from clientgo_apiserver.http.protobuf_table import Message, ProtobufField, find_message
from clientgo_apiserver.registry.decoding import ZEROS, is_struct, item_message
from clientgo_apiserver.registry.defaults.pods import (
    container,
    limit_range_item,
    pod_spec,
    pod_status,
    policy_types,
    volume,
)
from clientgo_apiserver.registry.gotypes import members
from clientgo_apiserver.registry.registry import Object

Fill = Callable[[Any], Any]

_FUNCTIONS: Mapping[tuple[str, str], Fill] = {
    ("v1", "Container"): container,
    ("v1", "EphemeralContainer"): container,
    ("v1", "LimitRangeItem"): limit_range_item,
    ("v1", "PodSpec"): pod_spec,
    ("v1", "PodStatus"): pod_status,
    ("v1", "Volume"): volume,
    ("networking.k8s.io/v1", "NetworkPolicySpec"): policy_types,
}


def complete(message: Message, obj: Object, known: Object | None = None) -> Object:
    """Return a decoded object with its defaults and the fields that Go always writes.

    Parts shared with `known`, an earlier completed object, are kept as they are.
    """
    shape, old = _type(message), known or {}
    found = shape.own({**obj})
    nested = shape.nested
    for name, value in found.items():
        if name in nested and value is not None and value is not old.get(name):
            found[name] = nested[name](value)
    return found


_Defaults = tuple[tuple[str, str | None, Any], ...]
"""Defaults of fields: the name, the value that it must have if this is a condition, and the default or defaults."""


def _compiled(defaults: Mapping[str, Any]) -> _Defaults:
    found = []
    for name, default in defaults.items():
        field, condition, wanted = name.partition("=")
        nested = isinstance(default, dict) and (condition or default)
        found.append((field, wanted if condition else None, (default, _compiled(default)) if nested else (default, ())))
    return tuple(found)


def _set(found: Object, defaults: _Defaults) -> None:
    """Set the fields of a new object that are absent."""
    for field, wanted, (default, inner) in defaults:
        value = found.get(field)
        if wanted is not None:
            if value == wanted or (not wanted and value is None):
                _set(found, inner)
        elif value is None:
            found[field] = default
        elif inner:
            found[field] = {**value}
            _set(found[field], inner)


class _Type:
    """The compiled defaults of a message."""

    def __init__(self, message: Message) -> None:
        self._message = message

    @cached_property
    def _defaults(self) -> _Defaults:
        embedded = [one.message for one in self._message.fields.values() if not one.name and one.message is not None]
        found: dict[str, Any] = {}
        for message in (*embedded, self._message):
            found |= _by_type().get(message, {})
        return _compiled(found)

    @cached_property
    def _function(self) -> Fill | None:
        return next((fill for key, fill in _FUNCTIONS.items() if find_message(*key) is self._message), None)

    @cached_property
    def _always(self) -> tuple[tuple[str, Callable[[], Any]], ...]:
        return tuple((field.name, _zero(field)) for field in members(self._message) if field.always)

    @cached_property
    def nested(self) -> Mapping[str, Fill]:
        """Functions that set the defaults within the values of fields, by name."""
        found = ((field, _item_type(field)) for field in members(self._message))
        return {field.name: _filler(field, shape) for field, shape in found if shape is not None and shape.fills}

    @cached_property
    def fills(self) -> bool:
        """True if an object of this type, or one within it, has a default or a field that is never omitted."""
        self.__dict__["fills"] = True  # of a recursive type, while its other fields are looked at
        return bool(self._defaults or self._always or self._function or self.nested)

    def own(self, found: Object) -> Object:
        """Return a new object, which may be changed, with the defaults of its own fields."""
        _set(found, self._defaults)
        if self._function is not None:
            found = self._function(found)
        for name, zero in self._always:
            if found.get(name) is None:
                found[name] = zero()
        return found

    def complete(self, value: Object) -> Object:
        """Return an object with its defaults."""
        found = self.own({**value})
        nested = self.nested
        for name, child in found.items():
            if name in nested and child is not None:
                found[name] = nested[name](child)
        return found


@cache
def _type(message: Message) -> _Type:
    return _Type(message)


@cache
def _by_type() -> Mapping[Message, Mapping[str, Any]]:
    sections = read_data(__package__, "types.yaml")
    found = {
        find_message(version, name): fields for version, types in sections.items() for name, fields in types.items()
    }
    return {message: fields for message, fields in found.items() if message is not None}


def _item_type(field: ProtobufField) -> _Type | None:
    message = item_message(field)
    return _type(message) if message is not None and is_struct(field.type) else None


def _zero(field: ProtobufField) -> Callable[[], Any]:
    plain = not (field.pointer or field.repeated or field.mapped)
    shape = _item_type(field) if plain else None
    if shape is not None:
        return dict if not shape.fills else lambda: shape.complete({})
    zero = ZEROS.get(field.type) if plain else None
    return lambda: zero


def _filler(field: ProtobufField, shape: _Type) -> Fill:
    if field.repeated:
        return lambda value: [shape.complete(one) for one in value]
    if field.mapped:
        return lambda value: {key: shape.complete(one) for key, one in value.items()}
    return shape.complete
