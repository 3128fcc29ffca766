"""Reader of the kinds in an API server's OpenAPI v3 document.

`kubectl get --raw /openapi/v3/apis/GROUP/VERSION` prints one; that of the core group is `/openapi/v3/api/v1`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from clientgo.codegen.inputs.crds import (
    ForeignKind,
    NoDefinition,
    check_schema,
    converted,
    read_files,
    told_source,
    without_nulls,
)
from clientgo.codegen.names import misnamed
from clientgo.codegen.problems import Problems
from clientgo.meta.scheme import ALL_VERBS, ApiType, ScaleSubresource

_GVK = "x-kubernetes-group-version-kind"
_PATH = re.compile(r"/(?:api|apis/[^/]+)/[^/]+(?P<space>/namespaces/\{namespace\})?/(?P<plural>[^/{]+)(?P<rest>/.*)?")

_VERBS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "": {"get": ("list", "watch"), "post": ("create",), "delete": ("delete_collection",)},
    "/{name}": {"get": ("get",), "put": ("update",), "patch": ("patch", "apply"), "delete": ("delete",)},
    "/{name}/status": {"put": ("update_status",), "patch": ("patch_status", "apply_status")},
}
"""Client verbs by path suffix and HTTP method."""


class _Gvk(msgspec.Struct, frozen=True):
    version: str
    kind: str
    group: str = ""


class _Operation(msgspec.Struct, frozen=True):
    of: _Gvk | None = msgspec.field(default=None, name=_GVK)


class _Address(msgspec.Struct, frozen=True):
    get: _Operation | None = None
    post: _Operation | None = None
    put: _Operation | None = None
    patch: _Operation | None = None
    delete: _Operation | None = None

    def methods(self) -> dict[str, _Operation]:
        """Return the operations by HTTP method."""
        operations = {method: getattr(self, method) for method in self.__struct_fields__}
        return {method: operation for method, operation in operations.items() if operation is not None}


class _Components(msgspec.Struct, frozen=True):
    schemas: dict[str, dict[str, Any]] = {}


class _Document(msgspec.Struct, frozen=True):
    paths: dict[str, _Address] = {}
    components: _Components = _Components()


def read_documents(paths: Iterable[Path], problems: Problems) -> list[ForeignKind]:
    """Read the kinds of these documents; errors go to `problems`."""

    def read(path: Path) -> Iterator[ForeignKind]:
        document = json.loads(path.read_bytes())
        complete = without_nulls(document) if isinstance(document, dict) else {}
        return _kinds(converted(complete, _Document), told_source(path))

    command = "`kubectl get --raw /openapi/v3/apis/GROUP/VERSION` (api/v1 for the core group)"
    missing = f"no kind found: give the output of {command}"
    return read_files(paths, read, problems, what="document", missing=missing)


def _kinds(document: _Document, source: str) -> Iterator[ForeignKind]:
    schemas = document.components.schemas
    served = _served(document.paths)
    for name, schema in sorted(schemas.items()):
        try:
            kinds = msgspec.convert(schema.get(_GVK, ()), tuple[_Gvk, ...])
        except msgspec.ValidationError as error:
            raise NoDefinition(f"components.schemas.{name}.{_GVK}: {error}") from error
        properties = schema.get("properties")
        if (
            len(kinds) != 1
            or kinds[0] not in served
            or not isinstance(properties, dict)
            or "metadata" not in properties
        ):
            continue
        api, resolved_schema = _api(kinds[0], served[kinds[0]]), _Resolver(schemas).resolved(schema)
        for message in misnamed(api, built_in=True):
            raise NoDefinition(message)
        check_schema(resolved_schema, f"components.schemas.{name}")
        yield ForeignKind(api, resolved_schema, source)


@dataclass(slots=True)
class _Served:
    """Plural, scope and verbs of a served kind."""

    plural: str
    namespaced: bool = False
    rests: set[str] = field(default_factory=set)
    """Path suffixes after the name of an object."""
    verbs: set[str] = field(default_factory=set)


def _served(paths: Mapping[str, _Address]) -> dict[_Gvk, _Served]:
    served: dict[_Gvk, _Served] = {}
    plurals: dict[str, _Served] = {}
    addresses = [(match, item.methods()) for address, item in paths.items() if (match := _PATH.fullmatch(address))]
    for match, methods in addresses:
        kind = next((operation.of for operation in methods.values() if operation.of), None)
        if kind and not match["rest"]:
            plurals[match["plural"]] = served.setdefault(kind, _Served(match["plural"]))
    for match, methods in addresses:
        if (entry := plurals.get(match["plural"])) is not None:
            suffix = match["rest"] or ""
            entry.namespaced |= match["space"] is not None
            entry.rests.add(suffix.removeprefix("/{name}"))
            entry.verbs.update(verb for method in methods for verb in _VERBS.get(suffix, {}).get(method, ()))
    return served


def _api(kind: _Gvk, served: _Served) -> ApiType:
    return ApiType(
        group=kind.group,
        version=kind.version,
        kind=kind.kind,
        plural=served.plural,
        singular=kind.kind.lower(),
        scope="Namespaced" if served.namespaced else "Cluster",
        status="/status" in served.rests,
        scale=ScaleSubresource(".spec.replicas", ".status.replicas") if "/scale" in served.rests else None,
        verbs=tuple(verb for verb in ALL_VERBS if verb in served.verbs),
        partial=True,
    )


MOST_PARTS = 1_000_000
"""Limit of values in a schema after resolving references, which can grow exponentially."""

DEEPEST = 200
"""Limit of nested values, with references resolved."""

_FREE: Mapping[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class _Resolver:
    """Resolver of references between schemas; recursive types become free-form objects.

    Raises:
        NoDefinition: the result exceeds `MOST_PARTS` values or `DEEPEST` levels.
    """

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self._left = MOST_PARTS

    def resolved(self, value: Any, inside: tuple[str, ...] = (), depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0:
            raise NoDefinition(f"its references expand to more than {MOST_PARTS} values")
        if depth > DEEPEST:
            raise NoDefinition(f"it has more than {DEEPEST} nested levels")
        if isinstance(value, list):
            return [self.resolved(each, inside, depth + 1) for each in value]
        if not isinstance(value, dict):
            return value
        name = _referred(value)
        if name is None:
            return {key: self.resolved(part, inside, depth + 1) for key, part in value.items()}
        if name in inside or not isinstance(self._schemas.get(name), dict):
            return _FREE
        members = {key: part for key, part in value.items() if key not in ("$ref", "allOf")}
        beside = {key: self.resolved(part, inside, depth + 1) for key, part in members.items()}
        return {**self.resolved(self._schemas[name], (*inside, name), depth + 1), **beside}


def _referred(schema: Mapping[str, Any]) -> str | None:
    """Return the referenced schema name, from `$ref` or a single `allOf`."""
    every = schema.get("allOf")
    candidates = [schema, *(every if isinstance(every, list) and len(every) == 1 else ())]
    references = (
        part["$ref"] for part in candidates if isinstance(part, Mapping) and isinstance(part.get("$ref"), str)
    )
    reference = next(references, None)
    return None if reference is None else reference.rpartition("/")[2]
