"""HTTP/1.1 messages: encoding, parsing of chunks of any size, rejection of invalid replies."""

import gzip
import itertools
import random
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.rest.bounds import MAX_RESPONSE_BYTES
from clientgo.rest.connections.http1 import IncompleteRead, ProtocolError, ReplyReader, TooLarge, encode_request


def receiver(pieces: Iterable[bytes]) -> Callable[[int], bytes]:
    """A `recv` that gives each piece, in parts if it is asked for less, and then the end."""
    remaining = deque(piece for piece in pieces if piece)

    def recv(size: int) -> bytes:
        if not remaining:
            return b""
        piece = remaining.popleft()
        if len(piece) > size:
            remaining.appendleft(piece[size:])
        return piece[:size]

    return recv


def whole(*pieces: bytes, method: str = "GET", max_body: int = 0) -> tuple[int, bytes]:
    reader = ReplyReader(receiver(pieces), max_body)
    head = reader.head(method)
    return head.status, reader.body(head)


def unzipped(packed: bytes, max_body: int = 0) -> bytes:
    """Return the body that arrives compressed as `packed`."""
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    return whole(head + packed, max_body=max_body)[1]


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, *(location % (len(data) + 1) for location in at), len(data)})
    return [data[a:b] for a, b in itertools.pairwise(places)]


def chunks_of(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in pieces if part) + b"0\r\n\r\n"


@given(st.binary(max_size=300), st.lists(st.integers(0, 10_000), max_size=12))
def test_body_with_a_length_is_read_from_chunks_of_any_size(body: bytes, at: list[int]) -> None:
    data = b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\nA: b\r\n\r\n" % len(body) + body
    assert whole(*cut(data, at)) == (201, body)


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(0, 10_000), max_size=12))
def test_chunked_body_is_read_from_chunks_of_any_size(pieces: list[bytes], at: list[int]) -> None:
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks_of(pieces)
    assert whole(*cut(data, at)) == (200, b"".join(pieces))


def test_chunks_that_arrived_together_are_one_piece_and_none_waits_for_more() -> None:
    head, [first, second, remainder] = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        [b"a\r\n", b"bb", b"c" * 99],
    )
    data = chunks_of([first, second, remainder])
    remaining = [head + data[:30], data[30:]]
    reader = ReplyReader(lambda _: remaining.pop(0))
    pieces = reader.pieces(reader.head("GET"))
    assert next(pieces) == first + second
    assert len(remaining) == 1
    assert b"".join(pieces) == remainder


@pytest.mark.parametrize(("size", "pieces"), [(60_000, 1), (70_000, 2)])
def test_chunk_of_up_to_one_read_is_one_piece_when_it_arrives_in_parts(size: int, pieces: int) -> None:
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks_of([b"x" * size])
    reader = ReplyReader(receiver([data[:40_000], data[40_000:]]))
    result = list(reader.pieces(reader.head("GET")))
    assert (len(result), sum(map(len, result))) == (pieces, size)


