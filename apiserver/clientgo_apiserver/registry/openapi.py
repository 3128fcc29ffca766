"""OpenAPI documents: an index with one entry per group version, and a document for each.

A document is built when it is first requested, and that of custom kinds again after they change. As on a real server,
the index has a hash of each document, so that clients may cache a document for as long as its URL stays the same.
"""

import hashlib
from typing import Any, Self
from weakref import WeakKeyDictionary

import msgspec

from clientgo.meta.schema.descriptions import descriptions_of, package_file
from clientgo_apiserver.api.resources import Registry, Resource
from clientgo_apiserver.crds.embedded import EMBEDDED
from clientgo_apiserver.gotypes import table
from clientgo_apiserver.registry.builtin import builtin_registry
from clientgo_apiserver.registry.openapi_paths import (
    FILE,
    custom_definition_name,
    discovery_paths,
    group_version_paths,
    paths_of,
)
from clientgo_apiserver.registry.openapi_protobuf import to_protobuf
from clientgo_apiserver.registry.openapi_v2 import v2_document
from clientgo_apiserver.registry.schemas import META, described_field, reference, schemas_for
from clientgo_apiserver.releases.release import cached_by_release, current

Json = dict[str, Any]

V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Content type of OpenAPI v2 in protobuf. kubectl requests it with `v2@v1.0`, which is not a valid media type."""

_MORE = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_CUSTOM = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_TOKEN = {"type": "apiKey", "description": "bearer token", "name": "authorization", "in": "header"}
_WITHOUT_RESOURCES = (".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version")


# A converter is not part of the schema, and JSON cannot represent it.
_encode = msgspec.json.Encoder(enc_hook=lambda converter: None).encode


def path_of(group: str, version: str) -> str:
    """Return the path of a group version in the index."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


@cached_by_release
def builtin_hashes() -> dict[str, str]:
    """Return the hashes of the built-in documents by path, such as `apis/apps/v1`.

    They depend on the data files and on the package that has the descriptions; the documents are not built for them.
    """
    common = hashlib.sha512(b"".join(file.read_bytes() for file in (table.FILE, FILE, package_file())))
    groups = {path_of(item.group, item.version): item.group for item in builtin_registry().resources()}
    paths = {*_WITHOUT_RESOURCES, *groups, *(f"apis/{group}" for group in groups.values() if group)}
    hashes = {}
    for path in paths:
        digest = common.copy()
        digest.update(path.encode())
        hashes[path] = digest.hexdigest().upper()
    return hashes


@cached_by_release
def _builtin_document(path: str) -> bytes:
    resources = [item for item in builtin_registry().resources() if path_of(item.group, item.version) == path]
    if resources:
        group, version = resources[0].group, resources[0].version
        paths = group_version_paths(group, version) | paths_of(resources)
    else:
        group, paths = "", discovery_paths(path)
    schemas = schemas_for(paths, group)
    components: Json = {"schemas": schemas} if schemas else {}
    components["securitySchemes"] = {"BearerToken": _TOKEN}
    return msgspec.json.encode(
        {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": current().version},
            "paths": paths,
            "components": components,
        }
    )


