"""Kubernetes' extensions of CEL (quantities, addresses, URLs, versions, formats), and the table of all functions."""

import ipaddress
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs, quote

from clientgo.internal.hosts import parse_ip
from clientgo.meta.quantities import InvalidQuantity, ParsedQuantity
from clientgo_apiserver.api.formats import text_format
from clientgo_apiserver.api.gotext import QUANTITY_ERRORS
from clientgo_apiserver.api.gourls import parse_request_uri
from clientgo_apiserver.api.names import (
    label_1035_errors,
    label_errors,
    label_value_errors,
    qualified_errors,
    subdomain_errors,
)
from clientgo_apiserver.cel.functions.authorization import AUTHORIZATION
from clientgo_apiserver.cel.functions.lists import LISTS
from clientgo_apiserver.cel.functions.operators import OPERATORS
from clientgo_apiserver.cel.functions.strings import STRINGS
from clientgo_apiserver.cel.values import (
    NONE,
    AnyAddress,
    CelError,
    CidrValue,
    NamedFormat,
    OptionalValue,
    QuantityValue,
    SemverValue,
    UrlValue,
)
from clientgo_apiserver.releases.release import current

SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)


def _quantity(text: str) -> QuantityValue:
    try:
        quantity = ParsedQuantity(text)
    except InvalidQuantity as error:
        raise CelError(QUANTITY_ERRORS[error.part]) from None
    return QuantityValue(quantity.value, quantity.integer)


_BIG = 10**18
"""Amount from which on Kubernetes represents quantities by big numbers."""


def _added(first: QuantityValue, second: QuantityValue | int, sign: int = 1) -> QuantityValue:
    other = second if isinstance(second, QuantityValue) else QuantityValue(Fraction(second))
    amount = first.amount + sign * other.amount
    if abs(first.amount) >= _BIG and not current().at_least("1.37"):
        first.amount = amount  # until 1.36, a sum shares the big number of its receiver
        return first
    return QuantityValue(amount, first.integer and other.integer and abs(amount) < 1 << 63)


def _as_integer(value: QuantityValue) -> int:
    if not value.integer:
        raise CelError("cannot convert value to integer")
    return int(value.amount)


def _sign(number: Any) -> int:
    return int(number > 0) - int(number < 0)


def _ordered(value: Any) -> Any:
    return value.amount if isinstance(value, QuantityValue) else value.order


def _compared(first: Any, second: Any) -> int:
    return int(_ordered(first) > _ordered(second)) - int(_ordered(first) < _ordered(second))


def _semver(text: str, normalize: bool = False) -> SemverValue:
    if normalize:
        text = text.removeprefix("v")
        core, mark, suffix = re.fullmatch(r"([^-+]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
        numbers_in_core = [re.sub(r"^0+(?=\d)", "", part) for part in core.split(".")]
        text = ".".join([*numbers_in_core, *["0"] * (3 - len(numbers_in_core))]) + mark + suffix
    match = SEMVER.fullmatch(text)
    if match is None:
        raise CelError(_semver_error(text))
    numbers = int(match[1]), int(match[2]), int(match[3])
    before = match[4].split(".") if match[4] else []
    # A release follows its prereleases; numbers precede words.
    order = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in before)
    return SemverValue(numbers, (numbers, not before, order))


def _semver_error(text: str) -> str:
    elements = text.split(".", 2)
    if len(elements) != 3:
        return "No Major.Minor.Patch elements found"
    elements[2] = re.split("[-+]", elements[2])[0]
    for name, part in zip(("major", "minor", "patch"), elements, strict=True):
        if not re.fullmatch(r"\d+", part, re.ASCII):
            return f'Invalid character(s) found in {name} number "{part}"'
        if part != "0" and part.startswith("0"):
            return f'{name.capitalize()} number must not contain leading zeroes "{part}"'
    return f"Invalid character(s) found in {text!r}"


def _ip(text: Any) -> AnyAddress:
    if isinstance(text, CidrValue):
        return text.address
    address = parse_ip(text)
    if address is None:
        reason = f'ParseAddr("{text}"): unable to parse IP'
        raise CelError(f'IP Address "{text}" parse error during conversion from string: {reason}')
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise CelError(f'IP address "{text}" with zone value is not allowed')
    return _unmapped(address, text)


def _unmapped(address: AnyAddress, text: str) -> AnyAddress:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def _cidr(text: str) -> CidrValue:
    address, slash, length = text.partition("/")
    try:
        if not slash or not re.fullmatch(r"0|[1-9]\d*", length) or "%" in address:
            raise ValueError
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        reason = f"netip.ParsePrefix(\"{text}\"): no '/'" if not slash else f'netip.ParsePrefix("{text}"): bad prefix'
        failure = "network address parse error during conversion from string"
        raise CelError(f"{failure}: {failure}: {reason}") from None
    return CidrValue(_unmapped(ipaddress.ip_address(address), text), network)


