"""How the lists and maps of a kind merge, read from its class: what its CRD says, and Kubernetes of its own types."""

import dataclasses
import types
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from clientgo.meta.apply.fieldsets import Path, Rules
from clientgo.meta.constraints import Meta, constraints_of
from clientgo.meta.mergerules import TYPE_RULES, MergeRule, merge_rule
from clientgo.meta.wire import wire_type

_ATOMIC = MergeRule(list_type="atomic")


@cache
def rules_of(cls: type[Any] | None, kind: str) -> Rules:
    """The rules of a class' objects; of a kind that has no class, those of the built-in kind of that name."""
    return partial(merge_rule, kind) if cls is None else TypeRules(cls)


class TypeRules:
    """Finds a rule by the names of fields that lead to it; items of lists have no name."""

    def __init__(self, cls: type[Any]) -> None:
        self._cls = cls
        self._known: dict[Path, MergeRule | None] = {}

    def __repr__(self) -> str:
        return f"<TypeRules {self._cls.__name__}>"

    def __call__(self, path: Path) -> MergeRule | None:
        """The rule at this place, or None where nothing is said of it."""
        if path not in self._known:
            self._known[path] = self._find(path)
        return self._known[path]

    def _find(self, path: Path) -> MergeRule | None:
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
                here, metas, rule = hints[name], (), TYPE_RULES.get(owner.__name__, {}).get(name)
            here, metas = _bare(here)
        return _said([*metas, *_of_class(here)]) or rule


def _is_mapping(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _bare(hint: Any) -> tuple[Any, list[Meta]]:
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
    """The class of what is in a list, or the hint itself."""
    while get_origin(hint) in (tuple, list):
        hint = _bare(get_args(hint)[0])[0]
    return hint


@cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    if not (dataclasses.is_dataclass(cls) or issubclass(cls, msgspec.Struct)):
        return {}
    hints = get_type_hints(cls, include_extras=True)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(wire_type(cls))}


def _of_class(hint: Any) -> Iterable[Meta]:
    return constraints_of(hint) if isinstance(hint, type) else ()


def _said(metas: Iterable[Meta]) -> MergeRule | None:
    found = None
    for meta in metas:
        if meta.map_type == "atomic":
            found = _ATOMIC
        elif meta.list_type is not None:
            found = MergeRule(list_type=meta.list_type, map_keys=meta.list_map_keys)
    return found