class _Published(msgspec.Struct, frozen=True):
    """An index, the hash of each of its documents by path, and the custom resources of each group version."""

    version: int
    index: Json
    hashes: dict[str, str]
    custom: dict[str, list[Resource]]

    @classmethod
    def by(cls, registry: Registry) -> Self:
        """Read a registry."""
        custom: dict[str, list[Resource]] = {}
        for item in registry.resources():
            if item.custom:
                custom.setdefault(path_of(item.group, item.version), []).append(item)
        digests = {path: hashlib.sha512(_encode(items)).hexdigest().upper() for path, items in custom.items()}
        hashes = dict(sorted((digests | builtin_hashes()).items()))
        urls = {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"} for path, digest in hashes.items()}
        return cls(registry.version, {"paths": urls}, hashes, custom)


class OpenAPI:
    """OpenAPI documents of a registry, cached until it changes.

    `index` and `hash_of` belong to the server's event loop; `document` and `v2_document` may run in another thread,
    because the first document takes tenths of a second: they serve what was published last.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._documents: dict[str, tuple[str, bytes]] = {}
        self._published = _Published(-1, {}, {}, {})
        self._v2: tuple[_Published | None, bytes, bytes] = (None, b"", b"")

    def index(self) -> Json:
        """Return the document of `/openapi/v3`: the path of each document, and its URL with a hash."""
        return self._publish().index

    def hash_of(self, path: str) -> str:
        """Return the hash of a document in the index; empty if it is not served."""
        return self._publish().hashes.get(path, "")

    def document(self, path: str) -> bytes | None:
        """Return the document at a path of the last index as JSON; None if it is not served."""
        return self._document(self._published, path)

    def v2_document(self, *, protobuf: bool) -> bytes:
        """Return the document of `/openapi/v2` for the kinds of the last index."""
        published = self._published
        if self._v2[0] is not published:
            documents = [text for path in published.hashes if (text := self._document(published, path))]
            document = v2_document(documents)
            self._v2 = (published, msgspec.json.encode(document), to_protobuf(document))
        _, text, packed = self._v2
        return packed if protobuf else text

    def _publish(self) -> _Published:
        if self._published.version != self._registry.version:
            self._published = _Published.by(self._registry)
        return self._published

    def _document(self, published: _Published, path: str) -> bytes | None:
        if path in builtin_hashes():
            return _builtin_document(path)
        digest = published.hashes.get(path)
        if digest is None:
            return None
        cached = self._documents.get(path)
        if cached is None or cached[0] != digest:
            cached = self._documents[path] = (digest, msgspec.json.encode(make_document(published.custom[path])))
        return cached[1]


_KEPT: WeakKeyDictionary[Registry, OpenAPI] = WeakKeyDictionary()


def of(registry: Registry) -> OpenAPI:
    """Return the documents of a registry, the same instance each time."""
    return _KEPT.setdefault(registry, OpenAPI(registry))


def make_document(resources: list[Resource]) -> Json:
    """Build the OpenAPI document of a group version of custom resources."""
    custom: Json = {}
    for resource in resources:
        custom |= _custom_schemas(resource)
    paths = paths_of(resources)
    shared = schemas_for([paths, custom], resources[0].group, defined=custom)
    return {
        "openapi": "3.0.0",
        "info": _CUSTOM,
        "paths": paths,
        "components": {"schemas": dict(sorted((custom | shared).items()))},
    }


def _custom_schemas(resource: Resource) -> dict[str, Json]:
    item = custom_definition_name(resource.group, resource.version, resource.kind)
    schema = dict(_completed(resource.schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    schema["properties"] = {**_type_meta(), **schema.get("properties", {}), "metadata": _metadata()}
    listed = {
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            **_type_meta(),
            "items": {"type": "array", "items": reference(item), "description": f"List of {resource.plural}. {_MORE}"},
            "metadata": described_field(f"{META}.ListMeta", f"Standard list metadata. {_MORE}#types-kinds"),
        },
    }
    list_name = custom_definition_name(resource.group, resource.version, resource.list_kind)
    return {
        item: _with_kind(schema, resource, resource.kind),
        list_name: _with_kind(listed, resource, resource.list_kind),
    }


def _completed(schema: Json) -> Json:
    """Return a schema whose embedded resources have the fields of any object, and its numbers or texts both types."""
    complete = dict(schema)
    if schema.get("x-kubernetes-int-or-string") and schema.keys().isdisjoint(("anyOf", "allOf")):
        complete["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    for member in ("additionalProperties", "items"):
        if isinstance(schema.get(member), dict):
            complete[member] = _completed(schema[member])
    properties = {name: _completed(below) for name, below in (schema.get("properties") or {}).items()}
    if schema.get(EMBEDDED):
        properties |= {**_type_meta(), "metadata": _metadata()}
        complete["required"] = [*dict.fromkeys([*(schema.get("required") or ()), "kind", "apiVersion"])]
    return {**complete, "properties": properties} if properties else complete


def _type_meta() -> Json:
    """Return the fields apiVersion and kind, described as those of any built-in kind."""
    described = descriptions_of(f"{META}.Status").fields
    return {name: {"description": described.get(name, ""), "type": "string"} for name in ("apiVersion", "kind")}


def _metadata() -> Json:
    return described_field(f"{META}.ObjectMeta", f"Standard object's metadata. {_MORE}#metadata")


def _with_kind(schema: Json, resource: Resource, kind: str) -> Json:
    group_version_kind = {"group": resource.group, "kind": kind, "version": resource.version}
    return {**schema, "x-kubernetes-group-version-kind": [group_version_kind]}
