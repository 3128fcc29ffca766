"""URLs as Go's net/url reads them in requests, by whose rules CEL and the format `uri` decide."""

import re
from typing import NamedTuple

import msgspec

from clientgo.internal.patterns import lazy_pattern

_SCHEME = lazy_pattern(r"([a-zA-Z][a-zA-Z0-9+.-]*):(.*)", re.ASCII | re.DOTALL)
_ESCAPE = lazy_pattern(r"%(?![0-9a-fA-F]{2}).{0,2}", re.DOTALL)
_HOST_ESCAPE = lazy_pattern(r"%(?!25)[0-7][0-9a-fA-F]")  # of a character that a host contains as it is, or not at all
_NO_HOST = lazy_pattern(r"[\x00-\x20\\^`{|}%/?#@\x7f]")
_PORT = lazy_pattern(r"(?::[0-9]*)?", re.ASCII)
_USER = lazy_pattern(r"[a-zA-Z0-9._~:!$&'()*+,;=%@-]*", re.ASCII)


class GoUrl(NamedTuple):
    """A URL; the path and the query are still escaped."""

    scheme: str
    host: str
    path: str
    query: str


def parse_request_uri(text: str) -> GoUrl:
    """Return the parts of an absolute URL or path (Go: ParseRequestURI); a fragment is a part of the path.

    Raises:
        ValueError: it is invalid; in Go's words.
    """
    try:
        return _parsed(text)
    except ValueError as error:
        raise ValueError(f"parse {msgspec.json.encode(text).decode()}: {error}") from None


def _parsed(text: str) -> GoUrl:
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    match = _SCHEME.fullmatch(text)
    scheme, remainder = (match[1].lower(), match[2]) if match is not None else ("", text)
    remainder, _, query = remainder.partition("?")
    host = ""
    if not remainder.startswith("/"):
        if not scheme and text != "*":
            raise ValueError("invalid URI for request")
        return GoUrl(scheme, "", remainder if text == "*" else "", query)  # opaque, such as mailto:a@b
    if scheme and remainder.startswith("//"):
        authority, slash, path = remainder[2:].partition("/")
        host, remainder = _host(authority), slash + path
    _check_escapes(remainder)
    return GoUrl(scheme, host, remainder, query)


def _host(authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at and _USER.fullmatch(user) is None:
        raise ValueError("net/url: invalid userinfo")
    _check_escapes(user)
    address, bracket, port = host.rpartition("]") if host.startswith("[") else ("", "", host)
    if host.startswith("[") and not bracket:
        raise ValueError("missing ']' in host")
    if not bracket:
        address, colon, port = host.rpartition(":")
        address, port = (address, colon + port) if colon else (host, "")
    if _PORT.fullmatch(port) is None:
        raise ValueError(f"invalid port {msgspec.json.encode(port).decode()} after host")
    _check_escapes(address)
    if not bracket and (match := _HOST_ESCAPE.search(address)):
        raise ValueError(f'invalid URL escape "{match[0]}"')
    plain = re.sub("%[0-9a-fA-F]{2}", "", address)
    if match := _NO_HOST.search(plain):
        raise ValueError(f"invalid character {msgspec.json.encode(match[0]).decode()} in host name")
    return host


def _check_escapes(text: str) -> None:
    if match := _ESCAPE.search(text):
        raise ValueError(f"invalid URL escape {msgspec.json.encode(match[0]).decode()}")
