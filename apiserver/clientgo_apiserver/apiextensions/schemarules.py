"""Validation of the schemas in CustomResourceDefinitions, with the real server's messages.

Schemas are decoded, so fields have the right types and empty ones are absent.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from clientgo_apiserver.apiextensions.embedded import embedded_errors
from clientgo_apiserver.apiextensions.fieldpaths import InvalidPath, find_field
from clientgo_apiserver.apiextensions.goforms import go_form
from clientgo_apiserver.apiextensions.schema import known_format, schema_errors, within
from clientgo_apiserver.apiextensions.structural import RULES, has_rules, pruned
from clientgo_apiserver.apiextensions.structuralrules import EMBEDDED, PRESERVE, structural_errors
from clientgo_apiserver.http.status import Cause, forbidden_field, invalid_value, not_supported, required

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
_BREAK = re.compile(r"[\n\r]")


@dataclass(frozen=True, slots=True)
class _Place:
    where: str
    root: bool = False
    inside_metadata: bool = False
    no_default: str = ""
    """Why defaults are forbidden here."""


def version_schema_errors(schema: Schema, where: str, *, status: bool) -> list[Cause]:
    """Return the errors of the schema of a version; `status` tells whether it has the status subresource."""
    found = list(_root_errors(schema, where, status=status))
    supported = not _is_unsupported(schema)
    if supported:
        found += structural_errors(schema, where) or _default_errors(schema, where, {"root": True})
    found += _walked(schema, _Place(where, root=True))
    if not found and not supported:
        found.append(invalid_value(where, "", "OpenAPIV3Schema 'schema' is not supported"))
    return found or (_rule_errors(schema, where) if has_rules(schema) else [])


def _rule_errors(schema: Schema, where: str) -> list[Cause]:
    # Imported at the first rule: CEL takes longer to load than a tenth of a server's start.
    from clientgo_apiserver.apiextensions.celrules import rule_errors  # noqa: PLC0415

    return rule_errors(schema, where)


def unrecognized_formats(schema: Schema) -> Iterator[str]:
    """Yield the formats in a schema that the server ignores."""
    if "format" in schema and not known_format({**schema, "x-kubernetes-int-or-string": False}):
        yield schema["format"]
    for _, below in _children(schema):
        yield from unrecognized_formats(below)


def _root_errors(schema: Schema, where: str, *, status: bool) -> Causes:
    form = go_form(schema) if status else {}
    for field, value in form.items():
        if field == "Type" and value not in ("", "object"):
            why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            yield invalid_value(f"{where}.type", value, why)
            break
        if value not in (None, "", False) and field not in _ROOT_WITH_STATUS:
            fields = " ".join(_ROOT_WITH_STATUS)
            why = f"only [{fields}] fields are allowed at the root of the schema if the status subresource is enabled"
            yield invalid_value(where, form, why)
            break
    if schema.get("nullable"):
        yield forbidden_field(f"{where}.nullable", "nullable cannot be true at the root")


def _is_unsupported(schema: Schema) -> bool:
    """Return whether a schema has parts that no structural schema has, so that it cannot be examined further."""
    if any(field in schema for field in (*_UNSUPPORTED, "$schema")) or isinstance(schema.get("items"), list):
        return True
    return schema.get(PRESERVE) is False or any(_is_unsupported(one) for _, one in _children(schema))


def _children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the schemas within a schema, with the ends of their paths."""
    items, dependencies = schema.get("items"), schema.get("dependencies", {})
    more = [("additionalProperties", schema.get("additionalProperties"))]
    more += [(f"properties[{name}]", one) for name, one in schema.get("properties", {}).items()]
    more.append(("not", schema.get("not")))
    more += [(f"{how}[{i}]", one) for how in ("allOf", "oneOf", "anyOf") for i, one in enumerate(schema.get(how, ()))]
    more += [(f"definitions[{name}]", one) for name, one in schema.get("definitions", {}).items()]
    more += [(f"items[{i}]", one) for i, one in enumerate(items)] if isinstance(items, list) else [("items", items)]
    more += [(f"dependencies[{name}]", one) for name, one in dependencies.items()]
    return ((part, one) for part, one in more if isinstance(one, dict))


