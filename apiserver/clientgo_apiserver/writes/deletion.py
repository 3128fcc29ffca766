"""DELETE of one object or a collection, at once or delayed by finalizers."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from clientgo_apiserver.admission import webhooks
from clientgo_apiserver.admission.chain import admit_deletion
from clientgo_apiserver.admission.namespaces import require_deletable
from clientgo_apiserver.api.gotext import json_type
from clientgo_apiserver.api.limits import LOOP_OBJECTS
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import (
    ApiFailure,
    Cause,
    bad_request,
    details_of,
    invalid,
    invalid_value,
    not_found,
    not_supported,
    stale,
)
from clientgo_apiserver.gotypes.metadata import COLLECTOR_FINALIZERS, FOREGROUND, ORPHAN, mark_deleted, timestamp
from clientgo_apiserver.gotypes.structs import in_order
from clientgo_apiserver.http.decode import read_body, require_map
from clientgo_apiserver.http.messages import HTTPRequest, Query
from clientgo_apiserver.http.options import dry_run_causes, read_number
from clientgo_apiserver.http.steps import let_others_run
from clientgo_apiserver.http.webhookclient import concurrently
from clientgo_apiserver.registry.strategies.kinds import strategy_of
from clientgo_apiserver.registry.views import current, from_storage, served, shown, with_version
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.stored import Entry, name_of

T = TypeVar("T")

_POLICIES = {"Foreground": FOREGROUND, "Background": "", "Orphan": ORPHAN}
_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
_TYPES: dict[str, tuple[type, str]] = {
    "preconditions": (dict, "v1.Preconditions"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "orphanDependents": (bool, "bool"),
    "gracePeriodSeconds": (int, "int64"),
    "dryRun": (list, "[]string"),
}


class ParsedDeleteOptions(NamedTuple):
    """Options of a deletion. `propagation` is empty if the client did not choose (Background).

    `cascades` is true if the client chose so by `orphanDependents`.
    """

    uid: str | None = None
    resource_version: str | None = None
    propagation: str = ""
    grace: int | None = None
    dry_run: bool = False
    cascades: bool = False


def read_delete_options(request: HTTPRequest) -> ParsedDeleteOptions:
    """Parse the options of a DELETE, from its body or else its query (400, 422)."""
    options = _body_options(request) if request.body.strip() else _query_options(request.query)
    for field, (expected, name) in _TYPES.items():
        if options.get(field) is not None and not isinstance(options[field], expected):
            member = f"Go struct field DeleteOptions.{field} of type {name}"
            raise bad_request(f"json: cannot unmarshal {json_type(options[field])} into {member}")
    conditions, dry_run = options.get("preconditions") or {}, options.get("dryRun") or []
    for field, name in (("uid", "types.UID"), ("resourceVersion", "string")):
        if not isinstance(conditions.get(field) or "", str):
            member = f"Go struct field Preconditions.preconditions.{field} of type {name}"
            raise bad_request(f"json: cannot unmarshal {json_type(conditions[field])} into {member}")
    orphan, propagation = options.get("orphanDependents"), options.get("propagationPolicy")
    causes: list[Cause] = []
    if propagation is not None and orphan is not None:
        reason = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", propagation, reason))
    if propagation is not None and propagation not in _POLICIES:
        causes.append(not_supported("propagationPolicy", propagation, (*_POLICIES, "nil")))
    causes += dry_run_causes(dry_run)
    if causes:
        raise invalid("DeleteOptions", "meta.k8s.io", "", causes)
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    grace = options.get("gracePeriodSeconds")
    return ParsedDeleteOptions(
        conditions.get("uid"),
        conditions.get("resourceVersion"),
        propagation or "",
        1 if grace is not None and grace < 0 else grace,  # as on a real server
        bool(dry_run),
        cascades=orphan is False,
    )


def _body_options(request: HTTPRequest) -> dict[str, Any]:
    body = read_body(request.body, request.headers.get("content-type", ""), "DeleteOptions")
    body = require_map({} if body is None else body, "DeleteOptions", request.body)
    kind = body.get("kind") or "DeleteOptions"
    if kind != "DeleteOptions":
        version = body.get("apiVersion") or "meta.k8s.io/v1"
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"')
    return body


def _query_options(query: Query) -> dict[str, Any]:
    options: dict[str, Any] = {"preconditions": {name: query.get(name) or None for name in ("uid", "resourceVersion")}}
    if "propagationPolicy" in query:
        options["propagationPolicy"] = query["propagationPolicy"]
    if "dryRun" in query:
        options["dryRun"] = query.values_of("dryRun")
    if "orphanDependents" in query:
        options["orphanDependents"] = query.flag("orphanDependents")
    if "gracePeriodSeconds" in query:
        options["gracePeriodSeconds"] = read_number(query, "gracePeriodSeconds")
    return options


class _Deletion(NamedTuple):
    """An admitted deletion. `marked` is the object as it is marked for deletion: the stored one if nothing changes."""

    entry: Entry
    marked: Object
    stays: bool  # until its finalizers or its grace period have ended
    response: Object  # for a dry run, and where a webhook converts it


async def delete(state: State, write: Write, options: ParsedDeleteOptions) -> tuple[Object, bool]:
    """Delete the object of the write's name; return the object or a Status, and whether it is gone (404, 409)."""
    resource = write.resource
    require_deletable(resource, write.name)
    while True:
        entry = state.store.entry(resource.storage, write.namespace, write.name)
        if entry is None:
            raise not_found(resource, write.name)
        check_preconditions(resource, entry.object, options.uid, options.resource_version)
        deletion = await _admitted(state, write, options, entry)
        if _is_current(state, resource, entry):
            break  # else it has changed while webhooks were called
    obj = deletion.response if options.dry_run else _commit(state, resource, deletion)
    if deletion.stays or resource.returns_deleted:
        return obj, not deletion.stays
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**head, "details": details_of(resource, write.name, uid=deletion.marked["metadata"]["uid"])}, True


