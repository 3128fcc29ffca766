"""Defaults of CustomResourceDefinitions, and the resources they define."""

from collections.abc import Sequence
from dataclasses import replace

from clientgo.meta.jsonvalues import same
from clientgo.meta.scheme import Column, ScaleSubresource, version_priority
from clientgo_apiserver.api.resources import Converter, Object, Resource


def with_defaults(definition: Object, _: Object | None = None) -> Object:
    """Return the definition with defaults."""
    spec = {field: value for field, value in (definition.get("spec") or {}).items() if value is not False}
    names = dict(spec.get("names") or {})
    kind = names.get("kind") or ""
    names["singular"] = names.get("singular") or kind.lower()
    if kind:
        names["listKind"] = names.get("listKind") or f"{kind}List"
    spec["names"] = names
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    webhook = spec["conversion"].get("webhook") or {}
    if service := (webhook.get("clientConfig") or {}).get("service"):
        client = {**webhook["clientConfig"], "service": {"port": 443, **service}}
        spec["conversion"] = {**spec["conversion"], "webhook": {**webhook, "clientConfig": client}}
    return {**definition, "spec": spec}


def with_stored_version(definition: Object) -> Object:
    """Return the definition with the version that is stored in the list of its status."""
    versions = definition["spec"].get("versions") or ()
    stored = next((version.get("name", "") for version in versions if version.get("storage")), None)
    status = definition.get("status") or {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None}
    names = list(status.get("storedVersions") or ())
    if stored is not None and stored not in names:
        names.append(stored)
    return {**definition, "status": {**status, "storedVersions": names}}


def unstored_resources(definition: Object) -> list[Resource]:
    """Return the resources of a valid definition that is not stored, as if its names had been accepted."""
    definition = with_defaults(definition)
    return served_resources({**definition, "status": {"acceptedNames": definition["spec"]["names"]}})


def served_resources(
    definition: Object, converter: Converter | None = None, previous: Sequence[Resource] = ()
) -> list[Resource]:
    """Return one resource for each served version; `converter` converts objects between them.

    `previous` are the resources served so far: if the schemas stay, objects need not be adapted to them again.
    """
    spec = definition["spec"]
    storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    schemas: dict[str, Object] = {}
    for version in spec["versions"]:
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        # Equal schemas are one object, so that a conversion sees that nothing has to be pruned.
        schemas[f"{spec['group']}/{version['name']}"] = next(
            (earlier for earlier in schemas.values() if same(earlier, schema)), schema
        )
    since = int(definition["metadata"].get("resourceVersion") or 0)
    if previous and same(previous[0].schemas, schemas):
        schemas, since = dict(previous[0].schemas), previous[0].schemas_since
    served = (version for version in spec["versions"] if version.get("served"))
    return [
        replace(
            _resource(definition, version, schemas), storage_version=storage, converter=converter, schemas_since=since
        )
        for version in served
    ]


def _resource(definition: Object, version: Object, schemas: dict[str, Object]) -> Resource:
    spec = definition["spec"]
    names = definition["status"]["acceptedNames"]
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
        columns=tuple(map(_column, version.get("additionalPrinterColumns") or ())),
        schema=schemas[f"{spec['group']}/{version['name']}"],
        schemas=schemas,
        custom=True,
        selectable_fields=tuple(field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ()),
        definition=definition["metadata"]["name"],
        deprecation=_deprecation(spec, version),
        unconditional_update=False,
    )


def _deprecation(spec: Object, version: Object) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    warning = f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated"
    served = [each["name"] for each in spec["versions"] if each.get("served") and not each.get("deprecated")]
    newest = min((*served, version["name"]), key=version_priority)
    return warning if newest == version["name"] else f"{warning}; use {spec['group']}/{newest} {spec['names']['kind']}"


def _column(column: Object) -> Column:
    more = column.get("description") or "", column.get("format") or "", column.get("priority") or 0
    return Column(column["name"], column["type"], column["jsonPath"], *more)
