"""Fuzz targets with grammars for readers written by hand: HTTP messages, gzip, Retry-After, nesting, watch frames.

Each result is compared with that of another reader: of the standard library, or a simple one in this module.
"""

import gzip
import http.client
import io
import json
import math
import socket
import zlib
from collections.abc import Sequence
from http import HTTPStatus
from random import Random
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import error_from_response
from clientgo.meta.shallow_json import elements, members, names_alone
from clientgo.meta.yamlio import MAX_DEPTH, MAX_VALUES, InvalidYAML, TooDeepYAML, TooLargeYAML, read_yaml
from clientgo.rest.connections.http1 import IncompleteRead, ProtocolError, ReplyReader, TooLarge
from clientgo.rest.retry import retry_for_response
from clientgo.serving.connection import Closed, Limits, ServingConnection
from clientgo.serving.message import RejectedRequest
from clientgo_apiserver.api.limits import MAX_DEPTH as SERVER_DEPTH
from clientgo_apiserver.http.decode import parse_yaml
from clientgo_apiserver.http.nesting import json_error
from tests.fuzz.engine import Bug, Target
from tests.fuzz.grammar import Grammar, repeated
from tests.fuzz.sentences import check_text, sentence
from tests.fuzz.wirefuzz import (
    DEEP,
    ENDLESS,
    FRAMES,
    HEAD_WORDS,
    HEADS,
    OBJECT,
    REPLIES,
    REPLY_WORDS,
    STATUS,
    WORDS,
    cuts,
    frames_of,
    receiver,
)
from tests.serving.serving_client import now

MOST_BODY = 4096


def _word(rng: Random) -> bytes:
    return bytes(rng.choices(b"abcXYZ019-_.", k=rng.randrange(1, 12)))


def _junk(rng: Random) -> bytes:
    return rng.choice(
        (b"", b" ", b"\t", b"\x00", b"\r", b"\n", b":", b"\xff", b"\xc3\xa9", b" " * 300, b"-1", b"9" * 40)
    )


def _content(rng: Random) -> bytes:
    return rng.choice((b"", b"x", b"hello", b"\r\n\r\n", b"0\r\n\r\n", rng.randbytes(rng.randrange(200)), b"y" * 3000))


# HTTP replies.


def _chunks(rng: Random) -> bytes:
    content, pieces = _content(rng), []
    while content:
        size = rng.randrange(1, len(content) + 1)
        odd = rng.choice(("", "g", "-1", f"{size:020x}", f" {size:x} ", "f" * 17))
        pieces.append((odd if rng.random() < 0.05 else f"{size:x}").encode())
        pieces.append(rng.choice((b"", b"", b"", b";a=b", b" ;a")) + b"\r\n")
        pieces.append(content[:size] + (b"\r\n" if rng.random() < 0.98 else _junk(rng)))
        content = content[size:]
    return b"".join(pieces) + rng.choice((b"0", b"0", b"0", b"000", b"0;x", b""))


def _members(rng: Random) -> bytes:
    packed = b"".join(zlib.compress(_content(rng), wbits=31) for _ in range(rng.choice((1, 1, 1, 2, 5, 100))))
    route = rng.random()
    if route < 0.1:
        packed = packed[: rng.randrange(len(packed))]
    elif route < 0.2:
        at = rng.randrange(len(packed))
        packed = packed[:at] + bytes((rng.randrange(256),)) + packed[at + 1 :]
    elif route < 0.3:
        packed += rng.choice((b"\x00", b"\x00" * 100, b"junk", b"\x1f\x8b"))
    return packed


def _sized(rng: Random) -> bytes:
    content = _content(rng)
    length = len(content) if rng.random() < 0.9 else rng.choice((0, len(content) + 1, 10**17, 10**30))
    return b"Content-Length: %d\r\n\r\n%b" % (length, content)


def _gzipped(rng: Random) -> bytes:
    packed = _members(rng)
    return b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed)


