"""The write pipeline: what happens to an object on its way into the store, in the order of kube-apiserver.

`create` and `update` read from top to bottom: decode and default, managed fields, mutating admission, the strategy of
the kind, validation, validating admission, store. PUT and PATCH differ in how they make the updated object from the
stored one. Everything that may fail, or wait for a webhook, comes before the object is stored.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from clientgo.meta.jsonvalues import same
from clientgo_apiserver.admission import chain
from clientgo_apiserver.admission.defaulting import with_policy_defaults
from clientgo_apiserver.admission.namespaces import require_namespace, require_present
from clientgo_apiserver.api.gotext import parse_uint
from clientgo_apiserver.api.names import generate
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import (
    ApiFailure,
    Cause,
    already_exists,
    conflict,
    forbidden,
    invalid,
    modified,
    not_found,
)
from clientgo_apiserver.auth.authorization import Attributes, authorize
from clientgo_apiserver.gotypes import metadata
from clientgo_apiserver.gotypes.structs import in_order
from clientgo_apiserver.http.decode import check_custom_kind, media_type
from clientgo_apiserver.http.steps import is_long, run_rules, run_step
from clientgo_apiserver.merging.managedfields import equal_ignoring_timestamps
from clientgo_apiserver.registry.disabledfields import without_disabled
from clientgo_apiserver.registry.strategies.kinds import strategy_of
from clientgo_apiserver.registry.views import ConversionNeeded, converted, from_storage, shown, to_storage, with_version
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import DEFINITIONS
from clientgo_apiserver.storage.prepared import PreparedObject, prepare
from clientgo_apiserver.storage.stored import Entry, name_of
from clientgo_apiserver.writes.decoding import (
    as_stored,
    check_name,
    check_namespace,
    decode_metadata,
    decode_object,
    managed_fields,
    name_required,
    precondition_failed,
    read_metadata,
    sharing,
    with_managed_fields,
    with_unique_owners,
)
from clientgo_apiserver.writes.patching import APPLY_PATCH, JSON_PATCH, merged, patched, read_configuration

_SET_BY_SERVER = frozenset(("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid"))
_TIMEOUT = "Timeout: request did not complete within requested timeout - context deadline exceeded"
# As many attempts at a generated name as the real server makes.
_GENERATE_ATTEMPTS = 8
_GROWTH = 32


class UpdatedObject(NamedTuple):
    """The object that an update makes of the stored one, with normalized metadata, and an apply's managedFields."""

    obj: Object
    entries: list[Object] | None = None


async def create(state: State, write: Write, obj: Object, entries: list[Object] | None = None) -> Object:
    """Store a new object and return it as shown; `entries` are the managedFields of an applied one (4xx, 500)."""
    resource, strategy, revision = write.resource, strategy_of(write.resource, ""), state.store.revision
    request = write.request
    meta = {field: value for field, value in decode_metadata(write, obj).items() if field not in _SET_BY_SERVER}
    new, owned = await run_step(request, 0, _decoded, write, {**obj, "metadata": meta}, entries)
    check_namespace(write, meta)
    _require_place(state, write, meta.get("name", ""))
    check_custom_kind(obj, resource)
    decoded, new = new, await _admitted(state, write, new, None, owned)
    sent_meta = new["metadata"]
    attempts = 1 if sent_meta.get("name") else _GENERATE_ATTEMPTS
    new = {**new, "metadata": with_managed_fields(metadata.fill_in(resource, new["metadata"], write.now), owned)}
    new = without_disabled(resource, new)
    # As on a real server, what an apply of a status creates is allocated nothing.
    new = strategy.prepare_for_create(write, new if write.subresource else strategy.begin_create(state.store, new))
    meta = new["metadata"]
    causes = await run_rules(request, 0, _errors, write, new, _is_valid(write, new, decoded))
    if causes:
        raise await _invalid(write, meta.get("name", ""), causes)
    await chain.validate(state, write, "CREATE", new, None)
    if entries is None and not write.dry_run and _is_version(sent_meta.get("resourceVersion")):  # by the storage
        raise ApiFailure(500, "", "resourceVersion should not be set on objects to be created")
    stored = new if resource.custom else await run_step(request, 0, as_stored, write, new)
    stored = await to_storage(resource, stored, request)
    response = None
    if write.dry_run or resource.converter:
        response = await from_storage(resource, await run_step(request, 0, in_order, stored))
    prepared = await run_step(request, 0, prepare, stored) if is_long(request, 0) and not write.dry_run else None
    _check_time(state, write)
    if state.store.revision != revision:
        _require_place(state, write, meta["name"])  # it may be gone since webhooks were called
    name = _free_name(state, write, meta, attempts)
    if name != meta["name"]:
        stored, prepared = _renamed(stored, name), None
        response = response and _renamed(response, name)
    if write.dry_run and response is not None:  # with the version that was sent
        return in_order(with_version(response, {"metadata": sent_meta})) if "resourceVersion" in sent_meta else response
    created = state.store.put(resource.storage, stored, prepared)
    return _stored(resource, created) if response is None else with_version(response, created.content)


