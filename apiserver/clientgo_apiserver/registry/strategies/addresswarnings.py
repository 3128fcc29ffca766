"""Warnings about IP addresses and networks in forms that are valid but not recommended."""

import ipaddress
from collections.abc import Iterator

from clientgo.internal.hosts import parse_ip
from clientgo_apiserver.api.gotext import quoted_text
from clientgo_apiserver.api.names import without_zeros
from clientgo_apiserver.releases.release import current


def _is_invalid() -> str:
    if current().at_least("1.36"):
        return "is invalid"
    return "will be considered invalid in a future Kubernetes release"


def ip_warnings(text: str, path: str) -> Iterator[str]:
    """Yield the warnings about a valid IP address."""
    plain = without_zeros(text)
    address = parse_ip(plain)
    if address is None:
        return
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if plain != text or mapped:
        standard = quoted_text(str(mapped or address))
        yield f"{path}: non-standard IP address {quoted_text(text)} {_is_invalid()}: use {standard}"
    elif address.version == 6 and str(address) != text:
        canonical = quoted_text(str(address))
        yield f"{path}: IPv6 address {quoted_text(text)} should be in RFC 5952 canonical format ({canonical})"


def cidr_warnings(text: str, path: str) -> Iterator[str]:
    """Yield the warnings about a valid network."""
    plain = without_zeros(text)
    try:
        interface = ipaddress.ip_interface(plain)
    except ValueError:
        return
    mapped = interface.ip.ipv4_mapped if isinstance(interface, ipaddress.IPv6Interface) else None
    if mapped and interface.network.prefixlen >= 96:
        interface = ipaddress.ip_interface(f"{mapped}/{interface.network.prefixlen - 96}")
    network, nonstandard = str(interface.network), plain != text or bool(mapped)
    ambiguous = interface.ip != interface.network.network_address
    if ambiguous:
        single = f"{interface.ip}/{interface.max_prefixlen}"
        choices = f"(should be {quoted_text(network)} or {quoted_text(single)}?)"
        yield f"{path}: CIDR value {quoted_text(text)} is ambiguous in this context {choices}"
    if nonstandard:
        yield f"{path}: non-standard CIDR value {quoted_text(text)} {_is_invalid()}: use {quoted_text(network)}"
    if not ambiguous and not nonstandard and interface.version == 6 and network != text:
        canonical = quoted_text(network)
        yield f"{path}: IPv6 CIDR value {quoted_text(text)} should be in RFC 5952 canonical format ({canonical})"
