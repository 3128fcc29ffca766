"""Requests, responses and streams, independent of any HTTP server: paths, queries, headers and content negotiation."""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from itertools import accumulate, islice
from typing import Any, Literal, Protocol, TypeVar
from unicodedata import category
from urllib.parse import parse_qsl

import msgspec

from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.jsonvalues import html_escaped
from clientgo.meta.yamlio import to_yaml
from clientgo_apiserver.api.largejson import decode_fields, decode_items
from clientgo_apiserver.api.limits import Budget
from clientgo_apiserver.api.status import NO_SNIFFING, ApiFailure, not_acceptable, unavailable_type
from clientgo_apiserver.api.users import ANONYMOUS, User

R = TypeVar("R")

_MAX_WARNINGS, _MAX_LONG_WARNING = 4096, 256
"""Characters of all warnings of a response, and of each one if they are more (kube-apiserver's warning recorder)."""


def cached(*, size: int, longest: int) -> Callable[[Callable[[str], R]], Callable[[str], R]]:
    """Cache a function of one string for up to `size` strings of at most `longest` characters."""

    def of(work: Callable[[str], R]) -> Callable[[str], R]:
        cache = lru_cache(maxsize=size)(work)

        @wraps(work)
        def answer(text: str) -> R:
            return cache(text) if len(text) <= longest else work(text)

        return answer

    return of


@dataclass(frozen=True, slots=True)
class Target:
    """Target of a resource path; absent parts are empty."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str
    subresource: str
    watch: bool = False
    has_more: bool = False  # segments after the subresource


# Each request parses its path several times, and creations of one kind share it.
@cached(size=1024, longest=512)
def parse_path(path: str) -> Target | None:
    """Parse a resource path; return None for any other path (discovery, health, invalid)."""
    segments = path.strip("/").split("/")
    if segments[0] == "api" and len(segments) > 2:
        group, version, remaining = "", segments[1], segments[2:]
    elif segments[0] == "apis" and len(segments) > 3:
        group, version, remaining = segments[1], segments[2], segments[3:]
    else:
        return None
    if segments[0] != path.split("/")[1]:
        return None
    if remaining[:2] == ["namespaces", ""] and len(remaining) > 2:
        remaining = remaining[2:]  # an empty namespace is all of them
    watch = remaining[0] == "watch" and len(remaining) > 1
    if watch:
        remaining = remaining[1:]
    if "" in remaining:
        return None
    namespace = ""
    of_namespace = (
        group == "" and len(remaining) == 3 and remaining[2] in ("status", "finalize")
    )  # subresources of namespaces
    if remaining[0] == "namespaces" and len(remaining) > 2 and not of_namespace:
        namespace, remaining = remaining[1], remaining[2:]
    has_more = len(remaining) > 3 and remaining[2] != "proxy"
    remaining = [*remaining, "", ""]
    return Target(group, version, namespace, remaining[0], remaining[1], remaining[2], watch, has_more)


JSON = "application/json"
PLAIN_TEXT = "text/plain; charset=utf-8"
REPEATED = "\n"
"""Separator of the values of a repeated impersonation header: no header value contains it."""
_encode = msgspec.json.Encoder().encode


class Query(dict[str, str]):
    """Query parameters by name; the first of a name counts, and `pairs` has all."""

    pairs: Sequence[tuple[str, str]] = ()

    def values_of(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return [value for other, value in self.pairs if other == name]

    def flag(self, name: str) -> bool:
        """Return whether a boolean parameter is given and neither 0 nor false, as a real server reads it."""
        return self.get(name, "0").lower() not in ("0", "false")


def parse_query(text: str) -> Query:
    """Parse the query of a URL."""
    query = Query()
    if text:
        query.pairs = _pairs(text)
        for name, value in query.pairs:
            query.setdefault(name, value)
    return query


@cached(size=256, longest=256)
def _pairs(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True)


def read_headers(raw_headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers by lower-case name; the values of repeated headers are joined."""
    headers: dict[str, str] = {}
    for raw, value in raw_headers:
        name, text = raw.decode("latin-1"), value.decode(errors="replace")
        if name in headers:
            text = (REPEATED if name.startswith("impersonate-") else ", ").join((headers[name], text))
        headers[name] = text
    return headers


@dataclass(slots=True)
class HTTPRequest:
    """One request; header names are in lower case. `internal` marks the server's own controllers.

    `user` is set before authentication if a client certificate identifies it.
    """

    method: str
    path: str
    query: Query = field(default_factory=Query)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # may contain credentials
    body: bytes = b""
    user: User = ANONYMOUS
    internal: bool = False
    webhooks: Literal["now", "later", "never"] = "now"  # whether their calls are awaited; see `Internal`
    value: Any = None  # the decoded body of an internal request, which has no other
    derived: bool = False  # the value is complete and valid, because it was made of a stored object
    collects: bool = False  # the deletion is of one object of a collection, whose names a request does not have
    served: bool = False  # by an event loop, which must not wait for one request
    upgradable: bool = False  # to a WebSocket, which the connection then is
    source: str = ""  # address of the client
    warnings: list[str] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)
    audit_id: str = ""
    annotations: dict[str, str] = field(default_factory=dict)  # of its audit event