def test_chunks_before_one_of_the_wrong_size_are_returned() -> None:
    reader = ReplyReader(receiver([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nbb\r\n"]))
    pieces = reader.pieces(reader.head("GET"))
    assert next(pieces) == b"a"
    with pytest.raises(ProtocolError, match="longer than its declared size"):
        next(pieces)


@given(
    st.lists(st.binary(max_size=40), max_size=4), st.binary(max_size=60), st.lists(st.integers(0, 10_000), max_size=9)
)
def test_two_replies_on_one_connection_are_separate(pieces: list[bytes], second: bytes, at: list[int]) -> None:
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks_of(pieces)
    data += b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(second) + second
    reader = ReplyReader(receiver(cut(data, at)))
    first_head = reader.head("GET")
    assert reader.body(first_head) == b"".join(pieces)
    second_head = reader.head("GET")
    assert (second_head.status, reader.body(second_head)) == (404, second)
    assert reader.clean


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=4), st.integers(1, 10_000))
def test_truncated_body_is_rejected(pieces: list[bytes], lost: int) -> None:
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks_of(pieces)
    reader = ReplyReader(receiver([data[: len(data) - 1 - lost % (len(data) - 1)]]))
    with pytest.raises(IncompleteRead):
        reader.body(reader.head("GET"))


def test_body_without_length_ends_with_the_connection() -> None:
    reader = ReplyReader(receiver([b"HTTP/1.1 200 OK\r\n\r\nab", b"cd"]))
    head = reader.head("GET")
    assert reader.body(head) == b"abcd"
    assert not head.keep_alive


@pytest.mark.parametrize(
    ("head", "keep"),
    [
        pytest.param("HTTP/1.1 200 OK\r\nContent-Length: 0", True, id="1.1"),
        pytest.param("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close", False, id="told to close"),
        pytest.param("HTTP/1.0 200 OK\r\nContent-Length: 0", False, id="1.0"),
        pytest.param("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive", True, id="1.0 kept"),
    ],
)
def test_connection_is_kept_alive_as_the_server_says(head: str, keep: bool) -> None:
    assert ReplyReader(receiver([head.encode() + b"\r\n\r\n"])).head("GET").keep_alive is keep


def test_interim_replies_are_skipped() -> None:
    assert whole(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") == (200, b"x")


@pytest.mark.parametrize(
    "first", [b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"]
)
def test_replies_without_body_are_complete(first: bytes) -> None:
    assert whole(first)[1] == b""


def test_reply_to_head_has_no_body() -> None:
    assert whole(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", method="HEAD") == (200, b"")


def test_gzip_body_of_repetitive_objects_is_decompressed_whatever_its_ratio() -> None:
    body = bytes(70_000_000)
    assert unzipped(gzip.compress(body), MAX_RESPONSE_BYTES) == body


@pytest.mark.parametrize("members", [1, 3])
def test_gzip_body_with_several_members_is_read_whole_and_limited_as_a_whole(members: int) -> None:
    packed = gzip.compress(b"a" * 1000) * members
    assert unzipped(packed, 1000 * members) == b"a" * 1000 * members
    with pytest.raises(TooLarge, match=rf"larger than {1000 * members - 1} bytes: raise Config.max_response_bytes"):
        unzipped(packed, 1000 * members - 1)


def test_gzip_body_of_very_many_members_takes_linear_time_and_can_be_given_up_at_each() -> None:
    packed, checks = gzip.compress(b"a") * 100_000, []

    def check() -> None:
        checks.append(0)
        if len(checks) == 120_000:
            raise TimeoutError

    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    reader = ReplyReader(receiver([head + packed]), 0, check)
    assert reader.body(reader.head("GET")) == b"a" * 100_000
    again = ReplyReader(receiver([head + packed]), 0, check)
    with pytest.raises(TimeoutError):
        again.body(again.head("GET"))


@pytest.mark.parametrize("size", [1, 16 * 1024, 3 * 1024 * 1024], ids=["a byte", "a piece", "several pieces"])
def test_gzip_members_that_do_not_end_with_a_piece_are_decompressed_whole(size: int) -> None:
    data = random.Random(size).randbytes(size)
    packed = gzip.compress(data, 1)
    assert unzipped(packed * 3) == data * 3
    for cut_off in (1, len(packed) // 2, len(packed) - 1):
        with pytest.raises(ProtocolError, match="truncated"):
            unzipped(packed + packed[:cut_off])


def test_bytes_after_the_last_gzip_member_are_rejected() -> None:
    with pytest.raises(ProtocolError, match="invalid gzip"):
        unzipped(gzip.compress(b"a") + b"rest")


def test_body_with_a_length_above_the_limit_is_rejected_before_it_is_read() -> None:
    with pytest.raises(TooLarge):
        whole(b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", max_body=10)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n" + chunks_of([b"123456"] * 2), id="chunked"),
        pytest.param(b"A: b\r\n\r\n" + b"123456" * 2, id="until the end"),
    ],
)
def test_body_without_a_length_is_rejected_once_it_exceeds_the_limit(data: bytes) -> None:
    assert whole(b"HTTP/1.1 200 OK\r\n" + data, max_body=12)[1] == b"123456" * 2
    with pytest.raises(TooLarge):
        whole(b"HTTP/1.1 200 OK\r\n" + data, max_body=11)


def test_repeated_headers_are_joined() -> None:
    reader = ReplyReader(receiver([b"HTTP/1.1 200 OK\r\nWarning: a\r\nContent-Length: 0\r\nwarning: b\r\n\r\n"]))
    assert reader.head("GET").headers["warning"] == "a, b"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 2x0 OK\r\n\r\n", id="status"),
        pytest.param(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", id="header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n", id="folded"),
        pytest.param(b"HTTP/1.1 200 OK\r\nHost\x00: b\r\nContent-Length: 0\r\n\r\n", id="control character in a name"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: b\nContent-Length: 5\r\n\r\n", id="line feed in a value"),
        pytest.param(b"HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n", id="line feed in the status line"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", id="length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", id="two lengths"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: br\r\n\r\n", id="coding"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", id="chunk size"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", id="chunk end"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", id="gzip"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\nabc", id="encoding"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"a" * 300_000, id="endless head"),
    ],
)
def test_invalid_http_is_rejected(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        whole(data)


def headers(count: int, line: bytes = b"a: b\r\n") -> bytes:
    return b"HTTP/1.1 200 OK\r\n" + line * count + b"Content-Length: 0\r\n\r\n"


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


@pytest.mark.parametrize(
    ("most", "more"),
    [
        pytest.param(headers(900), headers(1000), id="header lines"),
        pytest.param(INTERIM * 5 + headers(0), INTERIM * 6 + headers(0), id="interim replies"),
        pytest.param(CHUNKED + b"1;" + b"x" * 16_000 + b"\r\na\r\n0\r\n\r\n",
                     CHUNKED + (b"1;" + b"x" * 9_000 + b"\r\na\r\n") * 2 + b"0\r\n\r\n", id="chunk extensions"),
        pytest.param(CHUNKED + b"0\r\n" + b"a: b\r\n" * 40_000 + b"\r\n",
                     CHUNKED + b"0\r\n" + b"a: b\r\n" * 70_000 + b"\r\n", id="trailers"),
    ],
)  # fmt: skip
def test_everything_besides_the_body_is_limited(most: bytes, more: bytes) -> None:
    assert whole(most)[0] == 200
    with pytest.raises(ProtocolError, match=r"more than|too much|no end"):
        whole(more)


@pytest.mark.parametrize("size", [1, 200_000])
def test_reply_that_arrives_byte_by_byte_is_read(size: int) -> None:
    """Each byte is looked at once or twice: looking at all of them again for each would take minutes."""
    line = b"A: " + b"b" * size + b"\r\n"
    body = chunks_of([b"c" * min(size, 60_000), b"d" * size])
    data = CHUNKED.replace(b"\r\n\r\n", b"\r\n" + line + b"\r\n") + body
    assert whole(*(data[i : i + 1] for i in range(len(data)))) == (200, b"c" * min(size, 60_000) + b"d" * size)


def test_chunks_of_one_byte_take_little_more_memory_than_their_data() -> None:
    data = CHUNKED + b"1\r\na\r\n" * 50_000 + b"0\r\n\r\n"
    reader = ReplyReader(receiver(cut(data, list(range(0, len(data), 4096)))))
    head = reader.head("GET")
    tracemalloc.start()
    try:
        assert len(reader.body(head)) == 50_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * 50_000


def test_request_is_encoded() -> None:
    data = encode_request("PATCH", "/api?x=1", "h:1", (("A", "b"), ("A", "c")), b"{}")
    assert data == b"PATCH /api?x=1 HTTP/1.1\r\nHost: h:1\r\nA: b\r\nA: c\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize("name", ["rené", "Łukasz", "李"])
def test_header_values_are_utf8_both_ways(name: str) -> None:
    assert f"\r\nA: {name}\r\n".encode() in encode_request("GET", "/", "h", (("A", name),), None)
    reply = f"HTTP/1.1 200 OK\r\nA: {name}\r\nContent-Length: 0\r\n\r\n".encode()
    assert ReplyReader(receiver([reply])).head("GET").headers["a"] == name


def test_get_has_no_content_length_and_an_empty_post_has() -> None:
    assert b"Content-Length" not in encode_request("GET", "/", "h", (), None)
    assert b"Content-Length: 0\r\n" in encode_request("POST", "/", "h", (), None)


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        pytest.param("GET", "/a b", (), id="space"),
        pytest.param("GET", "/a\r\nX: y", (), id="line break"),
        pytest.param("GET", "/ä", (), id="not ASCII"),
        pytest.param("GET /", "/", (), id="method"),
        pytest.param("GET", "/", (("A", "b\r\nC: d"),), id="header value"),
        pytest.param("GET", "/", (("A", "b\nC: d"),), id="bare line feed"),
        pytest.param("GET", "/", (("A", "b\rC: d"),), id="bare carriage return"),
        pytest.param("GET", "/", (("A\r\nB", "c"),), id="header name"),
        pytest.param("GET", "/", (("A", "b\0"),), id="NUL"),
        pytest.param("GET", "/", (("A", "b\udcff"),), id="lone surrogate"),
    ],
)
def test_header_and_request_line_injection_is_rejected(
    method: str, target: str, headers: tuple[tuple[str, str], ...]
) -> None:
    with pytest.raises(ValueError, match=r"request line|invalid header 'A"):
        encode_request(method, target, "h", headers, None)


def test_host_with_a_line_break_is_rejected() -> None:
    with pytest.raises(ValueError, match="invalid header 'Host'"):
        encode_request("GET", "/", "h\r\nX: y", (), None)
