"""Reader and validator of third-party CRD files.

Only the fields that the generator uses are validated, before anything else reads them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.names import misnamed
from clientgo.codegen.problems import Problems, reason_of
from clientgo.meta.scheme import ApiType, ScaleSubresource, Scope
from clientgo.meta.yamlio import InvalidYAML, read_yaml

T = TypeVar("T")
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ForeignKind:
    """A version of a third-party kind: its API names, and its schema without references."""

    api: ApiType
    schema: Schema
    source: str


def told_source(path: Path) -> str:
    """Return the path of an input as named in generated files, the same on every machine."""
    return path.name if path.is_absolute() else path.as_posix()


def read_files(
    paths: Iterable[Path], read: Callable[[Path], Iterable[ForeignKind]], problems: Problems, *, what: str, missing: str
) -> list[ForeignKind]:
    """Read the kinds in these files; errors go to `problems`, `missing` if a file has none."""
    kinds: list[ForeignKind] = []
    for path in paths:
        line, message = 0, ""
        try:
            file_kinds = list(read(path))
            kinds += file_kinds
            line, message = 1, "" if file_kinds else missing
        except (OSError, UnicodeDecodeError) as error:
            message = f"cannot read the file: {reason_of(error)}"
        except NoDefinition as error:
            message = f"invalid {what}: {error}"
        except InvalidYAML as error:
            line, message = error.line, f"invalid YAML: {error}"
        except RecursionError:
            message = f"invalid {what}: nested too deep"
        except ValueError as error:
            line, message = getattr(error, "lineno", 0), f"invalid JSON: {error}"
        if message:
            problems.at_module(str(path), line, message)
    return kinds


def read_definitions(paths: Iterable[Path], problems: Problems) -> list[ForeignKind]:
    """Read the served versions in these files; errors go to `problems`."""

    def read(path: Path) -> Iterator[ForeignKind]:
        for definition in definitions_in(read_yaml(path.read_text(encoding="utf-8"))):
            yield from _kinds(definition, told_source(path))

    missing = "no CustomResourceDefinition of apiextensions.k8s.io/v1 with a served version found"
    missing += ": give the output of `kubectl get crd NAME -o yaml`"
    return read_files(paths, read, problems, what="definition", missing=missing)


def definitions_in(documents: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield the CustomResourceDefinitions among these documents, and in lists among them."""
    for document in documents:
        if not isinstance(document, dict):
            continue
        if document.get("kind") == "List" and isinstance(document.get("items"), list):
            yield from definitions_in(document["items"])
        elif (document.get("apiVersion"), document.get("kind")) == _DEFINITION:
            yield document


_DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def _kinds(definition: dict[str, Any], source: str) -> Iterator[ForeignKind]:
    spec = converted(without_nulls(definition), _Definition).spec
    for version in spec.versions:
        api, schema = _api(spec, version), version.schema.open_api
        for message in misnamed(api, any_case=True):
            raise NoDefinition(message)
        if schema is not None:
            check_schema(schema, f"version {version.name}")
        if version.served:
            if schema is None:
                raise NoDefinition(f"version {version.name} has no schema")
            yield ForeignKind(api, schema, source)


def _api(spec: "_Spec", version: "_Version") -> ApiType:
    names = spec.names
    return ApiType(
        group=spec.group,
        version=version.name,
        kind=names.kind,
        plural=names.plural,
        singular=names.singular or names.kind.lower(),
        list_kind="" if names.list_kind == f"{names.kind}List" else names.list_kind,
        scope=spec.scope,
        short_names=names.short_names,
        categories=names.categories,
        status=version.subresources.status is not None,
        scale=version.subresources.scale,
        storage=version.storage,
        partial=True,
    )


def check_foreign(
    own_kinds: Iterable[OwnKind], foreign: Iterable[ForeignKind], problems: Problems, *, needed: bool
) -> None:
    """Report duplicate kinds, and missing input if kinds are `needed`."""
    seen = {each.api.gvk: each.source for each in own_kinds}
    for kind in foreign:
        other = seen.get(kind.api.gvk)
        seen[kind.api.gvk] = kind.source
        if other is not None:
            problems.at_module(kind.source, 1, f"{kind.api.gvk} is already defined in {other}: give only one of them")
    if needed and not seen and not problems:
        problems.at_module("command line", 0, "no input: give --input-module, --from-crd or --from-openapi")


