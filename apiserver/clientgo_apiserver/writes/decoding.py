"""Common parts of all writes: options, field validation, decoding by kind, and managedFields."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from clientgo.meta.apply.managedfields import FieldManager, after_update, present_entries
from clientgo_apiserver.apiextensions.embedded import coerced
from clientgo_apiserver.apiextensions.schema import conforms
from clientgo_apiserver.apiextensions.structural import apply_defaults, has_defaults, prune
from clientgo_apiserver.gotypes.decoding import decode, message_of
from clientgo_apiserver.gotypes.scalars import DecodeError
from clientgo_apiserver.handlers.options import check_write_options
from clientgo_apiserver.handlers.patches import managed_type
from clientgo_apiserver.http.decode import YAML_TYPES, media_type
from clientgo_apiserver.http.gojson import UNMARSHAL_ERRORS, duplicate_fields, duplicate_yaml_keys
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.http.protobuf import MEDIA_TYPE as PROTOBUF
from clientgo_apiserver.http.status import ApiFailure, bad_request, invalid, invalid_value
from clientgo_apiserver.limits import MAX_MANAGER_BYTES
from clientgo_apiserver.registry.defaults.kinds import set_defaults, set_kind_defaults
from clientgo_apiserver.registry.defaults.types import without_empty
from clientgo_apiserver.registry.metadata import normalize, timestamp
from clientgo_apiserver.registry.strategies.kinds import strategy_of
from clientgo_apiserver.registry.strategies.strategy import Strategy, with_field
from clientgo_apiserver.resources import Object, Resource
from clientgo_apiserver.state import State

_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may"
    " reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)
_APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(slots=True)
class Write:
    """One write: its target and options, and the request, which collects warnings."""

    resource: Resource
    namespace: str
    name: str
    subresource: str
    manager: str
    dry_run: bool
    validation: str
    request: HTTPRequest
    now: str  # the time of the write
    patch: Callable[[], str] | None = None  # the patch's text, for messages
    strategic: bool = False  # the patch is a strategic merge
    unknown: list[str] = field(default_factory=list)  # paths of fields the kind does not have
    duplicates: list[str] = field(default_factory=list)  # errors of fields that occur twice
    conversions: list[tuple[Object, str, Object]] = field(default_factory=list)  # by a webhook, of managed fields
    conforming: Object | None = None  # the custom object as decoded, if it certainly has no error by its schema

    @property
    def strategy(self) -> Strategy:
        """Strategy of the kind or subresource."""
        return strategy_of(self.resource, self.subresource)

    def field_manager(self, operation: str = "Update") -> FieldManager:
        """Return the field manager of this write."""
        return FieldManager(self.manager, operation, self.resource.api_version, self.subresource)

    def report(self) -> None:
        """Ignore, warn of or reject duplicate and unknown fields, as fieldValidation says (400, 422)."""
        unknown = sorted(self.unknown) if self.strategic else self.unknown
        unknown_errors = [f'unknown field "{path}"' for path in unknown]
        if not (self.duplicates or unknown_errors) or self.validation == "Ignore":
            return
        if self.validation == "Warn":
            # Errors of YAML have a line for each field; a name with a line feed is left out with its warning.
            lines = [line.strip() for problem in self.duplicates for line in problem.split("\n")]
            self.request.warnings.extend(line for line in lines if line != UNMARSHAL_ERRORS)
            self.request.warnings.extend(unknown_errors)
            return
        raise self.undecodable("strict decoding error: " + ", ".join([*self.duplicates, *unknown_errors]))

    def undecodable(self, error: object) -> ApiFailure:
        """Return the error of an object that cannot be decoded, or of a patch that makes it so (400, 422)."""
        if self.patch is not None:
            if self.strategic and isinstance(error, DecodeError):
                error = error.unconvertible()
            return invalid("", "", "", [invalid_value("patch", self.patch(), str(error))])
        kind = self.resource.kind
        return bad_request(f'{kind} in version "{self.resource.version}" cannot be handled as a {kind}: {error}')

    def find_duplicates(self, body: bytes, value: Any) -> None:
        """Find the fields that occur twice in one object of the body, to report them; it was decoded to `value`."""
        media = media_type(self.request.headers.get("content-type", ""))
        if self.validation == "Ignore" or media == PROTOBUF:
            return
        if media in YAML_TYPES:
            # Composing takes as long as decoding: only requests that ask for it pay.
            if "fieldValidation" in self.request.query:
                self.duplicates = duplicate_yaml_keys(body)
        else:
            self.duplicates = [f'duplicate field "{path}"' for path in duplicate_fields(body, value)]


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


def decode_metadata(write: Write, obj: Object, stored: Object | None = None) -> Object:
    """Return the metadata a client sent, as ObjectMeta would hold it; by default with the request's namespace (400).

    Parts shared with `stored`, the metadata of the stored object, are kept as they are.
    """
    try:
        kind = None if write.resource.custom else write.resource.kind
        meta = normalize(obj.get("metadata"), write.unknown, kind=kind, stored=stored, merged=write.strategic)
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


def check_types(write: Write, resource: Resource, obj: Object) -> None:
    """Check that the values of an object that is not stored fit its type (400)."""
    try:
        decode(message_of(resource.api_version, resource.kind), obj, [])
    except DecodeError as error:
        raise replace(write, resource=resource).undecodable(error) from error


def decode_object(write: Write, obj: Object, old: Object | None) -> Object:
    """Return the object as decoded: unknown fields dropped or rejected, defaults set (400, 422).

    Parts shared with `old`, the object that it replaces, are kept as they are.
    """
    resource = write.resource
    if write.request.derived and old is None:
        return set_kind_defaults(resource, obj, None, write.now)
    if resource.custom:
        new = _decode_custom(write, obj)
    else:
        message = message_of(resource.api_version, resource.kind)
        try:
            decoded = decode(message, obj, write.unknown, old, merged=write.strategic)
            new = set_defaults(resource, message, decoded, old, write.now)
        except DecodeError as error:
            raise write.undecodable(error) from error
    write.report()
    return new


def _decode_custom(write: Write, obj: Object) -> Object:
    schema, unknown = write.resource.schema, list[str]()
    if schema is None:
        return obj
    if not conforms(schema, obj):
        try:
            obj = coerced(schema, prune(schema, obj, write.unknown), "", unknown)
        except DecodeError as error:
            raise write.undecodable(error) from error
        write.unknown += sorted(unknown)
    elif not has_defaults(schema):
        write.conforming = obj
        return obj
    applied = media_type(write.request.headers.get("content-type", "")) == _APPLY_PATCH
    completed: Object = apply_defaults(schema, obj, nulls=applied)
    return completed


def managed_fields(write: Write, old: Object, new: Object) -> list[Object]:
    """Return the managedFields after an update to `new`, as decoded: what admission changes has no owner."""
    live = (old.get("metadata") or {}).get("managedFields", [])
    sent = None if write.subresource else new["metadata"].get("managedFields")
    if write.resource.custom:
        sent = sent or None  # Go reads an empty list of a custom object as none
    kind = managed_type(write.resource, write.subresource, write.conversions)
    return after_update(present_entries(sent, live), old, new, write.field_manager(), kind, time=write.now)


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
    if not owners:
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
