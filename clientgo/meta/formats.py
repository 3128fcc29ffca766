"""Formats of structural schemas, validated as by the API server; unknown formats accept all values."""

import base64
import binascii
import ipaddress
import re
import uuid
from collections.abc import Callable
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1), "uint32": (0, 2**32 - 1)}
_MAX_FLOAT32 = 3.4028234663852886e38
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_DURATION = re.compile(r"[-+]?((\d+(\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+|[-+]?0")
_LOOSE_DURATION = re.compile(
    r"\d\s*(ns|us|\u00b5s|ms|s|m|h|d|w|(nano|micro|milli|second|minute|hour|day|week)[a-z\u00b5]*)(?![a-z\u00b5])",
    re.IGNORECASE,
)
_LABEL = r"[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?"
_HOSTNAME = re.compile(rf"(?=.{{1,253}}\Z)({_LABEL}|({_LABEL}\.)+[a-zA-Z]{{2,63}})")
_SHORT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONG_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_MAC = re.compile(r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")


def valid_format(name: str, value: Any) -> bool:
    """Report whether a value has the named format."""
    if not name:
        return True
    if isinstance(value, str):
        check = _TEXTS.get(name)
        return check is None or check(value)
    if isinstance(value, int) and name in _RANGES:
        low, high = _RANGES[name]
        return low <= value <= high
    return name != "float" or abs(value) <= _MAX_FLOAT32


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(value: str) -> bool:
        try:
            parse(value)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None


def _is_date_time(value: str) -> bool:
    return _DATE_TIME.fullmatch(value) is not None and _parses(datetime.fromisoformat)(value.upper())


def _is_duration(value: str) -> bool:
    # What Go's time.ParseDuration reads, or any text with a number and a unit in it, such as "2 weeks".
    return _DURATION.fullmatch(value) is not None or _LOOSE_DURATION.search(value) is not None


def _is_uuid(version: int) -> Callable[[str], bool]:
    return lambda value: _parses(uuid.UUID)(value) and uuid.UUID(value).version == version


def _is_uri(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme) or value.startswith("/")


_TEXTS: dict[str, Callable[[str], bool]] = {
    "date-time": _is_date_time,
    "date": _parses(date.fromisoformat),
    "duration": _is_duration,
    "byte": _parses(lambda value: base64.b64decode(value, validate=True)),
    "uri": _is_uri,
    "email": _matches(_EMAIL),
    "hostname": _matches(_HOSTNAME),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": lambda value: "/" in value and _parses(ipaddress.ip_interface)(value),
    "mac": _matches(_MAC),
    "uuid": _parses(uuid.UUID),
    "uuid3": _is_uuid(3),
    "uuid4": _is_uuid(4),
    "uuid5": _is_uuid(5),
    "k8s-short-name": _matches(_SHORT_NAME),
    "k8s-long-name": _matches(_LONG_NAME),
    "hexcolor": _matches(re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")),
    "bsonobjectid": _matches(re.compile(r"[0-9a-fA-F]{24}")),
}
