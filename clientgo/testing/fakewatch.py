"""Streams that a test drives by hand, among them a watch for reactors that replace the tracker's own watch."""

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from clientgo.errors import ApiError
from clientgo.meta.codec import encode, encode_value
from clientgo.rest.request import RawEvent

E = TypeVar("E")

BUFFER = 100
"""Maximum number of unread events (the size of client-go's buffer)."""


class ManualStream(Generic[E]):
    """A stream driven by a test: `send`, `fail`, `end`. After its end, further events are ignored."""

    def __init__(self, events: Iterable[E] = ()) -> None:
        self._changed = threading.Condition()
        self._events: deque[E | Exception] = deque(events)
        self._ended = False
        self.closed = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self._events)} unread{', ended' if self._ended else ''}>"

    @property
    def unread(self) -> int:
        """Number of events that have not been read."""
        return len(self._events)

    def __iter__(self) -> Iterator[E]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._events or self._ended)
                if not self._events:
                    return
                event = self._events.popleft()
            if isinstance(event, Exception):
                raise event
            yield event

    def send(self, *events: E) -> None:
        """Send events to the reader."""
        self._put(*events)

    def fail(self, error: Exception) -> None:
        """Raise `error` in the reader after the events sent before, as when the connection is lost."""
        self._put(error)

    def end(self) -> None:
        """End the stream after the events sent before, as a server does."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def close(self) -> None:
        """Close the stream from the reader's side; unread events are dropped."""
        with self._changed:
            self._events.clear()
            self.closed = True
        self.end()

    def _put(self, *events: E | Exception) -> None:
        with self._changed:
            if not self._ended:
                self._events.extend(events)
                self._changed.notify_all()


class FakeWatcher(ManualStream[RawEvent]):
    """An `EventStream` that sends what the test adds; `fail` and `end` finish it.

    Raises:
        RuntimeError: more than 100 events are unread.
    """

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
        """Send ERROR with the Status of `error`."""
        status = {"kind": "Status", "status": "Failure", "message": error.message}
        self._send("ERROR", {**status, "reason": error.reason, "code": error.code})

    def _send(self, kind: str, obj: object) -> None:
        body = encode_value(obj) if isinstance(obj, Mapping) else encode(obj)
        if self.unread >= BUFFER:
            raise RuntimeError(f"{BUFFER} events are unread on a fake watch: it has no reader")
        self.send(RawEvent(kind, msgspec.Raw(body)))
