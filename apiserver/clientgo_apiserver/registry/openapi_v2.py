"""OpenAPI v2 documents, made from those of v3: the definitions of all kinds, and the operations on them.

Clients from the time before OpenAPI v3 read them: kubectl before 1.27 looks for `dryRun` among the parameters of a
kind's PATCH. Parameters are written out where a real server refers to shared ones.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from clientgo_apiserver.crds.embedded import EMBEDDED

Json = dict[str, Any]

_LEFT_OUT = ("allOf", "anyOf", "oneOf", "not", "default", "nullable", "properties")
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_KINDS = "x-kubernetes-group-version-kind"
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")


def v2_document(documents: Iterable[bytes]) -> Json:
    """Return the document of the definitions and paths in these documents of OpenAPI v3."""
    schemas_by_name: Json = {}
    items: Json = {}
    for text in documents:
        document = msgspec.json.decode(text.replace(b"#/components/schemas/", b"#/definitions/"))
        schemas_by_name |= document.get("components", {}).get("schemas", {})
        items |= document.get("paths", {})
    definitions = {name: _as_v2(schemas_by_name[name]) for name in sorted(schemas_by_name)}
    paths = {path: _path_item(items[path]) for path in sorted(items)}
    info = {"title": "Kubernetes", "version": "v1"}
    return {"swagger": "2.0", "info": info, "paths": paths, "definitions": definitions}


def _path_item(item: Json) -> Json:
    operations = {method: _operation(item[method]) for method in _METHODS if method in item}
    shared = [_parameter(parameter) for parameter in item.get("parameters", ())]
    return {**operations, "parameters": shared} if shared else operations


def _operation(operation: Json) -> Json:
    """Return an operation of OpenAPI v3 as one of v2, in which the body is a parameter."""
    members = {name: value for name, value in operation.items() if name != "requestBody"}
    parameters = [_parameter(parameter) for parameter in operation.get("parameters", ())]
    produced = [*operation["responses"].get("200", {}).get("content", {})]
    accepted = ["*/*"] if "x-kubernetes-action" in operation else produced
    if body := operation.get("requestBody"):
        accepted = [*body["content"]]
        required = {"required": True} if body.get("required") else {}
        parameters.insert(
            0, {"name": "body", "in": "body", **required, "schema": body["content"][accepted[0]]["schema"]}
        )
    members["consumes"] = accepted
    members["produces"] = produced
    members["schemes"] = ["https"]
    members["responses"] = {code: _response(response) for code, response in operation["responses"].items()}
    return {**members, "parameters": parameters} if parameters else members


def _parameter(parameter: Json) -> Json:
    return {**{name: value for name, value in parameter.items() if name != "schema"}, **parameter["schema"]}


def _response(response: Json) -> Json:
    content = next(iter(response.get("content", {}).values()), None)
    return {"description": response["description"], **({"schema": content["schema"]} if content else {})}


def _as_v2(schema: Any) -> Any:
    """Return a schema of OpenAPI v3 as one of v2: without defaults, unions, and `allOf` around references.

    kubectl cannot read the type and members of values that may be null or have unknown fields, so these have none. It
    needs the type of a kind, which has nothing else then.
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
    if schema.get("nullable") is True:
        return _without(members, "items", "properties", "type")
    if schema.get(_PRESERVE) is True:
        if _KINDS in schema:
            return {"type": "object", _KINDS: schema[_KINDS]}
        embedded = ("required",) if schema.get(EMBEDDED) else ()
        return _without(members, "items", "properties", "type", *embedded)
    return members


def _without(schema: Json, *names: str) -> Json:
    return {name: value for name, value in schema.items() if name not in names}
