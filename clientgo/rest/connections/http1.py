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

from clientgo.rest.transport import Headers as Headers

_TOKEN = re.compile(r"[A-Z]+").fullmatch
_HEXDIGITS = re.compile(rb"[0-9a-fA-F]{1,15}").fullmatch
_NEXT_CHUNK = re.compile(rb"([0-9a-fA-F]{1,15})\r\n").match
# Control characters, except tab, and what UTF-8 cannot encode.
_UNSENDABLE = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]").search
_GZIP = 31  # zlib's window bits for a gzip wrapper
_MAX_HEAD = 256 * 1024
_MAX_LINE = 16 * 1024
_READ = 64 * 1024
_READ_LARGE = 1024 * 1024
_DIGITS = 18
# A server repeats the same few header lines, and so does a client. Only short ones are cached, to bound the memory.
_KEPT_LINES = 512
_KEPT_BLOCKS = 64
_SHORT = 256


class ProtocolError(Exception):
    """The received bytes are not a supported HTTP/1.1 reply."""


class IncompleteRead(Exception):
    """The peer closed the connection before the message was complete."""


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
    return _UNSENDABLE(text) is None


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
    version, _, rest = line.partition(" ")
    code = rest[:3]
    if version not in ("HTTP/1.1", "HTTP/1.0") or not _is_number(code) or len(code) != 3 or rest[3:4].strip():
        raise ProtocolError(f"invalid status line: {line[:80]!r}")
    return int(code), version == "HTTP/1.1"


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in islice(lines, 1, None):
        name, value = _known_header(line) if len(line) < _SHORT else _header(line)
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    # A name with a space is a folded line, or a smuggled one; both are long forbidden.
    if not colon or not name or " " in name or "\t" in name:
        raise ProtocolError(f"invalid header line: {line[:80]!r}")
    return name.lower(), value.strip(" \t")


_known_header = lru_cache(_KEPT_LINES)(_header)


def _decompress(raw: bytes, limit: int) -> bytes:
    """Decompress a gzip body, which may have several members (RFC 1952)."""
    members: list[bytes] = []
    size = 0
    while raw:
        member = zlib.decompressobj(_GZIP)
        try:
            # One byte above the limit shows that it was exceeded; zlib takes 0 for unlimited.
            members.append(member.decompress(raw, limit - size + 1 if limit else 0))
        except zlib.error as error:
            raise ProtocolError(f"invalid gzip: {error}") from error
        size += len(members[-1])
        _check_size(size, limit)
        if not member.eof:
            raise ProtocolError("invalid gzip: truncated")
        raw = member.unused_data
    return b"".join(members)


def _check_size(size: int, limit: int) -> None:
    if limit and size > limit:
        raise TooLarge(f"the response is larger than {limit} bytes: raise Config.max_response_bytes to allow it")