HEADER = Grammar(
    start=("<word>:<space><word><space>\r\n", "<word>: <word>\r\n", "Connection: close\r\n", "<name><junk>: x\r\n"),
    name=("A", "Content-Length", "Transfer-Encoding", "Content-Encoding", "Host"),
    space=("", " ", "\t", "    "),
    word=_word,
    junk=_junk,
)
REPLY = Grammar(
    start=("<interim><line>\r\n<headers><framed>", "<line>\r\n<headers>\r\n<content>"),
    interim=("", "", "", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"),
    line=("HTTP/1.1 200 OK", "HTTP/1.1 <status> <word>", "HTTP/1.0 200 OK", "HTTP/1.1 <status>", "<junk>"),
    status=("200", "201", "204", "304", "404", "500", "101", "999", "20", "2000"),
    headers=repeated(HEADER.sentence, most=3),
    framed=("<sized>", "<gzipped>", "Transfer-Encoding: chunked\r\n\r\n<chunks>\r\n<trailers>\r\n"),
    trailers=repeated(HEADER.sentence, most=2),
    sized=_sized,
    gzipped=_gzipped,
    chunks=_chunks,
    content=_content,
    word=_word,
    junk=_junk,
)


class _Sent(socket.socket):
    """Socket with what a peer has sent."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__()
        self._pieces = iter(pieces)
        self._whole = b"".join(pieces)

    def settimeout(self, value: float | None, /) -> None:
        """Do nothing: nothing is waited for."""

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Return the next piece."""
        return next(self._pieces, b"")

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Send nothing."""
        return len(data)

    def makefile(self, *_: Any, **__: Any) -> Any:
        """Return a file of all that was sent."""
        return io.BytesIO(self._whole)


def _reply(pieces: Sequence[bytes]) -> tuple[int, bool, bytes] | str:
    reader = ReplyReader(receiver(pieces), MOST_BODY)
    try:
        head = reader.head("GET")
        return head.status, head.keep_alive, reader.body(head)
    except (ProtocolError, IncompleteRead, TooLarge) as error:
        # An IncompleteRead says nothing by itself: the transport makes the sentence.
        return f"{type(error).__name__} {check_text(str(error) or 'closed', b'x' * 1000)}"


def http_replies(data: bytes) -> str:
    """Read a reply, however its bytes arrive; its body is that of another reader, and within the limit."""
    once, reply = _reply([data]), _reply(list(cuts(data)))
    if isinstance(reply, str):
        return reply
    if not isinstance(once, str) and once != reply:
        raise Bug(f"{once!r} in one piece, {reply!r} in several")
    status, keep_alive, body = reply
    if not 200 <= status <= 999 or len(body) > MOST_BODY:
        raise Bug(f"status {status} and {len(body)} bytes")
    expected = _standard_body(data, status)
    if expected is not None and body != expected:
        raise Bug(f"{body[:100]!r}, and not {expected[:100]!r}")
    return f"{status} {keep_alive} {expected is not None}"


def _standard_body(data: bytes, status: int) -> bytes | None:
    """Return the body that `http.client` and `gzip` read; None if they reject it, or read another (103) reply."""
    with _Sent([data]) as peer:
        response = http.client.HTTPResponse(peer, method="GET")
        try:
            response.begin()
            if response.status != status or status in (204, 304):  # which have no body, also if a header says so
                return None
            coding = response.headers.get("transfer-encoding", "")
            if coding != coding.strip():  # which http.client does not know then
                return None
            body = response.read()
            packed = response.headers.get("content-encoding", "identity") == "gzip" and body
            return gzip.decompress(body) if packed else body
        except (http.client.HTTPException, OSError, EOFError, ValueError, OverflowError, zlib.error):
            return None


# Requests to our servers.

REQUEST = Grammar(
    start=("<blank><line>\r\n<headers>Host: x\r\n<framed>", "<line>\r\nHost: x\r\n<headers>\r\n", "<junk>\r\n\r\n"),
    blank=("", "", "\r\n", "\r\n\r\n"),
    line=("<method> <target> HTTP/1.1", "<method> <target> HTTP/1.0", "<method> <target> HTTP/<junk>"),
    method=("GET", "POST", "PUT", "HEAD", "get", "G\x00T", "A" * 20),
    target=("/", "/<word>?<word>=<word>&<word>", "/%<word>", "http://<word>/<word>", "*", "/<junk>", "/" + "a" * 9000),
    headers=repeated(HEADER.sentence, most=4),
    framed=("\r\n", "<sized>", "Expect: 100-continue\r\n<sized>", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    sized=_sized,
    word=_word,
    junk=_junk,
)


def _requests(pieces: Sequence[bytes]) -> list[str]:
    seen = []
    with _Sent(pieces) as peer:
        connection = ServingConnection(peer, "", Limits(body=MOST_BODY), SYSTEM_CLOCK)
        try:
            for _ in range(3):
                now(connection.wait_for_request())
                request = now(connection.read_head())
                if request.content_length:
                    request = now(connection.read_body(request))
                if len(request.body) != request.content_length:
                    raise Bug(f"{len(request.body)} of {request.content_length} bytes")
                if not request.path.startswith("/") or "\r" in repr(request.headers.values()):
                    raise Bug(repr(request))
                seen.append(f"{request.method} {request.path!r} {request.headers!r} {request.body!r}")
        except Closed:
            seen.append("closed")
        except RejectedRequest as error:
            if not 400 <= error.status < 600:
                raise Bug(f"rejected with {error.status}") from error
            check_text(str(error), b"".join(pieces))
            seen.append(HTTPStatus(error.status).name)
    return seen


def served_requests(data: bytes) -> str:
    """Read requests in a row; the result does not depend on how the bytes arrive."""
    requests, cut = _requests([data]), _requests(list(cuts(data)))
    if requests != cut:
        raise Bug(f"{requests} in one piece, {cut} in several")
    return " ".join(["request"] * (len(cut) - 1)) + f" {cut[-1]}"


# Waits that a server asks for.

RETRY = Grammar(
    start=("<seconds>\n<body>",),
    seconds=("1", "0", "<space>5<space>", "-1", "1.5", "1e3", "+3", "\xb2", "9" * 20, "<date>", "", "<digits>"),
    space=("", " ", "\t", "  "),
    digits=lambda rng: b"9" * rng.choice((1, 9, 10, 400, 5000)),
    date=("Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 99 Oct 2015 07:28:00 GMT", "Thu, 01 Jan 9999 00:00:00 GMT"),
    body=('{"kind":"Status","status":"Failure","code":429,"details":{"retryAfterSeconds":<number>}}', "{}", "x", ""),
    number=("1", "0", "-1", "1.5", "1e400", "999999999999", "null", '"1"', "true", "9" * 400),
)


def retry_after(data: bytes) -> str:
    """Read both forms of Retry-After; a wait is finite and not negative."""
    value, _, body = data.partition(b"\n")
    text = value.decode("latin-1")
    error = error_from_response(429, body, {"Retry-After": text})
    retry = retry_for_response(0, 503, {"retry-after": text})
    for wait in (error.retry_after, None if retry is None else retry.wait):
        if wait is not None and not (0 <= wait < math.inf):
            raise Bug(f"wait {wait} s")
    return f"{error.retry_after is None} {retry is None}"


# Nested JSON and YAML.


def _json(rng: Random) -> bytes:
    depth = rng.choice((0, 1, 3, 149, 150, 151, 1200))
    text = rng.choice((b"0", b"null", b'"a"', b'"\\"]}"', b'"[[{{"', b'"\\\\"', b"1.5", b"{}", b"[]", b'""'))
    for _ in range(depth):
        space = rng.choice((b"", b" ", b"\n"))
        text = rng.choice((b"[%b%b]", b'{"a":%b%b}', b'[1,"]",%b%b]', b'{"\\"}":2,"b":%b%b}')) % (text, space)
    return b'{"metadata":{"name":"x","uid":"y"},"spec":%b,"c" :%b}' % (text, rng.choice((b"1", b'"}"', b"[]", text)))


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [
        child
        for each in level
        if isinstance(each, dict | list)
        for child in (*(each.values() if isinstance(each, dict) else each), None)
    ]:
        depth += 1
    return depth


def nested_json(data: bytes) -> str:
    """Split JSON without recursion, as a whole parser does; the server's limit of levels is exact."""
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError):
        value = None
    result = _split(data)
    if value is not None and bool(json_error(data)) is not (_depth(value) > SERVER_DEPTH):
        raise Bug(f"{json_error(data)!r} at depth {_depth(value)}")
    if isinstance(value, dict) and b"\\" not in data.partition(b":")[0] and isinstance(result, dict):
        names = {json.loads(f'"{name}"'): json.loads(part) for name, part in result.items()}
        if names != value:
            raise Bug(f"{names!r}, and not {value!r}")
    names_alone(data)
    return f"{type(value).__name__} {type(result).__name__}"


