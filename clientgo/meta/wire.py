"""Wire types: for each user's dataclass, a Struct with camelCase names, derived once.

A Struct is its own wire type. The wire type of a dataclass has the same attributes, so msgspec converts between the two
by attribute, in C; nested dataclasses have their own wire types.
"""

import dataclasses
import threading
import types
from collections.abc import Mapping
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

_CACHE: dict[type, type[msgspec.Struct]] = {}

MAKING = threading.RLock()
"""Held while msgspec inspects types for the first time, which is not thread-safe."""


def wire_type(cls: type) -> type[msgspec.Struct]:
    """Return the wire type of `cls`, created at the first use.

    Raises:
        TypeError: `cls` is neither a Struct nor a dataclass, or contains itself.
    """
    if issubclass(cls, msgspec.Struct):
        return cls
    made = _CACHE.get(cls)
    if made is None:
        with MAKING:
            made = _CACHE.get(cls) or _derive(cls, ())
            msgspec.json.Decoder(made)  # for its side effect
            _CACHE[cls] = made
    return made


def _derive(cls: type, inside: tuple[type, ...]) -> type[msgspec.Struct]:
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls.__qualname__} is neither a dataclass nor a msgspec.Struct")
    if cls in inside:
        raise TypeError(f"{cls.__qualname__} contains itself, which a structural schema cannot describe")
    hints = get_type_hints(cls, include_extras=True)
    inside = (*inside, cls)
    fields = [(f.name, _wire(hints[f.name], inside), _default(f)) for f in dataclasses.fields(cls)]
    return msgspec.defstruct(
        f"{cls.__name__}Wire",
        fields,
        frozen=True,
        kw_only=True,
        rename="camel",
        omit_defaults=True,
        gc=False,
        module=cls.__module__,
    )


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return msgspec.field(default_factory=field.default_factory)
    if field.default is dataclasses.MISSING:
        return msgspec.field()
    if isinstance(field.default, Mapping) and not field.default:
        # msgspec omits an empty dict only if the default factory is `dict`.
        return msgspec.field(default_factory=dict)
    if dataclasses.is_dataclass(field.default) and not isinstance(field.default, type):
        made = to_wire(field.default)
        return msgspec.field(default_factory=lambda: made)
    return msgspec.field(default=field.default)


def _wire(hint: Any, inside: tuple[type, ...]) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _wire(args[0], inside)
    if origin in (Union, types.UnionType):
        return Union[tuple(_wire(a, inside) for a in args)]  # noqa: UP007  # built from a tuple of types
    if origin is tuple:
        return tuple[tuple(a if a is ... else _wire(a, inside) for a in args)]  # type: ignore[misc]
    if origin is list:
        return list[_wire(args[0], inside)]  # type: ignore[misc]
    if origin is dict or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return dict[args[0], _wire(args[1], inside)]  # type: ignore[misc,valid-type]
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return wire_type(hint) if hint in _CACHE else _derive_cached(hint, inside)
    return hint


def _derive_cached(cls: type, inside: tuple[type, ...]) -> type[msgspec.Struct]:
    _CACHE[cls] = made = _derive(cls, inside)
    return made


def to_wire(obj: Any) -> msgspec.Struct:
    """Convert `obj` to its wire type."""
    if isinstance(obj, msgspec.Struct):
        return obj
    return msgspec.convert(obj, wire_type(type(obj)), from_attributes=True)
