"""A list-watch source in memory, for tests of informers: objects come, change and go as the test says.

What a real server may do to a client can be played too: changes no watch reports, watches that end, failing requests.
"""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from clientgo.errors import Expired, Invalid
from clientgo.meta.codec import ObjectList, Undecodable, replace
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, ListMeta
from clientgo.meta.options import ListOptions
from clientgo.meta.watch import BadEvent, Bookmark, ChangeType, WatchEvent

T = TypeVar("T", bound=ApiObject)

Event = WatchEvent[T] | Bookmark | BadEvent


class FakeWatch(Generic[T]):
    """One open watch of a `FakeSource`; also usable alone: `send`, `fail`, `end`."""

    def __init__(self, events: list[Event[T]] | None = None) -> None:
        self._changed = threading.Condition()
        self._events: deque[Event[T] | Exception] = deque(events or ())
        self._ended = False
        self.closed = False

    def __iter__(self) -> Iterator[Event[T]]:
        while True:
            with self._changed:
                while not self._events and not self._ended and not self.closed:
                    self._changed.wait()
                if self.closed or not self._events:
                    return
                event = self._events.popleft()
            if isinstance(event, Exception):
                raise event
            yield event

    def send(self, *events: Event[T]) -> None:
        """Let the reader see these next."""
        with self._changed:
            self._events.extend(events)
            self._changed.notify_all()

    def fail(self, error: Exception) -> None:
        """Raise `error` at the reader after what was sent before."""
        with self._changed:
            self._events.append(error)
            self._changed.notify_all()

    def end(self) -> None:
        """The server ends the watch after what was sent before."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def close(self) -> None:
        """The reader wants no more."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()


class FakeSource(Generic[T]):
    """Objects of one kind with resourceVersions 2, 3, 4 …, listed and watched as a server would.

    With `supports_watch_list` it streams lists to those who ask.
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
        self._version = 1  # as a server's: a list never has version 0, which means "any" where it is asked for
        self._oldest = 0
        self._open: list[FakeWatch[T]] = []
        self._list_errors: deque[Exception] = deque()
        self._watch_errors: deque[Exception] = deque()
        for obj in objects:
            self.add(obj)

    def add(self, obj: T, *, silent: bool = False) -> T:
        """Create `obj`; `silent` changes are told to no watch."""
        return self._change("ADDED", obj, silent)

    def modify(self, obj: T, *, silent: bool = False) -> T:
        """Change the object of that name to `obj`."""
        return self._change("MODIFIED", obj, silent)

    def delete(self, obj: T, *, silent: bool = False) -> T:
        """Delete the object of that name."""
        return self._change("DELETED", obj, silent)

    def spoil(self, error: Undecodable, change: ChangeType = "MODIFIED") -> None:
        """Let an object become one that can't be decoded."""
        with self._lock:
            self._version += 1
            key = ObjectName(error.metadata.namespace, error.metadata.name)
            self._objects.pop(key, None)
            if change == "DELETED":
                self._undecodable.pop(key, None)
            else:
                self._undecodable[key] = error
            self._tell(BadEvent(change, error))

    def fail_next_lists(self, *errors: Exception) -> None:
        """Answer the next lists with these errors."""
        with self._lock:
            self._list_errors.extend(errors)

    def fail_next_watches(self, *errors: Exception) -> None:
        """Answer the next attempts to open a watch with these errors."""
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
        """Tell every open watch the version of now."""
        with self._lock:
            for watch in self._open:
                watch.send(Bookmark(str(self._version)))

    def compact(self) -> None:
        """Forget the history: watches from before now are answered with 410."""
        with self._lock:
            self._oldest = self._version

    def wait_for_watch(self, number: int = 1, timeout: float = 10.0) -> None:
        """Wait, in real seconds, until so many watches were asked for; raises TimeoutError."""
        with self._lock:
            if not self._lock.wait_for(lambda: len(self.watches) >= number, timeout):
                raise TimeoutError(f"{len(self.watches)} watches were opened, not {number}")

    def list_page(self, options: ListOptions) -> ObjectList[T]:
        """Everything there is now; pages are not played."""
        with self._lock:
            self.lists.append(options)
            if self._list_errors:
                raise self._list_errors.popleft()
            version = ListMeta(resource_version=str(self._version))
            return ObjectList(version, list(self._objects.values()), tuple(self._undecodable.values()))

    def watch_from(self, options: ListOptions) -> FakeWatch[T]:
        """What happened since the version asked for, then what happens."""
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
            raise Invalid("sendInitialEvents is forbidden for watch: this source does not stream lists")
        events: list[Event[T]] = [WatchEvent("ADDED", obj) for obj in self._objects.values()]
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
                self._tell(WatchEvent(change, obj))
        return obj

    def _tell(self, event: WatchEvent[T] | BadEvent) -> None:
        self._history.append((self._version, event))
        for watch in self._open:
            watch.send(event)
