"""OpenAPI v2 documents, made from those of v3: the definitions of all kinds, without paths, as JSON and as protobuf."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

Json = dict[str, Any]

_LEFT_OUT = ("allOf", "anyOf", "oneOf", "not", "default", "nullable", "properties")
# Field numbers of gnostic's messages.
_TEXTS = {"$ref": 1, "format": 2, "description": 4}
_REQUIRED, _ENUM, _ADDITIONAL, _TYPE, _ITEMS, _PROPERTIES, _EXTENSION = 19, 20, 21, 22, 23, 25, 31
_SWAGGER, _INFO, _DEFINITIONS = 1, 2, 9
_encode = msgspec.json.encode


def v2_document(documents: Iterable[bytes]) -> Json:
    """Return the document of the definitions in these documents of OpenAPI v3."""
    schemas_by_name: Json = {}
    for text in documents:
        schemas = msgspec.json.decode(text.replace(b"#/components/schemas/", b"#/definitions/"))
        schemas_by_name |= schemas.get("components", {}).get("schemas", {})
    definitions = {name: _as_v2(schemas_by_name[name]) for name in sorted(schemas_by_name)}
    info = {"title": "Kubernetes", "version": "v1"}
    return {"swagger": "2.0", "info": info, "paths": {}, "definitions": definitions}


def _as_v2(schema: Any) -> Any:
    """Return a schema of OpenAPI v3 as one of v2: without defaults, unions, and `allOf` around references.

    kubectl cannot read the members of values that may be null or have unknown fields, so these have none.
    """
    if not isinstance(schema, dict):
        return schema
    members = {name: _as_v2(value) for name, value in schema.items() if name not in _LEFT_OUT}
    if "properties" in schema:
        members["properties"] = {name: _as_v2(value) for name, value in schema["properties"].items()}
    if {"type": "string"} in schema.get("oneOf", ()):  # or an integer
        members["type"] = "string"
    (reference,) = schema["allOf"] if len(schema.get("allOf", ())) == 1 else ({},)
    if "$ref" in reference:
        return {**members, **reference}
    nullable = schema.get("nullable") is True
    if nullable or schema.get("x-kubernetes-preserve-unknown-fields") is True:
        unread = ("items", "properties", "type") if nullable else ("items", "properties")
        return {name: value for name, value in members.items() if name not in unread}
    return members


def to_protobuf(document: Json) -> bytes:
    """Encode a document as gnostic's message `openapi.v2.Document`."""
    info = _field(1, document["info"]["title"]) + _field(2, document["info"]["version"])
    definitions = _field(_DEFINITIONS, _named(document["definitions"]))
    return _field(_SWAGGER, document["swagger"]) + _field(_INFO, info) + definitions


def _schema(schema: Json) -> bytes:
    fields = [_field(number, schema[name]) for name, number in _TEXTS.items() if schema.get(name)]
    fields += [_field(_REQUIRED, name) for name in schema.get("required", ())]
    fields += [_field(_ENUM, _yaml(value)) for value in schema.get("enum", ())]
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        fields.append(_field(_ADDITIONAL, _field(1, _schema(additional))))
    if "type" in schema:
        fields.append(_field(_TYPE, _field(1, schema["type"])))
    if isinstance(schema.get("items"), dict):
        fields.append(_field(_ITEMS, _field(1, _schema(schema["items"]))))
    if "properties" in schema:
        fields.append(_field(_PROPERTIES, _named(schema["properties"])))
    for name, value in schema.items():
        if name.startswith("x-"):
            fields.append(_field(_EXTENSION, _field(1, name) + _field(2, _yaml(value))))
    return b"".join(fields)


def _named(schemas: Mapping[str, Json]) -> bytes:
    return b"".join(_field(1, _field(1, name) + _field(2, _schema(schema))) for name, schema in schemas.items())


def _yaml(value: Any) -> bytes:
    return _field(2, _encode(value))  # JSON is YAML


def _field(number: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))
