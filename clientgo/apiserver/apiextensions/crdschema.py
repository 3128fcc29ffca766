"""Defaults and validation of CustomResourceDefinitions, and the resources they define."""

from clientgo.apiserver.apiextensions.cel import RULES, compile_error, pattern_error
from clientgo.apiserver.apiextensions.structural import has_defaults
from clientgo.apiserver.http.status import Cause, forbidden_field, invalid_value, not_supported, required
from clientgo.apiserver.registry.names import label_1035_errors, subdomain_errors
from clientgo.apiserver.registry.registry import Converter, Object, Resource, version_priority
from clientgo.meta.scheme import Column, ScaleSubresource

_AGE = Column("Age", "date", ".metadata.creationTimestamp")
_APPROVAL = "api-approved.kubernetes.io"
_NUMBERS = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minimum", "maximum", "multipleOf"),
)
_NOT_STORED = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in spec.versions until a storage"
    " migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions"
)
_UNAPPROVED = (
    f'protected groups must have approval annotation "{_APPROVAL}",'
    " see https://github.com/kubernetes/enhancements/pull/1111"
)
_SCOPES = ("Cluster", "Namespaced")
# Members that the server reads, with their types.
_MEMBERS = {"properties": dict, "type": str, "required": list, "enum": list, RULES: list}
_TYPES = ("array", "boolean", "integer", "number", "object", "string")


def with_defaults(definition: Object) -> Object:
    """Return the definition with defaults."""
    spec = dict(definition.get("spec") or {})
    names = dict(spec.get("names") or {})
    kind = names.get("kind") or ""
    names["singular"] = names.get("singular") or kind.lower()
    names["listKind"] = names.get("listKind") or f"{kind}List"
    spec["names"] = names
    spec["conversion"] = spec.get("conversion") or {"strategy": "None"}
    status = definition.get("status") or {
        "acceptedNames": {"kind": "", "plural": ""},
        "conditions": None,
        "storedVersions": [version.get("name") for version in spec.get("versions") or () if version.get("storage")],
    }
    return {**definition, "spec": spec, "status": status}


def definition_errors(definition: Object, _: Object | None = None) -> list[Cause]:
    """Return the errors of a definition."""
    spec, meta = definition["spec"], definition["metadata"]
    names, group, scope = spec["names"], spec.get("group") or "", spec.get("scope")
    found = [invalid_value("spec.group", group, why) for why in subdomain_errors(group)] if group else []
    if not group:
        found.append(required("spec.group"))
    elif "." not in group:
        found.append(invalid_value("spec.group", group, "should be a domain with at least one dot"))
    if meta.get("name") != f"{names.get('plural') or ''}.{group}":
        found.append(invalid_value("metadata.name", meta.get("name", ""), 'must be spec.names.plural+"."+spec.group'))
    if scope not in _SCOPES:
        found.append(not_supported("spec.scope", scope, _SCOPES) if scope else required("spec.scope"))
    for field in ("plural", "singular", "kind", "listKind"):
        name, where = names.get(field) or "", f"spec.names.{field}"
        found += (
            [invalid_value(where, name, why) for why in label_1035_errors(name.lower())] if name else [required(where)]
        )
    versions = spec.get("versions") or []
    found += [*_version_errors(versions), *_conversion_errors(spec.get("conversion") or {})]
    stored_versions = (definition.get("status") or {}).get("storedVersions") or ()
    for index, stored in enumerate(stored_versions):
        if stored not in [version.get("name") for version in versions]:
            found.append(invalid_value(f"status.storedVersions[{index}]", stored, _NOT_STORED.format(stored)))
    if f".{group}".endswith((".k8s.io", ".kubernetes.io")) and _APPROVAL not in meta.get("annotations", {}):
        found.append(required(f"metadata.annotations[{_APPROVAL}]", _UNAPPROVED))
    return found


