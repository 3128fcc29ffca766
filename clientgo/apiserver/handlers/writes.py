"""Common parts of all writes: options, managedFields, field validation, and storing the changed object."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from clientgo.apiserver.auth.users import ANONYMOUS, User
from clientgo.apiserver.handlers.patches import rules_of
from clientgo.apiserver.http.gojson import duplicate_fields
from clientgo.apiserver.http.messages import HTTPRequest
from clientgo.apiserver.http.status import bad_request, invalid, invalid_value, not_supported
from clientgo.apiserver.registry.metadata import timestamp
from clientgo.apiserver.registry.registry import Object, Resource
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Entry
from clientgo.meta.apply.managedfields import FieldManager, after_update, equal_ignoring_timestamps

_VALIDATIONS = ("Ignore", "Warn", "Strict")


@dataclass(slots=True)
class Write:
    """One write: its target, options and warnings."""

    resource: Resource
    namespace: str
    name: str
    subresource: str
    manager: str
    dry_run: bool
    validation: str
    force: bool
    warnings: list[str]
    patch: Callable[[], str] | None = None  # the patch's text, for messages
    unknown: list[str] = field(default_factory=list)  # paths of fields the kind does not have
    missing: tuple[str, ...] = ()  # omitted options that some writes require
    user: User = ANONYMOUS
    internal: bool = False  # by one of the server's controllers
    kept: dict[Any, Any] = field(default_factory=dict)  # results from before the last suspension

    def now(self, state: State) -> str:
        """Return the time of this write, the same after each suspension, or webhooks would be called forever."""
        time: str = self.kept.setdefault("now", timestamp(state.clock))
        return time

    def field_manager(self, operation: str = "Update") -> FieldManager:
        """Return the field manager of this write."""
        return FieldManager(self.manager, operation, self.resource.api_version, self.subresource)


def read_options(request: HTTPRequest, kind: str) -> tuple[bool, str, str]:
    """Parse dryRun, fieldManager and fieldValidation; `kind` (CreateOptions, ...) is for the message (422)."""
    query = request.query
    causes = []
    dry_run = query.get("dryRun", "")
    if dry_run not in ("", "All"):
        causes.append(not_supported("dryRun", dry_run, ("All",)))
    validation = query.get("fieldValidation") or "Warn"
    if validation not in _VALIDATIONS:
        causes.append(not_supported("fieldValidation", validation, _VALIDATIONS))
    if causes:
        raise invalid(kind, "meta.k8s.io", "", causes)
    manager = query.get("fieldManager") or request.headers.get("user-agent", "").partition("/")[0] or "unknown"
    return dry_run == "All", manager[:128], validation


def storage_name(write: Write) -> str:
    """Return etcd's key of the object, as messages about preconditions show it."""
    resource = write.resource
    prefix = f"{resource.group}/{resource.plural}" if resource.custom else resource.plural
    place = f"{write.namespace}/{write.name}" if write.namespace else write.name
    return f"/registry/{prefix}/{place}"


def track(state: State, write: Write, old: Object, new: Object) -> Object:
    """Return the new object with managedFields that record what this update changed."""
    meta = new["metadata"]
    entries = after_update(
        list(meta.get("managedFields", ())),
        old,
        new,
        write.field_manager(),
        rules=rules_of(write.resource),
        time=write.now(state),
    )
    return {**new, "metadata": with_entries(meta, entries)}


def with_entries(meta: Object, entries: list[Object]) -> Object:
    """Return the metadata with these managedFields; an empty list removes the field."""
    kept = {field: value for field, value in meta.items() if field != "managedFields"}
    return {**kept, "managedFields": entries} if entries else kept


def commit(state: State, write: Write, old: Entry, new: Object) -> Object:
    """Store the object in place of `old`; return it as it is now.

    Nothing is written if nothing changed, or in a dry run. An object whose last finalizer was removed is deleted.
    """
    finished = "deletionTimestamp" in new["metadata"] and not _held(new)
    if equal_ignoring_timestamps(old.object, new) and not finished:
        return old.object
    if write.dry_run:
        return new
    if finished:
        meta = new["metadata"]
        removed = state.store.remove(write.resource.storage, meta.get("namespace", ""), meta["name"])
        revision = removed.revision if removed is not None else old.revision
        return {**new, "metadata": {**meta, "resourceVersion": str(revision)}}
    new = {**new, "apiVersion": write.resource.stored_version}
    return state.store.put(write.resource.storage, new).object


def _held(obj: Object) -> bool:
    """Return whether a finalizer, or a namespace's own list of them, delays deletion."""
    if obj["metadata"].get("finalizers"):
        return True
    return obj.get("kind") == "Namespace" and bool((obj.get("spec") or {}).get("finalizers"))


def report_unknown(write: Write, unknown: list[str]) -> None:
    """Report unknown fields (400, 422)."""
    report(write, [f'unknown field "{path}"' for path in unknown])


def report_duplicates(write: Write, body: bytes) -> None:
    """Report fields that occur twice in one object of the body (400)."""
    if write.validation != "Ignore":
        report(write, [f'duplicate field "{path}"' for path in duplicate_fields(body)])


def report(write: Write, problems: list[str]) -> None:
    """Ignore, warn of or reject these problems, as the write's fieldValidation says."""
    if not problems or write.validation == "Ignore":
        return
    if write.validation == "Warn":
        write.warnings.extend(problems)
        return
    why = "strict decoding error: " + ", ".join(problems)
    if write.patch is not None:
        raise invalid("", "", "", [invalid_value("patch", write.patch(), why)])
    resource = write.resource
    kind = resource.kind
    raise bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {why}')
