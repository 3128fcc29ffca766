"""Fuzz targets for network input: responses, watch frames, errors, objects, and requests to our servers."""

import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from random import Random

from clientgo.errors import ApiError, ClientGoError, api_error, decode_status, error_from_response
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.coordination_v1 import Lease
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta.codec import Undecodable, codec_for
from clientgo.meta.jsonvalues import Unencodable
from clientgo.meta.listwatch import BadEvent, Bookmark, WatchEvent
from clientgo.rest.body_log import readable
from clientgo.rest.request import RawEvent
from clientgo.rest.watchstream import FrameSplitter, InvalidFrame, WatchStream
from clientgo.testing.transport import FakeStream
from clientgo.typed.watch import DecodedWatch
from controller.api.v1alpha1 import Foo
from tests.fuzz.engine import Bug, Target
from tests.fuzz.sentences import check_text, sentence

OBJECT = (
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b","resourceVersion":"7","uid":"u",'
    b'"labels":{"x":"y"},"creationTimestamp":"2024-01-01T00:00:00Z","ownerReferences":[{"kind":"Foo","name":"f",'
    b'"uid":"1","apiVersion":"v1","controller":true}]},"data":{"k":"v"}}'
)
FOO = (
    b'{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"a","namespace":"b"},'
    b'"spec":{"deploymentName":"d","replicas":1},"status":{"availableReplicas":1}}'
)
STATUS = (
    b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"m","reason":"Expired","code":410,'
    b'"details":{"name":"a","kind":"foos","causes":[{"reason":"r","message":"m","field":"f"}],"retryAfterSeconds":1}}'
)
FRAMES = (
    b'{"type":"ADDED","object":' + OBJECT + b'}\n{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n',
    b'{"type":"MODIFIED","object":' + OBJECT + b'}\n{"type":"ERROR","object":' + STATUS + b"}\n",
    b'{"type":"DELETED","object":{"metadata":{"name":1}}}\n{"type":"WHAT","object":{}}\n{"type":"ADDED"}\n',
)
WORDS = (
    b'"metadata"', b'"name"', b'"type"', b'"object"', b'"ADDED"', b'"ERROR"', b'"BOOKMARK"', b'"status"', b'"code"',
    b'"reason"', b'"details"', b'"causes"', b'"retryAfterSeconds"', b'"items"', b'"kind"', b'"Table"', b'"labels"',
    b'"replicas"', b'"spec"', b'"creationTimestamp"', b'"resourceVersion"', b"\n", b"}\n{", b"null",
)  # fmt: skip


def cuts(data: bytes) -> Iterator[bytes]:
    """Split the data randomly; the same data is always split the same way."""
    rng = Random(zlib.crc32(data))
    places = sorted({0, len(data), *(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 1, 3, 20))))})
    return (data[a:b] for a, b in itertools.pairwise(places))


def frames_of(pieces: Sequence[bytes]) -> tuple[list[RawEvent], bool]:
    splitter, result = FrameSplitter(), list[RawEvent]()
    try:
        for piece in pieces:
            result += splitter.feed(piece)
        return result + splitter.finish(), True
    except InvalidFrame as error:
        check_text(str(error), b"x" * 1000)
        return result, False


def watch_events(data: bytes) -> str:
    """Decode a stream to events or to one of the library's errors."""
    stream = WatchStream(FakeStream(*cuts(data), end=True), "https://x")
    seen = []
    try:
        for event in DecodedWatch(stream, codec_for(ConfigMap)):
            if not isinstance(event, WatchEvent | Bookmark | BadEvent):
                raise Bug(f"an event that is none: {event!r}")
            seen.append(type(event).__name__)
    except ClientGoError as error:
        seen.append(type(error).__name__)
    return " ".join(seen[-5:])


def receiver(pieces: Sequence[bytes]) -> Callable[[int], bytes]:
    """Return a function that receives the pieces, each at once or as much of it as is asked for."""
    remaining = list(pieces)
    unread = b""

    def recv(size: int) -> bytes:
        nonlocal unread
        while not unread and remaining:
            unread = remaining.pop(0)
        arguments, unread = unread[:size], unread[size:]
        return arguments

    return recv


