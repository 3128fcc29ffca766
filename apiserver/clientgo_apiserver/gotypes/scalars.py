"""Values of JSON strings and numbers that Go's types parse: quantities, times, bytes and int-or-string.

The errors are those of Go's decoder, with the name of the innermost struct and the path of the field.
"""

import base64
import binascii
import re
from datetime import datetime, timedelta
from functools import lru_cache
from types import NoneType
from typing import Any

from clientgo.errors import Restorable
from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.quantities import InvalidQuantity, as_text, canonical
from clientgo_apiserver.api.gotext import QUANTITY_ERRORS, json_type

_TIME = lazy_pattern(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_LAYOUTS = ("2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.000000Z07:00")
_ELEMENT = lazy_pattern(r"(?<=05)\.0+|Z07:00|\d+|.")
_ALPHABET = lazy_pattern("[A-Za-z0-9+/]*")
# Elements of a layout: the range of their text, and its name in the message. The day is checked at the end.
_RANGES = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}


_GO_KINDS = {bool: "bool", str: "string", int: "int64", float: "float64", list: "slice", dict: "map"}
# Go converts these by another meaning: a number to a character, and a float by cutting it.
_CONVERTIBLE = frozenset((("int64", "string"), ("float64", "int32"), ("float64", "int64")))


class DecodeError(ValueError):
    """A value that does not fit the Go type of its field."""

    def within(self, field: str, struct: str) -> "DecodeError":
        """Return the error with its position: a field of a struct."""
        return self

    def unconvertible(self) -> str:
        """Return the message for a strategic merge, whose result Go converts without JSON."""
        return str(self)


class NotBase64(DecodeError):
    """A text that is not base64."""

    def unconvertible(self) -> str:
        """Return the message for a strategic merge, which has the JSON decoder's in it."""
        return f"error decoding from json: {self}"


class Mistyped(Restorable, DecodeError):
    """A value of the wrong JSON type."""

    def __init__(self, value: Any, go_type: str, *, written: bool = False) -> None:
        """`written`: the message has the number itself, which has the right type but does not fit."""
        super().__init__()
        self._value = json_type(value)
        self._go_kind = _GO_KINDS.get(type(value), "")
        if written and self._value == "number":
            self._value = f"number {value}"
        self._type = self._name = go_type
        self._struct = ""
        self._path: list[str] = []

    def name_type(self, name: str) -> None:
        """Name the string type of the field; of no other than the innermost one."""
        if not self._path and self._type == "string":
            self._name = name

    def within(self, field: str, struct: str) -> DecodeError:
        """Return the error with its position: a field of a struct."""
        self._struct = self._struct or struct
        self._path.insert(0, field)
        return self

    def unconvertible(self) -> str:
        """Return the message for a strategic merge, whose result Go converts without JSON."""
        if self._type.startswith("[]"):
            return f"cannot restore slice from {self._go_kind}"
        if self._type.startswith("map[") or self._type.endswith("List"):
            return f"cannot restore map from {self._go_kind}"
        if self._type.startswith("v"):
            return f"cannot restore struct from: {self._go_kind}"
        if (self._go_kind, self._type) in _CONVERTIBLE:
            return f"cannot convert {self._go_kind} to {self._name}"
        return f"unrecognized type: {self._type}"

    def __str__(self) -> str:
        target = f"struct field {self._struct}.{'.'.join(self._path)}" if self._path else "value"
        return f"json: cannot unmarshal {self._value} into Go {target} of type {self._name}"


def quantity(value: Any, *, thousandths: bool = False) -> str:
    """Return a quantity in the form in which the server stores it; `thousandths`: rounded up to them."""
    if isinstance(value, bool | list | dict):
        raise DecodeError(QUANTITY_ERRORS["form"])
    # Go trims the text as it is in JSON, where other white space is escaped.
    return _quantity(as_text(value).strip(" "), thousandths)


@lru_cache(maxsize=1024)
def _quantity(text: str, thousandths: bool) -> str:
    try:
        return canonical(text, thousandths=thousandths)
    except InvalidQuantity as error:
        raise DecodeError(QUANTITY_ERRORS[error.part]) from None


def int_or_string(value: Any) -> Any:
    """Return an integer or a string."""
    if type(value) is str or (type(value) is int and -(1 << 31) <= value < 1 << 31):
        return value
    raise Mistyped(value, "int32", written=True)


