"""CustomResourceDefinitions (apiextensions.k8s.io/v1), one for each resource, with all its versions.

A column `Age` is appended to custom columns, because these replace kubectl's default one; define a column of
`.metadata.creationTimestamp` to place it elsewhere.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from msgspec import to_builtins

from clientgo.codegen.crd.dryrun import CheckedDefinition, check_definition
from clientgo.codegen.crd.minimum import ANNOTATION, BASE, minimum_version
from clientgo.codegen.crd.schema import Schema, SchemaMaker
from clientgo.codegen.inputs.apitypes import OwnKind, own_kind, with_storage
from clientgo.codegen.model import non_empty
from clientgo.codegen.problems import Problems
from clientgo.meta import jsonpath
from clientgo.meta.scheme import ApiType, Column, WebhookConversion

_AGE = Column("Age", "date", ".metadata.creationTimestamp")
_TOP: dict[str, Schema] = {
    "apiVersion": {
        "type": "string",
        "description": "The version of the schema that this object follows: group/version.",
    },
    "kind": {"type": "string", "description": "The kind of this object, in CamelCase."},
    "metadata": {"type": "object"},
}


def crds(
    kinds: Iterable[OwnKind], maker: SchemaMaker, problems: Problems
) -> dict[str, tuple[list[dict[str, Any]], list[str]]]:
    """Return the definition, as one document, and the inputs by file name, for every resource of `kinds`."""
    resources: dict[tuple[str, str], list[OwnKind]] = {}
    for kind in kinds:
        if kind.api.crd:
            resources.setdefault((kind.api.group, kind.api.plural), []).append(kind)
    definitions = {name: _definition(members, maker, problems) for name, members in sorted(resources.items())}
    if not problems:  # of others a server would report the consequences
        for definition in definitions.values():
            check_definition(definition, problems)
    return {
        f"{group}_{plural}.yaml": ([definition.manifest], [kind.source for kind in resources[group, plural]])
        for (group, plural), definition in definitions.items()
    }


def definitions_of(classes: Iterable[type[Any]], problems: Problems) -> list[dict[str, Any]]:
    """Return the definitions of the kinds of these dataclasses, which need not be all versions of each."""
    kinds = with_storage(map(own_kind, classes))
    files = crds(kinds, SchemaMaker(problems), problems)
    return [documents[0] for documents, _ in files.values()]


def open_definition(apis: Sequence[ApiType]) -> dict[str, Any]:
    """Return the definition of a kind by its versions that accepts everything; the first version is stored."""
    first = apis[0]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            "name": api.version,
            "served": True,
            "storage": api is first,
            "schema": {"openAPIV3Schema": anything},
            "subresources": subresources_of(api),
        }
        for api in apis
    ]
    names = {"kind": first.kind, "plural": first.plural, "singular": first.singular}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{first.plural}.{first.group}"},
        "spec": {"group": first.group, "names": names, "scope": first.scope, "versions": versions},
    }


def whole_schema(maker: SchemaMaker, cls: type[Any]) -> Schema:
    """Return the schema of a kind's objects, with short descriptions if the maker limits them."""
    schema = top_schema(maker.of_class(cls))
    if maker.max_description is None:
        return schema
    copied = deepcopy(schema)  # its parts are shared
    _shorten(copied, maker.max_description)
    return copied


def _definition(members: list[OwnKind], maker: SchemaMaker, problems: Problems) -> CheckedDefinition:
    stored = next((member for member in members if member.api.storage), members[0])
    members = sorted(members, key=lambda member: member.api.version)
    versions = [_version(member, maker, problems) for member in members]
    classes = {index: member.cls for index, member in enumerate(members)}
    return CheckedDefinition(_manifest(stored.api, versions), classes, stored.cls)


def _manifest(stored: ApiType, versions: list[dict[str, Any]]) -> dict[str, Any]:
    spec: dict[str, Any] = {"group": stored.group, "names": _names(stored), "scope": stored.scope}
    if stored.conversion is not None:
        spec["conversion"] = _conversion(stored.conversion)
    spec["versions"] = versions
    version = minimum_version({"spec": spec})
    needed = {} if version == BASE else {ANNOTATION: version}
    metadata = {
        "name": f"{stored.plural}.{stored.group}",
        "annotations": dict(sorted({**needed, **dict(stored.annotations)}.items())),
        "labels": dict(sorted(stored.labels)),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": non_empty(metadata),
        "spec": spec,
    }


