"""Scale subresource: `autoscaling/v1` Scale over the replica paths of a kind."""

from dataclasses import replace
from typing import Any

from clientgo.meta.jsonvalues import same
from clientgo.meta.scheme import ScaleSubresource
from clientgo_apiserver.api.resources import SCALE, Object, Resource
from clientgo_apiserver.api.status import ApiFailure, bad_request, invalid, invalid_value, modified
from clientgo_apiserver.gotypes.decoding import decode, message_of
from clientgo_apiserver.gotypes.metadata import normalize
from clientgo_apiserver.gotypes.scalars import DecodeError
from clientgo_apiserver.handlers.reading import get
from clientgo_apiserver.http.decode import check_object, media_type
from clientgo_apiserver.merging.managedfields import after_applied_scale, after_scale, scale_entries
from clientgo_apiserver.printers.values import dig
from clientgo_apiserver.registry.views import from_storage
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.selection import label_selector
from clientgo_apiserver.writes.decoding import check_name, check_namespace
from clientgo_apiserver.writes.patching import APPLY_PATCH, merged, patched, read_configuration
from clientgo_apiserver.writes.pipeline import UpdatedObject, update


def scale_of(paths: ScaleSubresource, obj: Object) -> Object:
    """Return the Scale of an object."""
    meta = obj["metadata"]
    fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec = _value_at(obj, paths.spec_path)
    status: Object = {"replicas": _value_at(obj, paths.status_path) or 0}
    selector = _selector(_value_at(obj, paths.selector_path)) if paths.selector_path else ""
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": SCALE.api_version,
        "metadata": {field: meta[field] for field in fields if field in meta},
        "spec": {"replicas": spec} if spec else {},
        "status": status,
    }


async def read_scale(state: State, resource: Resource, namespace: str, name: str) -> Object:
    """Return the Scale of a stored object (404)."""
    obj = await from_storage(resource, get(state, resource, namespace, name).object)
    if _is_unset(resource, obj):
        message = f'Internal error occurred: the spec replicas field "{resource.scale_paths.spec_path}" does not exist'
        raise ApiFailure(500, "InternalError", message, details={"causes": [{"message": message.partition(": ")[2]}]})
    return scale_of(resource.scale_paths, obj)


def _is_unset(resource: Resource, obj: Object) -> bool:
    """Return whether a custom object has no replicas; those of built-in kinds have a default."""
    return resource.custom and _value_at(obj, resource.scale_paths.spec_path) is None


async def write_scale(state: State, write: Write, body: bytes, content_type: str, *, patch: bool) -> Object:
    """Set the replicas of a stored object by replacing or patching its Scale; return the Scale (404, 409, 422)."""
    paths, media = write.resource.scale_paths, media_type(content_type)
    typed = replace(write, resource=SCALE, unknown=[])
    value = None if patch else typed.parse()
    sent = None if patch else _decoded(typed, check_object(value, SCALE, body))
    # A real server cannot tell the fields of an unversioned Scale of a custom object.
    is_typed = patch or not write.resource.custom or bool((value or {}).get("apiVersion"))

    def updated(old: Object) -> UpdatedObject:
        if media == APPLY_PATCH and patch:
            return _applied(write, old, body)
        current = scale_of(paths, old)
        typed = replace(write, resource=SCALE, unknown=[])
        scale = sent or _decoded(typed, patched(typed, current, media, body))
        return _scaled(write, old, scale, patch=patch, is_typed=is_typed)

    # The object is not sent, so none of its fields is reported.
    return scale_of(paths, await update(state, replace(write, validation="Ignore"), updated))


