"""HTTP/1.1 messages: encodes requests and parses replies, without sockets.

`http.client`, which most Python clients use, parses each head as an e-mail and assembles each request header by header.
That is two thirds of the CPU of a small request, and a controller sends mostly small requests. The replies of an API
server are simple (a status line, plain headers, a length or chunks); everything else raises `ProtocolError`.
"""

import re
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

from clientgo.internal.patterns import SURROGATE, lazy_pattern
from clientgo.rest.transport import Headers as Headers
from clientgo.rest.transport import too_large

_TOKEN = re.compile(r"[A-Z]+").fullmatch
_HEXDIGITS = lazy_pattern(rb"[0-9a-fA-F]{1,15}")
_NEXT_CHUNK = re.compile(rb"([0-9a-fA-F]{1,15})\r\n").match
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
# Except tab. Not with surrogates, which would take ten times as long to compile.
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f]").search
_GZIP = 31  # zlib's window bits for a gzip wrapper
_PIECE = 16 * 1024
_MAX_HEAD = 256 * 1024
_MAX_LINE = 16 * 1024
_READ = 64 * 1024
_READ_LARGE = 1024 * 1024
_DIGITS = 18
_MAX_HEADERS = 1000
# As in Go's net/http: interim replies before one reply, and bytes of chunk sizes and extensions beyond twice the data
# and 16 for each chunk.
_MAX_INTERIM = 5
_MAX_EXCESS = 16 * 1024
# A server repeats the same few header lines, and so does a client. Only short ones are cached, to bound the memory.
_KEPT_LINES = 512
_KEPT_BLOCKS = 64
_SHORT = 256


class ProtocolError(Exception):
    """The received bytes are not a supported HTTP/1.1 reply."""


class IncompleteRead(Exception):
    """The peer closed the connection before the message was complete; the texts are those of Go's client."""


class TooLarge(Exception):
    """The body is larger than the configured limit."""


def encode_request(method: str, target: str, host: str, headers: Headers, body: bytes | None) -> bytes:
    """Return the bytes of a request.

    Raises:
        ValueError: the request line or a header contains a character that would change the request's meaning.
    """
    if not _TOKEN(method) or not target.isascii() or not target.isprintable() or " " in target or not target:
        raise ValueError(f"invalid request line: {method!r} {target!r}")
    length = ""
    if body is not None or method in ("POST", "PUT", "PATCH"):
        length = f"Content-Length: {len(body or b'')}\r\n"
    head = f"{method} {target} HTTP/1.1\r\n{_block(host, headers)}{length}\r\n".encode()
    return head + body if body else head


@lru_cache(_KEPT_BLOCKS)
def _block(host: str, headers: Headers) -> str:
    """Return the Host line and the headers; raise `ValueError` for an invalid header."""
    lines = (("Host", host), *headers)
    for name, value in lines:
        if not is_header_value(name) or not is_header_value(value):
            raise ValueError(f"invalid header {name!r}: control characters are not allowed")
    return "".join([f"{name}: {value}\r\n" for name, value in lines])


def is_header_value(text: str) -> bool:
    """Return whether the text can be sent as a header's value (Go's httpguts.ValidHeaderFieldValue)."""
    return not _CONTROL(text) and (text.isascii() or not SURROGATE.search(text))


class Head:
    """A reply's status line and headers, and the framing of its body.

    Header names are lower-case; values of a repeated header are joined by a comma.
    """

    __slots__ = ("chunked", "headers", "keep_alive", "length", "status")

    def __init__(self, text: str, method: str) -> None:
        lines = text.split("\r\n")
        self.status, newer = _status_line(lines[0])
        self.headers = headers = _headers(lines)
        connection = headers.get("connection")
        self.keep_alive = newer if connection is None else "close" not in connection.lower()
        self.chunked = False
        self.length: int | None = None
        if method == "HEAD" or self.status in (204, 304) or self.status < 200:
            self.length = 0
        elif "transfer-encoding" in headers:
            if headers["transfer-encoding"].lower() != "chunked":
                raise ProtocolError(f"unknown transfer encoding {headers['transfer-encoding'][:40]!r}")
            self.chunked = True
        elif "content-length" in headers:
            self.length = _length(headers["content-length"])
        else:
            self.keep_alive = False

    def __repr__(self) -> str:
        return f"<Head {self.status}>"


def _length(text: str) -> int:
    if not _is_number(text):
        raise ProtocolError(f"invalid content length {text[:40]!r}")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


@lru_cache(_KEPT_LINES)
def _status_line(line: str) -> tuple[int, bool]:
    version, _, remainder = line.partition(" ")
    code = remainder[:3]
    is_known = version in ("HTTP/1.1", "HTTP/1.0") and is_header_value(line)
    if not is_known or not _is_number(code) or len(code) != 3 or remainder[3:4].strip():
        raise ProtocolError(f"invalid status line: {line[:80]!r}")
    return int(code), version == "HTTP/1.1"