def _contains_cidr(outer: CidrValue, inner: Any) -> bool:
    inner = _cidr(inner) if isinstance(inner, str) else inner
    same = inner.network.version == outer.network.version
    return same and inner.address in outer.network and inner.network.prefixlen >= outer.network.prefixlen


def _url(text: str) -> UrlValue:
    try:
        parsed = parse_request_uri(text)
    except ValueError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None
    return UrlValue(parsed.scheme, parsed.host.rpartition("@")[2], parsed.path.partition("#")[0], parsed.query)


def _hostname(url: UrlValue) -> str:
    if url.host.startswith("["):
        return url.host[1:].partition("]")[0]
    return url.host.rpartition(":")[0] if ":" in url.host else url.host


def _port(url: UrlValue) -> str:
    return url.host.rpartition("]")[2].partition(":")[2]


def _parses(parse: Callable[..., object]) -> Callable[..., bool]:
    def run(*args: Any) -> bool:
        try:
            parse(*args)
        except CelError:
            return False
        return True

    return run


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return a check of generateName, whose last character may be a dash."""
    return lambda text: check(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


def _plain(name: str, reason: str) -> Callable[[str], list[str]]:
    check = text_format(name)
    return lambda text: [reason] if check is not None and not check(text) else []


def _uri_errors(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except ValueError as error:
        return [str(error)]
    return []


_FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": label_errors,
    "dns1123Subdomain": subdomain_errors,
    "dns1035Label": label_1035_errors,
    "qualifiedName": qualified_errors,
    "dns1123LabelPrefix": _prefix(label_errors),
    "dns1123SubdomainPrefix": _prefix(subdomain_errors),
    "dns1035LabelPrefix": _prefix(label_1035_errors),
    "labelValue": label_value_errors,
    "uri": _uri_errors,
    "uuid": _plain("uuid", "does not match the UUID format"),
    "byte": _plain("byte", "invalid base64"),
    "date": _plain("date", "invalid date"),
    "datetime": _plain("date-time", "invalid datetime"),
}
_NAMED = {name: NamedFormat(name, check) for name, check in _FORMATS.items()}


def _validate(form: NamedFormat, text: str) -> OptionalValue:
    errors = form.check(text)
    return OptionalValue((errors,)) if errors else NONE


def _constant(form: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: form


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **OPERATORS,
    **STRINGS,
    **LISTS,
    **AUTHORIZATION,
    **{f"format.{name}": _constant(form) for name, form in _NAMED.items()},
    "add": _added,
    "asApproximateFloat": lambda value: float(value.amount),
    "asInteger": _as_integer,
    "cidr": _cidr,
    "compareTo": _compared,
    "containsCIDR": _contains_cidr,
    "containsIP": lambda outer, inner: (_ip(inner) if isinstance(inner, str) else inner) in outer.network,
    "family": lambda address: address.version,
    "format.named": lambda name: OptionalValue((_NAMED[name],)) if name in _NAMED else NONE,
    "getEscapedPath": lambda url: quote(url.path, safe="/%$&+,:;=@!'()*~"),
    "getHost": lambda url: url.host,
    "getHostname": _hostname,
    "getPort": _port,
    "getQuery": lambda url: parse_qs(url.query, keep_blank_values=True),
    "getScheme": lambda url: url.scheme.lower(),
    "ip": _ip,
    "ip.isCanonical": lambda text: str(_ip(text)) == text,
    "isCIDR": _parses(_cidr),
    "isGlobalUnicast": lambda address: (
        not (address.is_multicast or address.is_unspecified or address.is_loopback or address.is_link_local)
        and str(address) != "255.255.255.255"  # the broadcast address
    ),
    "isGreaterThan": lambda first, second: _ordered(first) > _ordered(second),
    "isIP": _parses(_ip),
    "isInteger": lambda value: value.integer,
    "isLessThan": lambda first, second: _ordered(first) < _ordered(second),
    "isLinkLocalMulticast": lambda address: str(address).lower().startswith(("224.0.0.", "ff02:")),
    "isLinkLocalUnicast": lambda address: address.is_link_local,
    "isLoopback": lambda address: address.is_loopback,
    "isQuantity": _parses(_quantity),
    "isSemver": _parses(_semver),
    "isURL": _parses(_url),
    "isUnspecified": lambda address: address.is_unspecified,
    "major": lambda version: version.numbers[0],
    "masked": lambda cidr: CidrValue(cidr.network.network_address, cidr.network),
    "minor": lambda version: version.numbers[1],
    "patch": lambda version: version.numbers[2],
    "prefixLength": lambda cidr: cidr.network.prefixlen,
    "quantity": _quantity,
    "semver": _semver,
    "sign": lambda value: _sign(value.amount),
    "sub": lambda first, second: _added(first, second, -1),
    "url": _url,
    "validate": _validate,
}