@dataclass(slots=True)
class HTTPResponse:
    """A complete response."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: list[tuple[str, str]] = field(default_factory=list)
    content: Any = None  # the stored object whose JSON is the body, or the body of an internal request

    def json(self) -> Any:
        """Decode the body."""
        return msgspec.json.decode(self.body)


def warning_headers(request: HTTPRequest) -> list[tuple[str, str]]:
    """Return the headers with the warnings of a request; a warning that no header can contain is left out.

    Called after the change was stored, so it must not fail for any text that a webhook or an expression has put into a
    warning.
    """
    valid = (text for text in dict.fromkeys(request.warnings) if text and not _has_control(text))
    texts = [*islice(valid, _MAX_WARNINGS + 1)]  # more of them would not change what is sent
    if sum(map(len, texts)) > _MAX_WARNINGS:
        texts = [text[:_MAX_LONG_WARNING] for text in texts]
        totals = accumulate(map(len, texts), initial=0)
        texts = [text for text, total in zip(texts, totals, strict=False) if total < _MAX_WARNINGS]
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return [("Warning", f'299 - "{text.encode(errors="replace").decode()}"') for text in quoted]


def _has_control(text: str) -> bool:
    return not text.isprintable() and any(category(char) == "Cc" for char in text)


class Stream(Protocol):
    """A streaming response: chunks until it ends or is closed. Its head is known at once."""

    status: int
    content_type: str

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield each chunk as it is ready, until the stream ends."""

    def close(self) -> None:
        """End the stream soon; pending chunks may be lost."""


def json_response(value: Any, status: int = 200) -> HTTPResponse:
    """Return a response with this value as JSON."""
    return HTTPResponse(status, html_escaped(_encode(value)))


def text_response(text: str, status: int = 200) -> HTTPResponse:
    """Return a plain text response as Go's `http.Error` does."""
    return HTTPResponse(status, text.encode(), PLAIN_TEXT, [*NO_SNIFFING])


ANY = ("*/*", "*")
"""Ranges of all types; a real server's router knows only the first."""

_JSON_RANGES = (*ANY, "application/*", "application/json")
_FORMS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_FORM_VERSIONS = ("v1", "v1beta1")
PRODUCED = (JSON, "application/yaml", "application/vnd.kubernetes.protobuf")
STREAMED = (f"{JSON};stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
LISTED = (*PRODUCED, *STREAMED)


class Form(msgspec.Struct, frozen=True):
    """Form of the response: `kind` is empty for the object itself; `version` is that of meta.k8s.io.

    `indented` is for people who read JSON.
    """

    kind: str = ""
    version: str = "v1"
    yaml: bool = False
    indented: bool = False

    @property
    def plain(self) -> bool:
        """True if stored JSON can be sent unchanged."""
        return not self.kind and not self.yaml

    @property
    def content_type(self) -> str:
        """Content-Type of the response."""
        return "application/yaml" if self.yaml else "application/json"


PLAIN = Form()
_WEIGHT = lazy_pattern(r"\d+(\.\d*)?|\.\d+", re.ASCII)


def _preference(entry: str) -> tuple[float, bool, bool]:
    media, *params = (part.strip() for part in entry.split(";"))
    weight = next((param[2:] for param in params if param.startswith("q=")), "")
    kind, _, subtype = media.partition("/")
    return -float(weight) if _WEIGHT.fullmatch(weight) else -1.0, kind == "*", subtype in ("*", "")


@lru_cache(maxsize=256)
def negotiate(accept: str, *, tables: bool = True) -> Form:
    """Return the form of the response: the preferred acceptable entry of the Accept header, as on a real server (406).

    Entries of a higher weight come first, and those with a wildcard after others of theirs. Without `tables` an entry
    for a table is not acceptable.
    """
    if not accept:
        return PLAIN
    for entry in sorted(accept.split(","), key=_preference):
        media, *raw = (part.strip() for part in entry.split(";"))
        params = dict(param.partition("=")[::2] for param in raw)
        yaml = media == "application/yaml"
        if media not in _JSON_RANGES and not yaml:
            continue
        kind, indented = params.get("as", ""), params.get("pretty") == "1"
        if not kind:
            return Form(yaml=yaml, indented=indented)
        is_known = params.get("g") == "meta.k8s.io" and kind in _FORMS and params.get("v") in _FORM_VERSIONS
        if is_known and (tables or kind != "Table"):
            return Form(kind, params["v"], yaml, indented)
    raise not_acceptable(PRODUCED)


def as_requested(response: HTTPResponse, accept: str) -> None:
    """Encode a JSON response as YAML if the client prefers it."""
    with suppress(ApiFailure):
        if response.content_type == JSON and negotiate(accept).yaml:
            response.body, response.content_type = _yaml_of(response.body), "application/yaml"


def _yaml_of(body: bytes) -> bytes:
    """Return a JSON object as YAML; a list item by item, because the whole would take a hundred times its size."""
    fields = decode_fields(body)
    listed = next((name for name in ("items", "rows") if bytes(fields.get(name, b""))[:2] == b"[{"), "")
    pieces = []
    for name in sorted(fields):
        if name != listed:
            pieces.append(to_yaml({name: msgspec.json.decode(fields[name])}, sort_keys=True, go=True))
            continue
        pieces.append(f"{name}:\n")
        pieces += [to_yaml([msgspec.json.decode(item)], sort_keys=True, go=True) for item in decode_items(fields[name])]
    return "".join(pieces).encode()


def check_plain(accept: str) -> None:
    """Check that the client accepts an object that has no other form, such as a table (406)."""
    plain = ",".join(entry for entry in accept.split(",") if "as=" not in entry)
    if accept and not plain:
        raise not_acceptable(PRODUCED)
    negotiate(plain)


@lru_cache(maxsize=256)
def check_accept(accept: str, produced: tuple[str, ...] = PRODUCED) -> None:
    """Check that the client accepts a type of a router's responses, without regard to parameters (406)."""
    if accept and {*produced, "*/*"}.isdisjoint(entry.partition(";")[0].strip() for entry in accept.split(",")):
        raise unavailable_type(406, f"Not Acceptable\n\nAvailable representations: {', '.join(produced)}")