async def update(state: State, write: Write, updated: Callable[[Object], UpdatedObject]) -> Object:
    """Replace the stored object by what `updated` makes of it, and return it as shown (4xx, 500, 504).

    As in a real server's GuaranteedUpdate, everything starts again if the object has changed while webhooks were
    called: they see what would be stored.
    """
    resource, strategy, request = write.resource, strategy_of(write.resource, write.subresource), write.request
    unknown, warnings = write.unknown, [*request.warnings]
    entry = None
    while True:
        write.unknown, request.warnings[:] = [*unknown], warnings
        before, entry = entry, state.store.entry(resource.storage, write.namespace, write.name)
        if entry is None:
            raise not_found(resource, write.name)
        if not request.internal:
            require_present(state, write.namespace)
        if entry is not before:  # a webhook that converted it need not do so again
            old = await from_storage(resource, entry.object)
        size = len(entry.raw)
        # The operations of a JSON patch can copy, and so multiply, what is there.
        growth = len(request.body) * _GROWTH if media_type(request.headers.get("content-type", "")) == JSON_PATCH else 0
        try:
            new, entries = await run_step(request, max(size, growth), _decoded_update, write, updated, old)
        except ConversionNeeded as needed:
            write.conversions.append(await converted(resource, needed))
            continue
        admitted = await _admitted(state, write, new, old, entries)
        if admitted is not new:
            _check_preconditions(write, admitted["metadata"], old["metadata"])
            new = strategy.reset_fields(write, admitted, old)
        carried = metadata.carry_over(new["metadata"], entry.object["metadata"])
        new = {**new, "metadata": with_managed_fields(carried, entries)}
        new = strategy.begin_update(state.store, without_disabled(resource, new, old, write.subresource), old)
        new = await run_step(request, size, strategy.prepare_for_update, write, new, old)
        causes = await run_rules(request, size, _update_errors, write, (new, carried), (old, entry.object["metadata"]))
        if causes:
            raise await _invalid(write, write.name, causes)
        await chain.validate(state, write, "UPDATE", new, old)
        stored = await to_storage(resource, new, request, size)
        response = await from_storage(resource, stored) if resource.converter is not None else None
        _check_time(state, write)
        outcome = await run_step(request, max(size, growth), _outcome, write, entry, stored, max(size, growth))
        if state.store.entry(resource.storage, write.namespace, write.name) is entry:
            committed = _commit(state, write, outcome, stored)
            return _stored(resource, committed) if response is None else with_version(response, committed.content)


