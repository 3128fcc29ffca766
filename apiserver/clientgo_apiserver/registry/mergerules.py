"""Patch formats of PATCH requests, and the merge rules of a resource's lists and maps.

The rules come from the table of built-in kinds or from the schema of a CustomResourceDefinition; the fakes of
`clientgo.testing` use the same patches and the same table.
"""

from functools import partial
from typing import Any

from clientgo.meta.apply.fieldsets import FieldPath, MergeRules
from clientgo.meta.apply.managedfields import FieldManager, ManagedType
from clientgo.meta.apply.mergerules import ENTRIES, MergeRule
from clientgo.meta.apply.pruning import VersionView
from clientgo.meta.apply.serverside import Applied, ApplyConflict, Object
from clientgo.meta.apply.serverside import apply as apply_config
from clientgo.meta.patches import InvalidDirective, PatchError, UnmergeablePatch, jsonpatch
from clientgo.meta.patches.strategic import Merger
from clientgo_apiserver.apiextensions.structural import cached_by_identity
from clientgo_apiserver.gotext import json_type
from clientgo_apiserver.gotypes.structs import ATOMIC, cached_rules, check_field, rules_of_kind
from clientgo_apiserver.http.protobuf import zero_value
from clientgo_apiserver.http.status import ApiFailure, bad_request
from clientgo_apiserver.limits import MAX_OPERATIONS
from clientgo_apiserver.registry.strategies.kinds import strategy_of
from clientgo_apiserver.registry.views import Conversions, in_version, versions_of
from clientgo_apiserver.resources import Resource


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


__all__ = ["Applied", "apply", "json_patch", "strategic_merge_patch"]


def json_patch(target: Object, operations: Any, *, strict: bool = True) -> Any:
    """Return `target` with a JSON Patch applied, all of it or nothing (400, 413, 422).

    If not `strict`, a member of an operation that has the wrong type is like one that is absent.
    """
    try:
        operations = decoded_operations(operations, strict=strict)
    except ValueError as error:
        raise bad_request(f"{'error decoding patch: ' if strict else ''}{error}") from error
    if len(operations) > MAX_OPERATIONS:
        limit = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise ApiFailure(413, "RequestEntityTooLarge", f"Request entity too large: {limit}")
    try:
        return jsonpatch.apply(target, operations)
    except PatchError as error:
        raise _failure_of(error) from error


def decoded_operations(value: Any, *, strict: bool = True) -> list[Object]:
    """Return the operations of a decoded JSON patch; Go's decoder takes null for an empty value.

    Raises:
        ValueError: it is not a list of operations; the error is in Go's words.
    """
    patch, operation_type = _STRICT_TYPES if strict else _PATCH_TYPES
    if not isinstance(value, list | None):
        raise ValueError(f"json: cannot unmarshal {json_type(value)} into Go value of type {patch}")
    for operation in value or ():
        if not isinstance(operation, dict | None):
            raise ValueError(f"json: cannot unmarshal {json_type(operation)} into Go value of type {operation_type}")
        members = operation or {}
        for field in ("op", "path", "from") if strict else ():
            if not isinstance(member := members.get(field), str | None):
                expected = f"Go struct field jsonPatchOp.{field} of type string"
                raise ValueError(f"json: cannot unmarshal {json_type(member)} into {expected}")
    return [operation or {} for operation in value or ()]


_STRICT_TYPES = ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
_PATCH_TYPES = ("jsonpatch.Patch", "jsonpatch.Operation")


def strategic_merge_patch(target: Object, patch: Object, resource: Resource) -> Object:
    """Return `target` with a strategic merge patch applied by the kind's merge rules, which consumes it (400, 500)."""
    api_version, kind = resource.api_version, resource.kind
    try:
        return Merger(rules_of(resource), partial(check_field, api_version, kind)).merge(target, patch)
    except PatchError as error:
        raise _failure_of(error) from error


def _failure_of(error: PatchError) -> ApiFailure:
    """Return the failure of a patch that cannot be applied (400, 422, 500)."""
    if isinstance(error, InvalidDirective):
        return bad_request(str(error))
    if isinstance(error, UnmergeablePatch):
        # Not a client's error for a real server either.
        return ApiFailure(500, "", str(error))
    # kube-apiserver does not return the operation's message.
    message = "the server rejected our request due to an error in our request"
    return ApiFailure(422, "Invalid", message, details={})


def apply(live: Object, config: Object, who: FieldManager, kind: ManagedType, *, force: bool, time: str) -> Applied:
    """Merge `config` into `live` (empty for a new object) for this field manager (409, 500)."""
    try:
        return apply_config(live, config, who, kind, force=force, time=time)
    except ApplyConflict as conflict:
        raise ApiFailure(409, "Conflict", str(conflict), details={"causes": conflict.causes}) from conflict
