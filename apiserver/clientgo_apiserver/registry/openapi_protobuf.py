"""OpenAPI v2 documents in protobuf, as gnostic's message `openapi.v2.Document`, which kubectl asks for."""

from collections.abc import Mapping
from typing import Any

import msgspec

Json = dict[str, Any]

# Field numbers of gnostic's messages.
_TEXTS = {"$ref": 1, "format": 2, "description": 4}
_REQUIRED, _ENUM, _ADDITIONAL, _TYPE, _ITEMS, _PROPERTIES, _EXTENSION = 19, 20, 21, 22, 23, 25, 31
_SWAGGER, _INFO, _PATHS, _DEFINITIONS = 1, 2, 8, 9
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_ITEM_PARAMETERS = 9
_OPERATION = {"tags": 1, "description": 3, "operationId": 5, "produces": 6, "consumes": 7, "schemes": 10}
_OPERATION_PARAMETERS, _RESPONSES, _OPERATION_EXTENSION = 8, 9, 13
_PLACES = {
    "query": (3, {"required": 1, "in": 2, "name": 4, "type": 6, "uniqueItems": 20}),
    "path": (4, {"required": 1, "in": 2, "name": 4, "type": 5, "uniqueItems": 19}),
}
"""For each place of a parameter, its field in the union of all, and the fields of its own message."""
_encode = msgspec.json.encode


def to_protobuf(document: Json) -> bytes:
    """Encode a document as gnostic's message `openapi.v2.Document`."""
    info = _field(1, document["info"]["title"]) + _field(2, document["info"]["version"])
    paths = b"".join(_field(2, _field(1, path) + _field(2, _item(item))) for path, item in document["paths"].items())
    definitions = _field(_DEFINITIONS, _named(document["definitions"]))
    return _field(_SWAGGER, document["swagger"]) + _field(_INFO, info) + _field(_PATHS, paths) + definitions


def _item(item: Json) -> bytes:
    operations = [_field(number, _operation(item[method])) for method, number in _METHODS.items() if method in item]
    return b"".join(operations) + _parameters(_ITEM_PARAMETERS, item)


def _operation(operation: Json) -> bytes:
    fields = []
    for name, number in _OPERATION.items():
        value = operation.get(name) or ()
        fields += [_field(number, text) for text in ([value] if isinstance(value, str) else value)]
    responses = [
        _field(1, _field(1, code) + _field(2, _field(1, _response(response))))
        for code, response in operation["responses"].items()
    ]
    fields += [_parameters(_OPERATION_PARAMETERS, operation), _field(_RESPONSES, b"".join(responses))]
    return b"".join(fields) + _extensions(_OPERATION_EXTENSION, operation)


def _response(response: Json) -> bytes:
    schema = _field(2, _field(1, _schema(response["schema"]))) if "schema" in response else b""
    return _field(1, response["description"]) + schema


def _parameters(number: int, owner: Json) -> bytes:
    return b"".join(_field(number, _field(1, _parameter(each))) for each in owner.get("parameters", ()))


def _parameter(parameter: Json) -> bytes:
    if parameter["in"] == "body":
        required = _flag(4, parameter.get("required"))
        schema = _field(5, _schema(parameter["schema"]))
        return _field(1, _field(2, parameter["name"]) + _field(3, "body") + required + schema)
    union_field, numbers = _PLACES[parameter["in"]]
    fields = (
        _field(number, value) if isinstance(value := parameter.get(name), str) else _flag(number, value)
        for name, number in numbers.items()
    )
    return _field(2, _field(union_field, b"".join(fields)))


def _extensions(number: int, owner: Json) -> bytes:
    named = ((name, value) for name, value in owner.items() if name.startswith("x-"))
    return b"".join(_field(number, _field(1, name) + _field(2, _yaml(value))) for name, value in named)


def _flag(number: int, value: object) -> bytes:
    return _varint(number << 3) + b"\x01" if value else b""


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
    return b"".join(fields) + _extensions(_EXTENSION, schema)


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
