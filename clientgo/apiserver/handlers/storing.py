"""POST and PUT, and the second half of PATCH: stores admitted and validated objects if their preconditions hold."""

import dataclasses

from clientgo.apiserver.admission import services, webhooks
from clientgo.apiserver.admission.defaulting import with_policy_defaults
from clientgo.apiserver.admission.namespaces import require_namespace
from clientgo.apiserver.apiextensions.crdstatus import require_lasting
from clientgo.apiserver.handlers.writes import (
    Write,
    check_name,
    commit,
    desired,
    read_metadata,
    refine,
    taken,
    track,
    validate,
    with_entries,
    with_kept_fields,
)
from clientgo.apiserver.http.status import (
    ApiFailure,
    Cause,
    already_exists,
    conflict,
    invalid,
    modified,
    not_found,
)
from clientgo.apiserver.registry import metadata
from clientgo.apiserver.registry.defaults.assigned import without_assigned
from clientgo.apiserver.registry.defaults.kinds import job_identity
from clientgo.apiserver.registry.gotypes import in_order
from clientgo.apiserver.registry.names import generate
from clientgo.apiserver.registry.parts import PARTS, REQUESTS, part_errors, stamped
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.registry.views import from_storage, shown_once_stored, to_storage
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Entry
from clientgo.meta.jsonvalues import same

_SET_BY_SERVER = frozenset(
    ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "uid")
)
# As many attempts at a generated name as the real server makes.
_GENERATE_ATTEMPTS = 8


def create(state: State, write: Write, obj: Object) -> Object:
    """Store a new object and return it as shown."""
    meta = read_metadata(write, obj)
    meta = {field: value for field, value in meta.items() if field not in _SET_BY_SERVER}
    # The storage's check, which a dry run does not reach.
    if meta.get("resourceVersion", "0") not in ("", "0") and not write.dry_run:
        raise ApiFailure(500, "", "resourceVersion should not be set on objects to be created")
    require_namespace(state, write.resource, write.namespace, meta.get("name", ""))
    # Messages omit generated names.
    return admit_new(state, write, {**obj, "metadata": meta}, name=meta.get("name", ""))


def admit_new(state: State, write: Write, obj: Object, *, name: str, entries: list[Object] | None = None) -> Object:
    """Admit, validate and store a new object, and return it as shown.

    `name` is for messages; `entries` are the managedFields of an applied object.
    """
    resource = write.resource
    require_lasting(state, resource, name)
    new = refine(state, write, obj, None)
    if entries is None:
        entries = track(state, write, {}, without_assigned(resource, new, obj))
    new = _mutated(state, write, "CREATE", new, None)
    if resource.status and resource.custom:
        new = taken(new, {}, "status")  # it is a subresource
    meta = metadata.fill_in(resource, taken(new["metadata"], {}, "managedFields"), state.clock)
    # A resumed request keeps what webhooks have seen.
    own = {field: meta[field] for field in ("uid", "creationTimestamp", "name") if field in meta}
    new = {**new, "metadata": {**meta, **write.request.kept.setdefault("identity", own)}}
    if entries:
        new["metadata"]["managedFields"] = entries
    if resource.storage == REQUESTS:
        new = {**new, "spec": {**(new.get("spec") or {}), **write.request.user.info}}
    if resource.storage == ("batch", "jobs"):
        new = job_identity(new)
    if resource.storage == services.KEY:
        new = services.allocate(state.store, new, None)
    causes = [*metadata.errors(resource, new["metadata"]), *validate(write, new, None)]
    if causes:
        raise invalid(resource.kind, resource.storage[0], new["metadata"].get("name", ""), causes)
    webhooks.check(state, write, "CREATE", new, None)
    return _store_new(state, write, new)


def _store_new(state: State, write: Write, new: Object) -> Object:
    """Store a validated object, generating its name again while it is taken, and return it as shown (409)."""
    resource, meta = write.resource, new["metadata"]
    generated = "generateName" in meta and not write.name
    deleted = False
    for _ in range(_GENERATE_ATTEMPTS if generated else 1):
        known = state.store.entry(resource.storage, write.namespace, meta["name"])
        if known is None:
            break
        deleted = "deletionTimestamp" in known.object["metadata"]
        if generated:
            meta = {**meta, "name": generate(meta["generateName"])}
    else:
        raise already_exists(resource, meta["name"], deleted=deleted)
    new = {**new, "metadata": meta}
    stored = to_storage(resource, new)
    if write.dry_run:
        return from_storage(resource, in_order(stored))
    return shown_once_stored(resource, stored, lambda: state.store.put(resource.storage, stored).object)


