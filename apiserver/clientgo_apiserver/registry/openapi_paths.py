"""Paths of OpenAPI documents: the operations of each resource and subresource, built-in and custom.

kubectl uses them twice: `apply` and `create` look for `fieldValidation` among the parameters of a kind's PATCH to learn
that the server validates; `explain` finds a resource's kind by its path. Generators of clients use all of them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from clientgo.meta.yamlio import read_yaml
from clientgo_apiserver.api.resources import Resource, ServedSubresource
from clientgo_apiserver.registry.schemas import META, definition_of, reference

Json = dict[str, Any]

FILE = Path(__file__).with_name("openapi.yaml")
_READ = ("application/json", "application/yaml")
_BUILTIN_READ = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
_PATCH = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_BUILTIN_PATCH = (*_PATCH, "application/strategic-merge-patch+json")
_STREAMS = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_STRING = {"type": "string"}


@cache
def _data() -> Json:
    document: Json = read_yaml(FILE.read_text(encoding="utf-8"))[0]
    return document


def custom_definition_name(group: str, version: str, kind: str) -> str:
    """Return the schema name of a custom type, with its group reversed: `io.k8s.samplecontroller.v1alpha1.Foo`."""
    return f"{'.'.join(reversed(group.split('.')))}.{version}.{kind}"


class _Target(NamedTuple):
    """Target of operations: a resource, or one of its subresources."""

    resource: Resource
    kind: Mapping[str, str]
    definition: str
    part: str = ""

    @property
    def tag(self) -> str:
        """Group and version, as tags of operations have them: `apps_v1`."""
        return f"{_group_name(self.resource)}_{self.resource.version}"


def root_of(group: str, version: str) -> str:
    """Return the path below which a group version is served."""
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def paths_of(resources: Iterable[Resource]) -> Json:
    """Return the paths of these resources, each with its operations."""
    paths = {path: item for resource in resources for path, item in _items(resource) if item}
    return dict(sorted(paths.items()))


def group_version_paths(group: str, version: str) -> Json:
    """Return the path of the list of resources of a group version."""
    name = _group_name_of(group)
    response = _content(reference(f"{META}.APIResourceList"), _BUILTIN_READ)
    operation_id = f"get{_title(name)}{version.capitalize()}APIResources"
    return {f"{root_of(group, version)}/": {"get": _discovery(f"{name}_{version}", operation_id, response)}}


def discovery_paths(path: str) -> Json:
    """Return the path of a document without resources, such as `apis`, `apis/apps`, or `version`."""
    if path in _data()["discovery"]:
        tag, operation_id, kind, *types = _data()["discovery"][path]
        response = _content(reference(kind) if kind else _STRING, types or _BUILTIN_READ)
    else:
        tag = _group_name_of(path.removeprefix("apis/"))
        operation_id = f"get{_title(tag)}APIGroup"
        response = _content(reference(f"{META}.APIGroup"), _BUILTIN_READ)
    return {f"/{path}/": {"get": _discovery(tag, operation_id, response)}}


def _discovery(tag: str, operation_id: str, content: Json) -> Json:
    responses = {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}}
    return {"tags": [tag], "operationId": operation_id, "responses": responses}


def _items(resource: Resource) -> Iterator[tuple[str, Json]]:
    """Yield the paths of a resource and its subresources."""
    root = root_of(resource.group, resource.version)
    target = _target(resource, resource.group, resource.version, resource.kind)
    inside = f"{'/namespaces/{namespace}' if resource.namespaced else ''}/{resource.plural}"
    base = f"{root}{inside}"
    if resource.namespaced and "list" in resource.verbs:
        yield f"{root}/{resource.plural}", _item(target, ("list",), everywhere=True)
    if not resource.custom:  # deprecated paths, which custom kinds have never had
        if resource.namespaced:
            yield f"{root}/watch/{resource.plural}", _item(target, ("watchlist",), everywhere=True)
        yield f"{root}/watch{inside}", _item(target, ("watchlist",))
        yield f"{root}/watch{inside}/{{name}}", _item(target, ("watch",), named=True)
    yield base, _item(target, ("list", "post", "deletecollection"))
    yield f"{base}/{{name}}", _item(target, ("get", "put", "delete", "patch"), named=True)
    if resource.scale is not None:
        scale = _target(resource, "autoscaling", "v1", "Scale", "scale")
        yield f"{base}/{{name}}/scale", _item(scale, ("get", "put", "patch"), named=True)
    if resource.status:
        yield f"{base}/{{name}}/status", _item(target._replace(part="status"), ("get", "put", "patch"), named=True)
    for part in resource.connected:
        yield from _subresource_items(resource, part, f"{base}/{{name}}/{part.name}")


def _subresource_items(resource: Resource, part: ServedSubresource, path: str) -> Iterator[tuple[str, Json]]:
    version = part.version or resource.version
    target = _target(resource, part.group if part.version else resource.group, version, part.kind, part.name)
    if part.kind.endswith("Options"):
        verbs = _data()["connect"]["proxy" if part.name == "proxy" else "stream"]
        yield path, _connect_item(target, verbs, ())
        if part.name == "proxy":
            yield f"{path}/{{path}}", _connect_item(target, verbs, ("path",))
    else:
        actions = tuple(action for action in ("get", "post", "put", "patch") if _verb(action) in part.verbs)
        yield path, _item(target, actions, named=True, verbs=part.verbs)


def _target(resource: Resource, group: str, version: str, kind: str, part: str = "") -> _Target:
    named = {"group": group, "kind": kind, "version": version}
    if resource.custom and part != "scale":
        return _Target(resource, named, custom_definition_name(group, version, kind), part)
    definition = "" if kind.endswith("Options") else definition_of(group, version, kind)
    return _Target(resource, named, definition, part)


def _item(
    target: _Target,
    actions: tuple[str, ...],
    *,
    named: bool = False,
    everywhere: bool = False,
    verbs: tuple[str, ...] | None = None,
) -> Json:
    """Return the operations of a path, with the parameters that all of them have beside them."""
    allowed = target.resource.verbs if verbs is None else verbs
    operations = {
        _data()["methods"].get(action, action): _operation(target, action, named=named, everywhere=everywhere)
        for action in actions
        if _verb(action) in allowed
    }
    return _with_shared_parameters(operations)


def _verb(action: str) -> str:
    verb: str = _data()["verbs"].get(action, action)
    return verb


def _with_shared_parameters(operations: Json) -> Json:
    """Move the parameters that all operations have to the path, as kube-apiserver does."""
    if not operations:
        return {}
    every = [operation["parameters"] for operation in operations.values()]
    shared = [parameter for parameter in every[0] if all(parameter in parameters for parameters in every)]
    for operation in operations.values():
        operation["parameters"] = [parameter for parameter in operation["parameters"] if parameter not in shared]
        if not operation["parameters"]:
            del operation["parameters"]
    return {**operations, "parameters": shared}


def _operation(target: _Target, action: str, *, named: bool, everywhere: bool) -> Json:
    resource = target.resource
    scope = "Collection" if action == "deletecollection" else ""
    scope += "Namespaced" if resource.namespaced and not everywhere else ""
    suffix = f"{resource.kind}{_part_name(target)}{'List' if action == 'watchlist' else ''}"
    suffix += "ForAllNamespaces" if everywhere else ""
    queries = dict(_data()["parameters"].get(action, {}))
    if target.part == "log":
        queries |= _data()["log"]
    queries |= _data()["customParameters" if resource.custom else "builtinParameters"].get(action, {})
    body = _body(target, action)
    return {
        "tags": [target.tag],
        "description": f"{action} objects of kind {resource.kind}",
        "operationId": f"{_data()['operations'].get(action, action)}{_prefix(resource)}{scope}{suffix}",
        "parameters": _parameters(queries | {"pretty": "string"}, target, named=named, everywhere=everywhere),
        **({"requestBody": body} if body else {}),
        "responses": _responses(target, action),
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": target.kind,
    }


def _connect_item(target: _Target, methods: Iterable[str], path_parameters: tuple[str, ...]) -> Json:
    suffix = f"{'Namespaced' if target.resource.namespaced else ''}{target.resource.kind}{_part_name(target)}"
    suffix += "WithPath" if path_parameters else ""
    queries = _data()["connectParameters"][target.part]
    parameters = _parameters(queries, target, named=True, in_path=path_parameters)
    return _with_shared_parameters(
        {
            method: {
                "tags": [target.tag],
                "description": f"connect {method.upper()} requests to {target.part} of {target.resource.kind}",
                "operationId": f"connect{_prefix(target.resource)}{method.capitalize()}{suffix}",
                "parameters": parameters,
                "responses": {
                    "200": {"description": "OK", "content": _content(_STRING, ("*/*",))},
                    "401": {"description": "Unauthorized"},
                },
                "x-kubernetes-action": "connect",
                "x-kubernetes-group-version-kind": target.kind,
            }
            for method in methods
        }
    )


def _parameters(
    queries: Mapping[str, str], target: _Target, *, named: bool, everywhere: bool = False, in_path: tuple[str, ...] = ()
) -> list[Json]:
    """Return the parameters of an operation, sorted by name, those in the path first."""
    namespaced = target.resource.namespaced and not everywhere
    names = (*(("name",) if named else ()), *(("namespace",) if namespaced else ()), *in_path)
    path = [{"name": name, "in": "path", "required": True, "schema": _unique("string")} for name in names]
    query = [{"name": name, "in": "query", "schema": _unique(kind)} for name, kind in queries.items()]
    return sorted([*path, *query], key=lambda parameter: (parameter["name"], parameter["in"]))


def _unique(kind: str) -> Json:
    return {"type": kind, "uniqueItems": True}


def _content(schema: Json, types: Iterable[str]) -> Json:
    return {media_type: {"schema": schema} for media_type in types}


def _body(target: _Target, action: str) -> Json:
    if action in {"post", "put"}:
        return {"content": _content(reference(target.definition), ("*/*",)), "required": True}
    if action in {"delete", "deletecollection"}:
        return {"content": _content(reference(f"{META}.DeleteOptions"), ("*/*",))}
    if action == "patch":
        types = _PATCH if target.resource.custom else _BUILTIN_PATCH
        return {"content": _content(reference(f"{META}.Patch"), types), "required": True}
    return {}


def _responses(target: _Target, action: str) -> Json:
    resource = target.resource
    types = _READ if resource.custom else _BUILTIN_READ
    schema = reference(target.definition)
    if action in {"list", "watch", "watchlist"}:
        schema = reference(_list_definition(resource) if action == "list" else f"{META}.WatchEvent")
        types = types if resource.custom else tuple(sorted((*types, *_STREAMS)))
    elif action == "deletecollection" or (action == "delete" and not resource.returns_deleted):
        schema = reference(f"{META}.Status")
    elif target.part == "log":
        schema, types = _STRING, (*types, "text/plain")
    responses: Json = {
        code: {"description": _data()["responses"][code], "content": _content(schema, types)}
        for code in _data()["codes"].get(action, ("200",))
    }
    return {**responses, "401": {"description": "Unauthorized"}}


def _list_definition(resource: Resource) -> str:
    name = custom_definition_name if resource.custom else definition_of
    return name(resource.group, resource.version, resource.list_kind)


def _part_name(target: _Target) -> str:
    name: str = _data()["partNames"].get(target.part, target.part[:1].upper() + target.part[1:])
    return name


def _group_name(resource: Resource) -> str:
    """Return the group as operations name it: `apps`, `rbacAuthorization`, `samplecontrollerK8sIo`."""
    return _group_name_of(resource.group, custom=resource.custom)


def _group_name_of(group: str, *, custom: bool = False) -> str:
    words = re.split(r"[.-]", group if custom else group.removesuffix(".k8s.io") or "core")
    return words[0] + "".join(word.capitalize() if not custom else _title(word) for word in words[1:])


def _title(name: str) -> str:
    return name[:1].upper() + name[1:]


def _prefix(resource: Resource) -> str:
    return f"{_title(_group_name(resource))}{resource.version.capitalize()}"
