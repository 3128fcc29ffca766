"""Readers of flags' values, for argparse's `type=`: numbers, durations and addresses, refused in one sentence.

Durations are written as in Go (`15s`, `1m30s`, `500ms`), because the flags of Kubernetes' programs are; a bare number
is seconds.
"""

import ipaddress
import math
import re
from argparse import ArgumentTypeError
from typing import NamedTuple

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h)")


class Address(NamedTuple):
    """Where to listen; an empty host is every interface, port 0 any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            # A name that begins with 127. may lead anywhere.
            return self.host == "localhost"


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None


def positive(text: str) -> int:
    """A whole number of at least 1."""
    number = whole(text)
    if number < 1:
        raise ArgumentTypeError(f"{text} is too small: give 1 or more")
    return number


def natural(text: str) -> int:
    """A whole number of at least 0."""
    number = whole(text)
    if number < 0:
        raise ArgumentTypeError(f"{text} is too small: give 0 or more")
    return number


def amount(text: str) -> float:
    """A finite number of at least 0."""
    try:
        number = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 <= number < math.inf:
        raise ArgumentTypeError(f"{text} is out of range: give 0 or more")
    return number


def seconds(text: str) -> float:
    """A duration of at least 0, in seconds."""
    parts = list(_PART.finditer(text))
    if parts and "".join(part[0] for part in parts) == text:
        return sum(float(part[1]) * _UNITS[part[2]] for part in parts)
    if text[-1:].isdecimal():
        return amount(text)
    raise ArgumentTypeError(f"{text!r} is no duration: give one like 15s, 1m30s or 500ms")


def port(text: str) -> int:
    """A TCP port; 0 is any free one."""
    number = whole(text)
    if not 0 <= number <= 65535:
        raise ArgumentTypeError(f"{text} is no port: give 0 to 65535")
    return number


def address(text: str) -> Address | None:
    """`HOST:PORT` or `:PORT` (every interface), None for `0` (do not listen); IPv6 hosts stand in brackets."""
    if text == "0":
        return None
    host, colon, number = text.rpartition(":")
    if not colon or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise ArgumentTypeError(f"{text!r} is no address: give HOST:PORT, :PORT for every interface, or 0 for none")
    return Address(host.removeprefix("[").removesuffix("]"), port(number))
