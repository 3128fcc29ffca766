"""Lenient construction of objects from decoded JSON, for what msgspec's decoder rejects.

It follows the annotations, and accepts what Go's decoder accepts: an unexpected `null` reads as absent, a value that an
Enum or Literal lacks is kept as an `UnknownValue`, and a number in place of a quantity is that quantity. A value of the
right JSON type that Python's type cannot hold, such as a time in the year 10000, is kept too, so that it hides nothing
but itself. Free-form content is left as it is. It is slow, so the decoder is tried first.
"""

import dataclasses
import enum
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import msgspec

from clientgo.errors import Restorable
from clientgo.internal.callbacks import describe_error, text_of
from clientgo.meta.classes.check import has_fields, is_built_in
from clientgo.meta.classes.hints import unwrap
from clientgo.meta.classes.wire import wire_type
from clientgo.meta.jsonvalues import Json, decode_hook, is_among, step_text
from clientgo.meta.objects import MicroTime, UnknownNumber, UnknownTime, UnknownValue
from clientgo.meta.quantities import ParsedQuantity, is_quantity, quantity_fields

Reader = Callable[[Json, str], Any]
"""Converts a JSON value at a path, such as `$.spec`."""

_ABSENT: Any = object()


class Misfit(Restorable, ValueError):
    """A value that does not fit its annotation; the message has its path."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(f"{message} - at `{path}`")


def construct(cls: type, content: Json) -> Any:
    """Return the object of a class with this JSON.

    Raises:
        Misfit: it does not fit the class, or the class rejects it.
    """
    return _of_class(cls)(content, "$")


def _reader(hint: Any, *, texts: bool) -> Reader:
    """Return the reader of an annotation, which a null reaches only if the annotation allows it."""
    bare, metas, nullable = unwrap(hint)
    read = _bare_reader(bare, texts=texts) or _of_scalar(bare | None if nullable else bare, texts=texts)
    if any(map(is_quantity, metas)):
        read = _of_quantity(read, float)
    return _nullable(read) if nullable else read


def _bare_reader(hint: Any, *, texts: bool) -> Reader | None:
    """Return the reader of a type without wrappers; None for a scalar."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return lambda value, path: value
    if has_fields(hint):
        return lambda value, path: _of_class(hint)(value, path)  # a built-in class may be recursive
    if origin is Literal:
        return _of_values(args)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _of_enum(hint)
    if origin in (tuple, list) and (origin is list or args[1:] == (...,)):
        return _of_items(origin, _reader(args[0], texts=texts))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _of_entries(_allows_null(args[1]), _reader(args[1], texts=texts))
    return None


def _allows_null(hint: Any) -> bool:
    bare, _, nullable = unwrap(hint)
    return nullable or bare in (Any, object)


def _nullable(read: Reader) -> Reader:
    return lambda value, path: None if value is None else read(value, path)


def _of_scalar(hint: Any, *, texts: bool) -> Reader:
    def read(value: Json, path: str) -> Any:
        try:
            scalar = msgspec.convert(value, hint, dec_hook=decode_hook)
        except (msgspec.ValidationError, ValueError) as error:
            unknown_value = _kept(value, unwrap(hint)[0], texts=texts)
            if unknown_value is None:
                raise Misfit(text_of(error), path) from error
            return unknown_value
        if isinstance(scalar, datetime) and scalar.tzinfo is None:
            return scalar.replace(tzinfo=UTC)
        if type(scalar) is int and not -(2**63) <= scalar < 2**63:
            return UnknownNumber(scalar)
        return scalar

    return read


def _kept(value: Json, hint: Any, *, texts: bool) -> Any:
    """Return a value of the JSON type of its field that the field cannot hold, to be written back; None for others.

    A text that is not a time is kept if `texts` allows it.
    """
    if isinstance(value, str) and hint in (datetime, MicroTime):
        try:
            return UnknownTime.read(value)
        except ValueError:
            return UnknownValue(value) if texts and hint is datetime else None
    if isinstance(value, str) and hint is bytes:
        try:
            return b64decode(value.translate(_NO_LINES), validate=True)  # as Go does
        except ValueError:
            return UnknownValue(value)
    if isinstance(value, float) and value.is_integer() and hint is int:
        return int(value) if -(2**63) <= value < 2**63 else UnknownNumber(value)
    return None


_NO_LINES = str.maketrans("", "", "\r\n")


def _of_values(values: tuple[Any, ...]) -> Reader:
    kinds = tuple({type(value) for value in values})

    def read(value: Json, path: str) -> Any:
        return value if is_among(value, values) else _unknown(value, kinds, path)

    return read


