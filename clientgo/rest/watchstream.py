"""Watch streams: splits the bytes of an open watch into frames, one JSON object per line."""

from collections.abc import Iterator

import msgspec

from clientgo.errors import InvalidResponse
from clientgo.meta.listwatch import INITIAL_EVENTS_END
from clientgo.meta.shallow_json import members, with_whole_characters
from clientgo.meta.typemeta import ANY_RESPONSE, check_response
from clientgo.rest.bounds import END_GRACE, MAX_FRAME, MAX_WATCH_SECONDS
from clientgo.rest.request import RawEvent
from clientgo.rest.transport import HTTPStream

_LIST_END = f'"{INITIAL_EVENTS_END}"'.encode()


class InvalidFrame(ValueError):
    """Bytes that are not a watch frame: `line`, which may be something else."""

    def __init__(self, message: str, line: bytes = b"") -> None:
        super().__init__(message)
        self.line = line


# Created at import: msgspec must not inspect a type for the first time in two threads at once.
_decode = msgspec.json.Decoder(RawEvent).decode
_TYPE = msgspec.json.Decoder(str)


class FrameSplitter:
    """Splits chunks of bytes into frames of at most `max_frame` bytes. No I/O, linear in the bytes."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._pending = bytearray()  # an unfinished line; not a list of pieces, which may have a byte each

    def feed(self, chunk: bytes) -> Iterator[RawEvent]:
        """Yield the frames that `chunk` completes.

        Raises:
            InvalidFrame: a line is not a frame; the watch must restart.
        """
        end = chunk.rfind(b"\n")
        if end < 0:
            self._wait_for_more(chunk)
            return
        lines = chunk[:end]
        if self._pending:
            self._pending += lines
            lines = bytes(self._pending)
            self._pending.clear()
        if end + 1 < len(chunk):
            self._wait_for_more(chunk[end + 1 :])
        for line in lines.split(b"\n"):
            if len(line) > self._max_frame:
                raise self._too_long()
            if line and not line.isspace():
                yield self._frame(line)

    def finish(self) -> list[RawEvent]:
        """Return the last frame if it has no line break at the end of the stream.

        Raises:
            InvalidFrame: it is incomplete.
        """
        pending = bytes(self._pending)
        self._pending.clear()
        # A truncated JSON object cannot be decoded.
        return [self._frame(pending)] if pending.strip() else []

    def _wait_for_more(self, piece: bytes) -> None:
        self._pending += piece
        if len(self._pending) > self._max_frame:
            raise self._too_long()

    def _too_long(self) -> InvalidFrame:
        return InvalidFrame(f"a frame is longer than {self._max_frame} bytes")

    def _frame(self, line: bytes) -> RawEvent:
        line = with_whole_characters(line)
        try:
            try:
                return _decode(line)
            except RecursionError:
                return _deep_frame(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidFrame(f"{error} in {line[:80]!r}", line) from error


def _deep_frame(line: bytes) -> RawEvent:
    # Ending the watch would only repeat the frame, and the object's name and version can be read.
    raw_members = members(line)
    return RawEvent(_TYPE.decode(raw_members.get("type", b"null")), msgspec.Raw(raw_members.get("object", b"null")))


class WatchStream:
    """The frames of one watch; stops when the server ends it, raises `ConnectionFailed` if the connection breaks.

    The idle timeout applies after the first periodic bookmark, because not every server sends one for a resource
    without changes. Until then a watch may be silent for its requested duration. Without one, the idle timeout applies
    from the start if bookmarks were requested; otherwise the longest duration of a server does. The bookmark that ends
    a streaming list is not periodic.
    """

    def __init__(
        self,
        stream: HTTPStream,
        server: str,
        *,
        seconds: float = 0.0,
        bookmarks: bool = False,
        idle_timeout: float | None = None,
        max_frame: int = MAX_FRAME,
    ) -> None:
        """Wrap a response; `seconds` is the watch's requested duration, 0 for the server's default."""
        at_first = (seconds or MAX_WATCH_SECONDS) + END_GRACE
        stream.idle_timeout = idle_timeout if bookmarks and not seconds else at_first
        self._stream = stream
        self._server = server
        self._idle_timeout = idle_timeout
        self._splitter = FrameSplitter(max_frame)
        self._closed = False

    def __repr__(self) -> str:
        return f"<WatchStream {self._server} {self._stream!r}>"

    def __iter__(self) -> Iterator[RawEvent]:
        splitter, chunk = self._splitter, b""
        try:
            for chunk in self._stream:
                for frame in splitter.feed(chunk):
                    if frame.type == "BOOKMARK" and _LIST_END not in bytes(frame.object):
                        self._stream.idle_timeout = self._idle_timeout
                    yield frame
                    if self._closed:
                        return
            if not self._closed:
                yield from splitter.finish()
        except InvalidFrame as error:
            for body in (error.line, chunk):  # a Status may have several lines
                check_response(body, ANY_RESPONSE)
            raise InvalidResponse(f"invalid watch stream from {self._server}: {error}") from error
        finally:
            self._stream.close()

    def close(self) -> None:
        """End the watch from any thread; a blocked reader returns at once."""
        self._closed = True
        self._stream.close()
