"""The `paths` of an OpenAPI document: the operations of each resource and their parameters.

kubectl uses them twice: `apply` and `create` look for `fieldValidation` among the parameters of a kind's PATCH to learn
that the server validates; `explain` finds a resource's kind by its path.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from clientgo.apiserver.registry.openapi_builtin import META, custom_definition_name, definition_name
from clientgo.apiserver.registry.registry import Resource

Json = dict[str, Any]

SCALE_DEFINITION = definition_name("autoscaling", "v1", "Scale")
SHARED_TYPES = ("DeleteOptions", "ObjectMeta", "ListMeta", "Status")
"""Types of meta/v1 that operations refer to, besides `Patch`."""

_READ_TYPES = ("application/json", "application/yaml")
_PATCH_TYPES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_LIST = (
    "allowWatchBookmarks:boolean", "continue:string", "fieldSelector:string", "labelSelector:string",
    "limit:integer", "resourceVersion:string", "resourceVersionMatch:string", "sendInitialEvents:boolean",
    "timeoutSeconds:integer", "watch:boolean",
)  # fmt: skip
_WRITE = ("dryRun:string", "fieldManager:string", "fieldValidation:string")
_DELETE = ("dryRun:string", "gracePeriodSeconds:integer", "orphanDependents:boolean", "propagationPolicy:string")
_PARAMETERS = {
    "list": _LIST,
    "post": _WRITE,
    "deletecollection": (*_LIST, *_DELETE),
    "put": _WRITE,
    "patch": (*_WRITE, "force:boolean"),
    "delete": _DELETE,
}
_METHODS = {"list": "get", "deletecollection": "delete"}
_OPERATIONS = {"get": "read", "post": "create", "put": "replace", "deletecollection": "delete"}
_VERBS = {"post": "create", "put": "update"}


class _Target(NamedTuple):
    """Target of operations: a resource, or one of its subresources."""

    resource: Resource
    definition: str
    kind: Json
    part: str = ""


def definition_of(resource: Resource, kind: str = "") -> str:
    """Return the schema name of a resource's kind, or of another kind of its group and version."""
    name = custom_definition_name if resource.custom else definition_name
    return name(resource.group, resource.version, kind or resource.kind)


def paths_of(resources: Iterable[Resource]) -> Json:
    """Return the paths of these resources, each with its operations."""
    found: Json = {}
    for resource in resources:
        kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        target = _Target(resource, definition_of(resource), kind)
        root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        base = f"{root}{'/namespaces/{namespace}' if resource.namespaced else ''}/{resource.plural}"
        if resource.namespaced and "list" in resource.verbs:
            found[f"{root}/{resource.plural}"] = _item(target, ("list",), everywhere=True)
        found[base] = _item(target, ("list", "post", "deletecollection"))
        found[f"{base}/{{name}}"] = _item(target, ("get", "put", "delete", "patch"), named=True)
        scale = {"group": "autoscaling", "kind": "Scale", "version": "v1"}
        parts = [target._replace(definition=SCALE_DEFINITION, kind=scale, part="scale")] if resource.scale else []
        for part in (*parts, *([target._replace(part="status")] if resource.status else [])):
            found[f"{base}/{{name}}/{part.part}"] = _item(part, ("get", "put", "patch"), named=True)
    return dict(sorted((path, item) for path, item in found.items() if item))


def _item(target: _Target, actions: tuple[str, ...], *, named: bool = False, everywhere: bool = False) -> Json:
    served = [action for action in actions if _VERBS.get(action, action) in target.resource.verbs]
    if not served:
        return {}
    operations = {_METHODS.get(action, action): _operation(target, action, everywhere=everywhere) for action in served}
    in_path = [("name", named), ("namespace", target.resource.namespaced and not everywhere)]
    fixed = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
        for name, there in in_path
        if there
    ]
    return {**operations, "parameters": [*fixed, _query("pretty:string")]}


def _operation(target: _Target, action: str, *, everywhere: bool) -> Json:
    resource = target.resource
    group = (resource.group.split(".")[0] or "core").capitalize()
    scope = "Collection" if action == "deletecollection" else ""
    scope += "Namespaced" if resource.namespaced and not everywhere else ""
    tail = f"{resource.kind}{target.part.capitalize()}{'ForAllNamespaces' if everywhere else ''}"
    body = _body(target, action)
    return {
        "tags": [f"{group.lower()}_{resource.version}"],
        "description": f"{action} objects of kind {resource.kind}",
        "operationId": f"{_OPERATIONS.get(action, action)}{group}{resource.version.capitalize()}{scope}{tail}",
        "parameters": [_query(text) for text in _PARAMETERS.get(action, ())],
        **({"requestBody": body} if body else {}),
        "responses": _responses(target, action),
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": target.kind,
    }


def _query(text: str) -> Json:
    name, _, kind = text.partition(":")
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}


def _content(definition: str, types: Iterable[str]) -> Json:
    return {kind: {"schema": {"$ref": f"#/components/schemas/{definition}"}} for kind in types}


def _body(target: _Target, action: str) -> Json:
    if action in {"post", "put"}:
        return {"content": _content(target.definition, ("*/*",)), "required": True}
    if action in {"delete", "deletecollection"}:
        return {"content": _content(f"{META}.DeleteOptions", ("*/*",))}
    if action == "patch":
        strategic = () if target.resource.custom else ("application/strategic-merge-patch+json",)
        return {"content": _content(f"{META}.Patch", (*_PATCH_TYPES, *strategic)), "required": True}
    return {}


def _responses(target: _Target, action: str) -> Json:
    definition = target.definition
    if action == "list":
        definition = definition_of(target.resource, target.resource.list_kind)
    elif action in {"delete", "deletecollection"}:
        definition = f"{META}.Status"
    codes = {"post": ("200", "201", "202"), "put": ("200", "201"), "patch": ("200", "201"), "delete": ("200", "202")}
    texts = {"200": "OK", "201": "Created", "202": "Accepted"}
    answers: Json = {
        code: {"description": texts[code], "content": _content(definition, _READ_TYPES)}
        for code in codes.get(action, ("200",))
    }
    return {**answers, "401": {"description": "Unauthorized"}}
