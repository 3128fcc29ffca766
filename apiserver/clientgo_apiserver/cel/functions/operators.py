"""Operators and type conversions of CEL."""

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from clientgo_apiserver.api.formats import is_go_duration
from clientgo_apiserver.api.gotext import go_float
from clientgo_apiserver.cel.syntax import UInt
from clientgo_apiserver.cel.types import DYN, ExprType, parse_type
from clientgo_apiserver.cel.values import (
    NONE,
    CelError,
    CidrValue,
    OptionalValue,
    StructValue,
    concatenated,
    contains,
    equal,
    has_key,
    kind_of,
    less,
    type_name,
)

Function = Callable[..., Any]

_BITS = {
    "int": (-(1 << 63), (1 << 63) - 1, "integer overflow"),
    "uint": (0, (1 << 64) - 1, "unsigned integer overflow"),
}
_LOWEST = {"int": float(-(1 << 63)), "uint": -1.0}
_DURATION_PART = re.compile(r"([0-9.]+)([a-z\u00b5\u03bc]*)")
_UNITS = {
    "": 0,  # of a zero without a unit
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_MAX_DURATION = timedelta(microseconds=((1 << 63) - 1) // 1000)
"""Go's largest duration: 64 bits of nanoseconds."""

_DOUBLE = re.compile(
    r"[+-]?(?:inf(?:inity)?|0x[0-9a-f.]+p[+-]?[0-9]+|[0-9._]+(?:e[+-]?[0-9_]+)?)|nan", re.IGNORECASE | re.ASCII
)
_INTEGERS = {"int": re.compile(r"[+-]?[0-9]+"), "uint": re.compile("[0-9]+")}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_ZONE = re.compile(r"([+-]?)(\d\d):(\d\d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def _bounded(kind: str, value: int) -> int:
    low, high, reason = _BITS[kind]
    if not low <= value <= high:
        raise CelError(reason)
    return UInt(value) if kind == "uint" else value


def _arithmetic(integers: Callable[[int, int], int], doubles: Callable[[float, float], float]) -> Function:
    def run(first: Any, second: Any) -> Any:
        kind = kind_of(first)
        if kind in _BITS:
            return _bounded(kind, integers(int(first), int(second)))
        if kind == "double":
            return doubles(first, second)
        return _timed(integers, first, second)

    return run


def _timed(combine: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    if not {kind_of(first), kind_of(second)} <= {"timestamp", "duration"}:
        raise CelError("no such overload")
    try:
        result = combine(first, second)
    except OverflowError:
        raise CelError("timestamp overflow") from None
    if isinstance(result, timedelta) and abs(result) > _MAX_DURATION:
        raise CelError("duration overflow")
    return result


def _add(first: Any, second: Any) -> Any:
    kind = kind_of(first)
    if kind != kind_of(second) and kind not in ("timestamp", "duration"):
        raise CelError("no such overload")
    if kind in ("string", "bytes"):
        return first + second
    return concatenated(first, second) if kind == "list" else _plus(first, second)


def _quotient(first: int, second: int) -> int:
    if not second:
        raise CelError("division by zero")
    return abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)


def _remainder(first: int, second: int) -> int:
    if not second:
        raise CelError("modulus by zero")
    return int(math.fmod(first, second)) if abs(first) < 1 << 52 else first - second * _quotient(first, second)


def _divided(first: float, second: float) -> float:
    if second:
        return first / second
    return math.nan if not first or first != first else math.copysign(math.inf, first) * math.copysign(1, second)


def _negated(value: Any) -> Any:
    return _bounded("int", -value) if kind_of(value) == "int" else -value


def _indexed(value: Any, index: Any) -> Any:
    if isinstance(value, OptionalValue):
        return optional_member(value, index)
    if isinstance(value, dict):
        if has_key(value, index):
            return value[index]
        raise CelError(f"no such key: {index}")
    if isinstance(value, list) and isinstance(index, int | float) and not isinstance(index, bool):
        if index == int(index) and 0 <= index < len(value):
            return value[int(index)]
        raise CelError(f"index out of bounds: {index}")
    raise CelError("no such overload" if isinstance(value, list) else f"no such key: {index}")


def optional_member(value: Any, key: Any) -> OptionalValue:
    """Return the entry, field or item of a value or of an optional value, absent if there is none."""
    if isinstance(value, OptionalValue):
        if not value.values:
            return NONE
        (value,) = value.values
    if isinstance(value, dict):
        return OptionalValue((value[key],)) if has_key(value, key) else NONE
    if isinstance(value, list) and isinstance(key, int | float) and not isinstance(key, bool):
        return OptionalValue((value[int(key)],)) if key == int(key) and 0 <= key < len(value) else NONE
    raise CelError("no such overload")


def _in(value: Any, container: Any) -> bool:
    if isinstance(container, dict):
        return has_key(container, value)
    if isinstance(container, list):
        return contains(container, value)
    raise CelError("no such overload")


def _failed(value: Any, to: str) -> CelError:
    return CelError(f"type conversion error from '{type_name(value)}' to '{to}'")


def _to_int(kind: str) -> Function:
    def run(value: Any) -> int:
        match value:
            case str():
                if not _INTEGERS[kind].fullmatch(value):
                    raise _failed(value, kind)
                low, high, _ = _BITS[kind]
                if not low <= int(value) <= high:
                    raise _failed(value, kind)
                return _bounded(kind, int(value))
            case datetime():
                return math.floor((value - _EPOCH).total_seconds())
            case timedelta():
                return value // timedelta(microseconds=1) * 1000
            # Bounds are exclusive: as doubles they are those of the next larger type (cel-go: doubleToInt64Checked).
            case float() if not (math.isfinite(value) and _LOWEST[kind] < value < float(_BITS[kind][1])):
                raise CelError(_BITS[kind][2])
            case int() | float():
                return _bounded(kind, int(value))
        raise _failed(value, kind)

    return run


def _to_double(value: Any) -> float:
    try:
        return _parse_double(value) if isinstance(value, str) else float(value)
    except (ValueError, TypeError, OverflowError):
        raise _failed(value, "double") from None


def _parse_double(text: str) -> float:
    """Return the number in a text that Go's ParseFloat accepts: no whitespace, ASCII digits, within the range."""
    if not _DOUBLE.fullmatch(text):
        raise ValueError(text)
    number = float.fromhex(text) if "x" in text.lower() else float(text)
    if math.isinf(number) and "n" not in text.lower():
        raise OverflowError(text)
    return number


def _to_string(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return go_float(value) if math.isfinite(value) else {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
        case datetime():
            text = value.strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".")
            return text + value.isoformat()[-6:].replace("+00:00", "Z")
        case timedelta():
            seconds = Fraction(value // timedelta(microseconds=1), 10**6)
            text = str(int(seconds)) if seconds.denominator == 1 else f"{float(seconds):.6f}".rstrip("0")
            return f"{text}s"
        case CidrValue():
            return f"{value.address}/{value.network.prefixlen}"
    return str(value)


def _to_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value not in _BOOLEANS:
        raise _failed(value, "bool")
    return _BOOLEANS[value]


def to_duration(value: Any) -> timedelta:
    """Return a duration of a text such as 1h30m, or of nanoseconds."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, int):
        return timedelta(microseconds=value / 1000)
    if not is_go_duration(value):
        raise _failed(value, "google.protobuf.Duration")
    total = sum(Fraction(number) * _UNITS[unit] for number, unit in _DURATION_PART.findall(value))
    if total >= 1 << 63:
        raise _failed(value, "google.protobuf.Duration")
    return timedelta(microseconds=float(total / 1000)) * (-1 if value.startswith("-") else 1)


def to_timestamp(value: Any) -> datetime:
    """Return the time of a text in RFC 3339, or of seconds since 1970."""
    if isinstance(value, datetime):
        return value
    try:
        if isinstance(value, int):
            return _EPOCH + timedelta(seconds=value)
        if _TIME.fullmatch(value):
            return datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        pass
    raise _failed(value, "google.protobuf.Timestamp")


def _in_zone(value: datetime, zone: str) -> datetime:
    fixed = _ZONE.fullmatch(zone)
    if fixed:
        shift = timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
        return value.astimezone(UTC) + (-shift if fixed[1] == "-" else shift)
    try:
        return value.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        raise CelError(f"unknown time zone {zone}") from None


def _part(of_time: Callable[[datetime], int], of_duration: Callable[[timedelta], int] | None = None) -> Function:
    def run(value: Any, zone: str = "UTC") -> int:
        if isinstance(value, timedelta):
            if of_duration is None:
                raise CelError("no such overload")
            return of_duration(value)
        return of_time(value.astimezone(UTC) if zone == "UTC" else _in_zone(value, zone))

    return run


def _units(unit: timedelta) -> Callable[[timedelta], int]:
    return lambda value: int(value / unit)


def _size(value: Any) -> int:
    try:
        return len(value)
    except TypeError:
        raise CelError("no such overload") from None


def _type_of(value: Any) -> ExprType:
    if isinstance(value, StructValue):
        return ExprType("struct", value.type_name)
    kind = kind_of(value)
    if kind in ("list", "map", "optional_type"):
        inner = (DYN, DYN) if kind == "map" else (DYN,)
        return ExprType("opaque" if kind == "optional_type" else kind, kind, inner)
    return parse_type(kind)


_plus = _arithmetic(lambda first, second: first + second, lambda first, second: first + second)

OPERATORS: dict[str, Function] = {
    "!_": lambda value: not value,
    "-_": _negated,
    "@in": _in,
    "_==_": equal,
    "_!=_": lambda first, second: not equal(first, second),
    "_<_": less,
    "_>_": lambda first, second: less(second, first),
    "_<=_": lambda first, second: not less(second, first),
    "_>=_": lambda first, second: not less(first, second),
    "_+_": _add,
    "_-_": _arithmetic(lambda first, second: first - second, lambda first, second: first - second),
    "_*_": _arithmetic(lambda first, second: first * second, lambda first, second: first * second),
    "_/_": _arithmetic(_quotient, _divided),
    "_%_": _arithmetic(_remainder, math.fmod),
    "_[_]": _indexed,
    "bool": _to_bool,
    "bytes": _to_bytes,
    "double": _to_double,
    "duration": to_duration,
    "dyn": lambda value: value,
    "int": _to_int("int"),
    "string": _to_string,
    "timestamp": to_timestamp,
    "type": _type_of,
    "uint": _to_int("uint"),
    "size": _size,
    "getDate": _part(lambda time: time.day),
    "getDayOfMonth": _part(lambda time: time.day - 1),
    "getDayOfWeek": _part(lambda time: time.isoweekday() % 7),
    "getDayOfYear": _part(lambda time: time.timetuple().tm_yday - 1),
    "getFullYear": _part(lambda time: time.year),
    "getHours": _part(lambda time: time.hour, _units(timedelta(hours=1))),
    "getMilliseconds": _part(lambda time: time.microsecond // 1000, _units(timedelta(milliseconds=1))),
    "getMinutes": _part(lambda time: time.minute, _units(timedelta(minutes=1))),
    "getMonth": _part(lambda time: time.month - 1),
    "getSeconds": _part(lambda time: time.second, _units(timedelta(seconds=1))),
}
