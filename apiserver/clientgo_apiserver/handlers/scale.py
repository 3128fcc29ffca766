"""Scale subresource: `autoscaling/v1` Scale over the replica paths of a kind."""

from typing import Any

import msgspec

from clientgo.meta.apply.managedfields import after_scale
from clientgo.meta.jsonvalues import same
from clientgo.meta.scheme import ScaleSubresource
from clientgo_apiserver.api.resources import SCALE, Object, Resource
from clientgo_apiserver.api.status import bad_request, invalid, invalid_value, modified
from clientgo_apiserver.gotypes.decoding import decode, message_of
from clientgo_apiserver.gotypes.metadata import normalize
from clientgo_apiserver.gotypes.scalars import DecodeError
from clientgo_apiserver.handlers.reading import get
from clientgo_apiserver.http.decode import media_type, read_object
from clientgo_apiserver.printers.values import dig
from clientgo_apiserver.registry.views import from_storage
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.selection import label_selector
from clientgo_apiserver.writes.decoding import check_name
from clientgo_apiserver.writes.patching import APPLY_PATCH, merged, patched_object, read_configuration, read_patch
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
    assert resource.scale is not None, "only asked for resources that scale"
    return scale_of(resource.scale, await from_storage(resource, get(state, resource, namespace, name).object))


async def write_scale(state: State, write: Write, body: bytes, content_type: str, *, patch: bool) -> Object:
    """Set the replicas of a stored object by replacing or patching its Scale; return the Scale (404, 409, 422)."""
    resource = write.resource
    assert resource.scale is not None, "only asked for resources that scale"
    applying = patch and media_type(content_type) == APPLY_PATCH

    def updated(old: Object) -> UpdatedObject:
        return _applied(write, old, body) if applying else _scaled(write, old, body, content_type if patch else "")

    return scale_of(resource.scale, await update(state, write, updated))


def _scaled(write: Write, current_object: Object, body: bytes, patch_type: str) -> UpdatedObject:
    """Return the object with the replicas of the Scale or patch that was sent, and its managedFields."""
    resource = write.resource
    assert resource.scale is not None, "only asked for resources that scale"
    current = scale_of(resource.scale, current_object)
    if patch_type:
        kind = media_type(patch_type)
        scale = patched_object(SCALE, current, kind, read_patch(kind, body))
    else:
        scale = read_object(body, write.request.headers.get("content-type", ""), SCALE)
    try:
        meta = normalize(scale.get("metadata"))
        scale = decode(message_of("autoscaling/v1", "Scale"), scale, [])
    except DecodeError as error:
        if patch_type:
            causes = [invalid_value("patch", msgspec.json.encode(scale).decode(), str(error))]
            raise invalid("", "", "", causes) from error
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {error}') from error
    check_name(write, {"name": write.name, **meta})
    if meta.get("resourceVersion", current["metadata"]["resourceVersion"]) != current["metadata"]["resourceVersion"]:
        raise modified(resource, write.name)
    replicas = _value_at(scale, "spec.replicas") or 0
    if replicas < 0 and not resource.custom:
        cause = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("Scale", "autoscaling", write.name, [cause])
    path = _path(resource.scale)
    obj, entries = _with_value(current_object, path, replicas), current_object["metadata"].get("managedFields", [])
    elements, changed = tuple(f"f:{field}" for field in path), not same(obj, current_object)
    return UpdatedObject(obj, after_scale(entries, elements, write.field_manager(), changed=changed))


def _applied(write: Write, current_object: Object, body: bytes) -> UpdatedObject:
    """Return the object with an applied Scale: a configuration that has nothing but the replicas."""
    resource = write.resource
    assert resource.scale is not None, "only asked for resources that scale"
    replicas = _value_at(read_configuration(write, SCALE, body), "spec.replicas")
    config: Object = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}
    if replicas is not None:
        config = _with_value(config, _path(resource.scale), replicas)
    applied = merged(write, current_object, config)
    return UpdatedObject(applied.obj, applied.entries)


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
