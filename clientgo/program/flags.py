"""Types of flags for argparse: numbers, durations and addresses.

Durations have Go's format (`15s`, `1m30s`, `500ms`) as in Kubernetes' programs; a number without a unit is seconds.
"""

import ipaddress
import math
from argparse import ArgumentTypeError
from typing import NamedTuple

from clientgo.internal.gotext import duration_seconds

_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


class Address(NamedTuple):
    """Address to listen on; an empty host is every interface, port 0 any free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_bool(text: str) -> bool:
    """Parse `true` or `false`, or `yes` or `no`, in any case."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ArgumentTypeError(f"invalid value {text!r}: expected true or false")
    return value


def integer(text: str) -> int:
    """Parse an integer."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"invalid number {text!r}: expected an integer") from None


def finite(text: str) -> float:
    """Parse a finite number."""
    number = _number(text)
    if not math.isfinite(number):
        raise ArgumentTypeError(f"invalid number {text}: must be finite")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"invalid number {text!r}") from None


def positive(text: str) -> int:
    """Parse an integer of at least 1."""
    number = integer(text)
    if number < 1:
        raise ArgumentTypeError(f"invalid number {text}: must be at least 1")
    return number


def natural(text: str) -> int:
    """Parse an integer of at least 0."""
    number = integer(text)
    if number < 0:
        raise ArgumentTypeError(f"invalid number {text}: must be at least 0")
    return number


def amount(text: str) -> float:
    """Parse a finite number of at least 0."""
    number = _number(text)
    if not 0 <= number < math.inf:
        raise ArgumentTypeError(f"invalid number {text}: must be finite and at least 0")
    return number


def seconds(text: str) -> float:
    """Parse a duration of at least 0, in seconds."""
    if text[-1:].isdecimal():
        return amount(text)
    try:
        number = duration_seconds(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    if text.startswith("-"):
        raise ArgumentTypeError(f"invalid duration {text!r}: must be at least 0")
    return number


def interval(text: str) -> float:
    """Parse a duration above 0, in seconds."""
    number = seconds(text)
    if not number:
        raise ArgumentTypeError(f"invalid duration {text!r}: must be above 0")
    return number


def port(text: str) -> int:
    """Parse a TCP port; 0 is any free one."""
    number = integer(text)
    if not 0 <= number <= 65535:
        raise ArgumentTypeError(f"invalid port {text}: must be 0 to 65535")
    return number


def ip_address(text: str) -> str:
    """Parse an IP address of this machine, or `localhost`, which is 127.0.0.1."""
    try:
        return str(ipaddress.ip_address("127.0.0.1" if text == "localhost" else text))
    except ValueError:
        raise ArgumentTypeError(f"invalid address {text!r}: expected an IP address of this machine") from None


def address(text: str) -> Address | None:
    """Parse `HOST:PORT` or `:PORT` (every interface); return None for `0` (do not listen). IPv6 needs brackets."""
    if text == "0":
        return None
    host, colon, number = text.rpartition(":")
    if not colon or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise ArgumentTypeError(
            f"invalid address {text!r}: expected HOST:PORT, :PORT for all interfaces, or 0 for none"
        )
    return Address(host.removeprefix("[").removesuffix("]"), port(number))
