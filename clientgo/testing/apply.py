"""Server-side apply on objects in memory, by the rules of the bundled API server (`clientgo.meta.apply`).

As in client-go's fake, ownership begins with the first apply: until then objects carry no managedFields, so that a test
that applies nothing sees none, and what they hold at that moment belongs to `before-first-apply`.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clientgo.errors import Conflict, Invalid, StatusCause, StatusDetails
from clientgo.meta.apply.fieldsets import Rules, fields_of, managed, tree_of
from clientgo.meta.apply.managedfields import Manager, after_update
from clientgo.meta.apply.serverside import ApplyConflict, apply

Object = dict[str, Any]

BEFORE_FIRST_APPLY = "before-first-apply"
UNKNOWN = "unknown"
"""Who an update is by when it names no field manager."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who writes, to which subresource, when (seconds since the epoch), and how the kind's lists merge."""

    manager: str
    at: float
    rules: Rules
    subresource: str = ""

    def entry(self, operation: str, obj: Object, name: str = "") -> Manager:
        """The writer as managedFields names it."""
        return Manager(name or self.manager, operation, str(obj.get("apiVersion", "")), self.subresource)

    @property
    def time(self) -> str:
        """When, as managedFields says it."""
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def applied(live: Object, config: Object, writer: Writer, *, force: bool) -> Object:
    """`live` (empty if there is none) after `config` was applied.

    Raises:
        Conflict: another manager owns a field that would change, and `force` is not set.
        Invalid: no manager is named.
    """
    if not writer.manager:
        rule = "fieldManager: Required value: is required for apply patch"
        raise Invalid(f'PatchOptions.meta.k8s.io "" is invalid: {rule}')
    named = config if config.get("apiVersion") else {**config, "apiVersion": live.get("apiVersion", "")}
    if writer.subresource == "status":
        config = _of_status(config)
    try:
        made = apply(
            _owned_at_first(live, writer),
            config,
            writer.entry("Apply", named),
            writer.rules,
            force=force,
            time=writer.time,
        )
    except ApplyConflict as conflict:
        causes = tuple(StatusCause(**cause) for cause in conflict.causes)
        details = StatusDetails(name=str(live["metadata"].get("name", "")), causes=causes)
        raise Conflict(str(conflict), details=details) from conflict
    return _with_entries(made.obj, made.entries)


def updated(live: Object, new: Object, writer: Writer) -> Object:
    """`new` with the ownership it has after an update of `live`: what changed is the writer's own."""
    entries = live["metadata"].get("managedFields")
    if not entries:
        return new
    who = writer.entry("Update", new, writer.manager or UNKNOWN)
    return _with_entries(new, after_update(entries, live, new, who, rules=writer.rules, time=writer.time))


def _of_status(config: Object) -> Object:
    # As a server does: an apply of the status sets, and owns, nothing else.
    kept: Object = {key: config[key] for key in ("apiVersion", "kind", "status") if key in config}
    meta = config.get("metadata") or {}
    return {**kept, "metadata": {key: meta[key] for key in ("name", "namespace") if key in meta}}


def _owned_at_first(live: Object, writer: Writer) -> Object:
    if not live or live["metadata"].get("managedFields"):
        return live
    fields = tree_of(fields_of(managed(live), writer.rules))
    first = Manager(BEFORE_FIRST_APPLY, "Update", str(live.get("apiVersion", "")))
    entry = {key: value for key, value in first.entry(fields, "").items() if value != ""}
    return _with_entries(live, [entry] if fields else [])


def _with_entries(obj: Object, entries: list[Object]) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}
