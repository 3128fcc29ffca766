"""Server-side apply on objects in memory, with the code of the bundled API server (`clientgo.meta.apply`).

As in client-go's fake, ownership begins with the first apply: until then objects have no managedFields, and what they
contain at that moment belongs to `before-first-apply`. The merge rules of a kind are read from its class.
"""

import dataclasses
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from clientgo.errors import Conflict, Invalid, StatusCause, StatusDetails
from clientgo.meta.apply.fieldsets import FieldPath, MergeRules
from clientgo.meta.apply.managedfields import FieldManager, ManagedType, after_update
from clientgo.meta.apply.mergerules import MergeRule, field_rule, merge_rule
from clientgo.meta.apply.serverside import ApplyConflict, apply
from clientgo.meta.constraints import Meta, constraints_of
from clientgo.meta.wire import wire_type

Object = dict[str, Any]

UNKNOWN = "unknown"
"""Field manager of updates that name none."""
_ATOMIC = MergeRule(list_type="atomic")


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
        Invalid: the field manager is missing.
    """
    if not writer.manager:
        rule = "fieldManager: Required value: is required for apply patch"
        raise Invalid(f'PatchOptions.meta.k8s.io "" is invalid: {rule}')
    named = config if config.get("apiVersion") else {**config, "apiVersion": live.get("apiVersion", "")}
    if writer.subresource == "status":
        config = _of_status(config)
    try:
        made = apply(
            live,
            config,
            writer.entry("Apply", named),
            ManagedType(writer.rules),
            force=force,
            time=writer.time,
        )
    except ApplyConflict as conflict:
        causes = tuple(StatusCause(**cause) for cause in conflict.causes)
        details = StatusDetails(name=str(live["metadata"].get("name", "")), causes=causes)
        raise Conflict(str(conflict), details=details) from conflict
    return _with_entries(made.obj, made.entries)


def updated(live: Object, new: Object, writer: Writer) -> Object:
    """Return `new` with its managedFields after an update of `live`: the writer owns what changed."""
    entries = live["metadata"].get("managedFields")
    if not entries:
        return new
    who = writer.entry("Update", new, writer.manager or UNKNOWN)
    return _with_entries(new, after_update(entries, live, new, who, ManagedType(writer.rules), time=writer.time))


def _of_status(config: Object) -> Object:
    # As on a server, an apply of the status sets and owns nothing else.
    kept: Object = {key: config[key] for key in ("apiVersion", "kind", "status") if key in config}
    meta = config.get("metadata") or {}
    return {**kept, "metadata": {key: meta[key] for key in ("name", "namespace") if key in meta}}


def _with_entries(obj: Object, entries: list[Object]) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}


@cache
def rules_of(cls: type[Any] | None, kind: str) -> MergeRules:
    """Return the merge rules of a class; without a class, those of the built-in kind of that name."""
    return partial(merge_rule, kind) if cls is None else TypeRules(cls)


class TypeRules:
    """Merge rules of a class, by the path of field names; list items add nothing to the path."""

    def __init__(self, cls: type[Any]) -> None:
        self._cls = cls
        self._known: dict[FieldPath, MergeRule | None] = {}

    def __repr__(self) -> str:
        return f"<TypeRules {self._cls.__name__}>"

    def __call__(self, path: FieldPath) -> MergeRule | None:
        """Return the rule at this path, or None."""
        if path not in self._known:
            self._known[path] = self._find(path)
        return self._known[path]

    def _find(self, path: FieldPath) -> MergeRule | None:
        here: Any = self._cls
        metas: Iterable[Meta] = ()
        rule: MergeRule | None = None
        for name in path:
            if get_origin(here) is Mapping or _is_mapping(here):
                here, metas, rule = get_args(here)[1], (), None
            else:
                owner = _item(here)
                hints = _hints(owner) if isinstance(owner, type) else {}
                if name not in hints:
                    return None
                here = hints[name]
                rule = field_rule(owner.__name__, name, _built_in_name(_item(_unwrapped(here)[0])))
            here, metas = _unwrapped(here)
        return _declared([*metas, *_of_class(here)]) or rule


def _is_mapping(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _unwrapped(hint: Any) -> tuple[Any, list[Meta]]:
    metas: list[Meta] = []
    while True:
        args = get_args(hint)
        if get_origin(hint) is Annotated:
            metas += (note for note in hint.__metadata__ if isinstance(note, Meta))
            hint = args[0]
        elif get_origin(hint) in (Union, types.UnionType) and type(None) in args:
            hint = next(arg for arg in args if arg is not type(None))
        else:
            return hint, metas


def _item(hint: Any) -> Any:
    """Return the class of a list's items, or the hint itself."""
    while get_origin(hint) in (tuple, list):
        hint = _unwrapped(get_args(hint)[0])[0]
    return hint


def _built_in_name(cls: Any) -> str:
    return cls.__name__ if isinstance(cls, type) and cls.__module__.startswith("clientgo.") else ""


@cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    if not (dataclasses.is_dataclass(cls) or issubclass(cls, msgspec.Struct)):
        return {}
    hints = get_type_hints(cls, include_extras=True)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(wire_type(cls))}


def _of_class(hint: Any) -> Iterable[Meta]:
    return constraints_of(hint) if isinstance(hint, type) else ()


def _declared(metas: Iterable[Meta]) -> MergeRule | None:
    found = None
    for meta in metas:
        if meta.map_type == "atomic":
            found = _ATOMIC
        elif meta.list_type is not None:
            found = MergeRule(list_type=meta.list_type, map_keys=meta.list_map_keys)
    return found
