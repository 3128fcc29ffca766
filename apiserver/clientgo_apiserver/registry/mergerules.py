"""Merge rules of a resource's lists and maps, and what field management needs to know of it.

The rules come from the table of built-in kinds or from the schema of a CustomResourceDefinition; the fakes of
`clientgo.testing` use the same table.
"""

from functools import partial
from typing import Any

from clientgo.meta.apply.mergerules import ENTRIES, FieldPath, MergeRule, MergeRules
from clientgo_apiserver.api.resources import Resource
from clientgo_apiserver.crds.structural import cached_by_identity
from clientgo_apiserver.gotypes.structs import ATOMIC, cached_rules, rules_of_kind
from clientgo_apiserver.http.protobuf import zero_value
from clientgo_apiserver.merging.managedfields import ManagedType
from clientgo_apiserver.merging.pruning import VersionView
from clientgo_apiserver.registry.strategies.kinds import strategy_of
from clientgo_apiserver.registry.views import Conversions, in_version, versions_of


def rules_of(resource: Resource) -> MergeRules:
    """Return the merge rules of a resource's objects, by path of field names."""
    if resource.custom:
        return schema_rules(resource.schema or _NO_SCHEMA)
    return rules_of_kind(resource.api_version, resource.kind)


_BUILT_IN: dict[tuple[str, str, str], ManagedType] = {}


def _built_in_type(resource: Resource, subresource: str) -> ManagedType:
    ignored = strategy_of(resource, subresource).ignored_fields(resource)
    views = {
        version: VersionView(rules_of_kind(version, resource.kind), partial(in_version, resource, version), ignored)
        for version in versions_of(resource)
    }
    return ManagedType(rules_of(resource), zero_value(resource.api_version, resource.kind), ignored, views)


def managed_type(resource: Resource, subresource: str, conversions: Conversions = ()) -> ManagedType:
    """Return what field management needs to know of a write to a resource."""
    if not resource.custom:
        name = (resource.api_version, resource.kind, subresource)
        return _BUILT_IN.get(name) or _BUILT_IN.setdefault(name, _built_in_type(resource, subresource))
    if conversions:
        return _custom_type(resource, subresource, conversions)
    types = _custom_types(resource)
    return types.get(subresource) or types.setdefault(subresource, _custom_type(resource, subresource, ()))


@cached_by_identity
def _custom_types(_: Resource) -> dict[str, ManagedType]:
    """Return the types of a custom kind by subresource, which are made when they are needed."""
    return {}


def _custom_type(resource: Resource, subresource: str, conversions: Conversions) -> ManagedType:
    ignored = strategy_of(resource, subresource).ignored_fields(resource)
    views = {
        version: VersionView(
            schema_rules(schema or _NO_SCHEMA),
            partial(in_version, resource, version, conversions=conversions),
            # As on a real server, writes to the main resource ignore nothing in other versions.
            ignored if version == resource.api_version or subresource == "status" else (),
        )
        for version, schema in {**resource.schemas, resource.api_version: resource.schema}.items()
    }
    return ManagedType(rules_of(resource), {}, ignored, views, strict=True)


def _rule_of_schema(schema: dict[str, Any], path: FieldPath) -> MergeRule | None:
    """Return the rule of x-kubernetes-list-type, -list-map-keys and -map-type at a path of a structural schema."""
    embedded, item = True, schema  # the root is an object of a kind
    for position, field in enumerate(path):
        if embedded and field in _OBJECT_FIELDS:
            return _METADATA(path[position:]) if field == "metadata" else None
        child = item.get("properties", {}).get(field, item.get("additionalProperties"))
        if not isinstance(child, dict):
            return ENTRIES
        schema, item = child, _item_of(child)
        embedded = bool(item.get("x-kubernetes-embedded-resource"))
    return _declared(schema, embedded=embedded)


_OBJECT_FIELDS = frozenset(("apiVersion", "kind", "metadata"))
_NO_SCHEMA: dict[str, Any] = {}


def _item_of(schema: dict[str, Any]) -> dict[str, Any]:
    while "items" in schema:
        schema = schema["items"]
    return schema


@cached_by_identity
def schema_rules(schema: dict[str, Any]) -> MergeRules:
    """Return the merge rules of a structural schema."""
    return cached_rules(partial(_rule_of_schema, schema))


# Any built-in kind: metadata merges the same way in all of them.
_METADATA = rules_of_kind("v1", "ConfigMap")


def _declared(schema: dict[str, Any], *, embedded: bool) -> MergeRule | None:
    if schema.get("x-kubernetes-map-type") == "atomic":
        return ATOMIC
    declared = _declared_fields(_item_of(schema), embedded=embedded)
    list_type = schema.get("x-kubernetes-list-type")
    if not list_type:
        return None if declared is None else MergeRule(declared=declared)
    keys, items = tuple(schema.get("x-kubernetes-list-map-keys", ())), schema.get("items") or {}
    defaults = {name: field["default"] for name, field in items.get("properties", {}).items() if "default" in field}
    return MergeRule(
        list_type=list_type,
        map_keys=keys,
        atomic_items=items.get("x-kubernetes-map-type") == "atomic",
        key_defaults=tuple((name, defaults[name]) for name in keys if name in defaults),
        declared=declared,
    )


def _declared_fields(schema: dict[str, Any], *, embedded: bool) -> frozenset[str] | None:
    """Return the declared fields of a map that may have others; None if it has declared fields only."""
    if "additionalProperties" not in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        return None
    return frozenset(schema.get("properties", ())) | (_OBJECT_FIELDS if embedded else frozenset())