class ReplyReader:
    """Reads consecutive replies from `recv`, which returns `b""` at the end.

    `recv`'s own exceptions pass through. Memory: a body, plus at most one read. `max_body` limits a whole body's bytes,
    compressed and decompressed; 0 means unlimited.
    """

    __slots__ = ("_buffer", "_max_body", "_position", "_recv", "begun")

    def __init__(self, recv: Callable[[int], bytes], max_body: int = 0) -> None:
        self._recv = recv
        self._max_body = max_body
        self._buffer = b""
        self._position = 0
        self.begun = False
        """True once a byte of the current reply has been received."""

    @property
    def clean(self) -> bool:
        """True if no received bytes are left, which no request explains."""
        return self._position == len(self._buffer)

    def head(self, method: str) -> Head:
        """Return the next reply's head; skip interim (1xx) heads.

        Raises:
            IncompleteRead: the peer closed first. ProtocolError: not HTTP/1.1.
        """
        self.begun = self._position < len(self._buffer)
        while True:
            end = self._find(b"\r\n\r\n", _MAX_HEAD)
            text = self._buffer[self._position : end].decode(errors="replace")
            self._position = end + 4
            head = Head(text, method)
            if head.status >= 200:
                return head
            if head.status == 101:
                raise ProtocolError("unrequested switch of protocols")

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
        return _decompress(raw, self._max_body)

    def _raw_body(self, head: Head) -> bytes:
        if head.length is not None:
            # Checked before the body is read, to save memory.
            _check_size(head.length, self._max_body)
            return self._exactly(head.length)
        parts: list[bytes] = []
        size = 0
        for piece in self.pieces(head):
            parts.append(piece)
            size += len(piece)
            _check_size(size, self._max_body)
        return b"".join(parts)

    def pieces(self, head: Head) -> Iterator[bytes]:
        """Return an iterator over the body as it arrives, in chunks of any size."""
        if head.chunked:
            return self._chunks()
        return self._up_to(head.length) if head.length is not None else self._until_end()

    def _chunks(self) -> Iterator[bytes]:
        while size := self._chunk_size():
            # A server sends each event of a watch as a chunk, in several TLS records: a part of it is of no use.
            while len(self._buffer) - self._position < size + 2 <= _READ:
                self._more()
            if size + 2 <= _READ:
                yield self._arrived(size)
            else:
                yield from self._up_to(size)
                self._end_chunk()
        while self._line():
            pass  # ignore trailers

    def _arrived(self, size: int) -> bytes:
        """Return a complete chunk of this size, and those that follow it in the buffer.

        A server sends each event of a watch as a chunk, and each piece costs as much as decoding a small event.
        """
        parts = [self._take(size)]
        self._end_chunk()
        while found := _NEXT_CHUNK(self._buffer, self._position):
            start, size = found.end(), int(found[1], 16)
            if not size or self._buffer[start + size : start + size + 2] != b"\r\n":
                break
            parts.append(self._buffer[start : start + size])
            self._position = start + size + 2
        return b"".join(parts)

    def _end_chunk(self) -> None:
        if self._exactly(2) != b"\r\n":
            raise ProtocolError("a chunk is longer than its declared size")

    def _chunk_size(self) -> int:
        digits = self._line().partition(b";")[0].strip()
        if not _HEXDIGITS(digits):
            raise ProtocolError(f"invalid chunk size: {digits[:40]!r}")
        return int(digits, 16)

    def _until_end(self) -> Iterator[bytes]:
        if not self.clean:
            yield self._take(len(self._buffer) - self._position)
        while data := self._recv(_READ):
            yield data

    def _up_to(self, size: int) -> Iterator[bytes]:
        while size:
            if self.clean:
                self._more()
            piece = self._take(min(size, len(self._buffer) - self._position))
            size -= len(piece)
            yield piece

    def _exactly(self, size: int) -> bytes:
        ready = len(self._buffer) - self._position
        if ready >= size:
            return self._take(size)
        parts = [self._take(ready)]
        missing = size - ready
        while missing:
            # Never more than is missing: the next reply stays unread.
            data = self._recv(min(missing, _READ_LARGE))
            if not data:
                raise IncompleteRead
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def _line(self) -> bytes:
        end = self._find(b"\r\n", _MAX_LINE)
        line = self._buffer[self._position : end]
        self._position = end + 2
        return line

    def _find(self, mark: bytes, limit: int) -> int:
        while (end := self._buffer.find(mark, self._position)) < 0:
            if len(self._buffer) - self._position > limit:
                raise ProtocolError(f"no end of line or head within {limit} bytes")
            self._more()
        return end

    def _take(self, size: int) -> bytes:
        start, self._position = self._position, self._position + size
        return self._buffer[start : self._position]

    def _more(self) -> None:
        data = self._recv(_READ)
        if not data:
            raise IncompleteRead
        self.begun = True
        self._buffer = self._buffer[self._position :] + data
        self._position = 0