async def _admitted(state: State, write: Write, new: Object, old: Object | None, entries: list[Object]) -> Object:
    """Return a decoded object after mutating admission, which sees these managedFields (4xx, 500).

    It is the same object if nothing changes it.
    """
    new = with_policy_defaults(state, write, new, old)
    if chain.may_mutate(state):
        owned = {**new, "metadata": with_managed_fields(new["metadata"], entries)}
        changed = await chain.mutate(state, write, "CREATE" if old is None else "UPDATE", owned, old)
        if changed is not None and changed is not owned and not same(changed, owned):
            new = _decoded_mutation(write, changed, old)
    return with_unique_owners(write, new, admitted=True)


def _decoded_mutation(write: Write, changed: Object, old: Object | None) -> Object:
    """Return what policies and webhooks have made of an object (400, 500).

    Unknown fields are dropped without a warning: the client did not send them.
    """
    silent = replace(write, validation="Ignore", unknown=[], applied="", mutated=True)
    return decode_object(silent, {**changed, "metadata": read_metadata(silent, changed)}, old)


def _decoded(write: Write, obj: Object, entries: list[Object] | None) -> tuple[Object, list[Object]]:
    """Return a new object as decoded, and its managedFields, which that of an apply has already (400, 422)."""
    new = decode_object(write, obj, None)
    if entries is not None:
        return new, entries
    new = with_unique_owners(write, new, admitted=False)
    return new, managed_fields(write, {}, new)


def _decoded_update(
    write: Write, updated: Callable[[Object], UpdatedObject], old: Object
) -> tuple[Object, list[Object]]:
    """Return the object of an update as decoded, and its managedFields (400, 409, 422)."""
    obj, entries = updated(old)
    decoded = decode_object(write, obj, old)
    if write.request.method != "PATCH":
        decoded = with_unique_owners(write, decoded, admitted=False)
    check_namespace(write, obj["metadata"])
    check_name(write, obj["metadata"])
    _check_preconditions(write, obj["metadata"], old["metadata"])
    check_custom_kind(obj, write.resource)
    new = strategy_of(write.resource, write.subresource).reset_fields(write, decoded, old)
    entries = managed_fields(write, old, decoded) if entries is None else entries
    return as_stored(write, new, old), entries


def _is_valid(write: Write, new: Object, decoded: Object) -> bool:
    """Return whether a new object is valid but for its metadata, as the stored object from which it is derived.

    Limit ranges give the containers of a pod other resources, which may contradict what they have.
    """
    fields = ("containers", "initContainers")
    return write.request.derived and all(new["spec"].get(field) is decoded["spec"].get(field) for field in fields)


def _errors(write: Write, new: Object, is_valid: bool) -> list[Cause]:
    """Return the errors of a new object; a valid one may have warnings."""
    strategy = strategy_of(write.resource, "")
    causes = [*metadata.errors(write.resource, new["metadata"]), *([] if is_valid else strategy.validate(write, new))]
    if not causes and not is_valid:
        write.request.warnings += strategy.warnings_on_create(write, new)
    return causes


def _update_errors(write: Write, new: tuple[Object, Object], old: tuple[Object, Object]) -> list[Cause]:
    """Return the errors of an update; `new` and `old` are objects with metadata as stored. It may have warnings."""
    strategy = strategy_of(write.resource, write.subresource)
    causes = metadata.all_update_errors(write.resource, new[1], old[1])
    causes += strategy.validate_update(write, new[0], old[0])
    if not causes:
        write.request.warnings += strategy.warnings_on_update(write, new[0], old[0])
    return causes


def _check_time(state: State, write: Write) -> None:
    """Check that the client still waits (504): nothing is stored for one that does not."""
    if state.clock.now() > write.request.budget.deadline:
        raise ApiFailure(504, "Timeout", _TIMEOUT, details={})


