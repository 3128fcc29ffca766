"""POST: an object becomes stored, or every rule it breaks is named."""

from typing import Any

from clientgo.envtest.apiserver import metadata
from clientgo.envtest.apiserver.names import generate
from clientgo.envtest.apiserver.namespaces import require_namespace
from clientgo.envtest.apiserver.state import State
from clientgo.envtest.apiserver.status import ApiFailure, already_exists, bad_request, invalid
from clientgo.envtest.apiserver.strategy import drop_status, identify, refine, validate
from clientgo.envtest.apiserver.views import from_storage, to_storage
from clientgo.envtest.apiserver.writes import Write, track

Object = dict[str, Any]

# As often as the real server draws another suffix when a generated name is taken.
_GENERATE_ATTEMPTS = 8


def create(state: State, write: Write, obj: Object) -> Object:
    """Store a new object; return it as the resource shows it.

    Raises:
        ApiFailure: the object or its place is refused.
    """
    resource = write.resource
    meta = read_metadata(write, obj)
    meta.pop("managedFields", None)  # who manages a new object follows from who makes it
    if "resourceVersion" in meta:
        raise ApiFailure(500, "", "resourceVersion should not be set on objects to be created")
    require_namespace(state, resource, write.namespace, meta.get("name", ""))
    new = refine(state, write, {**obj, "metadata": meta}, None)
    new = drop_status(resource, new)
    new = {**new, "metadata": metadata.fill_in(resource, new["metadata"], state.clock)}
    new = identify(resource, new)
    causes = [*metadata.faults(resource, new["metadata"]), *validate(resource, new, None)]
    if causes:
        raise invalid(resource.kind, resource.group, meta.get("name", ""), causes)
    return store_new(state, write, new)


def read_metadata(write: Write, obj: Object) -> Object:
    """The metadata a client sent, as ObjectMeta would hold it, with the namespace the request was sent to.

    Raises:
        ApiFailure: 400, the object names another namespace, or a field is of the wrong type.
    """
    meta = metadata.normalize(obj.get("metadata"), write.resource.kind, write.unknown)
    if meta.get("namespace", write.namespace) != write.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    return {**meta, "namespace": write.namespace} if write.namespace else meta


def store_new(state: State, write: Write, new: Object) -> Object:
    """Store a checked object under its name (a generated one is drawn again while taken); return it as shown.

    Raises:
        ApiFailure: 409, the name is taken.
    """
    resource = write.resource
    meta = new["metadata"]
    generated = "generateName" in meta and not write.name
    for _ in range(_GENERATE_ATTEMPTS if generated else 1):
        if state.store.entry(resource.storage, write.namespace, meta["name"]) is None:
            break
        if generated:
            meta = {**meta, "name": generate(meta["generateName"])}
    else:
        raise already_exists(resource, meta["name"])
    new = {**new, "metadata": meta}
    if "managedFields" not in meta:
        new = track(state, write, {}, new)
    stored = to_storage(resource, new)
    if not write.dry_run:
        stored = state.store.put(resource.storage, stored).object
    return from_storage(resource, stored)