def _split(data: bytes) -> Any:
    for read in (members, elements):
        try:
            return read(data)
        except msgspec.DecodeError as error:
            sentence(error, data, msgspec.DecodeError)
    return None


def _yaml(rng: Random) -> bytes:
    route, count = rng.randrange(6), rng.choice((1, 5, 99, 100, 101, 199, 201, 700))
    if route == 0:
        return b"a: " + b"[" * count + b"]" * rng.choice((count, count, count - 1))
    if route == 1:
        return b"".join(b"%ba:\n" % (b" " * level) for level in range(count))
    if route == 2:
        return rng.choice((b"- ", b"? ", b"- ? ")) * count + b"x"
    if route == 3:
        return b"&a [" + b"*a, " * count + b"]"
    times = rng.choice((2, 10))
    reference = b"<<: [%b], k%d: v" if route == 4 else b"l%d: [%b]"
    lines = [b"a0: &a0 {k: v}"]
    for level in range(rng.choice((1, 3, 9))):
        aliases = b", ".join([b"*a%d" % level] * times)
        inside = reference % ((aliases, level) if route == 4 else (level, aliases))
        lines.append(b"a%d: &a%d {%b}" % (level + 1, level + 1, inside))
    return b"\n".join(lines)


def nested_yaml(data: bytes) -> str:
    """Read YAML within the limits of levels and values, or reject it, before it needs memory."""
    text = data.decode("utf-8", "replace")
    server = ""
    try:
        parse_yaml(data)
    except ValueError as error:
        server = str(error)
    try:
        documents = read_yaml(text)
    except InvalidYAML as error:
        return sentence(error, data, InvalidYAML, TooDeepYAML, TooLargeYAML) + f" {bool(server)}"
    if _depth(documents) > MAX_DEPTH + 2 or sum(1 for _ in _values(documents)) > MAX_VALUES:
        raise Bug(f"{_depth(documents)} levels")
    return f"{min(len(documents), 2)} documents {bool(server)}"


