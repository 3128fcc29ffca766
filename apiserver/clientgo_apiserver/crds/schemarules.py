"""Validation of the schemas in CustomResourceDefinitions, with the real server's messages.

Schemas are decoded, so fields have the right types and empty ones are absent.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.status import Cause, forbidden_field, invalid_value, not_supported, required
from clientgo_apiserver.crds.embedded import embedded_errors
from clientgo_apiserver.crds.fieldpaths import InvalidPath, find_field
from clientgo_apiserver.crds.goforms import go_fields, go_form
from clientgo_apiserver.crds.schema import known_format, schema_errors, within
from clientgo_apiserver.crds.structural import RULES, has_rules, pruned
from clientgo_apiserver.crds.structuralrules import EMBEDDED, PRESERVE, structural_errors

Schema = dict[str, Any]
Causes = Iterator[Cause]

_LIST_TYPE, _KEYS, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_METADATA = ("metadata", "kind", "apiVersion")
_ONE_LINE = "must not contain line breaks"
_ROOT_WITH_STATUS = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *("MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"),
    *("Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
_BREAK = lazy_pattern(r"[\n\r]")


class _Position(msgspec.Struct, frozen=True):
    field_path: str
    root: bool = False
    inside_metadata: bool = False
    no_default: str = ""
    """Why defaults are forbidden here."""


def version_schema_errors(schema: Schema, field_path: str, *, status: bool) -> list[Cause]:
    """Return the errors of the schema of a version; `status` tells whether it has the status subresource."""
    causes = list(_root_errors(schema, field_path, status=status))
    supported = not _is_unsupported(schema)
    if supported:
        causes += structural_errors(schema, field_path) or _default_errors(schema, field_path, {"root": True})
    causes += _walked(schema, _Position(field_path, root=True))
    if not causes and not supported:
        causes.append(invalid_value(field_path, "", "OpenAPIV3Schema 'schema' is not supported"))
    return causes or (_rule_errors(schema, field_path) if has_rules(schema) else [])


def _rule_errors(schema: Schema, field_path: str) -> list[Cause]:
    # Imported at the first rule: CEL takes longer to load than a tenth of a server's start.
    from clientgo_apiserver.crds.celcheck import rule_errors  # noqa: PLC0415

    return rule_errors(schema, field_path)


def unrecognized_formats(schema: Schema) -> Iterator[str]:
    """Yield the formats in a schema that the server ignores."""
    if "format" in schema and not known_format({**schema, "x-kubernetes-int-or-string": False}):
        yield schema["format"]
    for _, below in _children(schema):
        yield from unrecognized_formats(below)


def types_in_sets(schema: Schema) -> Iterator[str]:
    """Yield the types of the items of sets in a schema that are not scalars."""
    kind = (schema.get("items") or {}).get("type")
    if schema.get("x-kubernetes-list-type") == "set" and kind in ("object", "array"):
        yield kind
    for _, below in _children(schema):
        yield from types_in_sets(below)


def _root_errors(schema: Schema, field_path: str, *, status: bool) -> Causes:
    # The form of the properties is large, and only whether there are any matters here.
    outline = {**schema, "properties": {}} if schema.get("properties") else schema
    for field, value in go_fields(outline) if status else ():
        if field == "Type" and value not in ("", "object"):
            reason = (
                'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            )
            yield invalid_value(f"{field_path}.type", value, reason)
            break
        if value not in (None, "", False) and field not in _ROOT_WITH_STATUS:
            fields = " ".join(_ROOT_WITH_STATUS)
            reason = (
                f"only [{fields}] fields are allowed at the root of the schema if the status subresource is enabled"
            )
            yield invalid_value(field_path, go_form(schema), reason)
            break
    if schema.get("nullable"):
        yield forbidden_field(f"{field_path}.nullable", "nullable cannot be true at the root")


def _is_unsupported(schema: Schema) -> bool:
    """Return whether a schema has parts that no structural schema has, so that it cannot be examined further."""
    if any(field in schema for field in (*_UNSUPPORTED, "$schema")) or isinstance(schema.get("items"), list):
        return True
    return schema.get(PRESERVE) is False or any(_is_unsupported(child) for _, child in _children(schema))


def _children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the schemas within a schema, with the ends of their paths."""
    items, dependencies = schema.get("items"), schema.get("dependencies", {})
    more = [("additionalProperties", schema.get("additionalProperties"))]
    more += [(f"properties[{name}]", child) for name, child in schema.get("properties", {}).items()]
    more.append(("not", schema.get("not")))
    more += [
        (f"{how}[{i}]", child) for how in ("allOf", "oneOf", "anyOf") for i, child in enumerate(schema.get(how, ()))
    ]
    more += [(f"definitions[{name}]", child) for name, child in schema.get("definitions", {}).items()]
    more += [(f"items[{i}]", child) for i, child in enumerate(items)] if isinstance(items, list) else [("items", items)]
    more += [(f"dependencies[{name}]", child) for name, child in dependencies.items()]
    return ((part, child) for part, child in more if isinstance(child, dict))


