"""An open watch: bytes as they arrive become frames, one JSON object a line."""

from collections.abc import Iterator

import msgspec

from clientgo.errors import ConnectionFailed
from clientgo.meta.listwatch import INITIAL_EVENTS_END
from clientgo.meta.shallow_json import members
from clientgo.rest.request import RawEvent
from clientgo.rest.transport import HTTPStream

MAX_FRAME = 64 * 1024 * 1024
"""Bytes; a longer frame is taken for garbage. etcd holds no object above 1.5 MiB, aggregated servers may."""


END_GRACE = 15.0
"""Seconds a server may be late in ending a watch at the time it was asked for."""

_LIST_END = f'"{INITIAL_EVENTS_END}"'.encode()


class Garbage(ValueError):
    """Bytes that are no watch frame."""


# Made while there is one thread: msgspec must not look into a type for the first time in two of them at once.
_decode = msgspec.json.Decoder(RawEvent).decode
_TYPE = msgspec.json.Decoder(str)


class FrameSplitter:
    """Bytes in, frames out, in order; however they were cut on the way. No I/O, linear in the bytes."""

    def __init__(self) -> None:
        # Pieces of one unfinished line; joined once, when its end has come.
        self._pending: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[RawEvent]:
        """The frames that `chunk` completes.

        Raises:
            Garbage: a line is no frame. Frames before it in the same chunk are lost with it: the watch must start anew.
        """
        end = chunk.rfind(b"\n")
        if end < 0:
            self._wait_for_more(chunk)
            return []
        lines = chunk[:end]
        if self._pending:
            self._pending.append(lines)
            lines = b"".join(self._pending)
            self._pending.clear()
            self._size = 0
        if end + 1 < len(chunk):
            self._wait_for_more(chunk[end + 1 :])
        return [self._frame(line) for line in lines.split(b"\n") if line and not line.isspace()]

    def finish(self) -> list[RawEvent]:
        """What stands without its end of line when the stream ends.

        Raises:
            Garbage: it is not a whole frame.
        """
        rest = b"".join(self._pending)
        self._pending.clear()
        self._size = 0
        # A JSON object that was cut off can't be read, so one that can be is whole.
        return [self._frame(rest)] if rest.strip() else []

    def _wait_for_more(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MAX_FRAME:
            raise Garbage(f"a frame is longer than {MAX_FRAME} bytes")
        if piece:
            self._pending.append(piece)

    def _frame(self, line: bytes) -> RawEvent:
        try:
            try:
                return _decode(line)
            except RecursionError:
                return _deep_frame(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Garbage(f"{error} in {line[:80]!r}") from error


def _deep_frame(line: bytes) -> RawEvent:
    # It would come again and again if the watch ended with it; and its object's name and version can be read.
    found = members(line)
    return RawEvent(_TYPE.decode(found.get("type", b"null")), msgspec.Raw(found.get("object", b"null")))


class WatchStream:
    """The frames of one answer; ends when the server ends it, raises `ConnectionFailed` when it breaks off.

    The idle timeout applies after the first periodic bookmark: a server sends none for a resource without changes, and
    a quiet watch is no broken one. Until then the watch may be silent for as long as it was asked to last, and TCP
    alone detects a dead peer. The bookmark that ends a streamed list is not periodic.
    """

    def __init__(
        self, stream: HTTPStream, where: str, *, seconds: float = 0.0, idle_timeout: float | None = None
    ) -> None:
        """`seconds` is how long the server was asked to let the watch last; 0 leaves that to the server."""
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
            if not self._closed:
                yield from splitter.finish()
        except Garbage as error:
            raise ConnectionFailed(f"{self._where} garbled a watch: {error}") from error
        finally:
            self._stream.close()

    def close(self) -> None:
        """End the watch from any thread; a blocked reader returns at once."""
        self._closed = True
        self._stream.close()


class EmptyStream:
    """A watch that ended before it began: the server closed the connection while it was being opened."""

    def __iter__(self) -> Iterator[RawEvent]:
        return iter(())

    def close(self) -> None:
        """Nothing is open."""
