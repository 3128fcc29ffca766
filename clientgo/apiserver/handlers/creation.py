"""POST: creation of objects."""

from dataclasses import replace

from clientgo.apiserver.admission import webhooks
from clientgo.apiserver.admission.namespaces import require_namespace
from clientgo.apiserver.handlers.writes import Write, track
from clientgo.apiserver.http.status import ApiFailure, already_exists, bad_request, invalid
from clientgo.apiserver.registry import metadata
from clientgo.apiserver.registry.names import generate
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.registry.strategy import drop_status, identify, refine, validate
from clientgo.apiserver.registry.views import from_storage, shown_once_stored, to_storage
from clientgo.apiserver.state import State

# As many attempts at a generated name as the real server makes.
_GENERATE_ATTEMPTS = 8


def create(state: State, write: Write, obj: Object) -> Object:
    """Store a new object and return it as shown."""
    resource = write.resource
    meta = read_metadata(write, obj)
    meta.pop("managedFields", None)  # set by the server for new objects
    if "resourceVersion" in meta:
        raise ApiFailure(500, "", "resourceVersion should not be set on objects to be created")
    require_namespace(state, resource, write.namespace, meta.get("name", ""))
    new = refine(state, write, {**obj, "metadata": meta}, None)
    new = drop_status(resource, mutated(state, write, "CREATE", new, None))
    new["metadata"].pop("managedFields", None)
    # Messages omit generated names.
    new = {**new, "metadata": filled_in(state, write, new["metadata"])}
    return store_checked(state, write, new, name=meta.get("name", ""))


def mutated(state: State, write: Write, operation: str, new: Object, old: Object | None) -> Object:
    """Return a refined object after admission, refined again if it was changed."""
    changed = webhooks.mutate(state, write, operation, new, old)
    if changed is None or changed is new or changed == new:
        return new
    # Unknown fields that a webhook adds are dropped without a warning: the client did not send them.
    silent = replace(write, validation="Ignore", unknown=[])
    meta = read_metadata(silent, changed)
    return refine(state, silent, {**changed, "metadata": meta}, old)


def filled_in(state: State, write: Write, meta: Object) -> Object:
    """Return the metadata of a new object; a resumed request keeps the uid that webhooks have seen."""
    filled = metadata.fill_in(write.resource, meta, state.clock)
    own = {field: filled[field] for field in ("uid", "creationTimestamp", "name") if field in filled}
    return {**filled, **write.kept.setdefault("identity", own)}


def store_checked(state: State, write: Write, new: Object, *, name: str) -> Object:
    """Validate and admit a new object, store it, and return it as shown; `name` is for messages."""
    resource = write.resource
    new = identify(resource, new)
    causes = [*metadata.errors(resource, new["metadata"]), *validate(resource, new, None)]
    if causes:
        raise invalid(resource.kind, resource.group, name, causes)
    webhooks.check(state, write, "CREATE", new, None)
    return store_new(state, write, new)


def read_metadata(write: Write, obj: Object) -> Object:
    """Return the metadata a client sent, as ObjectMeta would hold it, with the namespace of the request (400)."""
    meta = metadata.normalize(obj.get("metadata"), write.resource.kind, write.unknown)
    if meta.get("namespace", write.namespace) != write.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    return {**meta, "namespace": write.namespace} if write.namespace else meta


def store_new(state: State, write: Write, new: Object) -> Object:
    """Store a validated object, generating its name again while it is taken, and return it as shown (409)."""
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
    if write.dry_run:
        return from_storage(resource, stored)
    return shown_once_stored(resource, stored, lambda: state.store.put(resource.storage, stored).object)