def _walked(schema: Schema, position: _Position) -> Causes:
    field_path = position.field_path
    yield from _support_errors(schema, position)
    if schema.get("uniqueItems"):
        reason = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden_field(f"{field_path}.uniqueItems", reason)
    if "properties" in schema and schema.get("additionalProperties", True) is not True:
        yield forbidden_field(
            f"{field_path}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    for part, below in _children(schema):
        yield from _walked(below, _below(schema, part, position))
    if schema.get(PRESERVE) is False:
        yield invalid_value(f"{field_path}.{PRESERVE}", False, "must be true or undefined")
    yield from _list_errors(schema, field_path)
    for index, rule in enumerate(schema.get(RULES, ())):
        yield from _rule_field_errors(schema, rule, f"{field_path}.{RULES}[{index}]")


def _below(schema: Schema, part: str, position: _Position) -> _Position:
    new = replace(position, field_path=f"{position.field_path}.{part}", root=False)
    name = part.removeprefix("properties[").removesuffix("]")
    if part == "additionalProperties" and position.inside_metadata:
        return replace(new, no_default=" inside additionalProperties applying to object metadata")
    if part.startswith("properties[") and name in _METADATA and (position.root or schema.get(EMBEDDED)):
        new = replace(new, inside_metadata=True)
        return replace(new, no_default=f" in top-level {name}") if position.root else new
    return new


def _support_errors(schema: Schema, position: _Position) -> Causes:
    field_path, kind = position.field_path, schema.get("type", "")
    if kind and kind not in _TYPES:
        yield not_supported(f"{field_path}.type", kind, _TYPES)
    if position.no_default and "default" in schema:
        yield forbidden_field(f"{field_path}.default", f"must not be set{position.no_default}")
    for field in _UNSUPPORTED:
        if field in schema:
            yield forbidden_field(f"{field_path}.{field}", f"{field} is not supported")
    if kind == "null":
        yield forbidden_field(f"{field_path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden_field(f"{field_path}.items", "items must be a schema object and not an array")
    if position.inside_metadata and schema.get(EMBEDDED):
        yield forbidden_field(f"{field_path}.{EMBEDDED}", "must not be used inside of resource meta")


def _list_errors(schema: Schema, field_path: str) -> Causes:
    """Check the types of lists and maps."""
    list_type, map_type, kind = schema.get(_LIST_TYPE), schema.get(_MAP_TYPE), schema.get("type", "")
    items, keys = schema.get("items"), schema.get(_KEYS)
    for field, value, expected in ((_MAP_TYPE, map_type, "object"), (_LIST_TYPE, list_type, "array")):
        if value is not None and kind != expected:
            reason = f"must be {expected} if {field} is specified"
            yield invalid_value(f"{field_path}.type", kind, reason) if kind else required(f"{field_path}.type", reason)
        if field == _MAP_TYPE and value not in (None, "atomic", "granular"):
            yield not_supported(f"{field_path}.{field}", value, ("atomic", "granular"))
    if list_type == "set" and kind == "array" and isinstance(items, dict):
        yield from _set_errors(items, f"{field_path}.items")
    if list_type not in (None, "atomic", "set", "map"):
        yield not_supported(f"{field_path}.{_LIST_TYPE}", list_type, ("atomic", "set", "map"))
    if keys and list_type != "map":
        reason, field = f"must be map if {_KEYS} is non-empty", f"{field_path}.{_LIST_TYPE}"
        yield required(field, reason) if list_type is None else invalid_value(field, list_type, reason)
    if list_type == "map":
        yield from _map_errors(keys or [], items, field_path)
    if list_type in ("set", "map") and isinstance(items, dict):
        yield from _item_errors(keys or [], items, field_path, list_type)


def _set_errors(items: Schema, field_path: str) -> Causes:
    reason, list_type = f"must be atomic as item of a list with {_LIST_TYPE}=set", items.get(_LIST_TYPE)
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        yield invalid_value(f"{field_path}.{_LIST_TYPE}", list_type, reason)
    elif items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        # The real server names the type of the list here.
        yield invalid_value(f"{field_path}.{_MAP_TYPE}", list_type, reason)


def _map_errors(keys: list[str], items: Any, field_path: str) -> Causes:
    if not keys:
        yield required(f"{field_path}.{_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if items is None:
        yield required(f"{field_path}.items", f"must have a schema if {_LIST_TYPE} is map")
    elif isinstance(items, list):
        reason = f"must only have a single schema if {_LIST_TYPE} is map"
        yield invalid_value(f"{field_path}.items", go_form(items, "JSONSchemaPropsOrArray"), reason)
    elif items.get("type") != "object":
        reason = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid_value(f"{field_path}.items.type", items.get("type", ""), reason)
    else:
        for index, key in enumerate(keys):
            key_schema = items.get("properties", {}).get(key)
            if key_schema is None:
                yield invalid_value(f"{field_path}.{_KEYS}", keys, "entries must all be names of item properties")
            elif key_schema.get("type") in ("array", "object"):
                reason = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
                yield invalid_value(f"{field_path}.items.properties[{key}].type", "object", reason)
            if key in keys[:index]:
                yield invalid_value(f"{field_path}.{_KEYS}", keys, "must not contain duplicate entries")


def _item_errors(keys: list[str], items: Schema, field_path: str, list_type: str) -> Causes:
    """Check that items and their keys are neither null nor absent."""
    if items.get("nullable"):
        yield forbidden_field(f"{field_path}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}")
    reason = f"this property is in {_KEYS}, so it "
    for key in keys if list_type == "map" else ():
        key_schema = items.get("properties", {}).get(key)
        if key_schema is None:
            continue
        field = f"{field_path}.items.properties[{key}]"
        if key not in items.get("required", ()) and "default" not in key_schema:
            yield required(f"{field}.default", f"{reason}must have a default or be a required property")
        if key_schema.get("nullable"):
            yield forbidden_field(f"{field}.nullable", f"{reason}cannot be nullable")


def _rule_field_errors(schema: Schema, rule: Schema, field_path: str) -> Causes:
    """Check the fields of a CEL rule, but not its expressions."""
    text, message, path = (rule.get(field, "") for field in ("rule", "message", "fieldPath"))
    if not text.strip():
        yield required(f"{field_path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid_value(f"{field_path}.message", message, "must be non-empty if specified")
    elif _BREAK.search(message.strip()):
        yield invalid_value(f"{field_path}.message", message, _ONE_LINE)
    elif _BREAK.search(text.strip()) and not message.strip():
        yield required(f"{field_path}.message", "message must be specified if rule contains line breaks")
    if not rule.get("messageExpression", "x").strip():
        yield required(f"{field_path}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason", _REASONS[0]) not in _REASONS:
        yield not_supported(f"{field_path}.reason", rule["reason"], _REASONS)
    yield from (invalid_value(f"{field_path}.fieldPath", path, reason) for reason in _path_errors(schema, path) if path)


def _path_errors(schema: Schema, path: str) -> Iterator[str]:
    if not path.strip():
        yield "must be non-empty if specified"
    if _BREAK.search(path):
        yield _ONE_LINE
    if not _is_unsupported(schema):
        try:
            find_field(schema, path)
        except InvalidPath:
            yield "must be a valid path"


def _default_errors(schema: Schema, field_path: str, about: dict[str, bool]) -> list[Cause]:
    """Return the errors of defaults by their own schemas; `about` says whether it is the root, or in metadata."""
    embedded = bool(schema.get(EMBEDDED)) or about.get("root", False)
    in_metadata = about.get("in_metadata", False) and not embedded
    causes = list(_one_default({**schema, EMBEDDED: True} if embedded else schema, field_path, in_metadata=in_metadata))
    if "items" in schema:
        causes += _default_errors(schema["items"], f"{field_path}.items", {"in_metadata": in_metadata})
    for name, below in schema.get("properties", {}).items():
        inside = in_metadata or (embedded and name in _METADATA)
        causes += _default_errors(below, f"{field_path}.properties[{name}]", {"in_metadata": inside})
    return causes


def _without_alternatives(schema: Schema) -> Schema:
    """Return a schema in which a value of integer or string has any type: that of a default is not checked."""
    below = {name: _without_alternatives(each) for name, each in schema.get("properties", {}).items()}
    changed: Schema = {"properties": below} if below else {}
    for field in ("additionalProperties", "items"):
        if isinstance(schema.get(field), dict):
            changed[field] = _without_alternatives(schema[field])
    return {name: value for name, value in {**schema, **changed}.items() if name != "x-kubernetes-int-or-string"}


def _one_default(schema: Schema, field_path: str, *, in_metadata: bool) -> Causes:
    if "default" not in schema:
        return
    default, unknown = schema["default"], list[str]()
    pruned(schema, default, "", unknown)
    if unknown and not in_metadata:
        yield invalid_value(f"{field_path}.default", default, "must not have unknown fields")
    causes = (
        [] if in_metadata else [within(cause, f"{field_path}.default") for cause in embedded_errors(schema, default)]
    )
    causes = causes or schema_errors(_without_alternatives(schema), default, field_path=f"{field_path}.default")
    if not causes and has_rules(schema):
        from clientgo_apiserver.crds.celvalidation import cel_errors  # noqa: PLC0415 (see above)

        held = {"type": "object", "properties": {"default": schema}}
        causes = [within(cause, field_path) for cause in cel_errors(held, {"default": default}, None)]
    yield from causes