def _values(value: Any) -> Any:
    pending = [value]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())


# Watch frames.


def _frame(rng: Random) -> bytes:
    kind = rng.choice((b"ADDED", b"MODIFIED", b"DELETED", b"BOOKMARK", b"ERROR", b"WHAT", b""))
    depth = rng.choice((0, 0, 0, 10, 1100))
    nested = b'{"a":' * depth + b"0" + b"}" * depth
    obj = rng.choice((OBJECT, STATUS, b'{"metadata":{"name":"a"},"spec":%b}' % nested, b"null", b"1", b"{"))
    return b'{"type":"%b","object":%b}' % (kind, obj) + rng.choice((b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b" ", b""))


def watch_frames(data: bytes) -> str:
    """Split a stream into frames, however its bytes arrive: one for each line with text."""
    (events, fine), (cut, cut_fine) = frames_of([data]), frames_of(list(cuts(data)))
    if fine is not cut_fine or (fine and events != cut):
        raise Bug(f"{len(events)} frames in one piece, {len(cut)} in several")
    lines = [line for line in data.split(b"\n") if line.strip()]
    if fine and len(lines) != len(events):
        raise Bug(f"{len(events)} frames in {len(lines)} lines")
    for line, event in zip(lines, events, strict=fine):
        text = line.decode("utf-8", "replace")
        if line.count(b"{") < 500 and json.loads(text, parse_int=str)["type"] != event.type:
            raise Bug(f"{event.type!r} in {line[:100]!r}")
    return f"{min(len(events), 3)} frames, {fine}"


TARGETS = [
    Target("http-replies", http_replies, REPLIES, REPLY_WORDS, ENDLESS, grammar=REPLY, weight=6),
    Target("served-requests", served_requests, HEADS, HEAD_WORDS, grammar=REQUEST, weight=5),
    Target("retry-after", retry_after, [b"5\n" + STATUS, b"-1\n{}"], grammar=RETRY, weight=1),
    Target("nested-json", nested_json, [OBJECT, b"[1]"], grammar=Grammar(start=_json), weight=3),
    Target("watch-frames", watch_frames, FRAMES, WORDS, DEEP, grammar=Grammar(start=repeated(_frame)), weight=4),
    Target("nested-yaml", nested_yaml, [b"a: 1", b"- [a]"], grammar=Grammar(start=_yaml), weight=2),
]
