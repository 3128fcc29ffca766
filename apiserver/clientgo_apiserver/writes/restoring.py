"""Objects stored as they are, as from a backup: without admission and validation."""

from clientgo_apiserver.api import names
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.crds.structural import whole_numbers
from clientgo_apiserver.gotypes.decoding import decode, message_of
from clientgo_apiserver.gotypes.metadata import timestamp
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.registry.defaults.types import complete
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.writes.decoding import as_stored, decode_metadata, decode_object


def restore(state: State, obj: Object) -> None:
    """Store an object with its status, uid and deletionTimestamp; defaults and missing metadata are added.

    Raises:
        ValueError: its kind is not served, or it cannot be decoded.
    """
    api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    group, _, version = api_version.rpartition("/")
    resource = state.registry.by_kind(group, version, kind)
    if resource is None:
        raise ValueError(f"the kind {kind} of {api_version} is not served")
    meta = obj.get("metadata") or {}
    namespace, name = str(meta.get("namespace") or ""), str(meta.get("name") or "")
    if not name or bool(namespace) != resource.namespaced:
        rule = "cannot have a namespace" if namespace else f"must have a {'namespace' if name else 'name'}"
        raise ValueError(f'{kind} "{name}": a {kind} {rule}')
    state.store.put(resource.storage, _completed(state, resource, (namespace, name), obj))


def _completed(state: State, resource: Resource, target: tuple[str, str], obj: Object) -> Object:
    now = timestamp(state.clock)
    write = Write(resource, *target, "", "", False, "Ignore", HTTPRequest("POST", ""), now)
    try:
        meta = decode_metadata(write, obj)
        decoded = decode_object(write, {**obj, "metadata": meta}, None)
    except ApiFailure as failure:
        raise ValueError(f'{resource.kind} "{"/".join(target)}": {failure.message}') from failure
    if resource.custom:
        decoded = {name: value if name == "metadata" else whole_numbers(value) for name, value in decoded.items()}
    elif obj.get("status"):  # in place of that of a new object
        message = message_of(resource.api_version, resource.kind)
        status = decode(message, {"status": obj["status"]}, [])["status"]
        decoded = complete(message, {**decoded, "status": {**(decoded.get("status") or {}), **status}})
    decoded = as_stored(write, decoded)
    system: Object = {"uid": names.new_uid(), "creationTimestamp": now}
    if resource.generation:
        system["generation"] = 1
    return {**decoded, "apiVersion": resource.stored_version, "metadata": {**system, **decoded["metadata"]}}
