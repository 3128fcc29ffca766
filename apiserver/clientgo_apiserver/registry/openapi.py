"""OpenAPI documents: an index with one entry per group version, and a document for each.

The documents of the built-in kinds are those of a real server, in `openapi_documents.xz`, which is read when the first
document is requested (6 MB, tenths of a second). Those of custom kinds are built from their definitions: when they are
first requested, and again only after the resources of the group version change. As on a real server, the index has a
hash of each document, so that clients may cache a document for as long as its URL stays the same.
"""

import hashlib
import lzma
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from clientgo_apiserver.datafiles import read_data
from clientgo_apiserver.registry.openapi_v2 import to_protobuf, v2_document
from clientgo_apiserver.registry.registry import Registry, Resource

Json = dict[str, Any]

V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Content type of OpenAPI v2 in protobuf. kubectl requests it with `v2@v1.0`, which is not a valid media type."""

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_TEXTS = read_data(__package__, "openapi.yaml")


# A converter is not part of the schema, and JSON cannot represent it.
_encode = msgspec.json.Encoder(enc_hook=lambda converter: None).encode


@cache
def builtin_hashes() -> dict[str, str]:
    """Return the hashes of the built-in documents by path, such as `apis/apps/v1`."""
    text = (files(__package__) / "openapi_hashes.txt").read_text(encoding="utf-8")
    return dict(line.split() for line in text.splitlines() if not line.startswith("#"))


@cache
def _builtin_documents() -> dict[bytes, bytes]:
    packed = (files(__package__) / "openapi_documents.xz").read_bytes()
    return dict(line.split(b"\t", 1) for line in lzma.decompress(packed).splitlines())


def _builtin_schemas(path: str) -> Json:
    schemas: Json = msgspec.json.decode(_builtin_documents()[path.encode()])["components"]["schemas"]
    return schemas


def path_of(group: str, version: str) -> str:
    """Return the path of a group version in the index."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


class OpenAPI:
    """OpenAPI documents of a registry, cached until it changes.

    `index` and `hash_of` belong to the server's event loop; `document` may run in another thread, because the first
    document takes tenths of a second.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._documents: dict[str, tuple[str, bytes]] = {}
        self._index: tuple[int, Json] = (-1, {})
        self._v2: tuple[int, bytes, bytes] = (-1, b"", b"")

    def index(self) -> Json:
        """Return the document of `/openapi/v3`: the path of each document, and its URL with a hash."""
        if self._index[0] != self._registry.version:
            groups = {(item.group, item.version) for item in self._registry.resources() if item.custom}
            hashes = {**builtin_hashes(), **{path_of(*one): self.hash_of(path_of(*one)) for one in groups}}
            urls = {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={hashes[path]}"} for path in sorted(hashes)}
            self._index = (self._registry.version, {"paths": urls})
        return self._index[1]

    def hash_of(self, path: str) -> str:
        """Return the hash of a document in the index; empty if it is not served."""
        known = builtin_hashes().get(path)
        if known is None:
            resources = self._resources(path)
            known = hashlib.sha512(_encode(resources)).hexdigest().upper() if resources else ""
        return known

    def document(self, path: str) -> bytes | None:
        """Return the document at a path of the index as JSON; None if it is not served."""
        if path in builtin_hashes():
            return _builtin_documents()[path.encode()]
        digest = self.hash_of(path)
        if not digest:
            return None
        known = self._documents.get(path)
        if known is None or known[0] != digest:
            known = self._documents[path] = (digest, msgspec.json.encode(make_document(self._resources(path))))
        return known[1]

    def v2_document(self, *, protobuf: bool) -> bytes:
        """Return the document of `/openapi/v2` for the kinds of the last index."""
        index, paths = self._index
        if self._v2[0] != index:
            found = [text for path in paths["paths"] if (text := self.document(path)) is not None]
            document = v2_document(found)
            self._v2 = (index, msgspec.json.encode(document), to_protobuf(document))
        _, text, packed = self._v2
        return packed if protobuf else text

    def _resources(self, path: str) -> list[Resource]:
        found = (item for item in self._registry.resources() if item.custom)
        return [item for item in found if path_of(item.group, item.version) == path]


_KEPT: WeakKeyDictionary[Registry, OpenAPI] = WeakKeyDictionary()


def of(registry: Registry) -> OpenAPI:
    """Return the documents of a registry, the same instance each time."""
    return _KEPT.setdefault(registry, OpenAPI(registry))


def custom_definition_name(group: str, version: str, kind: str) -> str:
    """Return the schema name of a custom type, with its group reversed: `io.k8s.samplecontroller.v1alpha1.Foo`."""
    return f"{'.'.join(reversed(group.split('.')))}.{version}.{kind}"


def make_document(resources: list[Resource]) -> Json:
    """Build the OpenAPI document of a group version of custom resources."""
    shared = _builtin_schemas("apis/coordination.k8s.io/v1")
    schemas = {name: schema for name, schema in shared.items() if name.startswith("io.k8s.apimachinery.")}
    if any(resource.scale is not None for resource in resources):
        scale = _builtin_schemas("apis/apps/v1")
        schemas |= {name: schema for name, schema in scale.items() if name.startswith("io.k8s.api.autoscaling.")}
    for resource in resources:
        schemas |= _custom_schemas(resource)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": _paths_of(resources),
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def _custom_schemas(resource: Resource) -> dict[str, Json]:
    item = _definition_of(resource)
    schema = dict(resource.schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    schema["properties"] = {**_TEXTS["typeMeta"], **schema.get("properties", {})}
    schema["properties"]["metadata"] = _reference("ObjectMeta", "Standard object's metadata.")
    listed = {
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            **_TEXTS["typeMeta"],
            "items": {"type": "array", "items": {"$ref": f"#/components/schemas/{item}"}},
            "metadata": _reference("ListMeta", "Standard list metadata."),
        },
    }
    return {
        item: _with_kind(schema, resource, resource.kind),
        _definition_of(resource, resource.list_kind): _with_kind(listed, resource, resource.list_kind),
    }


def _reference(name: str, description: str) -> Json:
    return {"description": description, "allOf": [{"$ref": f"#/components/schemas/{META}.{name}"}]}


def _with_kind(schema: Json, resource: Resource, kind: str) -> Json:
    own = {"group": resource.group, "kind": kind, "version": resource.version}
    return {**schema, "x-kubernetes-group-version-kind": [own]}


# kubectl uses the `paths` of a document twice: `apply` and `create` look for `fieldValidation` among the parameters of
# a kind's PATCH to learn that the server validates; `explain` finds a resource's kind by its path.

_SCALE = "io.k8s.api.autoscaling.v1.Scale"

_READ_TYPES = ("application/json", "application/yaml")
_PATCH_TYPES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")


class _Target(NamedTuple):
    """Target of operations: a resource, or one of its subresources."""

    resource: Resource
    definition: str
    kind: Json
    part: str = ""


def _definition_of(resource: Resource, kind: str = "") -> str:
    """Return the schema name of a resource's kind, or of another kind of its group and version."""
    return custom_definition_name(resource.group, resource.version, kind or resource.kind)


