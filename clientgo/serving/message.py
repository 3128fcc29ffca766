"""HTTP/1.1 requests and responses as values.

Parsing is strict, because requests may come from anyone: a head that two programs could interpret differently (a folded
line, two lengths, a chunked body) is rejected.
"""

import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from urllib.parse import parse_qs, unquote

from clientgo.clock import SYSTEM_CLOCK, utc
from clientgo.errors import Restorable

PLAIN = "text/plain; charset=utf-8"
JSON = "application/json"

_START = re.compile(rb"([A-Z]{1,16}) ([!-~]{1,8192}) HTTP/1\.([01])")
_HEADER_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(rb"[\t -~\x80-\xff]*")
_ONCE = frozenset({"host", "content-length", "authorization"})
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class RejectedRequest(Restorable, Exception):
    """The request is invalid; `status` and the message are the response, after which the connection ends."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Response:
    """Response of a route; `content_type` is sent unchanged."""

    status: int = 200
    body: bytes | str = b""
    content_type: str = PLAIN
    headers: Mapping[str, str] = field(default_factory=dict)

    def with_header(self, name: str, value: str) -> "Response":
        """Return the response with an additional header."""
        return replace(self, headers={**self.headers, name: value})


def _close(sock: socket.socket, received: bytes) -> None:
    """Send nothing."""


@dataclass(frozen=True, slots=True)
class Takeover(Response):
    """Response that `serve` sends itself, for example a stream; the default sends none. The connection ends with it.

    `serve` gets the socket, whose methods block, and the bytes that were received after the request. It has to end with
    the scopes of its thread. Not over TLS.
    """

    serve: Callable[[socket.socket, bytes], object] = _close


@dataclass(frozen=True, slots=True)
class ServingRequest:
    """Request: header names are lower case, `path` is decoded, `peer` is the client's address."""

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # not in repr: may contain credentials
    body: bytes = field(default=b"", repr=False)
    peer: str = ""
    keep_alive: bool = False
    target: str = field(default="", repr=False)
    """Path and query as they were sent."""

    def first(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter."""
        return self.query.get(name, [default])[0]

    @property
    def content_length(self) -> int:
        """Length of the body in bytes."""
        return int(self.headers.get("content-length", "0"))


def parse_head(head: bytes, *, peer: str = "") -> ServingRequest:
    """Parse the head of a request, without its empty line.

    Raises:
        RejectedRequest: it is not HTTP/1.x, or is ambiguous.
    """
    start, *lines = head.split(b"\r\n")
    match = _START.fullmatch(start)
    if match is None:
        raise RejectedRequest(400, "malformed request line")
    headers = _headers(lines)
    minor = int(match[3])
    if minor and "host" not in headers:
        raise RejectedRequest(400, "the request has no Host header")
    if "transfer-encoding" in headers:
        raise RejectedRequest(501, "chunked bodies are not supported; send a Content-Length")
    if not re.fullmatch("[0-9]{1,10}", headers.get("content-length", "0")):
        raise RejectedRequest(400, "invalid Content-Length")
    target = match[2].decode("ascii")
    path, query = _target(target)
    option = headers.get("connection", "").lower()
    keep_alive = "close" not in option if minor else "keep-alive" in option
    return ServingRequest(match[1].decode("ascii"), path, query, headers, b"", peer, keep_alive, target)


def render(response: Response, *, keep_alive: bool, with_body: bool = True) -> bytes:
    """Return the bytes of a response; without its body for HEAD, but with its length."""
    body = response.body.encode() if isinstance(response.body, str) else response.body
    lines = [
        f"HTTP/1.1 {response.status} {_phrase(response.status)}",
        f"Date: {http_date(utc(SYSTEM_CLOCK))}",
        f"Content-Type: {response.content_type}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-cache, private",
        # A browser must not interpret text with object names as HTML.
        "X-Content-Type-Options: nosniff",
        f"Connection: {'keep-alive' if keep_alive else 'close'}",
        *(f"{name}: {value}" for name, value in response.headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + (body if with_body else b"")


def http_date(at: datetime) -> str:
    """Return a UTC time in HTTP's format (RFC 9110, 5.6.7), in English for any locale."""
    # Not email.utils, which loads seven modules.
    return f"{_DAYS[at.weekday()]}, {at:%d} {_MONTHS[at.month - 1]} {at:%Y %H:%M:%S} GMT"


def _headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, list[str]] = {}
    for line in lines:
        before, colon, after = line.partition(b":")
        # The spaces around the value are stripped by a method: a pattern with two optional ends takes cubic time.
        if not (colon and _HEADER_NAME.fullmatch(before) and _HEADER_VALUE.fullmatch(after)):
            raise RejectedRequest(400, "malformed header line")
        name, value = before.decode("ascii").lower(), after.strip(b" \t").decode("latin-1")
        if name in headers and name in _ONCE:
            raise RejectedRequest(400, f"duplicate header {name}")
        headers.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in headers.items()}


def _target(target: str) -> tuple[str, dict[str, list[str]]]:
    if target.startswith(("http://", "https://")):
        target = (
            "/" + target.split("/", 3)[3] if target.count("/") > 2 else "/"
        )  # as proxies write it (RFC 9112, 3.2.2)
    path, _, query = target.partition("?")
    if not path.startswith("/"):
        raise RejectedRequest(400, "the request target must be a path")
    try:
        return unquote(path), parse_qs(query, keep_blank_values=True, max_num_fields=100)
    except ValueError as error:
        raise RejectedRequest(400, "the request has too many query parameters") from error


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
