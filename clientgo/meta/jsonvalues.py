"""JSON values: comparison by the rules of JSON and Kubernetes, where Python's `==` differs, and strict encoding.

To Python `True == 1` and `False == 0`; in JSON a boolean is never a number. Numbers are compared by value: `1` equals
`1.0`, as in Kubernetes, which writes the second as the first. NaN, which is not JSON, equals nothing.

The encoder rejects what the server would read as something else: NaN (null, which removes a field), a time without a
time zone, a Decimal or a set in free-form content.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from clientgo.errors import Restorable
from clientgo.internal.callbacks import text_of
from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.classes.check import has_fields
from clientgo.meta.classes.hints import camel
from clientgo.meta.classes.wire import to_wire, wire_type
from clientgo.meta.objects import MicroTime

Json = Any
"""A JSON value: None, bool, int, float, str, a list, or a dict with str keys."""


def decode_hook(expected: type, value: Any) -> Any:
    """Decode a value of a class that msgspec does not know."""
    if expected is MicroTime and isinstance(value, str):
        at = datetime.fromisoformat(value)
        return MicroTime.of(at if at.tzinfo else at.replace(tzinfo=UTC))
    raise NotImplementedError(f"cannot decode {expected.__qualname__}")


def encode_hook(value: Any) -> Any:
    """Encode a value of a class that msgspec does not know."""
    if isinstance(value, MicroTime):
        return value.wire()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):
        return str.__str__(value)  # of a subclass, such as UnknownValue
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    raise NotImplementedError(f"cannot encode {type(value).__qualname__} as JSON")


_ENCODER = msgspec.json.Encoder(enc_hook=encode_hook)
_encode = _ENCODER.encode
_encode_sorted = msgspec.json.Encoder(order="sorted", enc_hook=encode_hook).encode
_decode = msgspec.json.Decoder().decode

_FLOAT = lazy_pattern(rb"\d[.e]")
"""What every encoded float contains, and rarely a string."""

_ABSENT: Any = object()
_EXACT = frozenset((str, bool, type(None)))
"""Classes whose values Python and JSON compare alike, if both values have the same class."""
_CONTAINERS = frozenset((dict, list))
_UNENCODABLE = (TypeError, ValueError, NotImplementedError, RecursionError)


def same(value: Any, other: Any) -> bool:
    """Return whether both are the same JSON value; objects of API kinds are compared by their JSON form.

    `==` decides most cases in C: it is never wrong about what differs. What it finds equal is compared again by its
    encoding, and value by value only if that differs too.
    """
    if value.__class__ in _EXACT and value.__class__ is other.__class__:
        return bool(value == other)
    if value != other:
        return False
    try:
        if value.__class__ not in _CONTAINERS and has_fields(type(value)):
            if not _free_form_fields(wire_type(type(value))):
                return True  # the decoder has checked the types of all fields
            value, other = to_wire(value), to_wire(other)
        encoded, other_encoded = _encode(value), _encode(other)
        # NaN is encoded as null, and a container that holds the very same NaN is equal to itself.
        if encoded == other_encoded and (b"null" not in encoded or _decode(encoded) == value):
            return True
        if not isinstance(value, dict | list):
            value, other = _decode(encoded), _decode(other_encoded)
    except _UNENCODABLE:
        pass  # nested too deep, or not JSON: compare the values themselves
    return _equal_values_are_same(value, other)


def _equal_values_are_same(left_value: Json, other: Json) -> bool:
    """Compare values that are equal to Python, hence of the same shape; not recursive, for values of any depth."""
    pending = [(left_value, other)]
    while pending:
        left_value, other = pending.pop()
        if isinstance(left_value, dict) and isinstance(other, dict):
            pending += [(value, other.get(name, _ABSENT)) for name, value in left_value.items()]
        elif isinstance(left_value, list | tuple) and isinstance(other, list | tuple):
            pending += zip(left_value, other, strict=True)
        elif isinstance(left_value, bool) is not isinstance(other, bool) or left_value != other:
            return False
    return True


def same_text(value: Json, other: Json) -> bool:
    """Return whether both are the same JSON value, and their numbers are written alike: `1` differs from `1.0`."""
    if value != other:
        return False
    encoded = _encode_sorted(value)
    return encoded == _encode_sorted(other) and (b"null" not in encoded or same(value, other))


def is_among(value: Json, values: Iterable[Json]) -> bool:
    """Return whether one of `values` is the same JSON value."""
    return any(same(value, each) for each in values)


def canonical(value: Json) -> bytes:
    """Return the same bytes for the same JSON values and different bytes for others: a key of sets and dicts.

    Members are sorted, and a float without a fraction is written as an integer.
    """
    text = _encode_sorted(value)
    return _encode_sorted(_with_integers(value)) if _FLOAT.search(text) else text


# In JSON these occur only in strings.
_HTML = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


def html_escaped(encoded: bytes) -> bytes:
    """Return JSON with those characters escaped that Go's encoding/json escapes because of HTML and JavaScript."""
    for character, escape in _HTML[:3] if encoded.isascii() else _HTML:
        if character in encoded:
            encoded = encoded.replace(character, escape)
    return encoded


