"""PATCH: four kinds of patch, one path from the patched object to the store."""

from collections.abc import Callable
from typing import Any

from clientgo.apiserver.admission import webhooks
from clientgo.apiserver.admission.namespaces import require_namespace
from clientgo.apiserver.apiextensions.causes import required
from clientgo.apiserver.handlers.creation import filled_in, mutated, read_metadata, store_checked
from clientgo.apiserver.handlers.fieldvalidation import report_duplicates
from clientgo.apiserver.handlers.patches.formats import Applied, apply, json_patch, strategic_merge_patch
from clientgo.apiserver.handlers.patches.rules import rules_of
from clientgo.apiserver.handlers.updating import check_name, replace
from clientgo.apiserver.handlers.writes import Write, with_entries
from clientgo.apiserver.http.decode import media_type, read_json, read_yaml
from clientgo.apiserver.http.gojson import go_map, json_text
from clientgo.apiserver.http.nesting import value_fault
from clientgo.apiserver.http.status import bad_request, invalid, not_found, unsupported_media_type
from clientgo.apiserver.registry import metadata
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.registry.strategy import drop_status, refine
from clientgo.apiserver.registry.views import from_storage
from clientgo.apiserver.state import State
from clientgo.meta.patches import mergepatch

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def accepted(resource: Resource) -> tuple[str, ...]:
    """The kinds of patch the resource takes; strategic merge needs Go types, which custom kinds have not."""
    if resource.custom:
        return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    return (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)


def patch(state: State, write: Write, body: bytes, content_type: str) -> tuple[Object, bool]:
    """Patch the object of the write's name; return it as shown, and whether it was created (by an apply).

    Raises:
        ApiFailure: the patch or what it makes of the object is refused.
    """
    resource = write.resource
    kind = media_type(content_type)
    if kind not in accepted(resource):
        raise unsupported_media_type(accepted(resource))
    if kind == APPLY_PATCH:
        # Problems of an applied configuration are told like those of an object.
        return _apply(state, write, body)
    entry = state.store.entry(resource.storage, write.namespace, write.name)
    if entry is None:
        raise not_found(resource, write.name)
    shown = from_storage(resource, entry.object)
    patched = patched_object(resource, shown, kind, body)
    strategic = kind == STRATEGIC_PATCH
    write.patch = lambda: go_map(read_json(body, resource.kind)) if strategic else json_text(patched)
    if kind != JSON_PATCH:
        report_duplicates(write, body)
    meta = read_metadata(write, patched)
    check_name(write, meta)
    obj = {**patched, "apiVersion": shown["apiVersion"], "kind": shown["kind"], "metadata": meta}
    return replace(state, write, entry, obj), False


def patched_object(resource: Resource, shown: Object, kind: str, body: bytes) -> Object:
    """What the patch makes of the object, before any rule is applied.

    Raises:
        ApiFailure: 400 or 422, the patch does not parse or cannot be done.
    """
    value = read_json(body, resource.kind)
    if kind == JSON_PATCH:
        patched = json_patch(shown, value)
        fault = value_fault(patched)
        if fault:
            raise bad_request(f"the patched object is unrecognized (must be of type {resource.kind}): {fault}")
    elif not isinstance(value, dict):
        raise bad_request(
            f"json: cannot unmarshal {metadata.json_type(value)} into Go value of type map[string]interface {{}}"
        )
    elif kind == STRATEGIC_PATCH:
        patched = strategic_merge_patch(shown, value, rules_of(resource))
    else:
        patched = mergepatch.apply(shown, value)
    if not isinstance(patched, dict):
        raise bad_request(
            f"json: cannot unmarshal {metadata.json_type(patched)} into Go value of type v1.{resource.kind}"
        )
    return patched


def _apply(state: State, write: Write, body: bytes) -> tuple[Object, bool]:
    resource = write.resource
    config = _configuration(write, body)
    entry = state.store.entry(resource.storage, write.namespace, write.name)
    if entry is None:
        if write.subresource:
            raise not_found(resource, write.name)
        webhooks.require_create(state, write)
        return _create_applied(state, write, config), True
    shown = from_storage(resource, entry.object)
    applied = _merged(state, write, shown, config)
    meta = read_metadata(write, applied.obj)
    meta["resourceVersion"] = config["metadata"].get("resourceVersion", shown["metadata"]["resourceVersion"])
    obj = {**applied.obj, "metadata": with_entries(meta, applied.entries)}
    return replace(state, write, entry, obj, _keep(applied)), False


def _configuration(write: Write, body: bytes) -> Object:
    """The applied configuration, without what the target cannot set.

    Raises:
        ApiFailure: 400, it is no object of this kind and name.
    """
    resource = write.resource
    config = read_yaml(body, resource.kind)
    if not isinstance(config, dict):
        raise bad_request(
            f"error decoding YAML: json: cannot unmarshal {metadata.json_type(config)} into Go value of type map"
        )
    if (config.get("apiVersion"), config.get("kind")) != (resource.api_version, resource.kind):
        raise bad_request(
            f"incorrect apiVersion or kind in the applied object: {config.get('apiVersion')}, {config.get('kind')}; "
            f"expected {resource.api_version}, {resource.kind}"
        )
    meta = read_metadata(write, config)
    if "managedFields" in meta:
        raise bad_request("metadata.managedFields must be nil")
    check_name(write, {"name": write.name, **meta})
    config = {**config, "metadata": {**meta, "name": write.name}}
    if write.subresource == "status":
        return {field: config[field] for field in ("apiVersion", "kind", "metadata", "status") if field in config}
    return {field: value for field, value in config.items() if field != "status"} if resource.status else config


def _merged(state: State, write: Write, live: Object, config: Object) -> Applied:
    if "fieldManager" in write.missing:
        cause = required("fieldManager", "is required for apply patch")
        raise invalid("PatchOptions", "meta.k8s.io", "", [cause])
    time = write.now(state)
    return apply(live, config, write.who("Apply"), rules_of(write.resource), force=write.force, time=time)


def _create_applied(state: State, write: Write, config: Object) -> Object:
    resource = write.resource
    require_namespace(state, resource, write.namespace, write.name)
    applied = _merged(state, write, {}, config)
    new = mutated(state, write, "CREATE", refine(state, write, applied.obj, None), None)
    new = drop_status(resource, new)
    meta = filled_in(state, write, new["metadata"])
    return store_checked(state, write, {**new, "metadata": with_entries(meta, applied.entries)}, name=write.name)


def _keep(applied: Applied) -> Callable[[State, Write, Object, Object], Object]:
    """A tracker that trusts what the apply found out about managers."""

    def keep(_: State, __: Write, ___: Object, new: Object) -> Object:
        return {**new, "metadata": with_entries(new["metadata"], applied.entries)}

    return keep
