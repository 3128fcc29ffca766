"""Removal of the fields of built-in kinds whose feature gate is off, or whose feature is gone.

They have `gate=` or `removed` in the table of Go types. A real server removes them from what is stored, although their
managers own them. An object that already uses a feature keeps its fields. As most objects have none, they are looked
for only where their types can occur, and nothing is changed in place.
"""

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.gotypes.decoding import is_struct, item_message
from clientgo_apiserver.gotypes.messages import Message, ProtobufField, find_message
from clientgo_apiserver.gotypes.structs import members, over_items
from clientgo_apiserver.releases.release import cached_by_release, current

_REMOVED = "removed"
_OMITTED = "Lifecycle"
"""Type that is omitted if nothing else is left of it."""


def without_disabled(resource: Resource, new: Object, old: Object | None = None, subresource: str = "") -> Object:
    """Return the object without fields of disabled features, except those of features that the object before uses.

    The status of nodes keeps all of them: a real server removes them only when a node is created.
    """
    keeps = resource.custom or (resource.kind, subresource) == ("Node", "status")
    shape = None if keeps else _of_kind(resource.api_version, resource.kind)
    if shape is None:
        return _without_foreign_source(new, old) if resource.kind == _CLAIM else new
    dropped = shape.drop(new, frozenset())
    if dropped is not new and old is not None:
        dropped = shape.drop(new, frozenset(shape.used(old)))
    return _without_foreign_source(dropped, old) if resource.kind == _CLAIM else dropped


@cached_by_release
def _of_kind(api_version: str, kind: str) -> "_Type | None":
    message = find_message(api_version, kind)
    return None if message is None or not _type(message).holds else _type(message)


_CLAIM = "PersistentVolumeClaim"


def _without_foreign_source(claim: Object, old: Object | None) -> Object:
    """Return a claim without a source in another namespace, unless the claim before has any source."""
    if current().enabled("CrossNamespaceVolumeDataSource") or (old is not None and _source(old)):
        return claim
    if not _source(claim).get("namespace"):
        return claim
    return {**claim, "spec": {name: value for name, value in claim["spec"].items() if name != "dataSourceRef"}}


def _source(claim: Object) -> Object:
    return (claim.get("spec") or {}).get("dataSourceRef") or {}


class _Type:
    """The disabled fields of a message, and the fields in whose values there may be some."""

    def __init__(self, message: Message) -> None:
        self._message = message

    @cached_property
    def _disabled(self) -> Mapping[str, str]:
        """Gate that is off, by field; that of a removed field is one that no version has."""
        gates = {
            field.name: field.row.options.get("gate", _REMOVED)
            for field in members(self._message)
            if "gate=" in field.row.words or _REMOVED in field.row.options
        }
        off = {name: [gate for gate in text.split(",") if not current().enabled(gate)] for name, text in gates.items()}
        return {name: names[0] for name, names in off.items() if names}

    @cached_property
    def _nested(self) -> "tuple[tuple[str, ProtobufField, _Type], ...]":
        fields_to_visit = []
        for field in members(self._message):
            message = item_message(field)
            if message is not None and is_struct(field.type) and _type(message).holds:
                fields_to_visit.append((field.name, field, _type(message)))
        return tuple(fields_to_visit)

    @cached_property
    def holds(self) -> bool:
        """True if an object of this type, or one within it, may have a disabled field."""
        self.__dict__["holds"] = False  # of a recursive type, while its other fields are looked at
        return bool(self._disabled or self._nested)

    def drop(self, value: Object, used: frozenset[str]) -> Object:
        """Return an object without disabled fields, except those of the `used` gates; the same one if it has none."""
        changes: Object = {name: None for name, gate in self._disabled.items() if name in value and gate not in used}
        for name, field, shape in self._nested:
            child = value.get(name)
            if child and (new := _dropped(field, shape, child, used)) is not child:
                changes[name] = new
        if not changes:
            return value
        return {name: new for name, old in value.items() if (new := changes.get(name, old)) is not None}

    def used(self, value: Object) -> Iterator[str]:
        """Yield the disabled gates whose fields an object has."""
        yield from (gate for name, gate in self._disabled.items() if name in value)
        for name, field, shape in self._nested:
            child = value.get(name)
            items = child if field.repeated else child.values() if field.mapped and child else [child]
            for item in filter(None, items or ()):
                yield from shape.used(item)


@cache
def _type(message: Message) -> _Type:
    return _Type(message)


def _dropped(field: ProtobufField, shape: _Type, value: Any, used: frozenset[str]) -> Any:
    """Return the value of a field without disabled fields; the same one if it has none."""
    dropped = over_items(field, lambda item: shape.drop(item, used))(value)
    return dropped or None if field.type == _OMITTED else dropped
