"""A watch that a test drives by hand: what a watch reactor gives when the tracker's own is not what is wanted."""

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from clientgo.errors import ApiError
from clientgo.meta.codec import encode, encode_value
from clientgo.rest.request import RawEvent

BUFFER = 100
"""Events a fake watch keeps unread (the size of client-go's)."""


class FakeWatch:
    """An `EventStream` that sends what it is told to; one that nobody reads overflows loudly after 100 events."""

    def __init__(self) -> None:
        self._filled = threading.Condition()
        self._frames: deque[RawEvent | Exception] = deque()
        self._ended = False

    def __repr__(self) -> str:
        return f"<FakeWatch {len(self._frames)} unread{', ended' if self._ended else ''}>"

    def add(self, obj: object) -> None:
        """Send ADDED."""
        self._send("ADDED", obj)

    def modify(self, obj: object) -> None:
        """Send MODIFIED."""
        self._send("MODIFIED", obj)

    def delete(self, obj: object) -> None:
        """Send DELETED with the last state."""
        self._send("DELETED", obj)

    def bookmark(self, resource_version: str) -> None:
        """Send BOOKMARK."""
        self._send("BOOKMARK", {"metadata": {"resourceVersion": resource_version}})

    def error(self, error: ApiError) -> None:
        """Send ERROR with the Status that `error` stands for."""
        status = {"kind": "Status", "status": "Failure", "message": error.message}
        self._send("ERROR", {**status, "reason": error.reason, "code": error.code})

    def fail(self, error: Exception) -> None:
        """Let the reader get `error` raised, as when the connection is lost."""
        self._put(error)

    def end(self) -> None:
        """Let the stream end once all that was sent is read, as a server does when the time is up."""
        with self._filled:
            self._ended = True
            self._filled.notify_all()

    def close(self) -> None:
        """End the stream from the reader's side; what was not read is dropped, what is sent later is ignored."""
        with self._filled:
            self._frames.clear()
        self.end()

    def __iter__(self) -> Iterator[RawEvent]:
        while (frame := self._take()) is not None:
            if isinstance(frame, Exception):
                raise frame
            yield frame

    def _send(self, kind: str, obj: Any) -> None:
        body = encode_value(obj) if isinstance(obj, Mapping) else encode(obj)
        self._put(RawEvent(kind, msgspec.Raw(body)))

    def _put(self, frame: RawEvent | Exception) -> None:
        with self._filled:
            if self._ended:
                return
            if len(self._frames) >= BUFFER:
                raise RuntimeError(f"{BUFFER} events are unread on a fake watch: nobody reads it")
            self._frames.append(frame)
            self._filled.notify_all()

    def _take(self) -> RawEvent | Exception | None:
        with self._filled:
            while not self._frames:
                if self._ended:
                    return None
                self._filled.wait()
            return self._frames.popleft()
