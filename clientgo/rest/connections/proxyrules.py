"""Proxy selection by the rules of Go's net/http: proxy-url, HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Pure."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from clientgo.errors import ConfigError
from clientgo.internal.hosts import is_loopback, parse_ip
from clientgo.log import register_secret
from clientgo.rest.connections.http1 import is_header_value

SOCKS = ("socks5", "socks5h")
"""Schemes of SOCKS proxies."""


def proxy_for(server: str, explicit: str, environ: Mapping[str, str]) -> str:
    """Return the URL of the proxy for the URL `server`; empty for none.

    An `explicit` one (a kubeconfig's proxy-url) takes precedence; else HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY
    matches the server or it is this machine.

    Raises:
        ConfigError: the URL does not start with http://, https:// or socks5://, or is invalid.
    """
    server_url = urlsplit(server)
    host, port = server_url.hostname or "", server_url.port or (443 if server_url.scheme == "https" else 80)
    chosen = explicit or _from_environment(server_url.scheme, host, port, environ)
    if not chosen:
        return ""
    address = chosen if "://" in chosen else f"http://{chosen}"
    if not _usable(address):
        raise ConfigError(f"invalid proxy URL {without_password(address)}: expected http://, https:// or socks5://")
    return address


def _usable(address: str) -> bool:
    try:
        split = urlsplit(address)
    except ValueError:
        return False
    return split.scheme in ("http", "https", *SOCKS) and bool(split.hostname) and is_header_value(address)


def _from_environment(scheme: str, host: str, port: int, environ: Mapping[str, str]) -> str:
    if is_loopback(host) or _excluded(host, port, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return ""
    name = f"{scheme}_proxy"
    return environ.get(name) or environ.get(name.upper()) or ""


def _excluded(host: str, port: int, no_proxy: str) -> bool:
    entries = [entry.strip().lower() for entry in no_proxy.split(",") if entry.strip()]
    return any(_names(entry, host.lower(), port) for entry in entries)


def _names(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    address = parse_ip(host)
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, colon, digits = entry.rpartition(":")
    if colon and digits.isdigit() and ":" not in name.strip("[]").replace("::", ""):
        if int(digits) != port:
            return False
        entry = name
    if address is not None:
        return parse_ip(entry.strip("[]")) == address
    entry = entry.removeprefix("*")
    return host.endswith(entry) if entry.startswith(".") else host == entry or host.endswith(f".{entry}")


def user_of(url: str) -> tuple[str, str] | None:
    """Return the user and password in a proxy's URL, which log lines do not show from then on; None without a user."""
    address = urlsplit(url)
    if not address.username:
        return None
    password = unquote(address.password or "")
    register_secret(password)
    return unquote(address.username), password


def without_password(url: str) -> str:
    """Return a proxy's URL without its user and password, for messages."""
    scheme, mark, location = url.partition("://")
    return f"{scheme}{mark}{location.rpartition('@')[2]}"
