"""Conversion of typed objects to dicts that include defaults.

An API server sets defaults before it has an object converted, and never afterwards. Fields omitted by a conversion stay
omitted: replicas with the default 3 would be missing, and the scale subresource would report 0. So defaults are
written, unless they are zero or empty, which equals absence.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, get_args

import msgspec

from clientgo.meta.classes.wire import to_wire
from clientgo.meta.codec import encode_value, to_dict

Json = Any

_SCALARS = frozenset({str, int, float, bool, type(None)})


class _Plan(NamedTuple):
    """Fields of a Struct as (attribute, JSON name): those with meaningful defaults, and those with nested values."""

    telling: tuple[tuple[str, str], ...]
    deep: tuple[tuple[str, str], ...]


def to_dict_with_defaults(obj: object) -> dict[str, Json]:
    """Return the JSON dict of `obj`, of an API kind, with its defaults."""
    content = to_dict(obj)
    _fill(content, to_wire(obj))
    return content


def _fill(content: dict[str, Json], struct: msgspec.Struct) -> None:
    """Add the defaults that were omitted from the JSON of a Struct."""
    plan = _plan(type(struct))
    for attribute, name in plan.telling:
        if name not in content and (value := getattr(struct, attribute)) is not msgspec.UNSET:
            content[name] = msgspec.json.decode(encode_value(value))
    for attribute, name in plan.deep:
        value = getattr(struct, attribute)
        if name in content:
            _complete(content[name], value)
        elif isinstance(value, msgspec.Struct):
            inner: dict[str, Json] = {}
            _fill(inner, value)
            content |= {name: inner} if inner else {}


def _complete(content: Json, value: Any) -> None:
    if isinstance(value, msgspec.Struct):
        _fill(content, value)
    elif isinstance(value, list | tuple):
        for pair in zip(content, value, strict=True):
            _complete(*pair)
    elif isinstance(value, Mapping):
        for name, member in value.items():
            _complete(content[name], member)


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
    """Return whether a type is scalar, such as `int`, `str | None` or `Annotated[int, ...]`."""
    kinds = [kind.__origin__] if hasattr(kind, "__metadata__") else list(get_args(kind)) or [kind]
    return all(part in _SCALARS or (part is not kind and _is_scalar(part)) for part in kinds)