def _with_integers(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _with_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Unencodable(Restorable, ValueError):
    """A value that has no JSON form, or none that Kubernetes reads; `where` names it, `cause` has the remedy."""

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(f"cannot encode {path.removeprefix('.') or 'the value'} as JSON: {cause}")
        self.where = path
        self.cause = cause


def encode_value(value: Any) -> bytes:
    """Encode a JSON value, which may contain Structs, dataclasses and times.

    Raises:
        Unencodable: a part of it has no JSON form.
    """
    try:
        encoded = _encode(value)
        # Equal to what is read back, in C: no NaN, no set, no key that is a number. Then only a number may need more
        # than 64 bits, which has at least 19 digits.
        if _decode(encoded) == value and _DIGITS not in encoded.translate(_DIGITS_TO_ZERO):
            return encoded
    except _UNENCODABLE:
        pass  # the check names the part
    return _encode_checked(value)


def encode_struct(struct: msgspec.Struct) -> bytes:
    """Encode a Struct; only its free-form content is checked, unless the JSON shows that more is necessary.

    Raises:
        Unencodable: a part of it has no JSON form.
    """
    try:
        encoded = _encode(struct)
    except _UNENCODABLE:
        return _encode_checked(struct)
    # `rfind` takes two thirds of the time of a pattern, and half of that of `in`.
    if encoded.rfind(b"null") >= 0 or _find_local_time(encoded):
        return _encode_checked(struct)
    if not _free_form_fields(struct.__class__):
        return encoded
    checked = _checked_struct(struct, _free_form_fields)
    return encoded if checked is struct else _encode(checked)


# A search for 19 zeros after a translation of all digits takes a tenth of the time of one with a pattern.
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_DIGITS = b"0" * 19


_find_local_time = re.compile(rb'T\d\d:\d\d:\d\d[.\d]*"').search
"""Finds a time, or a text that looks like one, that ends without a time zone."""


_REMEDIES = {
    "Decimal": "use str(value)",
    "set": "use a list, such as sorted(value)",
    "frozenset": "use a list, such as sorted(value)",
    "date": "use value.isoformat(), or a datetime with a time zone",
    "time": "use value.isoformat()",
    "timedelta": 'use a text such as "30s"',
    "UUID": "use str(value)",
}


def _encode_checked(value: Any) -> bytes:
    try:
        return _encode(_checked(value, _all_fields))
    except (RecursionError, NotImplementedError, TypeError) as error:
        deep = isinstance(error, RecursionError)
        raise Unencodable("", "it is nested too deep, or contains itself" if deep else text_of(error)) from error


_Fields = tuple[tuple[str, str], ...]
"""Attributes of a Struct and their JSON names."""
_FieldsOf = Callable[[type[msgspec.Struct]], _Fields]


def _checked(value: Any, fields_of: _FieldsOf) -> Any:
    """Return the value with dataclasses replaced by their wire types; the same object if it contains none.

    Raises:
        Unencodable: a part of it has no JSON form.
    """
    if value is None or isinstance(value, bool | Enum | bytes | bytearray | msgspec.Raw | MicroTime):
        return value
    if isinstance(value, str | int | float | datetime):
        return _checked_scalar(value)
    if isinstance(value, Mapping):
        return _checked_members(value, fields_of)
    if isinstance(value, list | tuple):
        items = [_checked_part(f"[{index}]", item, fields_of) for index, item in enumerate(value)]
        return items if any(checked is not other for checked, other in zip(items, value, strict=True)) else value
    if isinstance(value, msgspec.Struct):
        return _checked_struct(value, fields_of)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _checked_dataclass(value)
    name = type(value).__name__
    raise Unencodable("", f"{name} has no JSON form: {_REMEDIES.get(name, 'use a dict, list, str, number or bool')}")


def _checked_part(step: str, value: Any, fields_of: _FieldsOf) -> Any:
    try:
        return _checked(value, fields_of)
    except Unencodable as error:
        raise Unencodable(step + error.where, error.cause) from None


def _checked_scalar(value: str | float | datetime) -> str | float | datetime:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise Unencodable("", f"{value} has no time zone: use datetime.now(UTC) or value.replace(tzinfo=UTC)")
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unencodable("", "the text has a lone surrogate, which is no character: replace it") from None
    elif isinstance(value, float) and not math.isfinite(value):
        raise Unencodable("", f"{value} is not a JSON number: use a finite number, or leave the field out")
    elif isinstance(value, int) and not (-(2**63) <= value < 2**63 or _is_read_back(value)):
        raise Unencodable("", f"{_shortened(value)} needs more than 64 bits: use a string")
    return value


def _is_read_back(number: int) -> bool:
    """Return whether Kubernetes, which reads larger numbers than 64 bits as floats, writes one that equals the number.

    It writes a float of less than 22 digits as an integer of its shortest form, and others with an exponent.
    """
    if number.bit_length() > _FLOAT_BITS:
        return False
    read = float(number)
    return Decimal(repr(read)) == number or (abs(read) >= _WITH_EXPONENT and read == number)


def _shortened(number: int) -> str:
    bits = number.bit_length()
    return str(number) if bits <= _FLOAT_BITS else f"an integer of {bits} bits"


_FLOAT_BITS = 1023
_WITH_EXPONENT = 1e21


def step_text(name: object) -> str:
    """Return a member of an object for a path: `.name`, quoted if it is long or not printable."""
    text = str(name)
    return f".{text}" if text.isprintable() and len(text) <= _LONGEST_STEP else f".{text[:_LONGEST_STEP]!a}"


_LONGEST_STEP = 100


def _checked_members(value: Mapping[Any, Any], fields_of: _FieldsOf) -> Mapping[str, Any]:
    for key in value:
        if not isinstance(key, str):
            raise Unencodable("", f"the key {key!r} is not a string: use str(key)")
        _checked_scalar(key)
    members = {key: _checked_part(step_text(key), item, fields_of) for key, item in value.items()}
    return members if any(members[key] is not item for key, item in value.items()) else value


def _checked_struct(struct: msgspec.Struct, fields_of: _FieldsOf) -> msgspec.Struct:
    changes: dict[str, Any] = {}
    for name, json_name in fields_of(type(struct)):
        value = getattr(struct, name)
        if value is not msgspec.UNSET and value.__class__ is not int:  # the type of the field limits it
            checked = _checked_part(f".{json_name}", value, fields_of)
            if checked is not value:
                changes[name] = checked
    return msgspec.structs.replace(struct, **changes) if changes else struct


def _checked_dataclass(value: Any) -> msgspec.Struct:
    for field in dataclasses.fields(value):
        _checked_part(step_text(camel(field.name)), getattr(value, field.name), _all_fields)
    try:
        wire = to_wire(value)
    except msgspec.ValidationError as error:
        raise Unencodable("", text_of(error)) from error
    return _checked_struct(wire, _all_fields)


@lru_cache(maxsize=2048)
def _all_fields(cls: type[msgspec.Struct]) -> _Fields:
    return tuple(zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True))


@lru_cache(maxsize=2048)
def _free_form_fields(cls: type[msgspec.Struct]) -> _Fields:
    """Return the fields that may hold free-form content, at any depth."""
    hints = _hints(cls)
    return tuple(pair for pair in _all_fields(cls) if _is_free_form(hints[pair[0]], {cls}))


def _hints(cls: type[Any]) -> dict[str, Any]:
    hints = {
        name: hint for base in reversed(cls.__mro__) for name, hint in getattr(base, "__annotations__", {}).items()
    }
    # Reading the annotations of a hundred nested types takes five times as long as looking at them.
    return get_type_hints(cls) if any(isinstance(hint, str) for hint in hints.values()) else hints


def _is_free_form(hint: Any, seen: set[Any]) -> bool:
    if hint is Any or hint is object or isinstance(hint, TypeVar):
        return True
    if not isinstance(hint, msgspec.StructMeta):
        return any(_is_free_form(part, seen) for part in get_args(hint))
    if hint in seen or hint.__module__.startswith("clientgo.meta."):  # only managedFields, which the server writes
        return False
    seen.add(hint)
    return any(_is_free_form(part, seen) for part in _hints(hint).values())
