"""Redirects of reads, followed within the server's own address (Go's net/http follows ten)."""

from collections.abc import Mapping
from urllib.parse import SplitResult, urljoin, urlsplit

MAX_REDIRECTS = 10

_STATUSES = frozenset((301, 302, 303, 307, 308))
_PORTS = {"http": 80, "https": 443}


def redirect_target(server: str, target: str, status: int, headers: Mapping[str, str]) -> str | None:
    """Return the target, below the server's address, that an answer to `target` redirects to.

    None if it is no redirect, or leads elsewhere: the request carries credentials that only this server may see.
    """
    location = headers.get("location", "") if status in _STATUSES else ""
    if not location or not location.isascii() or not location.isprintable() or " " in location:
        return None
    base = urlsplit(server)
    try:
        found = urlsplit(urljoin(server + target, location))
        same = _origin(found) == _origin(base)
    except ValueError:
        return None
    path = found.path.removeprefix(base.path.rstrip("/"))
    if not same or not path.startswith("/") or (path == found.path and base.path.rstrip("/")):
        return None
    return f"{path}?{found.query}" if found.query else path


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or _PORTS.get(url.scheme)
