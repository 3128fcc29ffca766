"""URLs below the server's address: paths of objects, query strings, and redirects within that address.

Pure, and quick for plain names.
"""

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, quote, urlencode, urljoin, urlsplit

from clientgo.errors import BadRequest
from clientgo.rest.request import Request

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_:~-][A-Za-z0-9._:~-]*").fullmatch
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9._~-]*").fullmatch
_SURROGATE = re.compile("[\ud800-\udfff]").search
_NEEDS_NAME = frozenset({"get", "update", "patch", "apply", "delete"})


def target_of(request: Request) -> str:
    """Return the path and query of a request.

    Raises:
        BadRequest: a required name is missing, or a name is not a valid path segment. Deleting an empty name would
            delete the collection.
    """
    name, namespace = request.name, request.namespace
    if not name and request.verb in _NEEDS_NAME:
        raise BadRequest("resource name may not be empty")
    path = request.path
    if not ((not name or _PLAIN_NAME(name)) and (not namespace or _PLAIN_NAME(namespace))):
        _check_segment("name", name)
        _check_segment("namespace", namespace)
        path = quote(path, safe="/:~!$&'()*+,;=@")
    query = request.query
    if request.verb == "watch" and "watch" not in query:
        query = {**query, "watch": "true"}
    return f"{path}?{query_string(query)}" if query else path


def query_string(query: Mapping[str, str]) -> str:
    """Return the encoded parameters."""
    plain = [f"{key}={value}" for key, value in query.items() if _PLAIN_VALUE(value)]
    return "&".join(plain) if len(plain) == len(query) else urlencode(query)


def seconds_text(seconds: float) -> str:
    """Return a duration in the API's format: plain digits and `s`, never an exponent."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


def _check_segment(what: str, value: str) -> None:
    # The names that apimachinery's IsValidPathSegmentName rejects.
    if value in (".", "..") or "/" in value or "%" in value:
        raise BadRequest(f"invalid resource {what} {value!r}: may not be '.' or '..', nor contain '/' or '%'")
    if _SURROGATE(value):
        raise BadRequest(f"invalid resource {what} {value!r}: not valid Unicode")


_STATUSES = frozenset((301, 302, 303, 307, 308))
_PORTS = {"http": 80, "https": 443}


def redirect_target(server: str, target: str, status: int, headers: Mapping[str, str]) -> str | None:
    """Return the target, below the server's address, of a redirect.

    None for other responses, and for redirects to other hosts: only this server may see the request's credentials.
    """
    location = headers.get("location", "") if status in _STATUSES else ""
    if not location or not location.isascii() or not location.isprintable() or " " in location:
        return None
    base = urlsplit(server)
    try:
        target_url = urlsplit(urljoin(server + target, location))
        same = _origin(target_url) == _origin(base)
    except ValueError:
        return None
    path = target_url.path.removeprefix(base.path.rstrip("/"))
    if not same or not path.startswith("/") or (path == target_url.path and base.path.rstrip("/")):
        return None
    return f"{path}?{target_url.query}" if target_url.query else path


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or _PORTS.get(url.scheme)
