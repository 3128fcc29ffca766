"""Reader and validator of third-party CRD files.

Only the fields that the generator uses are validated, before anything else reads them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.names import misnamed
from clientgo.codegen.problems import Problems, reason_of
from clientgo.meta.scheme import ALL_VERBS, ApiType, ScaleSubresource, Scope
from clientgo.meta.yamlio import InvalidYAML, read_yaml

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


def read_definitions(paths: Iterable[Path], problems: Problems) -> list[ForeignKind]:
    """Read the served versions in these files; errors go to `problems`."""
    found: list[ForeignKind] = []
    for path in paths:
        try:
            documents = read_yaml(path.read_text(encoding="utf-8"))
            here = [kind for document in documents for kind in _versions(document, told_source(path))]
        except (OSError, UnicodeDecodeError) as error:
            problems.at_module(str(path), 0, f"cannot read the file: {reason_of(error)}")
            continue
        except InvalidYAML as error:
            problems.at_module(str(path), error.line, f"invalid YAML: {error}")
            continue
        except NoDefinition as error:
            problems.at_module(str(path), 0, f"invalid definition: {error}")
            continue
        if not here:
            message = "no CustomResourceDefinition of apiextensions.k8s.io/v1 with a served version found"
            problems.at_module(str(path), 1, f"{message}: give the output of `kubectl get crd NAME -o yaml`")
        found += here
    return found


def _versions(document: Any, source: str) -> Iterator[ForeignKind]:
    if not isinstance(document, dict):
        return
    items = document.get("items")
    if document.get("kind") == "List" and isinstance(items, list):
        for item in items:
            yield from _versions(item, source)
    if (document.get("apiVersion"), document.get("kind")) != ("apiextensions.k8s.io/v1", "CustomResourceDefinition"):
        return
    spec = checked(document)["spec"]
    for version in spec["versions"]:
        if version.get("served"):
            yield ForeignKind(_api(spec, version), version["schema"]["openAPIV3Schema"], source)


def _api(spec: Schema, version: Schema) -> ApiType:
    names = spec["names"]
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    return ApiType(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        scope=spec["scope"],
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        status="status" in subresources,
        scale=_scale(scale) if scale else None,
        storage=bool(version.get("storage")),
        verbs=ALL_VERBS,
    )


def _scale(scale: Schema) -> ScaleSubresource:
    return ScaleSubresource(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))


def check_foreign(own: Iterable[OwnKind], foreign: Iterable[ForeignKind], problems: Problems, *, needed: bool) -> None:
    """Report duplicate kinds, and missing input if kinds are `needed`."""
    seen = {each.kind.api.gvk: each.kind.source for each in own}
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


_PARTS = ("items", "additionalProperties")


class NoDefinition(ValueError):
    """The document is an invalid CRD; the message has the place."""


class _Schema(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    format: str = ""
    description: str = ""
    properties: Mapping[str, "_Schema"] = {}
    items: "_Schema | None" = None
    additional_properties: "bool | _Schema" = False
    required: tuple[str, ...] = ()
    enum: tuple[Any, ...] = ()
    nullable: bool = False
    int_or_string: bool = msgspec.field(default=False, name="x-kubernetes-int-or-string")
    preserve: bool = msgspec.field(default=False, name="x-kubernetes-preserve-unknown-fields")


class _Validation(msgspec.Struct, frozen=True):
    openAPIV3Schema: _Schema  # noqa: N815  # camel case would spell it another way


class _Scale(msgspec.Struct, frozen=True, rename="camel"):
    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str = ""


class _Subresources(msgspec.Struct, frozen=True):
    status: dict[str, Any] | None = None
    scale: _Scale | None = None


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    schema: _Validation | None = None
    served: bool = False
    storage: bool = False
    subresources: _Subresources | None = None


class _Names(msgspec.Struct, frozen=True, rename="camel"):
    kind: str
    plural: str
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class _Spec(msgspec.Struct, frozen=True):
    group: str
    names: _Names
    scope: Scope
    versions: tuple[_Version, ...]


class _Definition(msgspec.Struct, frozen=True):
    spec: _Spec


def checked(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validated CRD without nulls.

    Raises:
        NoDefinition: a field is missing, has a wrong type, or is an invalid name.
    """
    whole = without_nulls(document)
    try:
        spec = msgspec.convert(whole, _Definition).spec
    except msgspec.ValidationError as error:
        raise NoDefinition(_first_fault(whole) or _reason(error)) from error
    for message in misnamed(spec.group, spec.names.kind, _labels(spec)):
        raise NoDefinition(message)
    for version, schema in _schemas(whole):
        if schema is not None:
            check_schema(schema, f"version {version}")
        elif any(each.name == version and each.served for each in spec.versions):
            raise NoDefinition(f"version {version} has no schema")
    return whole


