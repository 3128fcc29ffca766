"""Parts of CustomResourceDefinitions as messages print them: with every field of Kubernetes' internal types."""

from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.gotypes.messages import Message, ProtobufField, find_message
from clientgo_apiserver.gotypes.structs import members
from clientgo_apiserver.releases.release import cached_by_release

_ZEROS = {"s": "", "b": False, "i": 0, "l": 0}
_LISTS = {"JSONSchemaPropsOrArray": "JSONSchemas", "JSONSchemaPropsOrStringArray": "Property"}


def go_form(value: Any, kind: str = "JSONSchemaProps") -> Any:
    """Return a decoded schema, or a part of one, as Go prints the internal type of this name."""
    if kind == "JSONSchemaPropsOrBool":
        schema = go_form(value) if isinstance(value, dict) else None
        return {"Allows": value is not False, "Schema": schema}
    if kind in _LISTS:
        schema, many = (go_form(value), None) if isinstance(value, dict) else (None, value)
        return {"Schema": schema, _LISTS[kind]: many and [go_form(item) for item in many]}
    if kind not in _messages() or not isinstance(value, dict):
        return value
    return {name: _member(value, field) for name, field in _fields(kind)}


def go_fields(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a schema in that form, one after the other."""
    for name, field in _fields("JSONSchemaProps"):
        yield name, _member(schema, field)


@cached_by_release
def _fields(kind: str) -> tuple[tuple[str, ProtobufField], ...]:
    """Return the fields of a message by their names in Go, in order."""
    fields = sorted(members(_messages()[kind]), key=lambda field: (field.name not in _FIRST, 0))
    return tuple((field.go_name, field) for field in fields)


_FIRST = ("id", "$schema", "$ref", "description", "type", "nullable", "rule")


def _member(value: dict[str, Any], field: ProtobufField) -> Any:
    if field.name not in value:
        return None if field.pointer or field.repeated or field.mapped else _ZEROS.get(field.type)
    child = value[field.name]
    if field.mapped:
        return {name: go_form(child[name], field.type) for name in sorted(child)}
    return [go_form(item, field.type) for item in child] if field.repeated else go_form(child, field.type)


@cached_by_release
def _messages() -> dict[str, Message]:
    """Return the messages of which definitions consist, by name."""
    definition, messages = find_message("apiextensions.k8s.io/v1", "CustomResourceDefinition"), dict[str, Message]()
    waiting = [definition]
    while waiting:
        message = waiting.pop()
        if message is not None and message.name not in messages:
            messages[message.name] = message
            waiting += [field.message for field in message.fields.values()]
    del messages["JSON"]  # any value
    return messages