async def delete_collection(
    state: State, write: Write, selected: list[Entry], options: ParsedDeleteOptions
) -> list[Entry]:
    """Delete the selected objects and return them as they were (409)."""
    resource = write.resource
    response = await served(resource, selected)
    for entry in selected:
        check_preconditions(resource, entry.object, options.uid, options.resource_version)
    writes = [replace(write, namespace=name[0], name=name[1]) for name in (name_of(entry.object) for entry in selected)]
    # All are admitted before the first is deleted: one that is rejected keeps all. Admission sees no names of requests.
    admissions = (
        _admitted(state, replace(deletion, name=""), options, entry)
        for deletion, entry in zip(writes, selected, strict=True)
    )
    deletions: list[_Deletion] = []
    if webhooks.may_be_called(state, write, webhooks.MUTATING, webhooks.VALIDATING):
        deletions = await concurrently(admissions)
    async for admission in _in_turns(write, () if deletions else admissions):
        deletions.append(await admission)
    async for object_write, deletion in _in_turns(
        write, () if options.dry_run else zip(writes, deletions, strict=True)
    ):
        if _is_current(state, resource, deletion.entry):
            _commit(state, resource, deletion)
        else:
            await _delete_again(state, object_write, options)
    return response


async def _in_turns(write: Write, members: Iterable[T]) -> AsyncIterator[T]:
    """Yield the members; other clients are answered now and then."""
    for number, member in enumerate(members):
        if number % LOOP_OBJECTS == 0:
            await let_others_run(write.request)
        yield member


async def _delete_again(state: State, write: Write, options: ParsedDeleteOptions) -> None:
    """Delete an object that has changed while webhooks were called, if it is still there."""
    try:
        await delete(state, write, options)
    except ApiFailure as failure:
        if failure.code != 404:
            raise


def _is_current(state: State, resource: Resource, entry: Entry) -> bool:
    return state.store.entry(resource.storage, *name_of(entry.object)) is entry


async def _admitted(state: State, write: Write, options: ParsedDeleteOptions, entry: Entry) -> _Deletion:
    """Return a deletion that admission allows, with everything that webhooks have to convert for it."""
    resource, name = write.resource, "" if write.request.collects else write.name
    write = replace(write, dry_run=options.dry_run, name=name)
    old = await from_storage(resource, entry.object)
    await admit_deletion(state, write, old)
    marked, stays = await _mark(state, resource, entry.object, options)
    early = options.dry_run or resource.converter is not None
    return _Deletion(entry, marked, stays, await from_storage(resource, in_order(marked)) if early else marked)