def _labels(spec: _Spec) -> Iterator[tuple[str, str]]:
    names = spec.names
    yield "plural", names.plural
    yield from (("singular", name) for name in (names.singular,) if name)
    yield from (("short name", name) for name in names.short_names)
    yield from (("category", name) for name in names.categories)
    yield from (("version", version.name) for version in spec.versions)


def _schemas(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for version in document["spec"]["versions"]:
        yield version["name"], version.get("schema", {}).get("openAPIV3Schema")


def _first_fault(document: Mapping[str, Any]) -> str:
    """Return the place of the first fault in a schema; empty if the fault is elsewhere."""
    try:
        for version, schema in _schemas(document):
            if schema is not None:
                check_schema(schema, f"version {version}")
    except NoDefinition as error:
        return str(error)
    except (LookupError, TypeError, AttributeError):
        return ""  # versions are missing: msgspec reports it
    return ""


def check_schema(schema: Any, place: str) -> None:
    """Validate the parts of a schema that the generator reads.

    Raises:
        NoDefinition: a part has a wrong type, is nested too deep, or has an invalid property name.
    """
    pending = [(schema, place, 0)]
    while pending:
        part, where, depth = pending.pop()
        if depth > DEEPEST_SCHEMA:
            raise NoDefinition(f"{where} has more than {DEEPEST_SCHEMA} nested types")
        children = list(_children(part))
        try:
            msgspec.convert(_alone(part), _Schema)
        except msgspec.ValidationError as error:
            raise NoDefinition(f"{where}: {_reason(error)}") from error
        for name in part.get("properties", ()):
            if _NAMELESS.search(name):
                raise NoDefinition(
                    f"{where}: invalid property name {name!r}: contains a quote, backslash or control character"
                )
        pending.extend((child, f"{where}.{name[:_SHOWN]}", depth + 1) for name, child in children)


def _alone(schema: Any) -> Any:
    """Return a schema with empty nested schemas, so that each level is validated once, with its path."""
    if not isinstance(schema, dict):
        return schema
    own = {**schema, **{key: {} for key in _PARTS if isinstance(schema.get(key, True), dict | list)}}
    if isinstance(schema.get("properties"), dict):
        own["properties"] = {name: {} for name in schema["properties"]}
    return own


def _children(schema: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(schema, dict):
        return
    yield from ((key, schema[key]) for key in _PARTS if isinstance(schema.get(key), dict | list))
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, dict) else ():
        yield f"properties.{name}", part


def _reason(error: msgspec.ValidationError) -> str:
    return str(error).replace("`", "").replace("$.", "")


def without_nulls(document: Mapping[str, Any]) -> dict[str, Any]:
    """Remove nulls from mappings, as a server does; nulls in lists, such as enums, stay.

    Raises:
        NoDefinition: the document expands to more than `MOST_TEXT` characters.
    """
    left = MOST_TEXT

    def read(value: Any) -> Any:
        nonlocal left
        if isinstance(value, str):
            left -= len(value)
        elif isinstance(value, dict):
            left -= sum(len(key) for key in value if isinstance(key, str))
        if left < 0:
            raise NoDefinition(f"it expands to more than {MOST_TEXT} characters")
        if isinstance(value, dict):
            return {key: read(part) for key, part in value.items() if part is not None}
        return [read(part) for part in value] if isinstance(value, list) else value

    made: dict[str, Any] = read(document)
    return made
