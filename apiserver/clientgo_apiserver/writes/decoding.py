"""Common parts of all writes: options, field validation, decoding by kind, and managedFields."""

from collections import defaultdict
from dataclasses import replace

from clientgo.meta.jsonvalues import same_text
from clientgo_apiserver.api.limits import MAX_MANAGER_BYTES
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure, bad_request, conflict
from clientgo_apiserver.crds.embedded import coerced
from clientgo_apiserver.crds.schema import conforms
from clientgo_apiserver.crds.structural import apply_defaults, has_defaults, prune
from clientgo_apiserver.gotypes.decoding import decode, message_of
from clientgo_apiserver.gotypes.metadata import normalize, timestamp
from clientgo_apiserver.gotypes.scalars import DecodeError
from clientgo_apiserver.http.decode import media_type
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.http.options import check_write_options
from clientgo_apiserver.merging.managedfields import after_update, present_entries
from clientgo_apiserver.registry.defaults.kinds import set_defaults, set_kind_defaults
from clientgo_apiserver.registry.defaults.types import without_empty
from clientgo_apiserver.registry.mergerules import managed_type
from clientgo_apiserver.registry.strategies.strategy import with_field
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State

_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may"
    " reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)
_APPLY_PATCH = "application/apply-patch+yaml"


def read_write(
    state: State, request: HTTPRequest, resource: Resource, target: tuple[str, str, str], kind: str
) -> Write:
    """Return the write of a request; `target` is namespace, name and subresource, `kind` of its options (422)."""
    query, now = request.query, timestamp(state.clock)
    patch_type = media_type(request.headers.get("content-type", "")) if kind == "PatchOptions" else ""
    if kind != "DeleteOptions" and (query or patch_type == _APPLY_PATCH):
        check_write_options(query, kind, patch_type)
    validation = query.get("fieldValidation") or "Warn"
    manager = _manager_of(query.get("fieldManager") or "", request.headers.get("user-agent", ""))
    return Write(resource, *target, manager, query.get("dryRun") == "All", validation, request, now)


def _manager_of(manager: str, user_agent: str) -> str:
    """Return the field manager of a request: the option, or by default the start of the User-Agent.

    kube-apiserver: managerOrUserAgent and prefixFromUserAgent.
    """
    return (manager or user_agent.partition("/")[0] or "unknown")[:MAX_MANAGER_BYTES]


def read_metadata(write: Write, obj: Object) -> Object:
    """Return the metadata a client sent, as ObjectMeta would hold it, with the namespace of the request (400)."""
    meta = decode_metadata(write, obj)
    check_namespace(write, meta)
    return meta


def sharing(new: Object, old: Object) -> Object:
    """Return an object with fields of `old` in place of equal ones, which are neither decoded nor compared again."""
    return {name: old[name] if name in old and same_text(value, old[name]) else value for name, value in new.items()}


def decode_metadata(write: Write, obj: Object, stored: Object | None = None) -> Object:
    """Return the metadata a client sent, as ObjectMeta would hold it; by default with the request's namespace (400).

    Parts shared with `stored`, the metadata of the stored object, are kept as they are.
    """
    try:
        kind = None if write.resource.custom else write.resource.kind
        meta = normalize(obj.get("metadata"), write.unknown, kind=kind, stored=stored, merged=write.unstructured)
    except DecodeError as error:
        raise write.undecodable(error) from error
    if not write.namespace:  # dropped, as Kubernetes' EnsureObjectNamespaceMatchesRequestNamespace does
        return {field: value for field, value in meta.items() if field != "namespace"} if "namespace" in meta else meta
    return {"namespace": write.namespace, **meta}


def check_namespace(write: Write, meta: Object) -> None:
    """Check that the object's namespace is that of the request (400)."""
    if meta.get("namespace", "") != write.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def name_required(write: Write) -> ApiFailure:
    """Return 400: the object has no name."""
    return bad_request(f"the name of the object ({write.name} based on URL) was undeterminable: name must be provided")


def check_name(write: Write, meta: Object) -> None:
    """Check that the object's name is that of the URL (400)."""
    name = meta.get("name")
    if name is None:
        raise name_required(write)
    if name != write.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({write.name})")


def precondition_failed(write: Write, field: str, required: str, stored: str) -> ApiFailure:
    """Return 409: a precondition on a field does not hold."""
    resource = write.resource
    prefix = f"{resource.group}/{resource.plural}" if resource.custom else resource.plural
    path = f"{write.namespace}/{write.name}" if write.namespace else write.name
    reason = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{prefix}/{path}, ResourceVersion: 0,"
        f" AdditionalErrorMsg: Precondition failed: {field} in precondition: {required},"
        f" {field} in object meta: {stored}"
    )
    return conflict(resource, write.name, reason)


