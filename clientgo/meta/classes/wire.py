"""Wire types: for each user's dataclass, a Struct with camelCase names, derived once.

A Struct is its own wire type. The wire type of a dataclass has the same attributes, so msgspec converts between the two
by attribute, in C; nested dataclasses have their own wire types. Values of an Enum or Literal are not checked, so that
one that today's class lacks can be written back. An object with another value that was kept although its type cannot
hold it (`UnknownTime`, `UnknownValue`, `UnknownNumber`) is converted to an unchecked form of the type.

A declared type is a wire type for server-side apply: it omits what is None or empty, and no other default, because what
is not sent is not owned (docs/decisions/objects.md).
"""

import dataclasses
import enum
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from clientgo.internal.forks import fork_safe
from clientgo.meta.classes.check import check_class, has_fields
from clientgo.meta.classes.hints import unwrap
from clientgo.meta.objects import Time, UnknownNumber, UnknownTime, UnknownValue

_Types = dict[type, type[msgspec.Struct]]
_Default = Callable[["dataclasses.Field[Any]"], Any]

MAKING = fork_safe(threading.RLock())
"""Held while msgspec inspects types for the first time, which is not thread-safe."""

_INEXACT = (int, datetime, bytes)
"""Types that cannot hold all values of their JSON type."""

_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _Form(NamedTuple):
    """One of the forms of wire types: which values it omits, and whether it checks the values of scalars."""

    types: _Types
    default: _Default
    checks: bool = True


def wire_type(cls: type) -> type[msgspec.Struct]:
    """Return the wire type of `cls`, created at the first use.

    Raises:
        TypeError: `cls` has no exact JSON form; the message has the reasons and remedies.
    """
    return _of_form(cls, _WIRE)


def to_wire(obj: Any, *, declared: bool = False) -> msgspec.Struct:
    """Convert `obj` to its wire type, or to its declared type.

    Raises:
        msgspec.ValidationError: a value is not of the type of its field.
    """
    if isinstance(obj, msgspec.Struct):
        return obj
    form = _DECLARED if declared else _WIRE
    try:
        return msgspec.convert(obj, _of_form(type(obj), form), from_attributes=True)
    except msgspec.ValidationError:
        if not _holds_unknown(obj):
            raise
        return msgspec.convert(obj, _of_form(type(obj), _UNCHECKED[declared]), from_attributes=True)


def _holds_unknown(value: Any) -> bool:
    """Report whether an object has a value that was kept although its field cannot hold it."""
    if isinstance(value, UnknownTime | UnknownValue | UnknownNumber):
        return True
    if isinstance(value, Mapping):
        return any(map(_holds_unknown, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_unknown, value))
    if dataclasses.is_dataclass(value):
        return any(_holds_unknown(getattr(value, field.name)) for field in dataclasses.fields(value))
    return False


def _of_form(cls: type, form: _Form) -> type[msgspec.Struct]:
    return form.types.get(cls) or (cls if issubclass(cls, msgspec.Struct) else _made(cls, form))


def _made(cls: type, form: _Form) -> type[msgspec.Struct]:
    with MAKING:
        if cls not in form.types:
            check_class(cls)
            working = dict(form.types)  # other threads read the types without the lock
            msgspec.json.Decoder(_derived(cls, form._replace(types=working)))
            form.types.update(working)
        return form.types[cls]


def _derived(cls: type[Any], form: _Form) -> type[msgspec.Struct]:
    if issubclass(cls, msgspec.Struct):
        return cls
    if cls not in form.types:
        hints = get_type_hints(cls, include_extras=True)
        form.types[cls] = msgspec.defstruct(
            f"{cls.__name__}Wire",
            [(f.name, _wire(hints[f.name], form), form.default(f)) for f in dataclasses.fields(cls)],
            frozen=True,
            kw_only=True,
            rename="camel",
            omit_defaults=True,
            gc=False,
            module=cls.__module__,
        )
    return form.types[cls]


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


_WIRE = _Form({}, _wire_default)
_DECLARED = _Form({}, _declared_default)
_UNCHECKED = (_Form({}, _wire_default, checks=False), _Form({}, _declared_default, checks=False))


def _wire(hint: Any, form: _Form) -> Any:
    bare, _, nullable = unwrap(hint)
    wire_type = _bare_wire(bare, form)
    return wire_type | None if nullable and wire_type is not Any else wire_type


def _bare_wire(hint: Any, form: _Form) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if hint in _INEXACT and not form.checks:
        return Any
    if hint is int or hint is datetime:
        return _INT64 if hint is int else Time
    if has_fields(hint):
        return _derived(hint, form)
    if origin is Literal or (isinstance(hint, type) and issubclass(hint, enum.Enum)):
        return Any
    if origin is tuple:
        return tuple[_wire(args[0], form), ...]  # type: ignore[misc]
    if origin is list:
        return list[_wire(args[0], form)]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, _wire(args[1], form)]  # type: ignore[misc]
    return hint
