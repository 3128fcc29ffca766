"""Removal of the fields of built-in kinds whose feature is disabled unless a cluster enables it.

A real server removes them from what is stored, although their managers own them. An object that already has such fields
keeps them. As most objects have none, they are looked for only where their types can occur, and nothing is changed in
place.
"""

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.gotypes.decoding import is_struct, item_message
from clientgo_apiserver.gotypes.messages import Message, ProtobufField, find_message
from clientgo_apiserver.gotypes.structs import members, over_items

_OMITTED = "Lifecycle"
"""Type that is omitted if nothing else is left of it."""

Drop = Callable[[Any], Any]


def without_disabled(resource: Resource, new: Object, old: Object | None = None) -> Object:
    """Return the object without fields of disabled features, unless the object before it has some."""
    drop = None if resource.custom else _of_kind(resource.api_version, resource.kind)
    if drop is None:
        return new
    dropped = drop(new)
    return new if dropped is new or (old is not None and drop(old) is not old) else dropped


@cache
def _of_kind(api_version: str, kind: str) -> Drop | None:
    if kind == "PersistentVolumeClaim":
        return _without_foreign_source
    message = find_message(api_version, kind)
    return None if message is None or not _type(message).holds else _type(message).drop


def _without_foreign_source(claim: Object) -> Object:
    """Return a claim without a source in another namespace (CrossNamespaceVolumeDataSource)."""
    spec = claim.get("spec") or {}
    if not (spec.get("dataSourceRef") or {}).get("namespace"):
        return claim
    return {**claim, "spec": {name: value for name, value in spec.items() if name != "dataSourceRef"}}


class _Type:
    """The disabled fields of a message, and the fields in whose values there may be some."""

    def __init__(self, message: Message) -> None:
        self._message = message

    @cached_property
    def _disabled(self) -> tuple[str, ...]:
        return tuple(field.name for field in members(self._message) if "disabled" in field.row.options)

    @cached_property
    def _nested(self) -> tuple[tuple[str, Drop], ...]:
        fields_to_visit = []
        for field in members(self._message):
            message = item_message(field)
            if message is not None and is_struct(field.type) and _type(message).holds:
                fields_to_visit.append((field.name, _of_values(field, _type(message))))
        return tuple(fields_to_visit)

    @cached_property
    def holds(self) -> bool:
        """True if an object of this type, or one within it, may have a disabled field."""
        self.__dict__["holds"] = False  # of a recursive type, while its other fields are looked at
        return bool(self._disabled or self._nested)

    def drop(self, value: Object) -> Object:
        """Return an object without disabled fields; the same one if it has none."""
        changes: Object = {name: None for name in self._disabled if name in value}
        for name, drop in self._nested:
            child = value.get(name)
            if child and (new := drop(child)) is not child:
                changes[name] = new
        if not changes:
            return value
        return {name: new for name, old in value.items() if (new := changes.get(name, old)) is not None}


@cache
def _type(message: Message) -> _Type:
    return _Type(message)


def _of_values(field: ProtobufField, shape: _Type) -> Drop:
    """Return the removal from the value of a field."""
    if field.type == _OMITTED and not (field.repeated or field.mapped):
        return lambda value: shape.drop(value) or None
    return over_items(field, shape.drop)
