"""DELETE of one object or a collection, at once or delayed by finalizers."""

from dataclasses import replace
from typing import Any, NamedTuple

from clientgo.apiserver.admission import webhooks
from clientgo.apiserver.admission.namespaces import is_namespace, terminating
from clientgo.apiserver.handlers.storing import precondition_failed
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.decode import read_body
from clientgo.apiserver.http.messages import HTTPRequest
from clientgo.apiserver.http.status import bad_request, details_of, not_found
from clientgo.apiserver.registry.metadata import mark_deleted, timestamp
from clientgo.apiserver.registry.registry import Object, Resource
from clientgo.apiserver.registry.views import current, from_storage, prepare
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.selection import SelectionPredicate
from clientgo.apiserver.storage.stored import Entry, name_of
from clientgo.apiserver.suspension import ExternalCall, Paused

_POLICIES = {"Orphan": "orphan", "Foreground": "foregroundDeletion", "Background": ""}
_GC_FINALIZERS = frozenset(("orphan", "foregroundDeletion"))


class ParsedDeleteOptions(NamedTuple):
    """Options of a deletion. `propagation` is empty if the client did not choose (Background)."""

    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    dry_run: bool = False


def read_delete_options(request: HTTPRequest) -> ParsedDeleteOptions:
    """Parse the options of a DELETE, from its body or else its query (400)."""
    query = request.query
    body: Any = {}
    if request.body.strip():
        body = read_body(request.body, request.headers.get("content-type", ""), "DeleteOptions")
        if not isinstance(body, dict):
            raise bad_request("the body of a delete must be DeleteOptions")
    conditions = body.get("preconditions") or {}
    orphan = body.get("orphanDependents", query.flag("orphanDependents") if "orphanDependents" in query else None)
    propagation = body.get("propagationPolicy") or query.get("propagationPolicy") or ""
    if propagation and orphan is not None:
        raise bad_request("orphanDependents and deletionPropagation cannot be both set")
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    if propagation and propagation not in _POLICIES:
        supported = '"Background", "Foreground", "Orphan"'
        raise bad_request(f'invalid propagationPolicy "{propagation}": supported values: {supported}')
    dry_run = "All" in (body.get("dryRun") or ()) or query.get("dryRun") == "All"
    return ParsedDeleteOptions(
        conditions.get("uid") or "", conditions.get("resourceVersion") or "", propagation, dry_run
    )


def delete(state: State, write: Write, options: ParsedDeleteOptions) -> Object:
    """Delete the object of the write's name; return the object or a Status (404, 409)."""
    resource = write.resource
    entry = state.store.entry(resource.storage, write.namespace, write.name)
    if entry is None:
        raise not_found(resource, write.name)
    _check_preconditions(write, entry, options)
    _admit(state, write, options, entry)
    held = _mark(state, resource, entry.object, options)
    if held is not None:
        if held is not entry.object and not options.dry_run:
            held = state.store.put(resource.storage, held).object
        return from_storage(resource, held)
    last: Entry | None = entry
    if not options.dry_run:
        last = state.store.remove(resource.storage, write.namespace, write.name)
    if resource.returns_deleted and last is not None:
        return from_storage(resource, last.object)
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**head, "details": details_of(resource, write.name, uid=entry.object["metadata"]["uid"])}


def delete_collection(
    state: State, write: Write, selection: SelectionPredicate, options: ParsedDeleteOptions
) -> list[Object]:
    """Delete the selected objects and return them as they were."""
    resource = write.resource
    meant = [
        entry for entry in state.store.entries(resource.storage, write.namespace) if selection.matches(entry.object)
    ]
    prepare(resource, (entry.object for entry in meant))
    _admit_all(state, write, options, meant)
    for entry in meant:
        held = _mark(state, resource, entry.object, options)
        if options.dry_run or held is entry.object:
            continue
        if held is not None:
            state.store.put(resource.storage, held)
        else:
            state.store.remove(resource.storage, *name_of(entry.object))
    return [from_storage(resource, entry.object) for entry in meant]


def _admit_all(state: State, write: Write, options: ParsedDeleteOptions, meant: list[Entry]) -> None:
    # Webhooks are called for all objects before the first is deleted, because a suspended request must not have changed
    # anything; and concurrently, or a large collection would exceed the limit of suspensions.
    calls: list[ExternalCall] = []
    for entry in meant:
        namespace, name = name_of(entry.object)
        current(write.resource, entry.object)
        try:
            _admit(state, replace(write, name=name, namespace=namespace), options, entry)
        except Paused as paused:
            calls += paused.calls
    if calls:
        raise Paused(calls)


def _admit(state: State, write: Write, options: ParsedDeleteOptions, entry: Entry) -> None:
    write = replace(write, dry_run=options.dry_run)
    old = from_storage(write.resource, entry.object)
    webhooks.mutate(state, write, "DELETE", None, old)
    webhooks.check(state, write, "DELETE", None, old)


def _check_preconditions(write: Write, entry: Entry, options: ParsedDeleteOptions) -> None:
    meta = entry.object["metadata"]
    for field, member, wanted in (
        ("UID", "uid", options.uid),
        ("ResourceVersion", "resourceVersion", options.resource_version),
    ):
        if wanted and wanted != meta[member]:
            raise precondition_failed(write, field, wanted, meta[member])


def _mark(state: State, resource: Resource, obj: Object, options: ParsedDeleteOptions) -> Object | None:
    """Return the object marked for deletion (unchanged if it is already), or None if no finalizer delays it."""
    meta = obj["metadata"]
    if is_namespace(resource):
        return obj if "deletionTimestamp" in meta else terminating(obj, timestamp(state.clock))
    finalizers = meta.get("finalizers", [])
    if options.propagation:  # the policy sets the finalizers of the garbage collector, others stay
        wanted = _POLICIES[options.propagation]
        finalizers = [*(one for one in finalizers if one not in _GC_FINALIZERS), *([wanted] if wanted else [])]
    if not finalizers:
        return None
    if "deletionTimestamp" in meta and finalizers == meta.get("finalizers"):
        return obj
    marked = meta if "deletionTimestamp" in meta else mark_deleted(meta, state.clock)
    return {**current(resource, obj), "metadata": {**marked, "finalizers": finalizers}}
