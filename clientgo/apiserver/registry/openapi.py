"""OpenAPI v3 documents: an index with one entry per group version, and a document for each.

`kubectl apply` and `kubectl explain` read them. A document is built when it is first requested, and again only after
the resources of its group version change: as on a real server, the index has a hash of the content of each document, so
that clients may cache a document for as long as its URL stays the same.
"""

import hashlib
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from clientgo.apiserver.registry.openapi_builtin import META, components, shared_components
from clientgo.apiserver.registry.openapi_paths import SHARED_TYPES, definition_of, paths_of
from clientgo.apiserver.registry.registry import SCALE, Registry, Resource

Json = dict[str, Any]

V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Content type of OpenAPI v2 in protobuf. kubectl requests it with `v2@v1.0`, which is not a valid media type."""

_VERSION_TEXT = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized"
    " schemas to the latest internal value, and may reject unrecognized values. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
_KIND_TEXT = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the"
    " endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)
_TYPE_META: Json = {
    "apiVersion": {"description": _VERSION_TEXT, "type": "string"},
    "kind": {"description": _KIND_TEXT, "type": "string"},
}
_PATCH: Json = {"type": "object", "description": "A change to an object, in the form its content type names."}


# A converter is not part of the schema, and JSON cannot represent it.
_encode = msgspec.json.Encoder(enc_hook=lambda converter: None).encode


class OpenAPI:
    """OpenAPI documents of a registry, cached until it changes.

    `index` and `hash_of` belong to the server's event loop; `document` may run in another thread, because the first
    document of a group can take tenths of a second.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._documents: dict[tuple[str, str], tuple[str, bytes]] = {}
        self._index: tuple[int, Json] = (-1, {})

    def index(self) -> Json:
        """Return the document of `/openapi/v3`: the path of each group version, and its URL with a hash."""
        if self._index[0] != self._registry.version:
            paths = {}
            for group, versions in self._registry.groups().items():
                for version in versions:
                    path = f"apis/{group}/{version}" if group else f"api/{version}"
                    paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={self.hash_of(group, version)}"}
            self._index = (self._registry.version, {"paths": dict(sorted(paths.items()))})
        return self._index[1]

    def hash_of(self, group: str, version: str) -> str:
        """Return the hash of a group version in the index; empty if it is not served."""
        resources = self._resources(group, version)
        return hashlib.sha512(_encode(resources)).hexdigest().upper() if resources else ""

    def document(self, group: str, version: str) -> bytes | None:
        """Return the document of a group version as JSON; None if it is not served."""
        digest = self.hash_of(group, version)
        if not digest:
            return None
        known = self._documents.get((group, version))
        if known is None or known[0] != digest:
            made = msgspec.json.encode(make_document(group, version, self._resources(group, version)))
            known = self._documents[group, version] = (digest, made)
        return known[1]

    def _resources(self, group: str, version: str) -> list[Resource]:
        return [item for item in self._registry.resources() if (item.group, item.version) == (group, version)]


def v2_document() -> bytes:
    """Return the protobuf document of `/openapi/v2` (content type `V2_TYPE`), which describes no kinds.

    kubectl requests it for objects that have no kind in the v3 documents, such as a `List`. It leaves kinds that it
    does not find there to the server's validation, so nothing is lost.
    """
    swagger, info = b"\x0a\x032.0", b"\x0a\x0aKubernetes\x12\x02v1"
    return swagger + bytes((0x12, len(info))) + info


_KEPT: WeakKeyDictionary[Registry, OpenAPI] = WeakKeyDictionary()


def of(registry: Registry) -> OpenAPI:
    """Return the documents of a registry, the same instance each time."""
    return _KEPT.setdefault(registry, OpenAPI(registry))


def make_document(group: str, version: str, resources: list[Resource]) -> Json:
    """Build the OpenAPI document of one group version from its resources."""
    built_in = [resource for resource in resources if not resource.custom]
    schemas = {**shared_components(SHARED_TYPES), f"{META}.Patch": _PATCH}
    if any(resource.scale is not None for resource in resources):
        schemas |= components("autoscaling", "v1", [SCALE])
    if built_in:
        schemas |= components(group, version, built_in)
    for resource in resources:
        schemas |= _custom_schemas(resource) if resource.custom else {}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1"},
        "paths": paths_of(resources),
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def _custom_schemas(resource: Resource) -> dict[str, Json]:
    item = definition_of(resource)
    schema = dict(resource.schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    schema["properties"] = {**_TYPE_META, **schema.get("properties", {})}
    schema["properties"]["metadata"] = _reference("ObjectMeta", "Standard object's metadata.")
    listed = {
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            **_TYPE_META,
            "items": {"type": "array", "items": {"$ref": f"#/components/schemas/{item}"}},
            "metadata": _reference("ListMeta", "Standard list metadata."),
        },
    }
    return {
        item: _with_kind(schema, resource, resource.kind),
        definition_of(resource, resource.list_kind): _with_kind(listed, resource, resource.list_kind),
    }


def _reference(name: str, description: str) -> Json:
    return {"description": description, "allOf": [{"$ref": f"#/components/schemas/{META}.{name}"}]}


def _with_kind(schema: Json, resource: Resource, kind: str) -> Json:
    own = {"group": resource.group, "kind": kind, "version": resource.version}
    return {**schema, "x-kubernetes-group-version-kind": [own]}
