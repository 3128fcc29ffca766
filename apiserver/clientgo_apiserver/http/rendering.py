"""Indentation of JSON responses for people, and compression of long ones."""

import gzip
from functools import lru_cache

import msgspec

from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.http.messages import ANY, JSON, HTTPRequest, HTTPResponse, negotiate

_TOOLS = ("curl", "Wget", "Mozilla/5.0")  # user agents of people
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_PLAIN = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/*", *ANY)
_LEAST_COMPRESSED = 128 * 1024
GZIP_HEADERS = [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
"""Headers of a compressed response."""


def wants_indentation(request: HTTPRequest) -> bool:
    """Return whether a person reads the response: by the accepted type, the parameter `pretty`, or the user agent."""
    accept = request.headers.get("accept", "")
    if "pretty" in accept and _is_indented(accept):
        return True
    pretty = request.query.get("pretty")
    return pretty in _TRUE if pretty is not None else request.headers.get("user-agent", "").startswith(_TOOLS)


def _is_indented(accept: str) -> bool:
    try:
        return negotiate(accept).indented
    except ApiFailure:
        return False


@lru_cache(maxsize=256)
def accepts_no_status(accept: str) -> bool:
    """Return whether a client accepts only forms that a Status does not have, such as tables; then it is indented."""
    plain = (entry.partition(";")[0].strip() in _PLAIN and ";as=" not in entry for entry in accept.split(","))
    return bool(accept) and not any(plain)


def indent(response: HTTPResponse) -> None:
    """Indent a JSON response."""
    if response.content_type == JSON and response.body:
        response.body = msgspec.json.format(response.body, indent=2)


def is_compressible(request: HTTPRequest, response: HTTPResponse) -> bool:
    """Return whether the response is long enough for compression, and the client accepts it."""
    if len(response.body) < _LEAST_COMPRESSED or request.method != "GET":
        return False
    return accepts_gzip(request) and response.status == 200


def accepts_gzip(request: HTTPRequest) -> bool:
    """Return whether the client accepts compressed responses; as in Kubernetes, `gzip` with a weight does not count."""
    return any(token.strip() == "gzip" for token in request.headers.get("accept-encoding", "").split(","))


def gzip_member(data: bytes) -> bytes:
    """Return the data as a complete gzip file; a client reads several of them as one."""
    return gzip.compress(data, 1)


def compress(response: HTTPResponse) -> HTTPResponse:
    """Return the response compressed; it takes milliseconds."""
    headers = [*response.headers, *GZIP_HEADERS]
    return HTTPResponse(response.status, gzip_member(response.body), response.content_type, headers)
