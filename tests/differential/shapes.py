"""Shapes of random objects: the values that fields take, and the lists and maps that merge."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Leaf:
    """Field with one of a few values."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Struct:
    """Object with known fields: `required` ones are always in a whole object, of `one_of` exactly one."""

    fields: Mapping[str, "Shape"]
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entries:
    """Map with a few keys."""

    keys: tuple[str, ...]
    value: "Shape"


@dataclass(frozen=True, slots=True)
class Items:
    """List of objects that merges by the fields `names`; `keys` are the keys that items have.

    The first key is always in a whole list if `needed`.
    """

    names: tuple[str, ...]
    keys: tuple[Mapping[str, Any], ...]
    item: Struct = field(default_factory=lambda: Struct({}))
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Members:
    """Set of plain values."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Atomic:
    """List that is replaced as a whole."""

    item: "Shape"
    most: int = 2


Shape = Leaf | Struct | Entries | Items | Members | Atomic


def leaf(*values: Any) -> Leaf:
    """Return the shape of a field with one of these values."""
    return Leaf(values)


def make(chance: random.Random, shape: Shape, fill: float = 0.4) -> Any:
    """Return a random value; an optional field is present with the probability `fill`."""
    match shape:
        case Leaf(values):
            return chance.choice(values)
        case Struct(fields, required, one_of):
            chosen = (*required, *([chance.choice(one_of)] if one_of else ()))
            present = [name for name in fields if name in chosen or (name not in one_of and chance.random() < fill)]
            return {name: make(chance, fields[name], fill) for name in present}
        case Entries(keys, value):
            return {key: make(chance, value, fill) for key in _some(chance, keys)}
        case Items(names, keys, item, needed):
            sampled = chance.sample(keys, chance.randint(0, min(3, len(keys))))
            first = [keys[0]] if needed and keys[0] not in sampled else []
            named = [*first, *sampled]
            unique = {repr(key_of(key, names)): key for key in named}
            return [{**make(chance, item, fill), **key} for key in unique.values()]
        case Members(values):
            return _some(chance, values)
        case Atomic(item, most):
            return [make(chance, item, fill) for _ in range(chance.randint(0, most))]


def key_of(item: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields by which an item merges."""
    return {name: item[name] for name in names if name in item}


def child_of(chance: random.Random, shape: Shape, value: Any) -> tuple[str | int, Shape, Any] | None:
    """Choose a member of a value: its key or index, its shape and its value; None if it has none."""
    match shape:
        case Struct(fields, _, _):
            return _member_of(chance, fields, value)
        case Entries(keys, inner):
            return _member_of(chance, dict.fromkeys(keys, inner), value)
        case Items(_, _, item, _) | Atomic(item, _):
            return _item_of(chance, item, value)
        case Members(values):
            return _item_of(chance, Leaf(values), value)
        case Leaf(_):
            return None


def _member_of(chance: random.Random, fields: Mapping[str, Shape], value: Any) -> tuple[str, Shape, Any] | None:
    members = value if isinstance(value, dict) else {}
    present = [name for name in fields if name in members]
    if not fields:
        return None
    name = chance.choice(present if present and chance.random() < 0.75 else list(fields))
    return name, fields[name], members.get(name)


def _item_of(chance: random.Random, item: Shape, value: Any) -> tuple[int, Shape, Any]:
    items = value if isinstance(value, list) else []
    index = chance.randrange(len(items)) if items and chance.random() < 0.85 else chance.randint(0, 2)
    return index, item, items[index] if index < len(items) else None


def _some(chance: random.Random, values: tuple[Any, ...]) -> list[Any]:
    return chance.sample(values, chance.randint(0, min(3, len(values))))
