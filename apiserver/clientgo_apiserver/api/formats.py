"""Formats of strings in structural schemas, validated as by the API server."""

import ipaddress
import re
from collections.abc import Callable
from datetime import date

from clientgo.internal.gotext import duration_seconds
from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.gourls import parse_request_uri

_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d", re.ASCII)
_CLOCK = lazy_pattern(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII)
_AMOUNT = lazy_pattern(r"\d\s*([A-Za-z\u00b5]+)", re.ASCII)
_UNIT = lazy_pattern(r"(ns|us|\u00b5s|ms|s|m|h|hr|d|w|wk)|(nano|micro|milli|sec|min|hour|day|week).*")
_NODE = r"([^\W_]|[$+<=>^`|~])"  # letters, digits and symbols
_HOSTNAME = lazy_pattern(
    rf"(?=.{{1,255}}\Z)({_NODE}(-?{_NODE}{{0,62}})?|({_NODE}(({_NODE}|-){{0,61}}{_NODE})?\.)+[^\W\d_]{{2,63}})"
)
_NUMBER = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_CARD = r"4\d{12}(\d{3})?|5[1-5]\d{14}|6(011|5\d\d)\d{12}|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11}"
_MAC = r"([0-9a-f]{{2}}[:-]){{{0}}}[0-9a-f]{{2}}|([0-9a-f]{{4}}\.){{{1}}}[0-9a-f]{{4}}|[0-9a-f]{{{2}}}"
_UUID = "[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{0}-?{1}-?[0-9a-f]{{12}}"
_ANY_FOUR = "[0-9a-f]{4}"


def text_format(name: str) -> Callable[[str], bool] | None:
    """Return the check of a format of strings, or None if the API server does not know it; dashes do not matter."""
    return _TEXTS.get(name.replace("-", ""))


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return check


def _matches(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    compiled = lazy_pattern(pattern, flags | re.ASCII)
    return lambda value: compiled.fullmatch(value) is not None


def _is_date(value: str) -> bool:
    # Go has a year 0, which is a leap year.
    return _DATE.fullmatch(value) is not None and _parses(date.fromisoformat)(re.sub("^0000", "2000", value))


def _is_date_time(value: str) -> bool:
    day, _, clock = value.lower().partition("t")
    return _is_date(day) and _CLOCK.fullmatch(clock) is not None


def is_go_duration(value: str) -> bool:
    """Return whether Go's time.ParseDuration reads the text, such as 1h30m."""
    return _parses(duration_seconds)(value)


def _is_duration(value: str) -> bool:
    # A duration of Go, or any text with a number and a unit in it, such as "2 weeks".
    units = (unit.lower() for unit in _AMOUNT.findall(value))
    return is_go_duration(value) or any(map(_UNIT.fullmatch, units))


def _is_uuid(version: str) -> Callable[[str], bool]:
    variant = "[89ab][0-9a-f]{3}" if version in "45" else _ANY_FOUR
    return _matches(_UUID.format(f"{version}[0-9a-f]{{3}}", variant), re.IGNORECASE)


def _is_email(value: str) -> bool:
    named = re.fullmatch(r"[^<>]*<([^<>]+)>", value)
    return re.fullmatch(r"[^@\s]+@[^@\s]+", named[1] if named else value) is not None


def _is_hostname(value: str) -> bool:
    return _HOSTNAME.fullmatch(value) is not None and all(len(part) <= 63 for part in value.split("."))


def _sloppy(address: str) -> str:
    """Return an address without leading zeros in the parts of IPv4."""
    return re.sub(r"(?<![0-9a-fA-F:])0+(?=\d)", "", address) if "." in address else address


def _is_cidr(value: str) -> bool:
    return value.rpartition("/")[2].isdecimal() and "/" in value and _parses(ipaddress.ip_interface)(_sloppy(value))


def _is_mac(value: str) -> bool:
    dashes = "-" in value and ":" in value
    return not dashes and any(_matches(_MAC.format(n - 1, n // 2 - 1, n * 2), re.IGNORECASE)(value) for n in (6, 8, 20))


def _is_isbn10(value: str) -> bool:
    digits = re.sub(r"[\s-]+", "", value)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum(weight * ("0123456789X".index(digit)) for weight, digit in enumerate(digits, 1)) % 11 == 0


def _is_isbn13(value: str) -> bool:
    digits = re.sub(r"[\s-]+", "", value)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum(int(digit) * (1, 3)[index % 2] for index, digit in enumerate(digits)) % 10 == 0


def _is_card(value: str) -> bool:
    digits = re.sub("[^0-9]+", "", value)
    if not re.fullmatch(_CARD, digits):
        return False
    doubled = (int(digit) * (1, 2)[index % 2] for index, digit in enumerate(reversed(digits)))
    return sum(amount % 10 + amount // 10 for amount in doubled) % 10 == 0


_TEXTS: dict[str, Callable[[str], bool]] = {
    "datetime": _is_date_time,
    "date": _is_date,
    "duration": _is_duration,
    "byte": _matches(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "uri": _parses(parse_request_uri),
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": lambda value: _parses(ipaddress.IPv4Address)(_sloppy(value)),
    "ipv6": lambda value: "%" not in value and _parses(ipaddress.IPv6Address)(value),
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _matches(_UUID.format(_ANY_FOUR, _ANY_FOUR), re.IGNORECASE),
    "uuid3": _is_uuid("3"),
    "uuid4": _is_uuid("4"),
    "uuid5": _is_uuid("5"),
    "isbn": lambda value: _is_isbn10(value) or _is_isbn13(value),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_card,
    "ssn": lambda value: len(value) == len("123-45-6789") and _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}")(value),
    "hexcolor": _matches(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matches(rf"rgb\(\s*{_NUMBER}\s*,\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\)"),
    "password": lambda _: True,
    "bsonobjectid": _matches(r"[0-9a-fA-F]{24}"),
    "k8sshortname": _matches(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"),
    "k8slongname": _matches(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"),
}
