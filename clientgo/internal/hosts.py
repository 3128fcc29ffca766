"""IP addresses in host names."""

import ipaddress


def parse_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that `host` is, or None if it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Return True if only this machine is reached, or can connect, at `host`."""
    address = parse_ip(host)
    # A name that begins with 127. may resolve to any address.
    return host == "localhost" if address is None else address.is_loopback
