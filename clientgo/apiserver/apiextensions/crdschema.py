"""Defaults of CustomResourceDefinitions, and the resources they define."""

from clientgo.apiserver.apiextensions.structural import has_defaults
from clientgo.apiserver.registry.registry import Converter, Object, Resource, version_priority
from clientgo.meta.scheme import Column, ScaleSubresource

_AGE = Column("Age", "date", ".metadata.creationTimestamp")


def with_defaults(definition: Object) -> Object:
    """Return the definition with defaults; its status names the version that is stored."""
    spec = {field: value for field, value in (definition.get("spec") or {}).items() if value is not False}
    names = dict(spec.get("names") or {})
    kind = names.get("kind") or ""
    names["singular"] = names.get("singular") or kind.lower()
    if kind:
        names["listKind"] = names.get("listKind") or f"{kind}List"
    spec["names"] = names
    spec["conversion"] = spec.get("conversion") or {"strategy": "None"}
    webhook = spec["conversion"].get("webhook") or {}
    if service := (webhook.get("clientConfig") or {}).get("service"):
        client = {**webhook["clientConfig"], "service": {"port": 443, **service}}
        spec["conversion"] = {**spec["conversion"], "webhook": {**webhook, "clientConfig": client}}
    stored = next((version.get("name") for version in spec.get("versions") or () if version.get("storage")), None)
    status = definition.get("status") or {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None}
    versions = list(status.get("storedVersions") or ())
    if stored is not None and stored not in versions:
        versions.append(stored)
    return {**definition, "spec": spec, "status": {**status, "storedVersions": versions}}


def served_resources(definition: Object, converter: Converter | None = None) -> list[Resource]:
    """Return one resource for each served version; `converter` converts objects between them."""
    spec = definition["spec"]
    storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    default_schemas = {f"{spec['group']}/{version['name']}": _schema_of(version) for version in spec["versions"]}
    default_schemas = {api_version: schema for api_version, schema in default_schemas.items() if has_defaults(schema)}
    return [
        _resource(definition, version, storage, converter, default_schemas)
        for version in spec["versions"]
        if version.get("served")
    ]


def _schema_of(version: Object) -> Object:
    schema: Object = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return schema


def _resource(
    definition: Object, version: Object, storage: str, converter: Converter | None, default_schemas: dict[str, Object]
) -> Resource:
    spec = definition["spec"]
    names = spec["names"]
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    return Resource(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        singular=names["singular"],
        list_kind=names["listKind"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        status="status" in subresources,
        scale=ScaleSubresource(
            scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or ""
        )
        if scale
        else None,
        columns=tuple(map(_column, version.get("additionalPrinterColumns") or ())) or (_AGE,),
        schema=_schema_of(version),
        storage_version=storage,
        converter=converter,
        custom=True,
        selectable_fields=tuple(field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ()),
        definition=definition["metadata"]["name"],
        deprecation=_deprecation(spec, version),
        default_schemas=default_schemas,
        defaults_since=int(definition["metadata"].get("resourceVersion") or 0) if default_schemas else 0,
        unconditional_update=False,
    )


def _deprecation(spec: Object, version: Object) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    told = f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated"
    served = [each["name"] for each in spec["versions"] if each.get("served") and not each.get("deprecated")]
    newest = min((*served, version["name"]), key=version_priority)
    return told if newest == version["name"] else f"{told}; use {spec['group']}/{newest} {spec['names']['kind']}"


def _column(column: Object) -> Column:
    more = column.get("description") or "", column.get("format") or "", column.get("priority") or 0
    return Column(column["name"], column["type"], column["jsonPath"], *more)