def _conversion(conversion: WebhookConversion) -> dict[str, Any]:
    service = {
        "namespace": conversion.service_namespace,
        "name": conversion.service_name,
        "path": conversion.path,
        "port": conversion.port,
    }
    client = {"url": conversion.url} if conversion.url else {"service": service}
    client |= non_empty({"caBundle": conversion.ca_bundle})
    reviews = list(conversion.review_versions)
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": reviews}}


def _shorten(value: Any, limit: int) -> None:
    if isinstance(value, list):
        for part in value:
            _shorten(part, limit)
    elif isinstance(value, dict):
        described = value.get("description")
        if isinstance(described, str):
            value["description"] = _cut(described, limit)
            if not value["description"]:
                del value["description"]
        for key, part in value.items():
            if key not in ("default", "example"):
                _shorten(part, limit)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    sentences = text[:limit].rpartition(". ")[0]
    return f"{sentences}." if sentences else text[:limit]


def _names(api: ApiType) -> dict[str, Any]:
    return non_empty({
        "kind": api.kind,
        "listKind": api.list_kind or f"{api.kind}List",
        "plural": api.plural,
        "singular": api.singular,
        "shortNames": list(api.short_names),
        "categories": list(api.categories),
    })  # fmt: skip


def _version(kind: OwnKind, maker: SchemaMaker, problems: Problems) -> dict[str, Any]:
    api, schema = kind.api, whole_schema(maker, kind.cls)
    _check_paths(kind, schema, problems)
    optional = {
        "deprecated": api.deprecated,
        "deprecationWarning": api.deprecation_warning,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [to_builtins(column) for column in _columns(api.columns)],
        "selectableFields": [{"jsonPath": path} for path in api.selectable_fields],
        "subresources": subresources_of(api),
    }
    return {"name": api.version, "served": api.served, "storage": api.storage, **non_empty(optional)}


def subresources_of(api: ApiType) -> dict[str, Any]:
    """Return the subresources of a version."""
    status: dict[str, Any] = {"status": {}} if api.status else {}
    return status | ({"scale": to_builtins(api.scale)} if api.scale is not None else {})


def _check_paths(kind: OwnKind, schema: Schema, problems: Problems) -> None:
    """Report unknown fields in the paths of columns and of the scale subresource, which a server accepts.

    It also accepts columns with an invalid path, and shows none of the kind's columns then.
    """
    api, name = kind.api, kind.cls.__name__
    paths = [column.json_path for column in api.columns]
    for path in paths:
        try:
            jsonpath.parse(path)
        except ValueError as error:
            problems.at_class(kind.cls, f"{name}: {error}: expected a path such as .status.phase")
    if api.scale is not None:
        paths += [api.scale.spec_path, api.scale.status_path, api.scale.selector_path]
    for path in paths:
        if missing := _missing(schema, path):
            problems.at_class(kind.cls, f"{name}: path not found: {path} ({name} has no {missing})")


def _missing(schema: Schema, path: str) -> str:
    """Return the unknown part of a plain path such as `.spec.replicas`; other paths are not validated."""
    current = schema
    for part in path.removeprefix(".").split("."):
        properties = current.get("properties")
        if properties is None or not part.isidentifier():
            return ""
        if part not in properties:
            return part
        current = properties[part]
    return ""


def top_schema(schema: Schema) -> Schema:
    """Return the schema of an object in a CRD, from that of its class."""
    # The server validates metadata itself; a schema may only declare it as an object.
    return typed_top({**schema, "properties": {**schema.get("properties", {}), "metadata": {"type": "object"}}})


def typed_top(schema: Schema) -> Schema:
    """Return the schema of an object with the optional fields apiVersion and kind."""
    fields = {name: field for name, field in schema.get("properties", {}).items() if name not in _TOP}
    required = [name for name in schema.get("required", ()) if name not in _TOP]
    metadata = schema["properties"]["metadata"]
    top = {**schema, "properties": {**_TOP, "metadata": metadata, **fields}}
    top.pop("required", None)
    return {**top, "required": required} if required else top


def _columns(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    if not columns or any(column.json_path == _AGE.json_path or column.name == _AGE.name for column in columns):
        return columns
    return (*columns, _AGE)
