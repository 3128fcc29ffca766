"""Model of an API server's lists and watches for one kind, with faults.

Versions increase with each change; the last few changes can be watched from, older versions are 410; a list may have
pages, whose token may expire; a watch may be cut, end with an error, or send only bookmarks. It has no locks: it runs
under a scheduler, without switches between two operations on locks.
"""

from collections.abc import Callable
from typing import Any

from clientgo.errors import (
    ApiError,
    ConnectionFailed,
    Expired,
    InternalError,
    StatusCause,
    StatusDetails,
    Timeout,
    TooManyRequests,
)
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ListMeta, ObjectList, replace
from clientgo.meta.listwatch import Bookmark, ListOptions, WatchEvent
from clientgo.meta.names import ObjectName, object_name
from tests.models.views import config_map

HISTORY = 6
"""Changes that can still be watched from; few, so that it matters."""

FAULTS: dict[str, Callable[[], Exception]] = {
    "gone": lambda: Expired("too old"),
    "internal": lambda: InternalError("failed"),
    "busy": lambda: TooManyRequests("later", retry_after=2.0),
    "timeout": lambda: Timeout("too slow"),
    "refused": lambda: ConnectionFailed("refused", sent=False, refused=True),
    "lost": lambda: ConnectionFailed("reset"),
    "what": lambda: ApiError("a code of tomorrow", code=499),
}


class ModelServer:
    """Config maps, and their watches."""

    kind = ConfigMap

    def __init__(self, new_watch: Callable[[list[Any]], Any], *, streams: bool, page: int) -> None:
        """Create a server; `new_watch` creates a watch with its first events; `page` is the page size, 0 for none."""
        self.supports_watch_list = streams
        self.objects: dict[ObjectName, ConfigMap] = {}
        self.version = 10
        self.requests = 0
        self._page = page
        self._new_watch = new_watch
        self._history: list[tuple[int, WatchEvent[ConfigMap]]] = []
        self._oldest = 10
        self._watches: list[tuple[Any, int]] = []
        self._faults: dict[str, list[Exception]] = {"list": [], "watch": []}
        self._backup: tuple[dict[ObjectName, ConfigMap], int] = ({}, 10)

    def write(self, name: str) -> None:
        """Create or change the object."""
        key = ObjectName("ns", name)
        self._change("MODIFIED" if key in self.objects else "ADDED", config_map(name, self.version + 1))

    def delete(self, name: str) -> None:
        """Delete the object if it exists."""
        if ObjectName("ns", name) in self.objects:
            self._change("DELETED", config_map(name, self.version + 1))

    def bookmark(self) -> None:
        """Send a bookmark with the current version to all watches."""
        for watch, _ in self._watches:
            watch.send(Bookmark(str(self.version)))

    def cut(self, fault: str) -> None:
        """End all watches, optionally with an error."""
        watches, self._watches = self._watches, []
        for watch, _ in watches:
            if fault:
                watch.fail(FAULTS[fault]())
            watch.end()

    def compact(self) -> None:
        """Drop the history."""
        self._history, self._oldest = [], self.version

    def fail_next(self, verb: str, *faults: str) -> None:
        """Fail the next requests."""
        self._faults[verb] += [FAULTS[fault]() for fault in faults]

    def heal(self) -> None:
        """Answer all requests from now on."""
        self._faults = {"list": [], "watch": []}

    def back_up(self) -> None:
        """Save the state."""
        self._backup = (dict(self.objects), self.version)

    def restore(self) -> None:
        """Restore the saved state, including its version, and close connections."""
        self.objects, self.version = dict(self._backup[0]), self._backup[1]
        self._history, self._oldest = [], self.version
        self.cut("lost")

    def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
        """List everything, or a page."""
        self._answer("list")
        if options.continue_:
            start, at = map(int, options.continue_.split("/"))
            if at != self.version:
                raise Expired("the continue token is too old")
        else:
            start = 0
            self._must_have(options.resource_version)
        items = list(self.objects.values())
        size = min(filter(None, (self._page, options.limit)), default=0)
        end = start + size if size else len(items)
        token = f"{end}/{self.version}" if end < len(items) else ""
        return ObjectList(ListMeta(resource_version=str(self.version), continue_=token), items[start:end])

    def watch_from(self, options: ListOptions) -> Any:
        """Watch from a version: past changes, then new ones."""
        self._answer("watch")
        since = int(options.resource_version or 0)
        if options.send_initial_events:
            self._must_have(options.resource_version)
            since = self.version
            events: list[Any] = [WatchEvent("ADDED", obj) for obj in self.objects.values()]
            events.append(Bookmark(str(self.version), initial_events_end=True))
        else:
            # A version that is still to come is waited for, in silence.
            if since < self._oldest:
                raise Expired(f"too old resource version: {since}")
            events = [event for version, event in self._history if version > since]
        watch = self._new_watch(events)
        self._watches.append((watch, since))
        return watch

    def _must_have(self, version: str) -> None:
        if int(version or 0) > self.version:
            cause = StatusCause(reason="ResourceVersionTooLarge", message="Too large resource version")
            details = StatusDetails(causes=(cause,), retry_after_seconds=1)
            raise Timeout("Too large resource version", details=details)

    def _answer(self, verb: str) -> None:
        self.requests += 1
        if self._faults[verb]:
            raise self._faults[verb].pop(0)

    def _change(self, change: Any, obj: ConfigMap) -> None:
        self.version += 1
        key = object_name(obj)
        # What is restored from a backup may get versions it had before, of other objects: these tell them apart.
        obj = replace(obj, metadata=replace(obj.metadata, uid=f"u{self.requests}.{self.version}"))
        if change == "DELETED":
            del self.objects[key]
        else:
            self.objects[key] = obj
        self._history.append((self.version, WatchEvent(change, obj)))
        if len(self._history) > HISTORY:
            self._oldest = self._history[0][0]
            del self._history[0]
        for watch, since in self._watches:
            if self.version > since:
                watch.send(WatchEvent(change, obj))
