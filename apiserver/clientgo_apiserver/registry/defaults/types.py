"""Defaults by Go type, from the table of types, and the fields that Go writes even if they are zero.

Both are applied in one walk from the object down, wherever a type occurs, so that a pod template has the defaults of
pods in every workload. Nothing is changed in place.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, NamedTuple

from clientgo.meta.schema.gotypes import value_of
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.gotypes.decoding import ZEROS, is_struct, item_message
from clientgo_apiserver.gotypes.messages import Message, ProtobufField, find_message
from clientgo_apiserver.gotypes.structs import members, over_items
from clientgo_apiserver.registry.defaults.pods import (
    container,
    limit_range_item,
    pod_spec,
    pod_status,
    policy_types,
    volume,
)
from clientgo_apiserver.releases.release import current

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


class _Default(NamedTuple):
    """Default of a field; its members are defaults, too, if the field is given.

    `field_of_condition`, if not empty, must have one of the expected values; without any, it must be absent.
    """

    field: str
    value: Any
    inner: "tuple[_Default, ...]" = ()
    field_of_condition: str = ""
    expected: tuple[str, ...] = ()


def _default(field: str, value: Any, condition: str = "") -> _Default:
    name, _, values = condition.partition(":")
    inner = tuple(_default(*pair) for pair in value.items()) if isinstance(value, dict) else ()
    return _Default(field, value, inner, name, tuple(values.split(",")) if values else ())


def _defaults_of(message: Message) -> Iterator[_Default]:
    """Yield the defaults of a message's fields, in any order."""
    for field in message.fields.values():
        options = field.row.options
        text = options.get("set", options.get("default"))
        if text is None or ("gate" in options and not all(map(current().enabled, options["gate"].split(",")))):
            pass
        elif not field.name:
            yield from _default("", value_of(text)).inner
        elif "set" in options or field.pointer or value_of(text):
            # The zero of a field that is not a pointer is the same as an absent one.
            yield _default(field.name, value_of(text), options.get("if", ""))
        if not field.name and field.message is not None:
            yield from _defaults_of(field.message)


def _compiled(message: Message) -> tuple[_Default, ...]:
    """Return the defaults in the order in which they are set: conditions see the defaults of the fields they name."""
    return tuple(sorted(_defaults_of(message), key=_order))


def _order(default: _Default) -> int:
    if not default.field_of_condition:
        return 1
    return 2 if default.expected else 0


def _set(obj: Object, defaults: tuple[_Default, ...]) -> None:
    """Set the fields of a new object that are absent."""
    for field, default, inner, condition, expected in defaults:
        if condition and (obj.get(condition) not in expected if expected else obj.get(condition)):
            continue
        value = obj.get(field)
        if value is None:
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
    def _defaults(self) -> tuple[_Default, ...]:
        return _compiled(self._message)

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
        return {field.name: over_items(field, shape.complete) for field, shape in self._shapes if shape.fills}

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
    def _omitted(self) -> frozenset[str]:
        """Names of the lists and maps that are omitted if they are empty, but kept until the object is stored."""
        return frozenset(field.name for field in members(self._message) if "present" in field.row.options)

    @cached_property
    def _holders(self) -> Mapping[str, Fill]:
        """Functions that remove empty lists within the values of fields, by name."""
        return {field.name: over_items(field, shape.without_empty) for field, shape in self._shapes if shape.has_lists}

    @cached_property
    def has_lists(self) -> bool:
        """True if an object of this type, or one within it, has a list or map that may be empty."""
        self.__dict__["has_lists"] = True  # of a recursive type, while its other fields are looked at
        return bool(self._lists or self._omitted or self._holders)

    def without_empty(self, value: Object, earlier: Object = _NOTHING) -> Object:
        """Return the object with null for its empty lists and maps, or without them; the same one if it has none."""
        if self._omitted and any(not value.get(name, self) for name in self._omitted):
            value = {name: child for name, child in value.items() if child or name not in self._omitted}
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
