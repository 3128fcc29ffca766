"""POST and PUT, and the second half of PATCH: stores admitted and validated objects if their preconditions hold."""

import dataclasses
from collections.abc import Callable, Coroutine
from typing import Any

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
from clientgo.apiserver.registry.views import from_storage, shown, to_storage, with_version
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Entry
from clientgo.meta.jsonvalues import same

_SET_BY_SERVER = frozenset(
    ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "uid")
)
_REQUEST_SECONDS = 60.0  # kube-apiserver's --request-timeout
_TIMEOUT = "Timeout: request did not complete within requested timeout - context deadline exceeded"
# As many attempts at a generated name as the real server makes.
_GENERATE_ATTEMPTS = 8


async def create(state: State, write: Write, obj: Object) -> Object:
    """Store a new object and return it as shown."""
    meta = read_metadata(write, obj)
    meta = {field: value for field, value in meta.items() if field not in _SET_BY_SERVER}
    # The storage's check, which a dry run does not reach.
    if meta.get("resourceVersion", "0") not in ("", "0") and not write.dry_run:
        raise ApiFailure(500, "", "resourceVersion should not be set on objects to be created")
    # Messages omit generated names.
    return await admit_new(state, write, {**obj, "metadata": meta}, name=meta.get("name", ""))


async def admit_new(
    state: State, write: Write, obj: Object, *, name: str, entries: list[Object] | None = None
) -> Object:
    """Admit, validate and store a new object, and return it as shown.

    `name` is for messages; `entries` are the managedFields of an applied object.
    """
    resource = write.resource
    _require_place(state, write, name)
    new = refine(write, obj, None)
    if entries is None:
        entries = track(write, {}, without_assigned(resource, new, obj))
    new = await _mutated(state, write, "CREATE", new, None)
    if resource.status and resource.custom:
        new = taken(new, {}, "status")  # it is a subresource
    new = {**new, "metadata": metadata.fill_in(resource, taken(new["metadata"], {}, "managedFields"), state.clock)}
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
    await webhooks.check(state, write, "CREATE", new, None)
    return await _store_new(state, write, new)


def _require_place(state: State, write: Write, name: str) -> None:
    """Check that objects can be created in the namespace, and of this kind (403, 404)."""
    require_namespace(state, write.resource, write.namespace, name)
    require_lasting(state, write.resource, name)


async def _store_new(state: State, write: Write, new: Object) -> Object:
    """Store a validated object, generating its name again while it is taken, and return it as shown (409)."""
    resource, meta = write.resource, new["metadata"]
    stored = await to_storage(resource, new)
    converted = await from_storage(resource, in_order(stored)) if write.dry_run or resource.converter else None
    # Both may have been deleted while webhooks were called.
    _require_place(state, write, meta["name"])
    name = _free_name(state, write, meta)
    if converted is not None and write.dry_run:
        return _renamed(converted, name)
    obj = state.store.put(resource.storage, _renamed(stored, name)).object
    return shown(resource, obj) if converted is None else with_version(_renamed(converted, name), obj)


def _free_name(state: State, write: Write, meta: Object) -> str:
    """Return the name of a new object, generated again while it is taken (409)."""
    generated, name, deleted = "generateName" in meta and not write.name, meta["name"], False
    for _ in range(_GENERATE_ATTEMPTS if generated else 1):
        known = state.store.entry(write.resource.storage, write.namespace, name)
        if known is None:
            return name  # type: ignore[no-any-return]
        deleted = "deletionTimestamp" in known.object["metadata"]
        name = generate(meta["generateName"]) if generated else name
    raise already_exists(write.resource, name, deleted=deleted)


def _renamed(obj: Object, name: str) -> Object:
    return obj if obj["metadata"]["name"] == name else {**obj, "metadata": {**obj["metadata"], "name": name}}


async def _mutated(state: State, write: Write, operation: str, new: Object, old: Object | None) -> Object:
    """Return a refined object after admission, refined again if it was changed."""
    new = with_policy_defaults(state, write, new, old)
    changed = await webhooks.mutate(state, write, operation, new, old)
    if changed is None or changed is new or same(changed, new):
        return new
    # Unknown fields that a webhook adds are dropped without a warning: the client did not send them.
    silent = dataclasses.replace(write, validation="Ignore", unknown=[])
    return refine(silent, {**changed, "metadata": read_metadata(silent, changed)}, old)


async def update(state: State, write: Write, obj: Object) -> tuple[Object, bool]:
    """Replace the object of the write's name; return it as shown, and whether it was created."""
    resource = write.resource
    meta = read_metadata(write, obj)
    check_name(write, meta)
    if state.store.entry(resource.storage, write.namespace, write.name) is None:
        if not resource.create_on_update or write.subresource:
            raise not_found(resource, write.name)
        webhooks.require_create(state, write)
        meta = {field: value for field, value in meta.items() if field not in ("resourceVersion", "uid")}
        return await create(state, write, {**obj, "metadata": meta}), True
    obj = {**obj, "metadata": meta}
    return await guaranteed_update(state, write, lambda entry: replace(state, write, entry, obj)), False


async def guaranteed_update(
    state: State, write: Write, attempt: Callable[[Entry], Coroutine[Any, Any, Object | None]]
) -> Object:
    """Call `attempt` with the stored object, again while others change it meanwhile, and return the object as shown.

    As in a real server's GuaranteedUpdate, an update is decided from the object that it replaces: webhooks see it again
    if it changed while they were called (404, 504).
    """
    began, unknown, warnings = state.clock.now(), write.unknown, [*write.request.warnings]
    while True:
        entry = state.store.entry(write.resource.storage, write.namespace, write.name)
        if entry is None:
            raise not_found(write.resource, write.name)
        write.unknown = [*unknown]
        write.request.warnings[:] = warnings
        updated = await attempt(entry)
        if updated is not None:
            return updated
        if state.clock.now() - began > _REQUEST_SECONDS:
            raise ApiFailure(504, "Timeout", _TIMEOUT, details={})


async def replace(
    state: State, write: Write, entry: Entry, obj: Object, entries: list[Object] | None = None
) -> Object | None:
    """Replace the stored object by `obj`, whose metadata is normalized; return it as shown.

    `entries` are the managedFields of an applied object. None is returned, and nothing done, if the stored object has
    changed while webhooks were called.
    """
    resource, old, meta = write.resource, entry.object["metadata"], obj["metadata"]
    _check_preconditions(write, meta, old)
    shown_old = await from_storage(resource, entry.object)
    sent = with_kept_fields(write, obj, shown_old)
    new = refine(write, sent, shown_old)
    if entries is None:
        entries = track(write, shown_old, without_assigned(resource, new, sent))
    if resource.storage == REQUESTS:
        new = stamped(new, shown_old, write.now)
    changed = await _mutated(state, write, "UPDATE", new, shown_old)
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
    await webhooks.check(state, write, "UPDATE", new, shown_old)
    stored = await to_storage(resource, new)
    converted = await from_storage(resource, stored) if resource.converter is not None else None
    if state.store.entry(resource.storage, write.namespace, write.name) is not entry:
        return None
    obj = commit(state, write, entry, stored)
    return shown(resource, obj) if converted is None else with_version(converted, obj)


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