def _headers(lines: list[str]) -> dict[str, str]:
    if len(lines) > _MAX_HEADERS:
        raise ProtocolError(f"more than {_MAX_HEADERS} header lines")
    headers: dict[str, str] = {}
    repeated: dict[str, list[str]] = {}
    for line in islice(lines, 1, None):
        name, value = _known_header(line) if len(line) < _SHORT else _header(line)
        if name in headers:
            repeated.setdefault(name, [headers[name]]).append(value)
        else:
            headers[name] = value
    # Joined at the end: to append to a value for each of its lines would take quadratic time.
    return headers | {name: ", ".join(values) for name, values in repeated.items()} if repeated else headers


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    # A name with a space is a folded line, or a smuggled one; other readers see further lines behind a line feed.
    if not colon or not _HEADER_NAME(name) or not is_header_value(value):
        raise ProtocolError(f"invalid header line: {line[:80]!r}")
    return name.lower(), value.strip(" \t")


_known_header = lru_cache(_KEPT_LINES)(_header)


def _decompress(raw: bytes, limit: int, check: Callable[[], object]) -> bytes:
    """Decompress a gzip body, which may have several members (RFC 1952), and call `check` after each piece."""
    packed, position, output = memoryview(raw), 0, bytearray()
    while position < len(packed):
        member = zlib.decompressobj(_GZIP)
        while not member.eof:
            # In pieces: zlib copies what follows a member, which would take quadratic time for many members.
            piece = packed[position : position + _PIECE]
            try:
                unpacked = member.decompress(piece, _READ_LARGE)
            except zlib.error as error:
                raise ProtocolError(f"invalid gzip: {error}") from error
            if not piece and not unpacked:
                raise ProtocolError("invalid gzip: truncated")
            position += len(piece) - len(member.unconsumed_tail) - len(member.unused_data)
            output += unpacked
            _check_size(len(output), limit)
            check()
    return bytes(output)


def _check_size(size: int, limit: int) -> None:
    if limit and size > limit:
        raise TooLarge(too_large(limit))


