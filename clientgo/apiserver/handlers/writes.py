"""What every write has in common: its options, its target, and the one place where a changed object is stored."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from clientgo.apiserver.apiextensions.causes import not_supported
from clientgo.apiserver.auth.users import ANONYMOUS, User
from clientgo.apiserver.handlers.patches.rules import rules_of
from clientgo.apiserver.http.messages import Request
from clientgo.apiserver.http.status import invalid
from clientgo.apiserver.registry.metadata import timestamp
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Entry
from clientgo.meta.apply.managedfields import FieldManager, after_update, equal_ignoring_timestamps

Object = dict[str, Any]

_VALIDATIONS = ("Ignore", "Warn", "Strict")


@dataclass(slots=True)
class Write:
    """One write: where it goes, how it is meant, and where its warnings are put."""

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
    missing: tuple[str, ...] = ()  # options the request left out that some writes insist on
    user: User = ANONYMOUS
    internal: bool = False  # by one of the server's own controllers
    kept: dict[Any, Any] = field(default_factory=dict)  # what was found out before the request was last suspended

    def now(self, state: State) -> str:
        """The time of this write: the same however often it is suspended, or webhooks would be asked for ever."""
        time: str = self.kept.setdefault("now", timestamp(state.clock))
        return time

    def who(self, operation: str = "Update") -> FieldManager:
        """The manager whose fields this write sets."""
        return FieldManager(self.manager, operation, self.resource.api_version, self.subresource)


def read_options(request: Request, kind: str) -> tuple[bool, str, str]:
    """dryRun, fieldManager and fieldValidation of a request; `kind` (CreateOptions, ...) is for the message.

    Raises:
        ApiFailure: 422, one of them has a value that is not known.
    """
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
    """Return the object's key in etcd, as shown in messages about preconditions."""
    resource = write.resource
    prefix = f"{resource.group}/{resource.plural}" if resource.custom else resource.plural
    place = f"{write.namespace}/{write.name}" if write.namespace else write.name
    return f"/registry/{prefix}/{place}"


def track(state: State, write: Write, old: Object, new: Object) -> Object:
    """The new object with managedFields that say what this update changed."""
    meta = new["metadata"]
    entries = after_update(
        list(meta.get("managedFields", ())),
        old,
        new,
        write.who(),
        rules=rules_of(write.resource),
        time=write.now(state),
    )
    return {**new, "metadata": with_entries(meta, entries)}


def with_entries(meta: Object, entries: list[Object]) -> Object:
    """The metadata with these managedFields; none at all leaves the field out."""
    kept = {field: value for field, value in meta.items() if field != "managedFields"}
    return {**kept, "managedFields": entries} if entries else kept


def commit(state: State, write: Write, old: Entry, new: Object) -> Object:
    """Store the object in place of `old`; return it as it is now.

    Nothing is written when nothing changed, or in a dry run. An object that was waiting for its last finalizer to go
    is removed instead.
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
    """Whether something still keeps a deleted object: a finalizer, or a namespace's own list of them."""
    if obj["metadata"].get("finalizers"):
        return True
    return obj.get("kind") == "Namespace" and bool((obj.get("spec") or {}).get("finalizers"))