async def put(state: State, write: Write, obj: Object) -> tuple[Object, bool]:
    """Replace the object of the write's name; return it as shown, and whether it was created."""
    entry = state.store.entry(write.resource.storage, write.namespace, write.name)
    stored = entry.object["metadata"] if entry is not None else None
    if stored is not None and isinstance(obj.get("metadata"), dict):
        obj = {**obj, "metadata": sharing(obj["metadata"], stored)}
    meta = decode_metadata(write, obj, stored)
    is_update = not write.resource.create_on_update or bool(write.subresource) or entry is not None
    is_addressed = (meta.get("namespace", ""), meta.get("name")) == (write.namespace, write.name)
    if not is_addressed or (is_update and entry is None):
        # Errors and warnings of the body come before those of the name.
        await run_step(write.request, 0, decode_object, write, {**obj, "metadata": meta}, None)
    check_namespace(write, meta)
    check_name(write, meta)
    if is_update:
        fields = {field: value for field, value in obj.items() if field != "metadata"}
        return await update(state, write, lambda old: UpdatedObject({**sharing(fields, old), "metadata": meta})), False
    _read_version(meta)
    if "uid" in meta:
        raise precondition_failed(write, "UID", meta["uid"], "")
    require_create(state, write)
    meta = {field: value for field, value in meta.items() if field != "resourceVersion"}
    return await create(state, write, {**obj, "metadata": meta}), True


async def patch(state: State, write: Write, body: bytes, content_type: str) -> tuple[Object, bool]:
    """Patch the object of the write's name; return it as shown, and whether an apply created it."""
    kind = media_type(content_type)
    if write.subresource and not write.resource.create_on_update and not _exists(state, write):
        raise not_found(write.resource, write.name)  # before the patch is read
    if kind == APPLY_PATCH:
        # Errors of an applied configuration are reported like those of an object.
        return await _apply(
            state, write, await run_step(write.request, 0, read_configuration, write, write.resource, body)
        )
    return await update(state, write, lambda old: UpdatedObject(patched(write, old, kind, body))), False


async def _apply(state: State, write: Write, config: Object) -> tuple[Object, bool]:
    if not _exists(state, write):
        try:
            return await _create_applied(state, write, config), True
        except ApiFailure as failure:
            if failure.reason != "AlreadyExists":
                raise
            # Created by another client while webhooks were called.
    return await update(state, write, lambda old: _applied(write, old, config)), False


def _applied(write: Write, old: Object, config: Object) -> UpdatedObject:
    applied = merged(write, old, config)
    meta = read_metadata(write, applied.obj)
    meta["resourceVersion"] = config["metadata"].get("resourceVersion", old["metadata"]["resourceVersion"])
    return UpdatedObject({**applied.obj, "metadata": meta}, applied.entries)


def _is_version(text: str | None) -> bool:
    """Return whether a new object has a version, which is any number but 0."""
    try:
        return bool(text) and parse_uint(str(text)) != 0
    except ValueError:
        return False


def _read_version(meta: Object) -> int:
    """Return the version of an object that an update makes, 0 without one (500)."""
    try:
        return parse_uint(meta.get("resourceVersion") or "0")
    except ValueError as error:
        raise ApiFailure(500, "", str(error)) from error


async def _create_applied(state: State, write: Write, config: Object) -> Object:
    if uid := config["metadata"].get("uid"):
        reason = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(write.resource, write.name, reason)
    if not config["metadata"].get("name"):
        raise name_required(write)
    _read_version(config["metadata"])
    require_create(state, write)
    applied = await run_step(write.request, 0, merged, write, {}, config)
    return await create(state, write, applied.obj, applied.entries)


def require_create(state: State, write: Write) -> None:
    """Check that the user may create an object that an update turns out to create (403)."""
    if write.request.internal or state.options.authorization == "AlwaysAllow":
        return
    resource = write.resource
    target = (write.subresource, write.namespace, write.name)
    authorize(
        state, Attributes(write.request.user, "create", resource.group, resource.version, resource.plural, *target)
    )


def _exists(state: State, write: Write) -> bool:
    return state.store.entry(write.resource.storage, write.namespace, write.name) is not None