def _conversion_errors(conversion: Object) -> list[Cause]:
    strategy, webhook = conversion.get("strategy"), conversion.get("webhook")
    where = "spec.conversion.webhook"
    if strategy not in ("None", "Webhook"):
        return [not_supported("spec.conversion.strategy", strategy or "", ("None", "Webhook"))]
    if strategy == "None":
        return [forbidden_field(where, "should not be set when strategy is not set to Webhook")] if webhook else []
    if not webhook:
        return [required(f"{where}.clientConfig", "required when strategy is set to Webhook")]
    client, versions = webhook.get("clientConfig") or {}, webhook.get("conversionReviewVersions") or []
    found: list[Cause] = []
    if bool(client.get("url")) == bool(client.get("service")):
        found.append(required(f"{where}.clientConfig", "exactly one of url or service is required"))
    if "v1" not in versions:
        why = "must include at least one of v1"
        found.append(invalid_value(f"{where}.conversionReviewVersions", versions, why))
    return found


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


def _version_errors(versions: list[Object]) -> list[Cause]:
    found: list[Cause] = []
    if len([version for version in versions if version.get("storage")]) != 1:
        why = "must have exactly one version marked as storage version"
        found.append(invalid_value("spec.versions", [version.get("name") for version in versions], why))
    for index, version in enumerate(versions):
        field, name = f"spec.versions[{index}]", version.get("name")
        found += [invalid_value(f"{field}.name", name, why) for why in label_1035_errors(name or "")]
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        where = f"{field}.schema.openAPIV3Schema"
        if schema is None:
            found.append(required(where, "schemas are required"))
        else:
            found += _schema_errors(schema, where, root=True)
    return found


def _schema_errors(schema: Object, where: str, *, root: bool = False) -> list[Cause]:
    """Check that a schema is structural: every node has a type, items and properties are schemas."""
    if not isinstance(schema, dict) or not _well_formed(schema):
        return [invalid_value(where, schema, "must be a schema object")]
    found = _node_errors(schema, where, schema.get("type") or "", root=root)
    for field, child in (schema.get("properties") or {}).items():
        if not (root and field == "metadata"):
            found += _schema_errors(child, f"{where}.properties[{field}]")
    for field in ("items", "additionalProperties"):
        if isinstance(schema.get(field), dict):
            found += _schema_errors(schema[field], f"{where}.{field}")
    return found


def _node_errors(schema: Object, where: str, kind: str, *, root: bool) -> list[Cause]:
    found: list[Cause] = []
    loose = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if root and kind != "object":
        found.append(invalid_value(f"{where}.type", kind, "must be object at the root"))
    elif not kind and not loose:
        found.append(required(f"{where}.type", "must not be empty for specified object fields"))
    elif kind and kind not in _TYPES:
        found.append(not_supported(f"{where}.type", kind, _TYPES))
    for index, rule in enumerate(schema.get(RULES) or ()):
        if why := compile_error(rule["rule"]):
            found.append(invalid_value(f"{where}.{RULES}[{index}].rule", rule["rule"], why))
    if why := pattern_error(schema.get("pattern", "")):
        why = f"must be a valid regular expression, but isn't: {why}"
        found.append(invalid_value(f"{where}.pattern", schema["pattern"], why))
    if kind == "array" and "items" not in schema:
        found.append(required(f"{where}.items", "must be specified"))
    return found


def _well_formed(schema: Object) -> bool:
    """Return whether the members that the server reads are of the right type."""
    return (
        all(isinstance(schema.get(field) or kind(), kind) for field, kind in _MEMBERS.items())
        and isinstance(schema.get("pattern", ""), str)
        and all(isinstance(rule, dict) and isinstance(rule.get("rule"), str) for rule in schema.get(RULES) or ())
        and all(
            isinstance(schema[field], int | float) and not isinstance(schema[field], bool)
            for field in _NUMBERS
            if field in schema
        )
        and all(
            schema.get(field) is None
            or (isinstance(schema[field], list) and all(isinstance(one, dict) for one in schema[field]))
            for field in ("allOf", "anyOf", "oneOf")
        )
    )
