"""Defaults by Go type, from `types.yaml`, and the fields that Go writes even if they are zero.

Both are applied in one walk from the object down, wherever a type occurs, so that a pod template has the defaults of
pods in every workload. Nothing is changed in place.
"""

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from operator import is_
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
from clientgo_apiserver.resources import Object

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


def complete(message: Message, obj: Object, earlier: Object | None = None) -> Object:
    """Return a decoded object with its defaults and the fields that Go always writes.

    Parts shared with `earlier`, a completed object, are kept as they are.
    """
    shape, old = _type(message), earlier or {}
    completed = shape.own({**obj})
    nested = shape.nested
    for name, value in completed.items():
        if name in nested and value is not None and value is not old.get(name):
            completed[name] = nested[name](value)
    return completed


def without_empty(message: Message, obj: Object, earlier: Object | None = None) -> Object:
    """Return a decoded object with null for lists and maps that are empty and never omitted, as Go's storage has them.

    Parts shared with `earlier`, such an object, are kept as they are.
    """
    return _type(message).without_empty(obj, earlier or {})


_Defaults = tuple[tuple[str, str | None, Any], ...]
"""Defaults of fields: the name, the value that it must have if this is a condition, and the default or defaults."""


def _compiled(defaults: Mapping[str, Any]) -> _Defaults:
    compiled = []
    for name, default in defaults.items():
        field, condition, expected = name.partition("=")
        nested = isinstance(default, dict) and (condition or default)
        compiled.append(
            (field, expected if condition else None, (default, _compiled(default)) if nested else (default, ()))
        )
    return tuple(compiled)


def _set(obj: Object, defaults: _Defaults) -> None:
    """Set the fields of a new object that are absent."""
    for field, expected, (default, inner) in defaults:
        value = obj.get(field)
        if expected is not None:
            if value == expected or (not expected and value is None):
                _set(obj, inner)
        elif value is None:
            obj[field] = default
        elif inner:
            obj[field] = {**value}
            _set(obj[field], inner)


_NOTHING: Object = {}


class _Type:
    """The compiled defaults of a message."""

    def __init__(self, message: Message) -> None:
        self._message = message

    @cached_property
    def _defaults(self) -> _Defaults:
        embedded = [
            field.message for field in self._message.fields.values() if not field.name and field.message is not None
        ]
        defaults: dict[str, Any] = {}
        for message in (*embedded, self._message):
            defaults |= _by_type().get(message, {})
        return _compiled(defaults)

    @cached_property
    def _function(self) -> Fill | None:
        return next((fill for key, fill in _FUNCTIONS.items() if find_message(*key) is self._message), None)

    @cached_property
    def _always(self) -> tuple[tuple[str, Callable[[], Any]], ...]:
        return tuple((field.name, _zero(field)) for field in members(self._message) if field.always)

    @cached_property
    def _shapes(self) -> tuple[tuple[ProtobufField, "_Type"], ...]:
        """Fields that hold objects, with the types of these."""
        types = ((field, _item_type(field)) for field in members(self._message))
        return tuple((field, shape) for field, shape in types if shape is not None)

    @cached_property
    def nested(self) -> Mapping[str, Fill]:
        """Functions that set the defaults within the values of fields, by name."""
        return {field.name: _filler(field, shape) for field, shape in self._shapes if shape.fills}

    @cached_property
    def fills(self) -> bool:
        """True if an object of this type, or one within it, has a default or a field that is never omitted."""
        self.__dict__["fills"] = True  # of a recursive type, while its other fields are looked at
        return bool(self._defaults or self._always or self._function or self.nested)

    def own(self, obj: Object) -> Object:
        """Return a new object, which may be changed, with the defaults of its own fields."""
        _set(obj, self._defaults)
        if self._function is not None:
            obj = self._function(obj)
        for name, zero in self._always:
            if obj.get(name) is None:
                obj[name] = zero()
        return obj

    def complete(self, value: Object) -> Object:
        """Return an object with its defaults."""
        completed = self.own({**value})
        nested = self.nested
        for name, child in completed.items():
            if name in nested and child is not None:
                completed[name] = nested[name](child)
        return completed

    @cached_property
    def _lists(self) -> frozenset[str]:
        """Names of the lists and maps that are never omitted."""
        return frozenset(
            field.name for field in members(self._message) if field.always and (field.repeated or field.mapped)
        )

    @cached_property
    def _holders(self) -> Mapping[str, Fill]:
        """Functions that remove empty lists within the values of fields, by name."""
        return {field.name: _emptier(field, shape) for field, shape in self._shapes if shape.has_lists}

    @cached_property
    def has_lists(self) -> bool:
        """True if an object of this type, or one within it, has a list or map that is never omitted."""
        self.__dict__["has_lists"] = True  # of a recursive type, while its other fields are looked at
        return bool(self._lists or self._holders)

    def without_empty(self, value: Object, earlier: Object = _NOTHING) -> Object:
        """Return the object with null for its empty lists and maps; the same one if it has none."""
        changes: Object = {}
        lists, holders = self._lists, self._holders
        for name, child in value.items():
            if not child:
                if name in lists and child is not None:
                    changes[name] = None
            elif name in holders and child is not earlier.get(name) and (new := holders[name](child)) is not child:
                changes[name] = new
        return {**value, **changes} if changes else value


@cache
def _type(message: Message) -> _Type:
    return _Type(message)


@cache
def _by_type() -> Mapping[Message, Mapping[str, Any]]:
    sections = read_data(__package__, "types.yaml")
    by_message = {
        find_message(version, name): fields for version, types in sections.items() for name, fields in types.items()
    }
    return {message: fields for message, fields in by_message.items() if message is not None}


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
        return lambda value: [shape.complete(item) for item in value]
    if field.mapped:
        return lambda value: {key: shape.complete(item) for key, item in value.items()}
    return shape.complete


def _emptier(field: ProtobufField, shape: _Type) -> Fill:
    if not (field.repeated or field.mapped):
        return shape.without_empty

    def convert(value: Any) -> Any:
        if field.repeated:
            items = [shape.without_empty(item) for item in value]
            return value if all(map(is_, items, value)) else items
        entries = {key: shape.without_empty(item) for key, item in value.items()}
        return value if all(entries[key] is value[key] for key in value) else entries

    return convert
