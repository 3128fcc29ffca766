"""What goes in and out of the front end: requests, answers and streams, free of any HTTP server."""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl

import msgspec

from clientgo.apiserver.auth.users import ANONYMOUS, User
from clientgo.apiserver.memoize import remembered

JSON = "application/json"
REPEATED = "\n"
"""Parts the values of an impersonation header that came several times: no header has one in it."""
_encode = msgspec.json.Encoder().encode
_TRUE = ("true", "1", "True", "TRUE", "t", "T")


class Query(dict[str, str]):
    """Query parameters by name; the first of a name counts."""

    def flag(self, name: str) -> bool:
        """Whether a boolean parameter is set; any unreadable value is false."""
        return self.get(name) in _TRUE


def parse_query(text: str) -> Query:
    """Read the part of a URL behind the question mark."""
    found = Query()
    if text:
        for name, value in _pairs(text):
            found.setdefault(name, value)
    return found


@remembered(texts=256, longest=256)
def _pairs(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True)


def read_headers(given: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name, which is in lower case; one that came several times has all its values, parted."""
    found: dict[str, str] = {}
    for raw, value in given:
        name, text = raw.decode("latin-1"), value.decode(errors="replace")
        if name in found:
            text = (REPEATED if name.startswith("impersonate-") else ", ").join((found[name], text))
        found[name] = text
    return found


@dataclass(slots=True)
class Request:
    """One request; header names are in lower case. `internal` marks the server's own controllers.

    `user` is known beforehand where a client certificate told it, and in full once the request is authenticated.
    """

    method: str
    path: str
    query: Query = field(default_factory=Query)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # one may be a credential
    body: bytes = b""
    user: User = ANONYMOUS
    internal: bool = False
    source: str = ""  # the address it came from
    warnings: list[str] = field(default_factory=list)
    kept: dict[Any, Any] = field(default_factory=dict)  # what was found out before it was last suspended
    rounds: int = 0  # how often it was suspended


@dataclass(slots=True)
class Response:
    """A whole answer."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: list[tuple[str, str]] = field(default_factory=list)

    def json(self) -> Any:
        """The body, decoded."""
        return msgspec.json.decode(self.body)


class Stream(Protocol):
    """An answer without an end: chunks until it is over or closed. The head of the answer is known at once."""

    status: int
    content_type: str

    def chunks(self) -> AsyncIterator[bytes]:
        """Each chunk as it is ready; ends when the stream's time is up."""

    def close(self) -> None:
        """End the stream soon; chunks not yet taken may be lost."""


def json_response(value: Any, status: int = 200) -> Response:
    """Answer with this value as JSON."""
    return Response(status, _encode(value))


def text_response(text: str, status: int = 200) -> Response:
    """Answer with plain text."""
    return Response(status, text.encode(), "text/plain; charset=utf-8")
