"""Server-side apply: who owns which field, what conflicts, what goes when its last owner lets go of it.

As in the API server, ownership begins with the first apply: until then objects carry no managedFields, and what they
hold at that moment belongs to `before-first-apply`. Lists with a merge key known to `patches` merge by it, all others
are one field; the bundled API server goes by the kinds' real schemas.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clientgo.errors import Conflict, Invalid, StatusCause, StatusDetails
from clientgo.testing.fields import Path, fields_of, from_tree, path_text, to_tree, without
from clientgo.testing.patches import strategic_merge_patch

Object = dict[str, Any]

BEFORE_FIRST_APPLY = "before-first-apply"
UNKNOWN = "unknown"
"""Who an update is by when it names no field manager."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A manager under one operation; the same manager's updates and applies are two owners."""

    manager: str
    operation: str
    api_version: str
    time: str = ""

    def __str__(self) -> str:
        if self.operation == "Apply":
            return f'"{self.manager}"'
        return f'"{self.manager}" using {self.api_version}' + (f" at {self.time}" if self.time else "")


Owners = dict[tuple[str, str], tuple[Owner, frozenset[Path]]]


def applied(live: Object, config: Object, *, manager: str, force: bool, at: float) -> Object:
    """`live` (empty if there is none) after `manager` applied `config`; `at` is seconds since the epoch.

    Raises:
        Conflict: another manager owns a field that would change, and `force` is not set.
        Invalid: no manager is named.
    """
    if not manager:
        rule = "fieldManager: Required value: is required for apply patch"
        raise Invalid(f'PatchOptions.meta.k8s.io "" is invalid: {rule}')
    owners, have, want = _owners_at_first_apply(live), fields_of(live), fields_of(config)
    me = Owner(manager, "Apply", str(config.get("apiVersion") or live.get("apiVersion", "")), _time(at))
    _, mine = owners.pop((manager, "Apply"), (me, frozenset[Path]()))
    changed = frozenset(path for path, value in want.items() if have.get(path, _ABSENT) != value)
    if not force:
        _refuse_conflicts(live, owners, changed)
    others = _release(owners, changed)
    kept_by_others = frozenset[Path]().union(*(paths for _, paths in others.values()))
    let_go = {path for path in mine - want.keys() if not _is_held(path, kept_by_others)}
    # Taken out before the merge and not after it: what was a value may have become a container, or the reverse.
    merged = strategic_merge_patch(without(live, let_go), config)
    others[manager, "Apply"] = (me, frozenset(want))
    return _with_owners(merged, others)


def updated(live: Object, new: Object, *, manager: str, at: float) -> Object:
    """`new` with the ownership it has after an update of `live` by `manager`: what it changed is its own."""
    if not live["metadata"].get("managedFields"):
        return new
    have, want = fields_of(live), fields_of(new)
    changed = frozenset(path for path, value in want.items() if have.get(path, _ABSENT) != value)
    owners = _release(_owners(live), changed | (have.keys() - want.keys()))
    me = Owner(manager or UNKNOWN, "Update", str(new.get("apiVersion", "")), _time(at))
    if changed:
        _, before = owners.get((me.manager, "Update"), (me, frozenset[Path]()))
        owners[me.manager, "Update"] = (me, before | changed)
    return _with_owners(new, owners)


_ABSENT = object()


def _is_held(path: Path, others: frozenset[Path]) -> bool:
    # By itself, or by something that lies below it.
    return any(other[: len(path)] == path for other in others)


def _owners_at_first_apply(live: Object) -> Owners:
    if not live or live["metadata"].get("managedFields"):
        return _owners(live)
    first = Owner(BEFORE_FIRST_APPLY, "Update", str(live.get("apiVersion", "")))
    return {(first.manager, "Update"): (first, frozenset(fields_of(live)))}


def _owners(obj: Object) -> Owners:
    owners: Owners = {}
    for entry in (obj.get("metadata") or {}).get("managedFields") or ():
        owner = Owner(
            entry.get("manager", ""), entry.get("operation", ""), entry.get("apiVersion", ""), entry.get("time", "")
        )
        owners[owner.manager, owner.operation] = (owner, frozenset(from_tree(entry.get("fieldsV1") or {})))
    return owners


def _with_owners(obj: Object, owners: Owners) -> Object:
    entries = [
        {
            "manager": owner.manager,
            "operation": owner.operation,
            "apiVersion": owner.api_version,
            **({"time": owner.time} if owner.time else {}),
            "fieldsType": "FieldsV1",
            "fieldsV1": to_tree(paths),
        }
        for owner, paths in owners.values()
    ]
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}


def _release(owners: Owners, paths: frozenset[Path]) -> Owners:
    return {key: (owner, left) for key, (owner, held) in owners.items() if (left := held - paths)}


def _refuse_conflicts(live: Object, owners: Owners, changed: frozenset[Path]) -> None:
    found = [(owner, path) for owner, held in owners.values() for path in sorted(held & changed)]
    if not found:
        return
    by_owner: dict[Owner, list[str]] = {}
    for owner, path in found:
        by_owner.setdefault(owner, []).append(path_text(path))
    told = "\n".join(_told(owner, texts) for owner, texts in by_owner.items())
    causes = tuple(
        StatusCause(reason="FieldManagerConflict", message=f"conflict with {owner}", field=path_text(path))
        for owner, path in found
    )
    raise Conflict(
        f"Apply failed with {len(found)} {'conflict' if len(found) == 1 else 'conflicts'}: {told}",
        details=StatusDetails(name=str(live["metadata"].get("name", "")), causes=causes),
    )


def _told(owner: Owner, texts: list[str]) -> str:
    if len(texts) == 1:
        return f"conflict with {owner}: {texts[0]}"
    return "\n".join([f"conflicts with {owner}:", *(f"- {text}" for text in texts)])


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