def _of_enum(cls: type[enum.Enum]) -> Reader:
    values = [member.value for member in cls]
    kinds = tuple({type(value) for value in values})

    def read(value: Json, path: str) -> Any:
        if type(value) not in kinds:
            return _unknown(value, kinds, path)
        try:
            return cls(value)  # not only its members: it may have a `_missing_`
        except ValueError:
            return _unknown(value, kinds, path)

    return read


def _unknown(value: Json, kinds: tuple[type, ...], path: str) -> Any:
    if type(value) in kinds and isinstance(value, str):
        return UnknownValue(value)
    if type(value) in kinds and isinstance(value, int):
        return UnknownNumber(value)
    raise Misfit(f"expected one of today's values or another of their type, got {value!r:.100}", path)


def _of_items(kind: Callable[[Iterator[Any]], Any], read: Reader) -> Reader:
    def read_all(value: Json, path: str) -> Any:
        if not isinstance(value, list):
            raise Misfit(f"expected an array, got {value!r:.100}", path)
        return kind(read(item, f"{path}[{index}]") for index, item in enumerate(value))

    return read_all


def _of_entries(nulls: bool, read: Reader) -> Reader:
    def read_all(value: Json, path: str) -> Any:
        if not isinstance(value, dict):
            raise Misfit(f"expected an object, got {value!r:.100}", path)
        return {key: read(item, path + step_text(key)) for key, item in value.items() if nulls or item is not None}

    return read_all


class _Field(msgspec.Struct, frozen=True):
    """A field: its attribute and JSON name, the reader, whether a null is a value, and the default, if it has one."""

    name: str
    json_name: str
    read: Reader
    nulls: bool
    default: Callable[[], Any] | None


@lru_cache(maxsize=1024)
def _of_class(cls: type) -> Reader:
    fields = tuple(_fields(cls))
    make = _make_struct if issubclass(cls, msgspec.Struct) else _make_dataclass

    def read(content: Json, path: str) -> Any:
        if not isinstance(content, dict):
            raise Misfit(f"expected an object, got {content!r:.100}", path)
        attributes: dict[str, Any] = {}
        for field in fields:
            value = content.get(field.json_name, _ABSENT)
            if value is not _ABSENT and (value is not None or field.nulls):
                attributes[field.name] = field.read(value, f"{path}.{field.json_name}")
            elif field.default is not None:
                attributes[field.name] = field.default()
            else:
                raise Misfit(f"the required field `{field.json_name}` is missing", path)
        try:
            return make(cls, attributes)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise Misfit(describe_error(error), path) from error

    return read


def _make_struct(cls: type[Any], attributes: dict[str, Any]) -> Any:
    return cls(**attributes)


def _make_dataclass(cls: type[Any], attributes: dict[str, Any]) -> Any:
    # As msgspec does: a class may exclude fields from its `__init__`, or define another one.
    instance = object.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(instance, name, value)
    if hasattr(instance, "__post_init__"):
        instance.__post_init__()
    return instance


def _fields(cls: type[Any]) -> Iterator[_Field]:
    hints = get_type_hints(cls, include_extras=True)
    quantities = quantity_fields(cls)
    # The wire type has the attributes, JSON names and defaults of both kinds of classes.
    for field in msgspec.structs.fields(wire_type(cls)):
        hint = hints[field.name]
        read = _reader(hint, texts=not is_built_in(cls))  # the library computes with the times of built-in types
        if field.encode_name in quantities:
            read = _of_quantity(read, int | float)
        yield _Field(field.name, field.encode_name, read, _allows_null(hint), _default_of(cls, field.name))


def _default_of(cls: type[Any], name: str) -> Callable[[], Any] | None:
    absent: Any
    if issubclass(cls, msgspec.Struct):
        field: Any = next(field for field in msgspec.structs.fields(cls) if field.name == name)
        absent = msgspec.NODEFAULT
    else:
        field, absent = cls.__dataclass_fields__[name], dataclasses.MISSING
    if field.default is not absent:
        return lambda: field.default
    return None if field.default_factory is absent else cast(Callable[[], Any], field.default_factory)


def _of_quantity(read: Reader, numbers: Any) -> Reader:
    """Return a reader that converts these numbers, also in a map or list, to the text of a quantity."""

    def convert(value: Json) -> Json:
        if isinstance(value, dict):
            return {key: convert(item) for key, item in value.items()}
        if isinstance(value, list):
            return [convert(item) for item in value]
        is_number = isinstance(value, numbers) and not isinstance(value, bool)
        return str(ParsedQuantity(value)) if is_number else value

    return lambda value, path: read(convert(value), path)