class ReplyReader:
    """Reads consecutive replies from `recv`, which returns `b""` at the end.

    `recv`'s own exceptions pass through. Memory: at most twice a body, plus one read. `max_body` limits a whole body's
    bytes, compressed and decompressed; 0 means unlimited. `check` is called while a body is decompressed, and raises
    `TimeoutError` to give up.
    """

    __slots__ = ("_buffer", "_check", "_excess", "_max_body", "_position", "_recv", "begun")

    def __init__(
        self, recv: Callable[[int], bytes], max_body: int = 0, check: Callable[[], object] = lambda: None
    ) -> None:
        self._recv = recv
        self._max_body = max_body
        self._check = check
        self._buffer = b""
        self._position = 0
        self._excess = 0
        self.begun = False
        """True once a byte of the current reply has been received."""

    @property
    def clean(self) -> bool:
        """True if no received bytes are left, which no request explains."""
        return self._position == len(self._buffer)

    @property
    def unread(self) -> bytes:
        """The bytes received after the last reply's head."""
        return self._buffer[self._position :]

    def head(self, method: str, *, switch: bool = False) -> Head:
        """Return the next reply's head; skip interim (1xx) heads. `switch` allows a switch of protocols (101).

        Raises:
            IncompleteRead: the peer closed first. ProtocolError: not HTTP/1.1.
        """
        self.begun = self._position < len(self._buffer)
        self._excess = 0
        for _ in range(_MAX_INTERIM + 1):
            end = self._find(b"\r\n\r\n", _MAX_HEAD)
            text = self._buffer[self._position : end].decode(errors="replace")
            self._position = end + 4
            head = Head(text, method)
            if head.status >= 200 or (switch and head.status == 101):
                return head
            if head.status == 101:
                raise ProtocolError("unrequested switch of protocols")
        raise ProtocolError(f"more than {_MAX_INTERIM} interim replies")

    def body(self, head: Head) -> bytes:
        """Return the whole body, decompressed.

        Raises:
            TooLarge: it exceeds the limit; the connection cannot be used again.
        """
        raw = self._raw_body(head)
        encoding = head.headers.get("content-encoding", "identity")
        if encoding == "identity" or not raw:
            return raw
        if encoding != "gzip":
            raise ProtocolError(f"unknown content encoding {encoding[:40]!r}")
        return _decompress(raw, self._max_body, self._check)

    def _raw_body(self, head: Head) -> bytes:
        if head.length is not None:
            # Checked before the body is read, to save memory.
            _check_size(head.length, self._max_body)
            return self._exactly(head.length)
        body = bytearray()  # not a list of pieces, which may have a byte each and fifty bytes of overhead
        for piece in self.pieces(head):
            body += piece
            _check_size(len(body), self._max_body)
        return bytes(body)

    def pieces(self, head: Head) -> Iterator[bytes]:
        """Return an iterator over the body as it arrives, in chunks of any size."""
        if head.chunked:
            return self._chunks()
        return self._up_to(head.length) if head.length is not None else self._until_end()

    def _chunks(self) -> Iterator[bytes]:
        while size := self._chunk_size():
            # A server sends each event of a watch as a chunk, in several TLS records: a part of it is of no use.
            if size + 2 <= _READ:
                self._fill(size + 2)
                yield self._arrived(size)
            else:
                yield from self._up_to(size)
                self._end_chunk()
        budget = _MAX_HEAD
        while line := self._line():  # ignore trailers
            budget -= len(line)
            if budget < 0:
                raise ProtocolError(f"no end of trailers within {_MAX_HEAD} bytes")

    def _arrived(self, size: int) -> bytes:
        """Return a complete chunk of this size, and those that follow it in the buffer.

        A server sends each event of a watch as a chunk, and each piece costs as much as decoding a small event.
        """
        pieces = [self._take(size)]
        self._end_chunk()
        while match := _NEXT_CHUNK(self._buffer, self._position):
            start, size = match.end(), int(match[1], 16)
            if not size or self._buffer[start + size : start + size + 2] != b"\r\n":
                break
            pieces.append(self._buffer[start : start + size])
            self._position = start + size + 2
        return b"".join(pieces)

    def _end_chunk(self) -> None:
        if self._exactly(2) != b"\r\n":
            raise ProtocolError("a chunk is longer than its declared size")

    def _chunk_size(self) -> int:
        line = self._line()
        digits = line.partition(b";")[0].strip()
        if not _HEXDIGITS.fullmatch(digits):
            raise ProtocolError(f"invalid chunk size: {digits[:40]!r}")
        size = int(digits, 16)
        self._excess = max(0, self._excess + len(line) + 2 - 16 - 2 * size)
        if self._excess > _MAX_EXCESS:
            raise ProtocolError("chunks with too much besides data")
        return size

    def _until_end(self) -> Iterator[bytes]:
        if not self.clean:
            yield self._take(len(self._buffer) - self._position)
        while data := self._recv(_READ):
            yield data

    def _up_to(self, size: int) -> Iterator[bytes]:
        while size:
            self._fill(1)
            piece = self._take(min(size, len(self._buffer) - self._position))
            size -= len(piece)
            yield piece

    def _exactly(self, size: int) -> bytes:
        ready = len(self._buffer) - self._position
        if ready >= size:
            return self._take(size)
        body = bytearray(self._take(ready))
        while len(body) < size:
            # Never more than is missing: the next reply stays unread.
            data = self._recv(min(size - len(body), _READ_LARGE))
            if not data:
                raise IncompleteRead("unexpected EOF")
            body += data
        return bytes(body)

    def _line(self) -> bytes:
        end = self._find(b"\r\n", _MAX_LINE)
        line = self._buffer[self._position : end]
        self._position = end + 2
        return line

    def _find(self, mark: bytes, limit: int) -> int:
        if self._position == len(self._buffer):
            self._buffer, self._position = self._receive(), 0
        if (end := self._buffer.find(mark, self._position)) >= 0:
            return end
        # Each byte is looked at and copied a few times, however few arrive at once.
        unread, overlap = bytearray(self._buffer[self._position :]), len(mark) - 1
        looked = 0
        while (end := unread.find(mark, looked)) < 0:
            if len(unread) > limit:
                raise ProtocolError(f"no end of line or head within {limit} bytes")
            looked = max(0, len(unread) - overlap)
            unread += self._receive()
        self._buffer, self._position = bytes(unread), 0
        return end

    def _take(self, size: int) -> bytes:
        start, self._position = self._position, self._position + size
        return self._buffer[start : self._position]

    def _fill(self, size: int) -> None:
        """Read until that many bytes are in the buffer."""
        if self._position == len(self._buffer):
            self._buffer, self._position = self._receive(), 0
        if len(self._buffer) - self._position >= size:
            return
        unread = bytearray(self._buffer[self._position :])
        while len(unread) < size:
            unread += self._receive()
        self._buffer, self._position = bytes(unread), 0

    def _receive(self) -> bytes:
        data = self._recv(_READ)
        if not data:
            raise IncompleteRead("unexpected EOF" if self.begun else "EOF")
        self.begun = True
        return data