def refusals(data: bytes) -> str:
    """Convert any error response to an `ApiError` with a one-line message."""
    head, _, body = data.partition(b"\n")
    code = int.from_bytes(head[:2], "big") % 600
    error = error_from_response(code, body, {"Retry-After": head[2:].decode("latin-1")})
    again = api_error(decode_status(body))
    for item in (error, again):
        if not isinstance(item, ApiError) or not str(item).strip():
            raise Bug(f"{item!r} of {code}")
        if item.retry_after is not None and not 0 <= item.retry_after < 1e12:
            raise Bug(f"come back in {item.retry_after} s")
        item.has_cause("x")
    return f"{type(error).__name__} {error.retry_after is not None} {len(error.details.causes)}"


CODECS = [codec_for(cls) for cls in (ConfigMap, Foo, Deployment, Lease)]


def objects(data: bytes) -> str:
    """Decode and encode an object without changes, or raise a clear error."""
    seen = []
    for codec in CODECS:
        try:
            obj = codec.decode(data)
        except Undecodable as error:
            seen.append(sentence(error, data, Undecodable)[:60])
            continue
        try:
            encoded = codec.encode(obj)
        except Unencodable as error:  # a float such as 1e308 in a field of whole numbers
            seen.append(sentence(error, data, Unencodable)[:60])
            continue
        if codec.decode(encoded) != obj:
            raise Bug(f"{obj!r} is another after a round trip")
        seen.append("fine")
    return " ".join(seen)


def lists(data: bytes) -> str:
    """Decode as much of a list as possible; reject what is not a list."""
    try:
        page = CODECS[0].decode_list(data)
    except Undecodable as error:
        return sentence(error, data, Undecodable)
    return f"{min(len(page.items), 3)} fine, {min(len(page.undecodable), 3)} not"


def logged_bodies(data: bytes) -> str:
    """Format any body for a log."""
    path, _, body = data.partition(b"\n")
    return readable(path.decode("latin-1"), body)[:20]


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n"
GZIPPED = zlib.compress(b"x" * 100, wbits=31)
REPLIES = (
    CHUNKED,
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.0 404 Not Found\r\n\r\nuntil the end",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(GZIPPED), GZIPPED),
)
REPLY_WORDS = (
    b"HTTP/1.1", b"200", b"101", b"304", b"\r\n", b"\r\n\r\n", b"Content-Length: ", b"Transfer-Encoding: chunked",
    b"Connection: close", b"Content-Encoding: gzip", b"0\r\n\r\n", b"ffffffffffffffff", b"7fffffff\r\n", b";", b": ",
)  # fmt: skip
HEADS = (
    b"GET /metrics?a=b&c=%20 HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\n\r\n",
    b"POST /x HTTP/1.1\r\nHost: y\r\nContent-Length: 3\r\nConnection: close\r\nAuthorization: Bearer x\r\n\r\nabc",
    b"GET http://h/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
)
HEAD_WORDS = (b"\r\n", b"Host: ", b"Content-Length: 1", b"HTTP/1.1", b"%zz", b"?")

# What once broke one of them: nesting beyond Python's stack, numbers beyond what Python reads.
DEEP = [
    b'{"type":"ADDED","object":' + b'{"a":' * depth + b"0" + b"}" * (depth + 1) + b"\n"
    for depth in (900, 5_000, 12_000)
]
ENDLESS = [
    b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 17_000,
]

TARGETS = [
    Target("watch-events", watch_events, FRAMES, WORDS, DEEP, weight=2),
    Target("refusals", refusals, [b"\x01\x9a5\n" + STATUS, b"\x01\xf4\nnot JSON", b"\x01\xad-1\n{}"], WORDS, weight=3),
    Target("objects", objects, [OBJECT, FOO, b"{}", b"[]"], WORDS, weight=2),
    Target("lists", lists, [b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"7"},"items":[' + OBJECT + b"]}"],
           WORDS),
    Target("logged-bodies", logged_bodies, [b"/api/v1/secrets\n" + OBJECT, b"/x\n" + STATUS, b"/token\nx"], WORDS),
]  # fmt: skip
