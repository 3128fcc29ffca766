"""Validation of applied configurations by the schema of their kind, with the messages of structured-merge-diff.

Server-side apply needs to know each field: an undeclared one has no owner, nor has one of two items with the same key.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from clientgo.meta.apply.mergerules import FieldPath, MergeRule, MergeRules, items
from clientgo_apiserver.api.gotext import go_map, go_type
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.gotypes.messages import Message, ProtobufField, find_message
from clientgo_apiserver.gotypes.structs import OPAQUE, fields_by_name
from clientgo_apiserver.merging.fieldsets import show

_SCALARS = {"s": "string", "y": "string", "b": "boolean", "i": "numeric", "l": "numeric", "d": "numeric"}
_SCALAR_MESSAGES = {"Time": "string", "MicroTime": "string", "IntOrString": "untyped", "Quantity": "untyped"}
_SCHEMA_TYPES = {"string": "string", "boolean": "boolean", "integer": "numeric", "number": "numeric", "array": "list"}
_NO_MAP = "non-map elements"


class _Shape(NamedTuple):
    """A type: `kind` is string, boolean, numeric, untyped (any scalar), list, map, or "" for any value.

    `part` returns the type of a member of a map, None if it is undeclared, or of the items of a list (of any name).
    """

    kind: str
    part: Callable[[str], "_Shape | None"] = lambda _: None


_ANY: _Shape = _Shape("", lambda _: _ANY)


def typed_errors(resource: Resource, config: Object, rules: MergeRules) -> str:
    """Return the errors of an applied configuration; "" if it has none."""
    errors = [*_errors(config, _shape_of(resource), rules, (), "")]
    return errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors]) if errors else ""


def _errors(value: Any, shape: _Shape, rules: MergeRules, field_path: FieldPath, path: str) -> Iterator[str]:
    kind = shape.kind or ("map" if isinstance(value, dict) else "")
    if value is None or not kind:
        return
    reason = _mistyped(value, kind)
    if reason:
        yield f"{path}: {reason}"
    elif kind == "map":
        for name, child in value.items():
            inner = shape.part(name)
            if inner is None:
                yield f"{path}.{name}: field not declared in schema"
            else:
                yield from _errors(child, inner, rules, (*field_path, name), f"{path}.{name}")
    elif kind == "list":
        yield from _list_errors(value, shape.part("") or _ANY, rules, field_path, path)


def _list_errors(values: list[Any], item: _Shape, rules: MergeRules, field_path: FieldPath, path: str) -> Iterator[str]:
    rule = rules(field_path)
    named = [f"[{index}]" for index in range(len(values))]
    if rule is not None and rule.list_type in ("map", "set"):
        elements = items(values, rule)
        named = [show((element,)) for element, _ in elements]
        for index, (element, value) in enumerate(elements):
            reason = _element_fault(element, value, rule)
            if reason:
                yield f"{path}: element {index}: {reason}"
                return
            if named[index] in named[:index]:
                yield f"{path}: duplicate entries for key {named[index]}"
    for name, value in zip(named, values, strict=True):
        yield from _errors(value, item, rules, field_path, path + name)


def _element_fault(element: str, value: Any, rule: MergeRule) -> str:
    if rule.list_type == "map":
        if not isinstance(value, dict):
            return f"associative list with keys may not have {'a null element' if value is None else _NO_MAP}"
        keys = " ".join(f'"{key}"' for key in rule.map_keys)
        reason = f"associative list with keys has an element that omits all key fields [{keys}]"
        return f"{reason} (and doesn't have default values for any key fields)" if element == "k:{}" else ""
    if isinstance(value, dict):
        return "associative list without keys has an element that's a map type"
    return "associative list without keys has an element that's an explicit null" if value is None else ""


def _mistyped(value: Any, kind: str) -> str:
    cls = type(value)
    if kind in ("list", "map"):
        return "" if cls is (list if kind == "list" else dict) else f"expected {kind}, got &{{{go_map(value)}}}"
    if kind == "numeric":
        fits = cls in (int, float)
        return "" if fits else f"expected numeric (int or float), got {go_type(value)}"
    if kind == "string":
        text = f"expected string, got &value.valueUnstructured{{Value:{go_map(value)}}}"
        return "" if cls is str else text
    fits = cls is bool if kind == "boolean" else cls not in (dict, list)
    return "" if fits else f"expected {'boolean' if kind == 'boolean' else 'any scalar'}, got &{{{go_map(value)}}}"


def _shape_of(resource: Resource) -> _Shape:
    if not resource.custom:
        message = find_message(resource.api_version, resource.kind)
        return _ANY if message is None else _kind_shape(message)
    return _schema_shape(resource.schema or {}, root=True)


def _kind_shape(message: Message) -> _Shape:
    shape = _message_shape(message)
    return _Shape("map", lambda name: _Shape("string") if name in ("apiVersion", "kind") else shape.part(name))


def _message_shape(message: Message | None) -> _Shape:
    if message is None or message.name.startswith("JSONSchemaPropsOr"):
        return _ANY
    if message.name in _SCALAR_MESSAGES:
        return _Shape(_SCALAR_MESSAGES[message.name])
    return _ANY if message.name in OPAQUE else _Shape("map", lambda name: _field_shape(message, name))


def _field_shape(message: Message, name: str) -> _Shape | None:
    field = fields_by_name(message).get(name)
    return None if field is None else _of_field(field)


def _of_field(field: ProtobufField) -> _Shape:
    if field.mapped and field.message is not None:
        values = _of_field(field.message.fields[2])
        return _Shape("map", lambda _: values)
    shape = _Shape(_SCALARS.get(field.type, "")) if field.message is None else _message_shape(field.message)
    return _Shape("list", lambda _: shape) if field.repeated else shape


def _schema_shape(schema: Object, *, root: bool = False, is_open: bool = False) -> _Shape:
    """Return the type of a schema; all below one that preserves unknown fields preserve them (schemaconv)."""
    if schema.get("x-kubernetes-int-or-string") and "type" not in schema:
        return _Shape("untyped")
    is_open = is_open or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    declared = schema.get("type", "")
    if declared == "string" and schema.get("format", "byte") != "byte":
        return _Shape("untyped")
    if declared not in ("object", ""):
        return _Shape(_SCHEMA_TYPES[declared], lambda _: _schema_shape(schema.get("items") or {}, is_open=is_open))
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    embedded = root or schema.get("x-kubernetes-embedded-resource")

    def member(name: str) -> _Shape | None:
        if embedded and name in ("apiVersion", "kind"):
            return _Shape("string")
        if embedded and name == "metadata":
            return _message_shape(find_message("meta.k8s.io/v1", "ObjectMeta"))
        below = properties.get(name, additional)
        if isinstance(below, dict):
            return _schema_shape(below, is_open=is_open)
        # An object that declares nothing about its members is free-form.
        is_free = is_open or not (properties or embedded)
        return _ANY if below is True or (below is None and is_free) else None

    return _Shape("map" if declared else "", member)
