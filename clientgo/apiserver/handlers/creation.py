"""POST: an object becomes stored, or every rule it breaks is named."""

from dataclasses import replace
from typing import Any

from clientgo.apiserver.admission import webhooks
from clientgo.apiserver.admission.namespaces import require_namespace
from clientgo.apiserver.handlers.writes import Write, track
from clientgo.apiserver.http.status import ApiFailure, already_exists, bad_request, invalid
from clientgo.apiserver.registry import metadata
from clientgo.apiserver.registry.names import generate
from clientgo.apiserver.registry.strategy import drop_status, identify, refine, validate
from clientgo.apiserver.registry.views import from_storage, shown_once_stored, to_storage
from clientgo.apiserver.state import State

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
    new = drop_status(resource, mutated(state, write, "CREATE", new, None))
    new["metadata"].pop("managedFields", None)
    # A name that was generated is not the client's: messages leave it out.
    new = {**new, "metadata": filled_in(state, write, new["metadata"])}
    return store_checked(state, write, new, name=meta.get("name", ""))


def mutated(state: State, write: Write, operation: str, new: Object, old: Object | None) -> Object:
    """What admission makes of a refined object: refined again where it was changed.

    Raises:
        Paused: webhooks have to be asked first.
        ApiFailure: admission refuses.
    """
    changed = webhooks.mutate(state, write, operation, new, old)
    if changed is None or changed is new or changed == new:
        return new
    # What a webhook adds beyond the schema is dropped without a word: it is not the client's fault.
    silent = replace(write, validation="Ignore", unknown=[])
    meta = read_metadata(silent, changed)
    return refine(state, silent, {**changed, "metadata": meta}, old)


def filled_in(state: State, write: Write, meta: Object) -> Object:
    """The metadata of a new object; a request that was suspended finds the uid again that webhooks were shown."""
    filled = metadata.fill_in(write.resource, meta, state.clock)
    own = {field: filled[field] for field in ("uid", "creationTimestamp", "name") if field in filled}
    return {**filled, **write.kept.setdefault("identity", own)}


def store_checked(state: State, write: Write, new: Object, *, name: str) -> Object:
    """Store a new object that breaks no rule and that admission lets pass; `name` is for messages. Return it as shown.

    Raises:
        Paused: webhooks have to be asked first.
        ApiFailure: a rule is broken, admission refuses, or the name is taken.
    """
    resource = write.resource
    new = identify(resource, new)
    causes = [*metadata.faults(resource, new["metadata"]), *validate(resource, new, None)]
    if causes:
        raise invalid(resource.kind, resource.group, name, causes)
    webhooks.check(state, write, "CREATE", new, None)
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
    if write.dry_run:
        return from_storage(resource, stored)
    return shown_once_stored(resource, stored, lambda: state.store.put(resource.storage, stored).object)
