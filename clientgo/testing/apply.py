"""Server-side apply on objects in memory, with the code of the bundled API server (`clientgo.meta.apply`).

As in client-go's fake, ownership begins with the first apply: until then objects have no managedFields, and what they
contain at that moment belongs to `before-first-apply`. The merge rules of a kind are read from its class.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clientgo.errors import Conflict, InternalError, Invalid, StatusCause, StatusDetails
from clientgo.meta.apply.comparison import UntypedObject
from clientgo.meta.apply.fieldsets import MergeRules
from clientgo.meta.apply.managedfields import FieldManager, ManagedType, after_update
from clientgo.meta.apply.serverside import ApplyConflict, apply

Object = dict[str, Any]

UNKNOWN = "unknown"
"""Field manager of updates that name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Field manager, subresource and time (seconds since the epoch) of a write, and the merge rules of the kind."""

    manager: str
    at: float
    rules: MergeRules
    subresource: str = ""

    def entry(self, operation: str, obj: Object, name: str = "") -> FieldManager:
        """Return the writer as managedFields names it."""
        return FieldManager(name or self.manager, operation, str(obj.get("apiVersion", "")), self.subresource)

    @property
    def time(self) -> str:
        """Time of the write, in the format of managedFields."""
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def applied(live: Object, config: Object, writer: Writer, *, force: bool) -> Object:
    """Return `live` (empty if there is none) after `config` was applied.

    Raises:
        Conflict: another manager owns a field that would change, and `force` is not set.
        InternalError: an item of a list that merges has no key.
        Invalid: the field manager is missing.
    """
    if not writer.manager:
        rule = "fieldManager: Required value: is required for apply patch"
        raise Invalid(f'PatchOptions.meta.k8s.io "" is invalid: {rule}')
    named = config if config.get("apiVersion") else {**config, "apiVersion": live.get("apiVersion", "")}
    if writer.subresource == "status":
        config = _of_status(config)
    try:
        result = apply(
            live,
            config,
            writer.entry("Apply", named),
            ManagedType(writer.rules),
            force=force,
            time=writer.time,
        )
    except UntypedObject as error:
        raise InternalError(str(error)) from error
    except ApplyConflict as conflict:
        causes = tuple(StatusCause(**cause) for cause in conflict.causes)
        details = StatusDetails(name=str(live["metadata"].get("name", "")), causes=causes)
        raise Conflict(str(conflict), details=details) from conflict
    return _with_entries(result.obj, result.entries)


def updated(live: Object, new: Object, writer: Writer) -> Object:
    """Return `new` with its managedFields after an update of `live`: the writer owns what changed."""
    entries = live["metadata"].get("managedFields")
    if not entries:
        return new
    who = writer.entry("Update", new, writer.manager or UNKNOWN)
    return _with_entries(new, after_update(entries, live, new, who, ManagedType(writer.rules), time=writer.time))


def _of_status(config: Object) -> Object:
    # As on a server, an apply of the status sets and owns nothing else.
    status_part: Object = {key: config[key] for key in ("apiVersion", "kind", "status") if key in config}
    meta = config.get("metadata") or {}
    return {**status_part, "metadata": {key: meta[key] for key in ("name", "namespace") if key in meta}}


def _with_entries(obj: Object, entries: list[Object]) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}