def _commit(state: State, resource: Resource, deletion: _Deletion) -> Object:
    """Mark the object for deletion or remove it, and return it as shown; watches of pods see both."""
    marked = deletion.marked
    if marked is not deletion.entry.object:
        marked = state.store.put(resource.storage, marked).object
    removed = None if deletion.stays else state.store.remove(resource.storage, *name_of(marked))
    obj = marked if removed is None else removed.object
    return shown(resource, obj) if resource.converter is None else with_version(deletion.response, obj)


def check_preconditions(resource: Resource, obj: Object, uid: str | None, version: str | None) -> None:
    """Check that a stored object has the uid and the resourceVersion that a deletion requires, if it does (409)."""
    meta = obj["metadata"]
    for field, member, required in (("UID", "uid", uid), ("ResourceVersion", "resourceVersion", version)):
        if required is not None and required != meta[member]:
            raise stale(resource, meta["name"], field, required, meta[member])


async def _mark(state: State, resource: Resource, obj: Object, options: ParsedDeleteOptions) -> tuple[Object, bool]:
    """Return the object marked for deletion, and whether it stays, as finalizers or a grace period delay it."""
    meta = obj["metadata"]
    strategy = strategy_of(resource, "")
    if (terminating := strategy.terminating(timestamp(state.clock), obj)) is not None:
        return terminating, True
    if strategy.graceful:
        pending = meta.get("deletionGracePeriodSeconds") or 0
        if pending and (options.grace is None or options.grace >= pending):
            return obj, True
        obj = {**await current(resource, obj), "metadata": _with_grace(state, obj, options.grace)}
        meta = obj["metadata"]
    default = "" if state.options.bare else strategy.propagation  # a bare server has no garbage collector
    finalizers = _finalizers(default, meta.get("finalizers", []), options.propagation)
    if not finalizers:
        return obj, bool(meta.get("deletionGracePeriodSeconds"))
    if "deletionTimestamp" in meta and finalizers == meta.get("finalizers"):
        return obj, True
    marked = meta if "deletionTimestamp" in meta else mark_deleted(meta, state.clock)
    return {**await current(resource, obj), "metadata": {**marked, "finalizers": finalizers}}, True


def _finalizers(default: str, finalizers: list[str], propagation: str) -> list[str]:
    """Return the finalizers of a deleted object, with the one of the garbage collector that its policy needs.

    Without a policy the collector's finalizer that the object already has decides, and else the default of its kind.
    Without a default no object waits for the collector.
    """
    collector = [name for name in finalizers if name in COLLECTOR_FINALIZERS]
    if default and not propagation and collector:
        return finalizers
    policy = default and (propagation or default)
    remaining = [name for name in finalizers if name not in COLLECTOR_FINALIZERS]
    return [*remaining, *filter(None, [_POLICIES.get(policy, "")])]


def _with_grace(state: State, pod: Object, grace_seconds: int | None) -> Object:
    """Return the metadata of a pod with its grace period, which only pods on a node that have not ended need."""
    meta, spec = pod["metadata"], pod.get("spec") or {}
    before = meta.get("deletionGracePeriodSeconds", 0)
    if "deletionTimestamp" in meta:
        if not before or grace_seconds is None:
            return meta  # type: ignore[no-any-return]
        began = datetime.fromisoformat(meta["deletionTimestamp"]).timestamp() - before
        remaining = int(began) + grace_seconds - int(state.clock.time())
        shortened = {"deletionTimestamp": timestamp(state.clock, max(remaining, 0))}
        return {
            **meta,
            **shortened,
            "deletionGracePeriodSeconds": grace_seconds if remaining >= 0 else min(grace_seconds, 1),
        }
    grace = spec.get("terminationGracePeriodSeconds", 0) if grace_seconds is None else grace_seconds
    if not spec.get("nodeName") or (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        grace = 0
    return mark_deleted(meta, state.clock, 1 if grace < 0 else grace)
