"""Defaults and validation of CustomResourceDefinitions, and the resources they define."""

from typing import Any

from clientgo.apiserver.apiextensions.cel import RULES, compile_error
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


def definition_errors(definition: Object) -> list[Cause]:
    """Return the errors of a definition."""
    spec = definition["spec"]
    names, group = spec["names"], spec.get("group") or ""
    found: list[Cause] = []
    if not group:
        found.append(required("spec.group"))
    else:
        found += [invalid_value("spec.group", group, why) for why in subdomain_errors(group)]
        if "." not in group:
            found.append(invalid_value("spec.group", group, "should be a domain with at least one dot"))
    expected = f"{names.get('plural') or ''}.{group}"
    if definition["metadata"].get("name") != expected:
        why = 'must be spec.names.plural+"."+spec.group'
        found.append(invalid_value("metadata.name", definition["metadata"].get("name", ""), why))
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        found.append(
            not_supported("spec.scope", spec["scope"], ("Cluster", "Namespaced"))
            if spec.get("scope")
            else required("spec.scope")
        )
    for field in ("plural", "singular", "kind", "listKind"):
        found += _name_errors(f"spec.names.{field}", names.get(field) or "")
    found += _version_errors(spec.get("versions") or [])
    found += _conversion_errors(spec.get("conversion") or {})
    found += _stored_errors(definition)
    if (group.endswith((".k8s.io", ".kubernetes.io")) or group in ("k8s.io", "kubernetes.io")) and (
        _APPROVAL not in definition["metadata"].get("annotations", {})
    ):
        why = (
            f'protected groups must have approval annotation "{_APPROVAL}",'
            " see https://github.com/kubernetes/enhancements/pull/1111"
        )
        found.append(required(f"metadata.annotations[{_APPROVAL}]", why))
    return found


def _conversion_errors(conversion: Object) -> list[Cause]:
    strategy, webhook = conversion.get("strategy"), conversion.get("webhook")
    if strategy not in ("None", "Webhook"):
        return [not_supported("spec.conversion.strategy", strategy or "", ("None", "Webhook"))]
    if strategy == "None":
        why = "should not be set when strategy is not set to Webhook"
        return [forbidden_field("spec.conversion.webhook", why)] if webhook else []
    if not webhook:
        return [required("spec.conversion.webhook.clientConfig", "required when strategy is set to Webhook")]
    found: list[Cause] = []
    client = webhook.get("clientConfig") or {}
    if bool(client.get("url")) == bool(client.get("service")):
        why = "exactly one of url or service is required"
        found.append(required("spec.conversion.webhook.clientConfig", why))
    if "v1" not in (webhook.get("conversionReviewVersions") or ()):
        versions = webhook.get("conversionReviewVersions") or []
        why = "must include at least one of v1"
        found.append(invalid_value("spec.conversion.webhook.conversionReviewVersions", versions, why))
    return found


def _stored_errors(definition: Object) -> list[Cause]:
    names = [version.get("name") for version in definition["spec"].get("versions") or ()]
    return [
        invalid_value(
            f"status.storedVersions[{index}]",
            stored,
            f"missing from spec.versions; {stored} was previously a storage version, and must remain in spec.versions"
            f" until a storage migration ensures no data remains persisted in {stored} and removes {stored} from"
            " status.storedVersions",
        )
        for index, stored in enumerate((definition.get("status") or {}).get("storedVersions") or ())
        if stored not in names
    ]


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
        columns=tuple(_column(column) for column in version.get("additionalPrinterColumns") or ()) or (_AGE,),
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
    return Column(
        name=column["name"],
        type=column["type"],
        json_path=column["jsonPath"],
        description=column.get("description") or "",
        format=column.get("format") or "",
        priority=column.get("priority") or 0,
    )


def _name_errors(field: str, name: str) -> list[Cause]:
    if not name:
        return [required(field)]
    return [invalid_value(field, name, why) for why in label_1035_errors(name.lower())]


def _version_errors(versions: list[Object]) -> list[Cause]:
    found: list[Cause] = []
    storing = [version for version in versions if version.get("storage")]
    if len(storing) != 1:
        why = "must have exactly one version marked as storage version"
        found.append(invalid_value("spec.versions", [version.get("name") for version in versions], why))
    for index, version in enumerate(versions):
        field = f"spec.versions[{index}]"
        found += [
            invalid_value(f"{field}.name", version.get("name"), w) for w in label_1035_errors(version.get("name") or "")
        ]
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
    found: list[Cause] = []
    kind = schema.get("type") or ""
    loose = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if root and kind != "object":
        found.append(invalid_value(f"{where}.type", kind, "must be object at the root"))
    elif not kind and not loose:
        found.append(
            required(f"{where}.type", "must not be empty for specified " + ("object fields" if not root else "root"))
        )
    elif kind and kind not in _TYPES:
        found.append(not_supported(f"{where}.type", kind, _TYPES))
    found += _rule_errors(schema, where)
    if kind == "array" and "items" not in schema:
        found.append(required(f"{where}.items", "must be specified"))
    for field, child in (schema.get("properties") or {}).items():
        if not (root and field == "metadata"):
            found += _schema_errors(child, f"{where}.properties[{field}]")
    if isinstance(schema.get("items"), dict):
        found += _schema_errors(schema["items"], f"{where}.items")
    if isinstance(schema.get("additionalProperties"), dict):
        found += _schema_errors(schema["additionalProperties"], f"{where}.additionalProperties")
    return found


def _well_formed(schema: Object) -> bool:
    """Return whether the members that the server reads are of the right type."""
    rules = schema.get(RULES) or []
    return (
        isinstance(schema.get("properties") or {}, dict)
        and isinstance(schema.get("type") or "", str)
        and isinstance(schema.get("required") or [], list)
        and isinstance(schema.get("pattern", ""), str)
        and isinstance(schema.get("enum") or [], list)
        and isinstance(rules, list)
        and all(isinstance(rule, dict) and isinstance(rule.get("rule"), str) for rule in rules)
        and all(_is_number(schema[field]) for field in _NUMBERS if field in schema)
        and all(_are_schemas(schema.get(field)) for field in ("allOf", "anyOf", "oneOf"))
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_schemas(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(one, dict) for one in value))


def _rule_errors(schema: Object, where: str) -> list[Cause]:
    found: list[Cause] = []
    for index, rule in enumerate(schema.get(RULES) or ()):
        if why := compile_error(rule.get("rule") or ""):
            found.append(invalid_value(f"{where}.{RULES}[{index}].rule", rule.get("rule"), why))
    return found