def read_unstored(write: Write, resource: Resource, api_version: str = "") -> Object:
    """Return the object of a request whose kind is not stored, by default as its version decodes it (400, 415, 422)."""
    typed = replace(write, resource=resource, unknown=[])
    sent = typed.read()
    meta = read_metadata(typed, sent)
    try:
        decoded = decode(message_of(api_version or resource.api_version, resource.kind), sent, typed.unknown)
    except DecodeError as error:
        raise typed.undecodable(error) from error
    typed.report()
    return {**decoded, "metadata": meta}


def decode_object(write: Write, obj: Object, old: Object | None) -> Object:
    """Return the object as decoded: unknown fields dropped or rejected, defaults set (400, 422).

    Parts shared with `old`, the object that it replaces, are kept as they are.
    """
    resource = write.resource
    if write.request.derived and old is None:
        return set_kind_defaults(resource, obj, None, write.now)
    if resource.custom:
        new = _decode_custom(write, obj) if obj["kind"] == resource.kind else obj  # which is refused later
    else:
        message = message_of(resource.api_version, resource.kind)
        try:
            decoded = decode(message, obj, write.unknown, old, merged=write.unstructured)
            new = set_defaults(resource, message, decoded, old, write.now)
        except DecodeError as error:
            raise write.undecodable(error) from error
    write.report()
    return new


def _decode_custom(write: Write, obj: Object) -> Object:
    schema = write.resource.schema
    if schema is None:
        return obj
    applied = media_type(write.request.headers.get("content-type", "")) == _APPLY_PATCH
    if not conforms(schema, obj):
        unknown: list[str] = []
        obj = prune(schema, obj, unknown)
        pruned, unknown = unknown, []
        try:
            obj = coerced(schema, obj, "", unknown)
        except DecodeError as error:
            if not applied:  # else it is an error of the validation
                raise write.undecodable(error) from error
        if not applied:  # which reports no unknown field
            write.unknown += [*pruned, *sorted(unknown)]
    elif not has_defaults(schema):
        write.conforming = obj
        return obj
    completed: Object = apply_defaults(schema, obj, nulls=applied)
    return completed


def managed_fields(write: Write, old: Object, new: Object) -> list[Object]:
    """Return the managedFields after an update to `new`, as decoded: what admission changes has no owner."""
    live = (old.get("metadata") or {}).get("managedFields", [])
    sent = None if write.subresource else new["metadata"].get("managedFields")
    if write.resource.custom:
        sent = sent or None  # Go reads an empty list of a custom object as none
    entries = present_entries(sent, live)
    if entries and not old:
        old = {field: new[field] for field in ("apiVersion", "kind")}  # which the client's entries are compared with
    kind = managed_type(write.resource, write.subresource, write.conversions)
    return after_update(entries, old, new, write.field_manager(), kind, time=write.now)


def as_stored(write: Write, new: Object, old: Object | None = None) -> Object:
    """Return a decoded object whose managed fields are known as it is stored: without empty lists, as in Go."""
    resource = write.resource
    return new if resource.custom else without_empty(message_of(resource.api_version, resource.kind), new, old)


def with_managed_fields(meta: Object, entries: list[Object]) -> Object:
    """Return the metadata with these managedFields; an empty list removes the field."""
    return with_field(meta, {"managedFields": entries} if entries else {}, "managedFields")


def with_unique_owners(write: Write, obj: Object, *, admitted: bool) -> Object:
    """Return the object without owner references that are equal to an earlier one, of which the client is warned.

    As on a real server, those of a patch are looked at only once they are `admitted`.
    """
    owners = obj["metadata"].get("ownerReferences")
    if not owners or len(owners) == 1:
        return obj
    unique, duplicates, by_uid = list[Object](), list[str](), defaultdict[str, list[Object]](list)
    for owner in owners:
        same = by_uid[owner.get("uid", "")]
        if owner in same:
            duplicates.append(owner.get("uid", ""))
        else:
            same.append(owner)
            unique.append(owner)
    if not duplicates:
        return obj
    when = " after mutating admission happens" if admitted else ""
    write.request.warnings.append(_DUPLICATE_OWNERS.format(when, ", ".join(duplicates)))
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": unique}}
