"""Watch streams and list-watch sources that a test drives, for tests of informers and of watch reactors.

Failing requests, ending watches and changes that no watch reports can be simulated.
"""

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from clientgo.errors import ApiError, ConnectionFailed, Expired, Invalid
from clientgo.meta.codec import ObjectList, Undecodable, encode, encode_value, replace
from clientgo.meta.listwatch import BadEvent, Bookmark, ChangeType, ListOptions, WatchEvent
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, ListMeta
from clientgo.rest.request import RawEvent
from clientgo.stop.stopping import INTERRUPTED, on_stop

E = TypeVar("E")

BUFFER = 100
"""Maximum number of unread events (the size of client-go's buffer)."""


class ManualStream(Generic[E]):
    """A stream driven by a test: `send`, `fail`, `end`. After its end, further events are ignored.

    A stop of the thread that reads it raises `ConnectionFailed` with `stopping`, as for the stream of a server.
    """

    def __init__(self, events: Iterable[E] = ()) -> None:
        self._changed = threading.Condition()
        self._events: deque[E | Exception] = deque(events)
        self._ended = False
        self._interrupted = False
        self.closed = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self._events)} unread{', ended' if self._ended else ''}>"

    @property
    def unread(self) -> int:
        """Number of events that have not been read."""
        return len(self._events)

    def __iter__(self) -> Iterator[E]:
        with on_stop(self._interrupt):
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._events or self._ended or self._interrupted)
                    if not self._events:
                        break
                    event = self._events.popleft()
                if isinstance(event, Exception):
                    raise event
                yield event
        if not self._ended:
            raise ConnectionFailed(INTERRUPTED, stopping=True)

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

    def _interrupt(self) -> None:
        with self._changed:
            self._interrupted = True
            self._changed.notify_all()

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


T = TypeVar("T", bound=ApiObject)

SourceEvent = WatchEvent[T] | Bookmark | BadEvent


class FakeWatch(ManualStream[SourceEvent[T]], Generic[T]):
    """One open watch of a `FakeSource`; also usable alone."""


class FakeSource(Generic[T]):
    """Objects of one kind with resourceVersions 2, 3, 4 …, listed and watched as on a server.

    With `supports_watch_list` it supports streaming lists.
    """

    def __init__(self, kind: type[T], *objects: T, supports_watch_list: bool = False) -> None:
        self.kind = kind
        self.supports_watch_list = supports_watch_list
        self.lists: list[ListOptions] = []
        self.watches: list[ListOptions] = []
        self._lock = threading.Condition()
        # Below: guarded by _lock.
        self._objects: dict[ObjectName, T] = {}
        self._undecodable: dict[ObjectName, Undecodable] = {}
        self._history: list[tuple[int, WatchEvent[T] | BadEvent]] = []
        self._version = 1  # a list never has version 0, which means "any" in requests
        self._oldest = 0
        self._open: list[FakeWatch[T]] = []
        self._list_errors: deque[Exception] = deque()
        self._watch_errors: deque[Exception] = deque()
        for obj in objects:
            self.add(obj)

    def add(self, obj: T, *, silent: bool = False) -> T:
        """Create `obj`; a `silent` change is not sent to watches."""
        return self._change("ADDED", obj, silent)

    def modify(self, obj: T, *, silent: bool = False) -> T:
        """Replace the object of that name."""
        return self._change("MODIFIED", obj, silent)

    def delete(self, obj: T, *, silent: bool = False) -> T:
        """Delete the object of that name."""
        return self._change("DELETED", obj, silent)

    def make_undecodable(self, error: Undecodable, change: ChangeType = "MODIFIED") -> None:
        """Make an object undecodable."""
        with self._lock:
            self._version += 1
            key = ObjectName(error.metadata.namespace, error.metadata.name)
            self._objects.pop(key, None)
            if change == "DELETED":
                self._undecodable.pop(key, None)
            else:
                self._undecodable[key] = error
            self._notify(BadEvent(change, error))

    def fail_next_lists(self, *errors: Exception) -> None:
        """Fail the next lists with these errors."""
        with self._lock:
            self._list_errors.extend(errors)

    def fail_next_watches(self, *errors: Exception) -> None:
        """Fail the next attempts to open a watch with these errors."""
        with self._lock:
            self._watch_errors.extend(errors)

    def break_watches(self, error: Exception | None = None) -> None:
        """End every open watch, with an error if one is given."""
        with self._lock:
            watches, self._open = self._open, []
        for watch in watches:
            if error is not None:
                watch.fail(error)
            watch.end()

    def bookmark(self) -> None:
        """Send a bookmark with the current version to every open watch."""
        with self._lock:
            for watch in self._open:
                watch.send(Bookmark(str(self._version)))

    def compact(self) -> None:
        """Drop the history: watches from earlier versions fail with 410."""
        with self._lock:
            self._oldest = self._version

    def wait_for_watch(self, number: int = 1, timeout: float = 10.0) -> None:
        """Wait until `number` watches were requested.

        Raises:
            TimeoutError: after `timeout` real seconds.
        """
        with self._lock:
            if not self._lock.wait_for(lambda: len(self.watches) >= number, timeout):
                raise TimeoutError(f"{len(self.watches)} watches were opened, expected {number}")

    def list_page(self, options: ListOptions) -> ObjectList[T]:
        """Return all objects; pages are not simulated."""
        with self._lock:
            self.lists.append(options)
            if self._list_errors:
                raise self._list_errors.popleft()
            version = ListMeta(resource_version=str(self._version))
            return ObjectList(version, list(self._objects.values()), tuple(self._undecodable.values()))

    def watch_from(self, options: ListOptions) -> FakeWatch[T]:
        """Return a watch from the requested version."""
        with self._lock:
            self.watches.append(options)
            self._lock.notify_all()
            if self._watch_errors:
                raise self._watch_errors.popleft()
            if options.send_initial_events:
                return self._stream_list()
            since = int(options.resource_version or 0)
            if since < self._oldest:
                raise Expired(f"too old resource version: {since} ({self._oldest})")
            watch: FakeWatch[T] = FakeWatch([event for version, event in self._history if version > since])
            self._open.append(watch)
            return watch

    def _stream_list(self) -> FakeWatch[T]:
        if not self.supports_watch_list:
            raise Invalid("sendInitialEvents is forbidden for watch: this source does not support streaming lists")
        events: list[SourceEvent[T]] = [WatchEvent("ADDED", obj) for obj in self._objects.values()]
        events += [BadEvent("ADDED", error) for error in self._undecodable.values()]
        watch = FakeWatch([*events, Bookmark(str(self._version), initial_events_end=True)])
        self._open.append(watch)
        return watch

    def _change(self, change: ChangeType, obj: T, silent: bool) -> T:
        with self._lock:
            self._version += 1
            obj = replace(obj, metadata=replace(obj.metadata, resource_version=str(self._version)))
            key = object_name(obj)
            self._undecodable.pop(key, None)
            if change == "DELETED":
                self._objects.pop(key, None)
            else:
                self._objects[key] = obj
            if not silent:
                self._notify(WatchEvent(change, obj))
        return obj

    def _notify(self, event: WatchEvent[T] | BadEvent) -> None:
        self._history.append((self._version, event))
        for watch in self._open:
            watch.send(event)
