"""Wire types: for each user's dataclass, a Struct with camelCase names, derived once.

A Struct is its own wire type. The wire type of a dataclass has the same attributes, so msgspec converts between the two
by attribute, in C; nested dataclasses have their own wire types. Values of an Enum or Literal are not checked, so that
one that today's class lacks can be written back.

A declared type is a wire type for server-side apply: it omits what is None or empty, and no other default, because what
is not sent is not owned (docs/decisions/objects.md).
"""

import dataclasses
import enum
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from clientgo.internal.forks import fork_safe
from clientgo.meta.classes.check import check_class, has_fields
from clientgo.meta.classes.hints import unwrap
from clientgo.meta.objects import Time

_Types = dict[type, type[msgspec.Struct]]
_Default = Callable[["dataclasses.Field[Any]"], Any]

_WIRE: _Types = {}
_DECLARED: _Types = {}

MAKING = fork_safe(threading.RLock())
"""Held while msgspec inspects types for the first time, which is not thread-safe."""

_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


def wire_type(cls: type) -> type[msgspec.Struct]:
    """Return the wire type of `cls`, created at the first use.

    Raises:
        TypeError: `cls` has no exact JSON form; the message has the reasons and remedies.
    """
    return _WIRE.get(cls) or (cls if issubclass(cls, msgspec.Struct) else _made(cls, _WIRE))


def declared_type(cls: type) -> type[msgspec.Struct]:
    """Return the declared type of `cls`, created at the first use; raise TypeError like `wire_type`."""
    return _DECLARED.get(cls) or (cls if issubclass(cls, msgspec.Struct) else _made(cls, _DECLARED))


def to_wire(obj: Any) -> msgspec.Struct:
    """Convert `obj` to its wire type."""
    if isinstance(obj, msgspec.Struct):
        return obj
    return msgspec.convert(obj, wire_type(type(obj)), from_attributes=True)


def _made(cls: type, types: _Types) -> type[msgspec.Struct]:
    with MAKING:
        if cls not in types:
            check_class(cls)
            working = dict(types)  # other threads read `types` without the lock
            msgspec.json.Decoder(_derived(cls, working, _wire_default if types is _WIRE else _declared_default))
            types.update(working)
        return types[cls]


def _derived(cls: type[Any], types: _Types, default: _Default) -> type[msgspec.Struct]:
    if issubclass(cls, msgspec.Struct):
        return cls
    if cls not in types:
        hints = get_type_hints(cls, include_extras=True)
        types[cls] = msgspec.defstruct(
            f"{cls.__name__}Wire",
            [(f.name, _wire(hints[f.name], types, default), default(f)) for f in dataclasses.fields(cls)],
            frozen=True,
            kw_only=True,
            rename="camel",
            omit_defaults=True,
            gc=False,
            module=cls.__module__,
        )
    return types[cls]


def _wire_default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return msgspec.field(default_factory=field.default_factory)
    if field.default is dataclasses.MISSING:
        return msgspec.field()
    if isinstance(field.default, Mapping) and not field.default:
        # msgspec omits an empty dict only if the default factory is `dict`.
        return msgspec.field(default_factory=dict)
    if dataclasses.is_dataclass(field.default) and not isinstance(field.default, type):
        value = to_wire(field.default)
        return msgspec.field(default_factory=lambda: value)
    return msgspec.field(default=field.default)


def _declared_default(field: "dataclasses.Field[Any]") -> Any:
    # msgspec never omits the result of a factory, except an empty list or dict.
    return _wire_default(field) if _is_empty(field.default) else msgspec.field(default_factory=lambda: field.default)


def _is_empty(default: Any) -> bool:
    if isinstance(default, msgspec.Struct):
        return not msgspec.to_builtins(default, enc_hook=str)
    return default is None or default is dataclasses.MISSING or (isinstance(default, tuple | Mapping) and not default)


def _wire(hint: Any, types: _Types, default: _Default) -> Any:
    bare, _, nullable = unwrap(hint)
    wire_type = _bare_wire(bare, types, default)
    return wire_type | None if nullable and wire_type is not Any else wire_type


def _bare_wire(hint: Any, types: _Types, default: _Default) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if hint is int or hint is datetime:
        return _INT64 if hint is int else Time
    if has_fields(hint):
        return _derived(hint, types, default)
    if origin is Literal or (isinstance(hint, type) and issubclass(hint, enum.Enum)):
        return Any
    if origin is tuple:
        return tuple[_wire(args[0], types, default), ...]  # type: ignore[misc]
    if origin is list:
        return list[_wire(args[0], types, default)]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, _wire(args[1], types, default)]  # type: ignore[misc]
    return hint