def _scaled(write: Write, current_object: Object, scale: Object, *, patch: bool, is_typed: bool) -> UpdatedObject:
    """Return the object with the replicas of a Scale, and its managedFields."""
    resource, meta = write.resource, scale["metadata"]
    version = current_object["metadata"]["resourceVersion"]
    if meta.get("resourceVersion", version) != version:
        raise modified(resource, write.name)
    replicas = _value_at(scale, "spec.replicas")
    if patch and replicas is None and _is_unset(resource, current_object):
        raise bad_request(f'the spec replicas field "{resource.scale_paths.spec_path}" cannot be empty')
    replicas = replicas or 0
    if replicas < 0 and not resource.custom:
        cause = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("Scale", "autoscaling", write.name, [cause])
    if replicas < 0:  # also where the schema does not have them
        cause = invalid_value(resource.scale_paths.spec_path, replicas, "should be a non-negative integer")
        raise invalid(resource.kind, resource.group, write.name, [cause])
    path = _path(resource.scale_paths)
    obj, entries = _with_value(current_object, path, replicas), current_object["metadata"].get("managedFields", [])
    elements, changed = tuple(f"f:{field}" for field in path), not same(obj, current_object)
    if not patch and "uid" in meta:
        obj = {**obj, "metadata": {**obj["metadata"], "uid": meta["uid"]}}
    # A Scale without replicas has no field that could be owned.
    owner = write.field_manager() if replicas and is_typed else None
    return UpdatedObject(obj, after_scale(entries, elements, owner, changed=changed))


def _decoded(typed: Write, scale: Object) -> Object:
    """Return the decoded Scale that was sent, or that a patch makes of the current one (400, 422)."""
    try:
        meta = normalize(scale.get("metadata"), typed.unknown)
        decoded = decode(message_of("autoscaling/v1", "Scale"), scale, typed.unknown)
    except DecodeError as error:
        raise typed.undecodable(error) from error
    typed.report()
    check_name(typed, meta)
    check_namespace(typed, {"namespace": typed.namespace, **meta})
    return {**decoded, "metadata": meta}


def _applied(write: Write, current_object: Object, body: bytes) -> UpdatedObject:
    """Return the object with an applied Scale: a configuration that has nothing but the replicas."""
    resource = write.resource
    path, entries = _path(resource.scale_paths), current_object["metadata"].get("managedFields", [])
    elements = tuple(f"f:{field}" for field in path)
    config, scale = read_configuration(write, SCALE, body), scale_of(resource.scale_paths, current_object)
    scale["metadata"]["managedFields"] = scale_entries(entries, elements, SCALE.api_version)
    if resource.custom and not scale["metadata"]["managedFields"]:
        existing = f"failed to create manager for existing fields: {_unconvertible('live', '')}"
        raise ApiFailure(500, "", existing)
    applied = merged(replace(write, resource=SCALE), scale, config)
    if resource.custom:  # as on a real server, where conflicts alone are found before the Scale is converted
        raise ApiFailure(500, "", _unconvertible("new", write.name))
    obj = _with_value(current_object, path, _value_at(applied.obj, "spec.replicas") or 0)
    return UpdatedObject(obj, after_applied_scale(entries, applied.entries, elements, resource.api_version))


def _unconvertible(which: str, name: str) -> str:
    """Return the message of a real server, which cannot apply the Scale of a custom object."""
    reason = f"request to convert CR to an invalid group/version: {SCALE.api_version}"
    kind = f"/{name}; {SCALE.api_version}, Kind=Scale"
    return f"failed to convert {which} object ({kind}) to proper version: {reason}"


def _path(paths: ScaleSubresource) -> list[str]:
    return paths.spec_path.strip(".").split(".")


def _value_at(obj: Object, path: str) -> Any:
    return dig(obj, *path.strip(".").split("."))


def _with_value(obj: Object, path: list[str], value: Any) -> Object:
    if len(path) == 1:
        return {**obj, path[0]: value}
    child = obj.get(path[0])
    return {**obj, path[0]: _with_value(child if isinstance(child, dict) else {}, path[1:], value)}


def _selector(value: Any) -> str:
    """Format a selector given as text, as a LabelSelector, or as a map of labels."""
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    return str(label_selector(value if {"matchLabels", "matchExpressions"} & set(value) else {"matchLabels": value}))
