"""Merge rules of classes, read from their annotations: how a list of a kind merges, and what identifies its items."""

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from clientgo.meta.apply.mergerules import ENTRIES, FieldPath, MergeRule, MergeRules, field_rule, merge_rule
from clientgo.meta.classes.check import has_fields
from clientgo.meta.classes.hints import bare_type, unwrap
from clientgo.meta.classes.wire import wire_type
from clientgo.meta.constraints import Meta, constraints_of

_ATOMIC = MergeRule(list_type="atomic")


@cache
def rules_of(cls: type[Any] | None, kind: str) -> MergeRules:
    """Return the merge rules of a class; without a class, those of the built-in kind of that name."""
    return partial(merge_rule, kind) if cls is None else TypeRules(cls)


class TypeRules:
    """Merge rules of a class, by the path of field names; list items add nothing to the path."""

    def __init__(self, cls: type[Any]) -> None:
        self._cls = cls
        self._rules: dict[FieldPath, MergeRule | None] = {}

    def __repr__(self) -> str:
        return f"<TypeRules {self._cls.__name__}>"

    def __call__(self, path: FieldPath) -> MergeRule | None:
        """Return the rule at this path, or None."""
        if path not in self._rules:
            self._rules[path] = self._find(path)
        return self._rules[path]

    def _find(self, path: FieldPath) -> MergeRule | None:
        hint: Any = self._cls
        metas: Iterable[Meta] = ()
        rule: MergeRule | None = None
        for name in path:
            if _is_mapping(hint):
                hint, metas, rule = get_args(hint)[1], (), None
            else:
                owner = _item(hint)
                hints = _hints(owner) if isinstance(owner, type) else {}
                if name not in hints:
                    return None if hints else ENTRIES
                hint = hints[name]
                rule = field_rule(owner.__name__, name, _built_in_name(_item(bare_type(hint))))
            hint, metas, _ = unwrap(hint)
        is_open = _is_mapping(hint) or not (isinstance(item := _item(hint), type) and _hints(item))
        return _declared([*metas, *_of_class(hint)]) or rule or (ENTRIES if is_open else None)


def _is_mapping(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _item(hint: Any) -> Any:
    """Return the class of a list's items, or the hint itself."""
    while get_origin(hint) in (tuple, list):
        hint = bare_type(get_args(hint)[0])
    return hint


def _built_in_name(cls: Any) -> str:
    return cls.__name__ if isinstance(cls, type) and cls.__module__.startswith("clientgo.") else ""


@cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    if not has_fields(cls):
        return {}
    hints = get_type_hints(cls, include_extras=True)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(wire_type(cls))}


def _of_class(hint: Any) -> Iterable[Meta]:
    return constraints_of(hint) if isinstance(hint, type) else ()


def _declared(metas: Iterable[Meta]) -> MergeRule | None:
    rule = None
    for meta in metas:
        if meta.map_type == "atomic":
            rule = _ATOMIC
        elif meta.list_type is not None:
            rule = MergeRule(list_type=meta.list_type, map_keys=meta.list_map_keys)
    return rule
