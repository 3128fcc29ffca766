"""PUT, and the second half of PATCH: replaces stored objects if their preconditions hold."""

from collections.abc import Callable

from clientgo.apiserver.admission import webhooks
from clientgo.apiserver.handlers.creation import create, mutated, read_metadata
from clientgo.apiserver.handlers.writes import Write, commit, storage_name, track
from clientgo.apiserver.http.status import ApiFailure, Cause, bad_request, conflict, invalid, modified, not_found
from clientgo.apiserver.registry import metadata
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.registry.strategy import desired, keep_spec, keep_status, refine, validate
from clientgo.apiserver.registry.views import from_storage, shown_once_stored, to_storage
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Entry
from clientgo.meta.apply.fieldsets import is_tree

FieldTracker = Callable[[State, Write, Object, Object], Object]


def update(state: State, write: Write, obj: Object) -> tuple[Object, bool]:
    """Replace the object of the write's name; return it as shown, and whether it was created."""
    resource = write.resource
    meta = read_metadata(write, obj)
    check_name(write, meta)
    entry = state.store.entry(resource.storage, write.namespace, write.name)
    if entry is None:
        if not resource.create_on_update or write.subresource:
            raise not_found(resource, write.name)
        webhooks.require_create(state, write)
        meta = {field: value for field, value in meta.items() if field not in ("resourceVersion", "uid")}
        return create(state, write, {**obj, "metadata": meta}), True
    return replace(state, write, entry, {**obj, "metadata": meta}), False


def replace(state: State, write: Write, entry: Entry, obj: Object, tracker: FieldTracker = track) -> Object:
    """Replace the stored object by `obj`, whose metadata is normalized; return it as shown."""
    resource = write.resource
    old = entry.object
    meta = obj["metadata"]
    _check_preconditions(write, meta, old["metadata"])
    _check_managers(meta, old["metadata"])
    shown_old = from_storage(resource, old)
    new = refine(state, write, _with_kept_fields(write, obj, shown_old), shown_old)
    changed = mutated(state, write, "UPDATE", new, shown_old)
    if changed is not new:
        new = _with_kept_fields(write, changed, shown_old)
    carried = metadata.carry_over(new["metadata"], old["metadata"])
    if resource.generation and write.subresource != "status" and desired(resource, new) != desired(resource, shown_old):
        carried = {**carried, "generation": old["metadata"].get("generation", 0) + 1}
    new = {**new, "metadata": carried}
    causes = [*metadata.errors(resource, carried), *metadata.update_errors(carried, old["metadata"])]
    causes += validate(resource, new, shown_old)
    if causes:
        raise invalid(resource.kind, resource.group, write.name, causes)
    webhooks.check(state, write, "UPDATE", new, shown_old)
    new = tracker(state, write, shown_old, new)
    stored = to_storage(resource, new)
    return shown_once_stored(resource, stored, lambda: commit(state, write, entry, stored))


def _with_kept_fields(write: Write, new: Object, old: Object) -> Object:
    """Return the new object with the parts that this kind of update keeps: the status, or all but it."""
    keep = keep_spec if write.subresource == "status" else keep_status
    return keep(write.resource, new, old)


def check_name(write: Write, meta: Object) -> None:
    """Check that the object's name is that of the URL (400)."""
    name = meta.get("name")
    if name is None:
        raise bad_request(f"name must be provided: the name on the URL is {write.name}")
    if name != write.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({write.name})")


def precondition_failed(write: Write, field: str, given: str, stored: str) -> ApiFailure:
    """Return 409: a precondition on a field does not hold."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: {storage_name(write)}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: {field} in precondition: {given}, {field} in object meta: {stored}"
    )
    return conflict(write.resource, write.name, why)


def _check_managers(meta: Object, stored: Object) -> None:
    """Check that managedFields sent by a client are sets of fields."""
    entries = meta.get("managedFields", ())
    if entries != stored.get("managedFields", ()) and not all(is_tree(one.get("fieldsV1", {})) for one in entries):
        raise bad_request("metadata.managedFields: fieldsV1 must be a set of fields: objects within objects")


def _check_preconditions(write: Write, meta: Object, stored: Object) -> None:
    uid, version = meta.get("uid"), meta.get("resourceVersion")
    if uid is not None and uid != stored["uid"]:
        raise precondition_failed(write, "UID", uid, stored["uid"])
    if version in (None, "0"):
        if not write.resource.unconditional_update:
            detail = "Invalid value: 0x0: must be specified for an update"
            causes = [Cause("FieldValueInvalid", "metadata.resourceVersion", detail)]
            raise invalid(write.resource.plural, write.resource.group, write.name, causes)
    elif version != stored["resourceVersion"]:
        raise modified(write.resource, write.name)
