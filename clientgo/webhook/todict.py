"""An object's JSON with its class' defaults in it.

An API server fills in defaults before it has an object converted, and never after. What a conversion leaves out stays
out: replicas that are 3 by default would be read as none at all, and the scale subresource would say 0. So a default is
written, unless it is zero or empty, which means absent anyway.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, get_args

import msgspec

from clientgo.meta.codec import encode_value, to_dict
from clientgo.meta.wire import to_wire

Json = Any

_SCALARS = frozenset({str, int, float, bool, type(None)})


class _Plan(NamedTuple):
    """Of a Struct's fields, by attribute and name in JSON, those whose default means something, and what has parts."""

    telling: tuple[tuple[str, str], ...]
    deep: tuple[tuple[str, str], ...]


def to_dict_with_defaults(obj: object) -> dict[str, Json]:
    """`obj`, of an API kind, as the dict its JSON stands for, with its defaults."""
    made = to_dict(obj)
    _fill(made, to_wire(obj))
    return made


def _fill(made: dict[str, Json], struct: msgspec.Struct) -> None:
    """Put into the JSON of a Struct what was left out because it is the default."""
    plan = _plan(type(struct))
    for attribute, name in plan.telling:
        if name not in made and (value := getattr(struct, attribute)) is not msgspec.UNSET:
            made[name] = msgspec.json.decode(encode_value(value))
    for attribute, name in plan.deep:
        value = getattr(struct, attribute)
        if name in made:
            _complete(made[name], value)
        elif isinstance(value, msgspec.Struct):
            inner: dict[str, Json] = {}
            _fill(inner, value)
            made |= {name: inner} if inner else {}


def _complete(shown: Json, value: Any) -> None:
    if isinstance(value, msgspec.Struct):
        _fill(shown, value)
    elif isinstance(value, list | tuple):
        for pair in zip(shown, value, strict=True):
            _complete(*pair)
    elif isinstance(value, Mapping):
        for name, one in value.items():
            _complete(shown[name], one)


@lru_cache(maxsize=1024)
def _plan(cls: type[msgspec.Struct]) -> _Plan:
    fields = msgspec.structs.fields(cls)
    return _Plan(
        tuple((field.name, field.encode_name) for field in fields if _is_telling(field)),
        tuple((field.name, field.encode_name) for field in fields if not _is_scalar(field.type)),
    )


def _is_telling(field: msgspec.structs.FieldInfo) -> bool:
    if field.required:
        return False  # it is in the JSON
    default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return default is not msgspec.UNSET and not isinstance(default, msgspec.Struct) and bool(default)


def _is_scalar(kind: Any) -> bool:
    """Whether a type is `int`, `str | None`, `Annotated[int, ...]` or alike."""
    parts = [kind.__origin__] if hasattr(kind, "__metadata__") else list(get_args(kind)) or [kind]
    return all(part in _SCALARS or (part is not kind and _is_scalar(part)) for part in parts)