def _walked(schema: Schema, place: _Place) -> Causes:
    where = place.where
    yield from _support_errors(schema, place)
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden_field(f"{where}.uniqueItems", why)
    if "properties" in schema and schema.get("additionalProperties", True) is not True:
        yield forbidden_field(
            f"{where}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    for part, below in _children(schema):
        yield from _walked(below, _below(schema, part, place))
    if schema.get(PRESERVE) is False:
        yield invalid_value(f"{where}.{PRESERVE}", False, "must be true or undefined")
    yield from _list_errors(schema, where)
    for index, rule in enumerate(schema.get(RULES, ())):
        yield from _rule_field_errors(schema, rule, f"{where}.{RULES}[{index}]")


def _below(schema: Schema, part: str, place: _Place) -> _Place:
    new = replace(place, where=f"{place.where}.{part}", root=False)
    name = part.removeprefix("properties[").removesuffix("]")
    if part == "additionalProperties" and place.inside_metadata:
        return replace(new, no_default=" inside additionalProperties applying to object metadata")
    if part.startswith("properties[") and name in _METADATA and (place.root or schema.get(EMBEDDED)):
        new = replace(new, inside_metadata=True)
        return replace(new, no_default=f" in top-level {name}") if place.root else new
    return new


def _support_errors(schema: Schema, place: _Place) -> Causes:
    where, kind = place.where, schema.get("type", "")
    if kind and kind not in _TYPES:
        yield not_supported(f"{where}.type", kind, _TYPES)
    if place.no_default and "default" in schema:
        yield forbidden_field(f"{where}.default", f"must not be set{place.no_default}")
    for field in _UNSUPPORTED:
        if field in schema:
            yield forbidden_field(f"{where}.{field}", f"{field} is not supported")
    if kind == "null":
        yield forbidden_field(f"{where}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden_field(f"{where}.items", "items must be a schema object and not an array")
    if place.inside_metadata and schema.get(EMBEDDED):
        yield forbidden_field(f"{where}.{EMBEDDED}", "must not be used inside of resource meta")


def _list_errors(schema: Schema, where: str) -> Causes:
    """Check the types of lists and maps."""
    list_type, map_type, kind = schema.get(_LIST_TYPE), schema.get(_MAP_TYPE), schema.get("type", "")
    items, keys = schema.get("items"), schema.get(_KEYS)
    for field, given, wanted in ((_MAP_TYPE, map_type, "object"), (_LIST_TYPE, list_type, "array")):
        if given is not None and kind != wanted:
            why = f"must be {wanted} if {field} is specified"
            yield invalid_value(f"{where}.type", kind, why) if kind else required(f"{where}.type", why)
        if field == _MAP_TYPE and given not in (None, "atomic", "granular"):
            yield not_supported(f"{where}.{field}", given, ("atomic", "granular"))
    if list_type == "set" and kind == "array" and isinstance(items, dict):
        yield from _set_errors(items, f"{where}.items")
    if list_type not in (None, "atomic", "set", "map"):
        yield not_supported(f"{where}.{_LIST_TYPE}", list_type, ("atomic", "set", "map"))
    if keys and list_type != "map":
        why, field = f"must be map if {_KEYS} is non-empty", f"{where}.{_LIST_TYPE}"
        yield required(field, why) if list_type is None else invalid_value(field, list_type, why)
    if list_type == "map":
        yield from _map_errors(keys or [], items, where)
    if list_type in ("set", "map") and isinstance(items, dict):
        yield from _item_errors(keys or [], items, where, list_type)


def _set_errors(items: Schema, where: str) -> Causes:
    why, given = f"must be atomic as item of a list with {_LIST_TYPE}=set", items.get(_LIST_TYPE)
    if items.get("type") == "array" and given not in (None, "atomic"):
        yield invalid_value(f"{where}.{_LIST_TYPE}", given, why)
    elif items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        # The real server names the type of the list here.
        yield invalid_value(f"{where}.{_MAP_TYPE}", given, why)


def _map_errors(keys: list[str], items: Any, where: str) -> Causes:
    if not keys:
        yield required(f"{where}.{_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if items is None:
        yield required(f"{where}.items", f"must have a schema if {_LIST_TYPE} is map")
    elif isinstance(items, list):
        why = f"must only have a single schema if {_LIST_TYPE} is map"
        yield invalid_value(f"{where}.items", go_form(items, "JSONSchemaPropsOrArray"), why)
    elif items.get("type") != "object":
        why = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid_value(f"{where}.items.type", items.get("type", ""), why)
    else:
        for index, key in enumerate(keys):
            known = items.get("properties", {}).get(key)
            if known is None:
                yield invalid_value(f"{where}.{_KEYS}", keys, "entries must all be names of item properties")
            elif known.get("type") in ("array", "object"):
                why = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
                yield invalid_value(f"{where}.items.properties[{key}].type", "object", why)
            if key in keys[:index]:
                yield invalid_value(f"{where}.{_KEYS}", keys, "must not contain duplicate entries")


def _item_errors(keys: list[str], items: Schema, where: str, list_type: str) -> Causes:
    """Check that items and their keys are neither null nor absent."""
    if items.get("nullable"):
        yield forbidden_field(f"{where}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}")
    why = f"this property is in {_KEYS}, so it "
    for key in keys if list_type == "map" else ():
        known = items.get("properties", {}).get(key)
        if known is None:
            continue
        field = f"{where}.items.properties[{key}]"
        if key not in items.get("required", ()) and "default" not in known:
            yield required(f"{field}.default", f"{why}must have a default or be a required property")
        if known.get("nullable"):
            yield forbidden_field(f"{field}.nullable", f"{why}cannot be nullable")


def _rule_field_errors(schema: Schema, rule: Schema, where: str) -> Causes:
    """Check the fields of a CEL rule, but not its expressions."""
    text, message, path = (rule.get(field, "") for field in ("rule", "message", "fieldPath"))
    if not text.strip():
        yield required(f"{where}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid_value(f"{where}.message", message, "must be non-empty if specified")
    elif _BREAK.search(message.strip()):
        yield invalid_value(f"{where}.message", message, _ONE_LINE)
    elif _BREAK.search(text.strip()) and not message.strip():
        yield required(f"{where}.message", "message must be specified if rule contains line breaks")
    if not rule.get("messageExpression", "x").strip():
        yield required(f"{where}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason", _REASONS[0]) not in _REASONS:
        yield not_supported(f"{where}.reason", rule["reason"], _REASONS)
    yield from (invalid_value(f"{where}.fieldPath", path, why) for why in _path_errors(schema, path) if path)


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


def _default_errors(schema: Schema, where: str, about: dict[str, bool]) -> list[Cause]:
    """Return the errors of defaults by their own schemas; `about` says whether it is the root, or in metadata."""
    embedded = bool(schema.get(EMBEDDED)) or about.get("root", False)
    in_metadata = about.get("in_metadata", False) and not embedded
    found = list(_one_default({**schema, EMBEDDED: True} if embedded else schema, where, in_metadata=in_metadata))
    if "items" in schema:
        found += _default_errors(schema["items"], f"{where}.items", {"in_metadata": in_metadata})
    for name, below in schema.get("properties", {}).items():
        inside = in_metadata or (embedded and name in _METADATA)
        found += _default_errors(below, f"{where}.properties[{name}]", {"in_metadata": inside})
    return found


def _one_default(schema: Schema, where: str, *, in_metadata: bool) -> Causes:
    if "default" not in schema:
        return
    default, unknown = schema["default"], list[str]()
    pruned(schema, default, "", unknown)
    if unknown and not in_metadata:
        yield invalid_value(f"{where}.default", default, "must not have unknown fields")
    found = [] if in_metadata else [within(one, f"{where}.default") for one in embedded_errors(schema, default)]
    found = found or schema_errors(schema, default, where=f"{where}.default")
    if not found and has_rules(schema):
        from clientgo_apiserver.apiextensions.cel import cel_errors  # noqa: PLC0415 (see above)

        held = {"type": "object", "properties": {"default": schema}}
        found = [within(one, where) for one in cel_errors(held, {"default": default}, None)]
    yield from found
