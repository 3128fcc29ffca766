"""Watch streams: splits the bytes of an open watch into frames, one JSON object per line."""

from collections.abc import Iterator

import msgspec

from clientgo.errors import ConnectionFailed
from clientgo.meta.listwatch import INITIAL_EVENTS_END
from clientgo.meta.shallow_json import members
from clientgo.rest.request import RawEvent
from clientgo.rest.transport import HTTPStream

MAX_FRAME = 64 * 1024 * 1024
"""Maximum size of a frame in bytes. etcd stores no object above 1.5 MiB, aggregated servers may."""

END_GRACE = 15.0
"""Seconds by which a server may exceed the requested duration of a watch."""

_LIST_END = f'"{INITIAL_EVENTS_END}"'.encode()


class InvalidFrame(ValueError):
    """Bytes that are not a watch frame."""


# Created at import: msgspec must not inspect a type for the first time in two threads at once.
_decode = msgspec.json.Decoder(RawEvent).decode
_TYPE = msgspec.json.Decoder(str)


class FrameSplitter:
    """Splits chunks of bytes into frames. No I/O, linear in the bytes."""

    def __init__(self) -> None:
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
            if line and not line.isspace():
                yield self._frame(line)

    def finish(self) -> list[RawEvent]:
        """Return the last frame if it has no line break at the end of the stream.

        Raises:
            InvalidFrame: it is incomplete.
        """
        rest = bytes(self._pending)
        self._pending.clear()
        # A truncated JSON object cannot be decoded.
        return [self._frame(rest)] if rest.strip() else []

    def _wait_for_more(self, piece: bytes) -> None:
        self._pending += piece
        if len(self._pending) > MAX_FRAME:
            raise InvalidFrame(f"a frame is longer than {MAX_FRAME} bytes")

    def _frame(self, line: bytes) -> RawEvent:
        try:
            try:
                return _decode(line)
            except RecursionError:
                return _deep_frame(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidFrame(f"{error} in {line[:80]!r}") from error


def _deep_frame(line: bytes) -> RawEvent:
    # Ending the watch would only repeat the frame, and the object's name and version can be read.
    found = members(line)
    return RawEvent(_TYPE.decode(found.get("type", b"null")), msgspec.Raw(found.get("object", b"null")))


class WatchStream:
    """The frames of one watch; stops when the server ends it, raises `ConnectionFailed` if the connection breaks.

    The idle timeout applies after the first periodic bookmark: a server sends none for a resource without changes, and
    a quiet watch is not broken. Until then the watch may be silent for its requested duration, and only TCP detects a
    dead peer. The bookmark that ends a streaming list is not periodic.
    """

    def __init__(
        self, stream: HTTPStream, where: str, *, seconds: float = 0.0, idle_timeout: float | None = None
    ) -> None:
        """Wrap a response; `seconds` is the watch's requested duration, 0 for the server's default."""
        stream.idle_timeout = seconds + END_GRACE if seconds else None
        self._stream = stream
        self._where = where
        self._idle_timeout = idle_timeout
        self._closed = False

    def __repr__(self) -> str:
        return f"<WatchStream {self._where} {self._stream!r}>"

    def __iter__(self) -> Iterator[RawEvent]:
        splitter = FrameSplitter()
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
            raise ConnectionFailed(f"invalid watch stream from {self._where}: {error}") from error
        finally:
            self._stream.close()

    def close(self) -> None:
        """End the watch from any thread; a blocked reader returns at once."""
        self._closed = True
        self._stream.close()


class EmptyStream:
    """A watch without frames: the server closed the connection while it was being opened."""

    def __iter__(self) -> Iterator[RawEvent]:
        return iter(())

    def close(self) -> None:
        """Do nothing: no connection is open."""