def _mutated(state: State, write: Write, operation: str, new: Object, old: Object | None) -> Object:
    """Return a refined object after admission, refined again if it was changed."""
    new = with_policy_defaults(state, write, new, old)
    changed = webhooks.mutate(state, write, operation, new, old)
    if changed is None or changed is new or same(changed, new):
        return new
    # Unknown fields that a webhook adds are dropped without a warning: the client did not send them.
    silent = dataclasses.replace(write, validation="Ignore", unknown=[])
    return refine(state, silent, {**changed, "metadata": read_metadata(silent, changed)}, old)


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


def replace(state: State, write: Write, entry: Entry, obj: Object, entries: list[Object] | None = None) -> Object:
    """Replace the stored object by `obj`, whose metadata is normalized; return it as shown.

    `entries` are the managedFields of an applied object.
    """
    resource, old, meta = write.resource, entry.object["metadata"], obj["metadata"]
    _check_preconditions(write, meta, old)
    shown_old = from_storage(resource, entry.object)
    sent = with_kept_fields(write, obj, shown_old)
    new = refine(state, write, sent, shown_old)
    if entries is None:
        entries = track(state, write, shown_old, without_assigned(resource, new, sent))
    if resource.storage == REQUESTS:
        new = stamped(new, shown_old, write.now(state))
    changed = _mutated(state, write, "UPDATE", new, shown_old)
    if changed is not new:
        new = with_kept_fields(write, changed, shown_old)
    carried = metadata.carry_over(new["metadata"], old)
    counts = resource.generation and write.subresource != "status"
    if counts and not same(desired(resource, new), desired(resource, shown_old)):
        carried = {**carried, "generation": old.get("generation", 0) + 1}
    new = {**new, "metadata": with_entries(carried, entries)}
    if resource.storage == services.KEY and not write.subresource:
        new = services.allocate(state.store, new, shown_old)
    causes = metadata.all_update_errors(resource, carried, old)
    own = write.subresource in PARTS  # with rules of its own for what may change
    causes += validate(write, new, shown_old, write.subresource)
    causes += part_errors(write.subresource, new, shown_old) if own else []
    if causes:
        raise invalid(resource.kind, resource.storage[0], write.name, causes)
    webhooks.check(state, write, "UPDATE", new, shown_old)
    stored = to_storage(resource, new)
    return shown_once_stored(resource, stored, lambda: commit(state, write, entry, stored))


def precondition_failed(write: Write, field: str, given: str, stored: str) -> ApiFailure:
    """Return 409: a precondition on a field does not hold."""
    resource = write.resource
    prefix = f"{resource.group}/{resource.plural}" if resource.custom else resource.plural
    place = f"{write.namespace}/{write.name}" if write.namespace else write.name
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{prefix}/{place}, ResourceVersion: 0,"
        f" AdditionalErrorMsg: Precondition failed: {field} in precondition: {given}, {field} in object meta: {stored}"
    )
    return conflict(resource, write.name, why)


def _check_preconditions(write: Write, meta: Object, stored: Object) -> None:
    uid, version = meta.get("uid"), meta.get("resourceVersion")
    # A patch is applied to the stored object, so its uid is a field like others.
    if uid is not None and uid != stored["uid"] and write.request.method != "PATCH":
        raise precondition_failed(write, "UID", uid, stored["uid"])
    if version in (None, "", "0"):
        if not write.resource.unconditional_update:
            detail = "Invalid value: 0: must be specified for an update"
            causes = [Cause("FieldValueInvalid", "metadata.resourceVersion", detail)]
            raise invalid(write.resource.plural, write.resource.group, write.name, causes)
    elif version != stored["resourceVersion"]:
        if not (version.isascii() and version.isdigit()):
            raise ApiFailure(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')
        raise modified(write.resource, write.name)