def time_in(value: Any, *, micro: bool) -> str | None:
    """Return a time in UTC, in whole seconds or in microseconds; None for Go's zero time."""
    if type(value) is not str:
        raise Mistyped(value, "string")
    match = _TIME.fullmatch(value)
    try:
        if match is None or (micro and len(match[7] or "") != 6):
            raise ValueError
        second = _second_in_utc(match)
    except ValueError:
        raise DecodeError(_time_error(value, _LAYOUTS[micro])) from None
    fraction = f".{match[7]}" if micro else ""
    if second == "0001-01-01T00:00:00" and not fraction.strip(".0"):
        return None
    return f"{second}{fraction}Z"


def _second_in_utc(match: re.Match[str]) -> str:
    """Return the second of a time; unlike Python, Go has years before 1 and after 9999, and offsets of a whole day."""
    year, hour, sign = match[1], match[4], match[8]
    if not sign and len(hour) == 2 and year != "0000":
        text = match[0][:19]
        datetime.fromisoformat(text)
        return text
    cycle = 2000 + int(year) % 400  # the calendar repeats itself
    moment = datetime.fromisoformat(f"{cycle}{match[0][4:11]}{hour:0>2}:{match[5]}:{match[6]}")
    if sign:
        hours, minutes = int(match[9]), int(match[10])
        if hours > 24 or minutes > 60:
            raise ValueError
        offset = timedelta(hours=hours, minutes=minutes)
        moment += -offset if sign == "+" else offset
    number = int(year) + moment.year - cycle
    return f"{'-' if number < 0 else ''}{abs(number):04}{moment.isoformat()[4:]}"


def _time_error(text: str, layout: str) -> str:
    """Return the message of Go's parser: it names the first element that does not match."""
    remaining, quoted_text = text, _quoted(text)
    for element in _ELEMENT.findall(layout):
        pattern = r"Z|[+-](\d\d):(\d\d)" if element.startswith("Z") else "\\d" * len(element)
        pattern = re.escape(element) if element in "-T:" else r"[.,]\d{6}" if element[0] == "." else pattern
        match = re.match(r"\d\d?" if element == "15" else pattern, remaining, re.ASCII)
        if match is None:
            return f'parsing time {quoted_text} as "{layout}": cannot parse {_quoted(remaining)} as "{element}"'
        name, least, most = _RANGES.get(element, ("", 0, 0))
        if name and not least <= int(match[0]) <= most:
            return f"parsing time {quoted_text}: {name} out of range"
        if element == "Z07:00" and match[1]:
            for part, most, number in (("hour", 24, match[1]), ("minute", 60, match[2])):
                if int(number) > most:
                    return f"parsing time {quoted_text}: time zone offset {part} out of range"
        remaining = remaining[match.end() :]
        if element == "05" and ".000000" not in layout:
            remaining = re.sub(r"^[.,]\d+", "", remaining, flags=re.ASCII)
    reason = f"extra text: {_quoted(remaining)}" if remaining else "day out of range"
    return f"parsing time {quoted_text}: {reason}"


def _quoted(text: str) -> str:
    """Quote a text as Go's parser of times does."""
    escaped = re.sub(r'(["\\])', r"\\\1", text)
    return '"' + re.sub("[^ -\x7f]", lambda match: _bytes_of(match[0]), escaped) + '"'


def _bytes_of(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="replace"))


def base64_value(value: Any) -> str:
    """Return bytes in standard base64; Go reads them from a list of numbers, too."""
    if type(value) is list:
        return base64.b64encode(bytes(map(_byte, value))).decode()
    if type(value) is not str:
        raise Mistyped(value, "[]uint8")
    text = value.replace("\r", "").replace("\n", "")
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except (binascii.Error, ValueError):
        raise NotBase64(f"illegal base64 data at input byte {_base64_error(text)}") from None


def _byte(value: Any) -> int:
    if type(value) not in (int, NoneType) or not 0 <= (value or 0) <= 255:
        raise Mistyped(value, "uint8", written=True)
    return value or 0


def _base64_error(text: str) -> int:
    match = _ALPHABET.match(text)
    at = match.end() if match is not None else 0
    if at == len(text):
        return at - at % 4
    if text[at] != "=" or at % 4 < 2:
        return at
    padded = at % 4 == 3 or text[at + 1 : at + 2] == "="
    return at + 4 - at % 4 if padded else at if text[at + 1 :] else len(text)