def _paths_of(resources: Iterable[Resource]) -> Json:
    """Return the paths of these resources, each with its operations."""
    found: Json = {}
    for resource in resources:
        kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        target = _Target(resource, _definition_of(resource), kind)
        root = f"/apis/{resource.group}/{resource.version}"
        base = f"{root}{'/namespaces/{namespace}' if resource.namespaced else ''}/{resource.plural}"
        if resource.namespaced and "list" in resource.verbs:
            found[f"{root}/{resource.plural}"] = _item(target, ("list",), everywhere=True)
        found[base] = _item(target, ("list", "post", "deletecollection"))
        found[f"{base}/{{name}}"] = _item(target, ("get", "put", "delete", "patch"), named=True)
        scale = {"group": "autoscaling", "kind": "Scale", "version": "v1"}
        parts = [target._replace(definition=_SCALE, kind=scale, part="scale")] if resource.scale else []
        for part in (*parts, *([target._replace(part="status")] if resource.status else [])):
            found[f"{base}/{{name}}/{part.part}"] = _item(part, ("get", "put", "patch"), named=True)
    return dict(sorted((path, item) for path, item in found.items() if item))


def _item(target: _Target, actions: tuple[str, ...], *, named: bool = False, everywhere: bool = False) -> Json:
    served = [action for action in actions if _TEXTS["verbs"].get(action, action) in target.resource.verbs]
    if not served:
        return {}
    methods: Json = _TEXTS["methods"]
    operations = {methods.get(action, action): _operation(target, action, everywhere=everywhere) for action in served}
    in_path = [("name", named), ("namespace", target.resource.namespaced and not everywhere)]
    fixed = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
        for name, there in in_path
        if there
    ]
    return {**operations, "parameters": [*fixed, _query("pretty", "string")]}


def _operation(target: _Target, action: str, *, everywhere: bool) -> Json:
    resource = target.resource
    group = "".join(part[:1].upper() + part[1:] for part in re.split(r"[.-]", resource.group))
    scope = "Collection" if action == "deletecollection" else ""
    scope += "Namespaced" if resource.namespaced and not everywhere else ""
    tail = f"{resource.kind}{target.part.capitalize()}{'ForAllNamespaces' if everywhere else ''}"
    body = _body(target, action)
    return {
        "tags": [f"{group[:1].lower()}{group[1:]}_{resource.version}"],
        "description": f"{action} objects of kind {resource.kind}",
        "operationId": f"{_TEXTS['operations'].get(action, action)}{group}{resource.version.capitalize()}{scope}{tail}",
        "parameters": [_query(*one) for one in _TEXTS["parameters"].get(action, {}).items()],
        **({"requestBody": body} if body else {}),
        "responses": _responses(target, action),
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": target.kind,
    }


def _query(name: str, kind: str) -> Json:
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}


def _content(definition: str, types: Iterable[str]) -> Json:
    return {kind: {"schema": {"$ref": f"#/components/schemas/{definition}"}} for kind in types}


def _body(target: _Target, action: str) -> Json:
    if action in {"post", "put"}:
        return {"content": _content(target.definition, ("*/*",)), "required": True}
    if action in {"delete", "deletecollection"}:
        return {"content": _content(f"{META}.DeleteOptions", ("*/*",))}
    if action == "patch":
        return {"content": _content(f"{META}.Patch", _PATCH_TYPES), "required": True}
    return {}


def _responses(target: _Target, action: str) -> Json:
    definition = target.definition
    if action == "list":
        definition = _definition_of(target.resource, target.resource.list_kind)
    elif action in {"delete", "deletecollection"}:
        definition = f"{META}.Status"
    answers: Json = {
        code: {"description": _TEXTS["responses"][code], "content": _content(definition, _READ_TYPES)}
        for code in _TEXTS["codes"].get(action, ("200",))
    }
    return {**answers, "401": {"description": "Unauthorized"}}