def _require_place(state: State, write: Write, name: str) -> None:
    """Check that objects can be created in the namespace, and of this kind (403, 404)."""
    require_namespace(state, write.resource, write.namespace, name, dry_run=write.dry_run)
    definition = state.store.get(DEFINITIONS, "", write.resource.definition) if write.resource.definition else None
    if definition is not None and "deletionTimestamp" in definition["metadata"]:
        raise forbidden(write.resource, name, "create not allowed while custom resource definition is terminating")


def _free_name(state: State, write: Write, meta: Object, attempts: int) -> str:
    """Return the name of a new object, generated again while it is taken and attempts remain (409)."""
    name, prefix = str(meta["name"]), meta.get("generateName", "")
    while (stored := state.store.entry(write.resource.storage, write.namespace, name)) is not None:
        attempts -= 1
        if not attempts:
            deleted = "deletionTimestamp" in stored.object["metadata"]
            raise already_exists(write.resource, name, deleted=deleted, generates=bool(prefix))
        name = generate(prefix)
    return name


def _renamed(obj: Object, name: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "name": name}}


class _Outcome(NamedTuple):
    """Effect of an update: the response if nothing is stored, and whether the object is removed."""

    response: Object | None = None
    finished: bool = False
    prepared: PreparedObject | None = None


def _outcome(write: Write, old: Entry, new: Object, size: int) -> _Outcome:
    """Return what the update of `old` to `new` does.

    Nothing is written if nothing changed, or in a dry run. An object whose last finalizer was removed is deleted.
    """
    finished = strategy_of(write.resource, "").should_delete_during_update(new)
    if equal_ignoring_timestamps(old.object, new) and not finished:
        return _Outcome(old.object)
    if write.dry_run:
        return _Outcome(in_order(new))
    prepares = is_long(write.request, size) and not finished
    return _Outcome(finished=finished, prepared=prepare(_to_store(write, new)) if prepares else None)


def _to_store(write: Write, new: Object) -> Object:
    return {**new, "apiVersion": write.resource.stored_version}


def _commit(state: State, write: Write, outcome: _Outcome, new: Object) -> Entry:
    """Store the updated object; return it as it is now."""
    if outcome.response is not None:
        return Entry(outcome.response, state.store.revision)
    if outcome.finished:
        state.store.remove(write.resource.storage, *name_of(new))
        return Entry(in_order(new), state.store.revision)  # with the version before, as this state was never stored
    return state.store.put(write.resource.storage, _to_store(write, new), outcome.prepared)


def _stored(resource: Resource, entry: Entry) -> Object:
    """Return a stored object as shown; one that is shown as it is stored may be rendered by its JSON alone."""
    obj = shown(resource, entry.content)
    return obj if obj is entry.content else shown(resource, entry.object)


async def _invalid(write: Write, name: str, causes: list[Cause]) -> ApiFailure:
    """Return 422; there may be an error for each item of a long list."""
    resource = write.resource
    size = len(causes) * len(causes[0].text)
    return await run_step(write.request, size, invalid, resource.kind, resource.storage[0], name, causes)


def _check_preconditions(write: Write, meta: Object, stored: Object) -> None:
    """Check the uid and the resourceVersion of an update against the stored object (409)."""
    uid = meta.get("uid")
    # A patch is applied to the stored object, so its uid is a field like others.
    if uid is not None and uid != stored["uid"] and write.request.method != "PATCH":
        raise precondition_failed(write, "UID", uid, stored["uid"])
    number = _read_version(meta)
    if not number:
        if not write.resource.unconditional_update:
            detail = "Invalid value: 0: must be specified for an update"
            causes = [Cause("FieldValueInvalid", "metadata.resourceVersion", detail)]
            raise invalid(write.resource.plural, write.resource.group, write.name, causes)
    elif number != int(stored["resourceVersion"]):
        raise modified(write.resource, write.name)