DEEPEST_SCHEMA = 64
"""Limit of nested types; real definitions have about 15 levels, and Python accepts 200 brackets."""

MOST_TEXT = 20_000_000
"""Limit of characters in a document after expanding its YAML aliases."""

_SHOWN = 100
"""Limit of the characters of a name in messages."""

# Invalid in the field names of msgspec, or in UTF-8.
_NAMELESS = re.compile(r"[\"\\\x00-\x1f\x7f\ud800-\udfff]")


class NoDefinition(ValueError):
    """The document is an invalid CRD; the message has the place."""


class _Schema(msgspec.Struct, frozen=True, rename="camel"):
    """One level of a schema."""

    type: str = ""
    format: str = ""
    description: str = ""
    properties: dict[str, Any] = {}
    required: tuple[str, ...] = ()
    enum: tuple[Any, ...] = ()
    nullable: bool = False
    int_or_string: bool = msgspec.field(default=False, name="x-kubernetes-int-or-string")
    preserve: bool = msgspec.field(default=False, name="x-kubernetes-preserve-unknown-fields")


class _Validation(msgspec.Struct, frozen=True):
    open_api: Any = msgspec.field(default=None, name="openAPIV3Schema")


class _Subresources(msgspec.Struct, frozen=True):
    status: dict[str, Any] | None = None
    scale: ScaleSubresource | None = None


class _Version(msgspec.Struct, frozen=True):
    name: str
    schema: _Validation = _Validation()
    served: bool = False
    storage: bool = False
    subresources: _Subresources = _Subresources()


class _Names(msgspec.Struct, frozen=True, rename="camel"):
    kind: str
    plural: str
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class _Spec(msgspec.Struct, frozen=True):
    group: str
    names: _Names
    scope: Scope
    versions: tuple[_Version, ...]


class _Definition(msgspec.Struct, frozen=True):
    spec: _Spec


def converted(document: Any, cls: type[T]) -> T:
    """Convert a document to a class; NoDefinition if a part has a wrong type."""
    try:
        return msgspec.convert(document, cls)
    except msgspec.ValidationError as error:
        raise NoDefinition(str(error).replace("`", "").replace("$.", "")) from error


def check_schema(schema: Any, location: str) -> None:
    """Validate the parts of a schema that the generator reads.

    Raises:
        NoDefinition: a part has a wrong type, is nested too deep, or has an invalid property name.
    """
    pending = [(schema, location, 0)]
    while pending:
        part, path, depth = pending.pop()
        if depth > DEEPEST_SCHEMA:
            raise NoDefinition(f"{path} has more than {DEEPEST_SCHEMA} nested types")
        try:
            properties = converted(part, _Schema).properties
        except NoDefinition as error:
            raise NoDefinition(f"{path}: {error}") from error
        for name in filter(_NAMELESS.search, properties):
            raise NoDefinition(
                f"{path}: invalid property name {name!r}: contains a quote, backslash or control character"
            )
        children = [(f"properties.{name}", child) for name, child in properties.items()]
        children += [(name, part[name]) for name in ("items", "additionalProperties") if name in part]
        # `additionalProperties` may be a boolean.
        pending += [
            (child, f"{path}.{name[:_SHOWN]}", depth + 1) for name, child in children if not isinstance(child, bool)
        ]


def without_nulls(document: Mapping[str, Any]) -> dict[str, Any]:
    """Remove nulls from mappings, as a server does; nulls in lists, such as enums, stay.

    Raises:
        NoDefinition: the document expands to more than `MOST_TEXT` characters.
    """
    budget = MOST_TEXT

    def read(value: Any) -> Any:
        nonlocal budget
        if isinstance(value, str):
            budget -= len(value)
        elif isinstance(value, dict):
            budget -= sum(len(key) for key in value if isinstance(key, str))
        if budget < 0:
            raise NoDefinition(f"it expands to more than {MOST_TEXT} characters")
        if isinstance(value, dict):
            return {key: read(part) for key, part in value.items() if part is not None}
        return [read(part) for part in value] if isinstance(value, list) else value

    copied: dict[str, Any] = read(document)
    return copied
