"""Watches: the existing objects, then each change once, in order, as lines of JSON.

A stream is a watcher of the store that turns events into frames. Frames are encoded once for each form and shared by
all streams. A client that does not read is disconnected when its buffer is full; it will list again. Events of kinds
that a webhook converts wait, in order, until their objects are converted.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import ClassVar

import msgspec

from clientgo.meta.listwatch import INITIAL_EVENTS_END
from clientgo_apiserver.api.limits import LOOP_OBJECTS
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure, expired
from clientgo_apiserver.gotypes.structs import in_order
from clientgo_apiserver.handlers.reading import render
from clientgo_apiserver.handlers.tables import check_include
from clientgo_apiserver.http.messages import Form, Query
from clientgo_apiserver.http.options import read_number, read_version
from clientgo_apiserver.http.protobuf import zero_value
from clientgo_apiserver.registry.views import all_from_storage, shown_entry
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.selection import SelectionPredicate
from clientgo_apiserver.storage.stored import Entry, ExpiredRevision, FutureRevision, StorageEvent

_encode = msgspec.json.Encoder().encode
# A real server sends the last bookmark this many seconds before the end, or none if the watch is not longer.
_LAST_BOOKMARK = 2


class WatchServer:
    """One watch. `chunks` serves it over a connection; `take` returns pending frames, for use in process.

    If `direct` is set, frames are sent through it once `chunks` has sent the initial ones, together for each turn of
    the loop. `overflowed` means that the client did not read and is disconnected. `is_streaming_list` means that it
    begins with the existing objects, and a bookmark tells where they end.
    """

    status = 200
    _sends_directly: ClassVar[bool] = True

    def __init__(
        self, state: State, target: tuple[Resource, str], query: Query, selection: SelectionPredicate, form: Form
    ) -> None:
        self.content_type = "application/json"
        self._state = state
        self._resource, self._namespace = target
        self._everything = selection.everything
        self._is_selected = selection.test()
        self._form = form
        self._include = query.get("includeObject") or "Metadata"
        # Keys of frames of plain objects: texts, because their hashes are computed once.
        self._keys = {} if form.kind else {kind: f"{kind} {self._resource.api_version}" for kind in _OBJECTS}
        if form.kind == "Table":
            check_include(self._include)
        self._bookmarks = query.flag("allowWatchBookmarks")
        self._seconds = _timeout(query, state.options.max_watch)
        # Sent first, and encoded a few at a time; not counted, because they are as large as the equivalent list.
        self._initial: deque[Entry | bytes] = deque()
        self._pending: list[bytes] = []
        self._size = 0
        self._wake = asyncio.Event()
        self._closed = False
        self._direct = False
        self.direct: Callable[[bytes], None] | None = None
        self.overflowed = False
        self.is_streaming_list = False
        self._headers_sent = False
        self._sent = 0  # the latest revision this stream has seen
        self._begin(query)

    def __repr__(self) -> str:
        return f"<WatchServer {self._resource.qualified} {self._namespace} {len(self._pending)} pending>"

    def deliver(self, event: StorageEvent) -> None:
        """Queue the event's frame if it is selected."""
        if event.revision <= self._sent:
            return
        self._sent = event.revision
        in_all = self._everything and (not self._namespace or event.name[0] == self._namespace)
        kind = event.type if in_all else self._kind_of(event)
        if kind:
            self._push(event.frames.get(self._keys.get(kind)) or self._frame(kind, event))

    def unserved(self, resource: Resource) -> None:
        """End if this version of the kind is watched; pending frames are still sent."""
        if resource.api_version == self._resource.api_version:
            self.close()

    def take(self) -> list[Object]:
        """Return and remove the pending frames, decoded."""
        return [msgspec.json.decode(line) for line in self.take_lines()]

    def take_lines(self) -> list[bytes]:
        """Return and remove the pending frames, each a line of JSON."""
        if self._initial:
            self._state.release.activate()
        return self._taken().splitlines()

    @property
    def closed(self) -> bool:
        """True if the watch has ended."""
        return self._closed

    def close(self) -> None:
        """Stop receiving events; pending frames may still be read."""
        self._state.store.detach(self._resource.storage, self)
        self._closed = True
        self._wake.set()

    def expire(self) -> None:
        """End because the time is over, with a last bookmark if the client has asked for bookmarks."""
        if self._bookmarks and self._seconds > _LAST_BOOKMARK:
            self._state.release.activate()
            self._push(self._bookmark())
        self.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield frames until the watch times out or is closed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        try:
            while not self.overflowed:
                remaining = deadline - loop.time()
                if self._initial:
                    yield b"".join(self._take_initial(LOOP_OBJECTS))
                    await asyncio.sleep(0)
                    continue
                # Frames for `direct` are left to it, unless this is the last turn.
                if self._pending and (not self._direct or self._closed or remaining <= 0):
                    yield self._taken()
                    continue
                if self._closed:
                    return
                self._direct = self._sends_directly and self.direct is not None
                if remaining <= 0:
                    self.expire()
                    continue
                await self._wait(min(remaining, self._state.options.bookmark_interval))
        finally:
            self.close()

    async def _wait(self, seconds: float) -> None:
        self._wake.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            if self._bookmarks and seconds >= self._state.options.bookmark_interval:
                self._push(self._bookmark())

    def _begin(self, query: Query) -> None:
        since = read_version(query.get("resourceVersion") or "", code=500)
        # A watch from the beginning is one with initial events.
        if query.flag("sendInitialEvents") or ("sendInitialEvents" not in query and not since):
            self._send_initial()
        elif not since:
            self._sent = self._state.store.revision
        elif not self._replay(since):
            return
        self._state.store.attach(self._resource.storage, self)

    def _send_initial(self) -> None:
        entries = self._state.store.entries(self._resource.storage, self._namespace)
        self._initial.extend(entry for entry in entries if self._selected(entry))
        self._initial.extendleft(self._take_initial(1))  # a table's columns come with the first one
        self._sent = self._state.store.revision
        self.is_streaming_list = self._bookmarks
        if self._bookmarks:
            self._push(self._bookmark({INITIAL_EVENTS_END: "true"}))

    def _replay(self, since: int) -> bool:
        try:
            missed = self._state.store.events_since(self._resource.storage, since)
        except FutureRevision:
            # As on a real server, nothing up to that revision is sent.
            self._sent = since
            return True
        except ExpiredRevision:
            failure = expired(f"too old resource version: {since} ({self._state.store.oldest})")
            self._push(_frame("ERROR", _encode(failure.body)))
            self._closed = True
            return False
        for event in missed:
            self.deliver(event)
        self._sent = self._state.store.revision
        return True

    def _kind_of(self, event: StorageEvent) -> str:
        """Return the event type for this stream, by whether the object is and was selected; "" for none."""
        if self._everything or (self._namespace and event.name[0] != self._namespace):
            return ""
        was = event.old is not None and self._selected(event.old)
        now = event.type != "DELETED" and self._selected(event.new)
        return {(True, True): "MODIFIED", (True, False): "DELETED", (False, True): "ADDED"}.get((was, now), "")

    def _selected(self, entry: Entry) -> bool:
        return self._everything or self._is_selected(entry.object)

    def _frame(self, kind: str, event: StorageEvent) -> bytes:
        headers = self._form.kind == "Table" and not self._headers_sent
        key = self._keys.get(kind) or (kind, self._resource.api_version, self._form, self._include, headers)
        frame = event.frames.get(key)
        if frame is None:
            frame = event.frames[key] = self._encoded(kind, _event_object(kind, event))
        else:
            self._headers_sent = True
        return frame

    def _encoded(self, kind: str, entry: Entry) -> bytes:
        entry = shown_entry(self._resource, entry)
        if not self._form.kind:
            return _frame(kind, entry.raw)
        return _frame(kind, _encode(self._rendered(self._resource, entry.object, self._form)))

    def _rendered(self, resource: Resource, obj: Object, form: Form) -> Object:
        rendered = render(resource, obj, form, self._include)
        if form.kind == "Table" and self._headers_sent:
            rendered = {**rendered, "columnDefinitions": None}  # columns are sent once per stream
        self._headers_sent = True
        return rendered

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        meta: Object = {"resourceVersion": str(self._state.store.revision)}
        if annotations:
            meta["annotations"] = annotations
        resource = self._resource
        zero = {} if resource.custom else zero_value(resource.api_version, resource.kind)
        obj = in_order({**zero, "kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta})
        return _frame("BOOKMARK", _encode(self._rendered(resource, obj, self._form) if self._form.kind else obj))

    def _push(self, frame: bytes) -> None:
        self._pending.append(frame)
        if self._direct:
            if len(self._pending) == 1:
                # Sending costs more than encoding, and several events come in one turn.
                self._state.call_next_turn(self._send)
            return
        self._size += len(frame)
        if self._size > self._state.options.watch_buffer:
            self._pending, self._size = [], 0
            self.overflowed = True
            self.close()
        self._wake.set()

    def _send(self) -> None:
        # Once closed, pending frames are sent by `chunks`.
        if self._pending and self.direct is not None and not self._closed:
            self.direct(self._taken())

    def _taken(self) -> bytes:
        pending, self._pending, self._size = self._pending, [], 0
        if self._initial:
            pending[:0] = self._take_initial(len(self._initial))
        return pending[0] if len(pending) == 1 else b"".join(pending)

    def _take_initial(self, count: int) -> list[bytes]:
        first = [self._initial.popleft() for _ in range(min(count, len(self._initial)))]
        return [each if isinstance(each, bytes) else self._encoded("ADDED", each) for each in first]


def _event_object(kind: str, event: StorageEvent) -> Entry:
    """Return the object an event shows: one that left the selection as it was, at the new revision."""
    if kind != "DELETED" or event.type == "DELETED" or event.old is None:
        return event.new
    old = event.old.object
    meta = {**old["metadata"], "resourceVersion": str(event.revision)}
    return Entry({**old, "metadata": meta}, event.revision)


def _frame(kind: str, raw: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + raw + b"}\n"


def _timeout(query: Query, most: float) -> float:
    # Random if it is not given, so that watches that began together do not end together.
    return read_number(query, "timeoutSeconds") or most * (1 + random.random())  # nosec B311


_OBJECTS = ("ADDED", "MODIFIED", "DELETED")


class ConvertingWatch(WatchServer):
    """Watch of stored objects that are converted by a webhook before they are sent, which only `chunks` waits for."""

    _sends_directly = False

    def __init__(
        self, state: State, target: tuple[Resource, str], query: Query, selection: SelectionPredicate, form: Form
    ) -> None:
        self._shown_form = form
        super().__init__(state, target, query, selection, Form())

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield frames; a failed conversion is an ERROR, and the last frame."""
        async for chunk in super().chunks():
            try:
                yield await self._converted([msgspec.json.decode(line) for line in chunk.splitlines()])
            except ApiFailure as failure:
                yield _frame("ERROR", _encode(failure.body))
                self.close()
                return

    async def _converted(self, frames: list[Object]) -> bytes:
        """Return the frames with their objects converted, all by one call."""
        stored = [frame for frame in frames if frame["type"] in _OBJECTS]
        converted = await all_from_storage(self._resource, [frame["object"] for frame in stored])
        for frame, obj in zip(stored, converted, strict=True):
            frame["object"] = self._rendered(self._resource, obj, self._shown_form)
        return b"".join(_frame(frame["type"], _encode(frame["object"])) for frame in frames)
