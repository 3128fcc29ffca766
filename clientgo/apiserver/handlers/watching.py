"""Watches: what is there, then each change once, in order, as lines of JSON.

A stream is a watcher of the store that turns events into frames. Frames are made once for each form and shared by all
streams. A client that does not read is cut off when its buffer is full: nobody waits for it, and it will list again.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from clientgo.apiserver.apiextensions.causes import forbidden_field
from clientgo.apiserver.handlers.reading import raw_of, read_version, render
from clientgo.apiserver.http.messages import Query
from clientgo.apiserver.http.negotiation import Form
from clientgo.apiserver.http.status import bad_request, expired, invalid
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.registry.views import from_storage
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.selection import Selection
from clientgo.apiserver.storage.stored import Entry, Event, Expired, FutureRevision

Object = dict[str, Any]

_encode = msgspec.json.Encoder().encode
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchStream:
    """One watch. `chunks` serves it over a connection; `take` hands out what is pending, for use in process.

    `direct` may be given a shorter way to the client: once what was there at the beginning has been taken by `chunks`,
    frames go that way, those of one turn of the loop together. `overflowed` says that the client did not read, and was
    given up.
    """

    status = 200

    def __init__(
        self, state: State, resource: Resource, *, namespace: str, query: Query, selection: Selection, form: Form
    ) -> None:
        self.content_type = "application/json"
        self._state = state
        self._resource = resource
        self._namespace = namespace
        self._selection = selection
        self._form = form
        self._include = query.get("includeObject") or "Metadata"
        self._bookmarks = query.flag("allowWatchBookmarks")
        self._seconds = _timeout(query, state.options.max_watch)
        self._pending: list[bytes] = []
        self._size = 0
        self._wake = asyncio.Event()
        self._closed = False
        self._direct = False
        self.direct: Callable[[bytes], None] | None = None
        self.overflowed = False
        self._headers_sent = False
        self._sent = 0  # the newest revision this stream knows of
        self._begin(query)

    def __repr__(self) -> str:
        return f"<WatchStream {self._resource.qualified} {self._namespace} {len(self._pending)} pending>"

    def deliver(self, event: Event) -> None:
        """Queue the event's frame if it is meant for this stream."""
        if event.revision <= self._sent:
            return
        self._sent = event.revision
        kind = self._kind_of(event)
        if kind:
            self._push(self._frame(kind, event))

    def unserved(self, resource: Resource) -> None:
        """End, if it is this version of the kind that is watched; what is pending is still sent."""
        if resource.api_version == self._resource.api_version:
            self.close()

    def take(self) -> list[Object]:
        """The frames that are pending, decoded; they are not handed out again."""
        return [msgspec.json.decode(line) for line in self._taken().splitlines()]

    @property
    def closed(self) -> bool:
        """Whether no further frame will come."""
        return self._closed

    def close(self) -> None:
        """Take no more events; what is pending may still be read."""
        self._state.store.detach(self._resource.storage, self)
        self._closed = True
        self._wake.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Frames as they come, until the watch's time is up or it is closed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        try:
            while not self.overflowed:
                left = deadline - loop.time()
                # What goes the direct way is left to it, unless there will be no later turn.
                if self._pending and (not self._direct or self._closed or left <= 0):
                    yield self._taken()
                    continue
                if self._closed:
                    return
                self._direct = self.direct is not None
                if left <= 0:
                    if self._bookmarks:
                        yield self._bookmark()
                    return
                await self._wait(min(left, self._state.options.bookmark_interval))
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
        version = query.get("resourceVersion") or ""
        initial = query.get("sendInitialEvents")
        if initial is not None and query.get("resourceVersionMatch") != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            raise invalid("ListOptions", "meta.k8s.io", "", [forbidden_field("resourceVersionMatch", why)])
        if initial is None and query.get("resourceVersionMatch"):
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            raise invalid("ListOptions", "meta.k8s.io", "", [forbidden_field("resourceVersionMatch", why)])
        since = read_version(version)
        if query.flag("sendInitialEvents") or (initial is None and not since):
            self._present(marked=query.flag("sendInitialEvents"))
        elif not since:
            self._sent = self._state.store.revision
        elif not self._replay(since):
            return
        self._state.store.attach(self._resource.storage, self)

    def _present(self, *, marked: bool) -> None:
        for entry in self._state.store.entries(self._resource.storage, self._namespace):
            if self._meant(entry):
                # Not counted: it is as large as the list that it stands for, and goes before anything else does.
                self._pending.append(self._encoded("ADDED", entry))
        self._sent = self._state.store.revision
        if marked and self._bookmarks:
            self._push(self._bookmark({_INITIAL_EVENTS_END: "true"}))

    def _replay(self, since: int) -> bool:
        try:
            missed = self._state.store.events_since(self._resource.storage, since)
        except FutureRevision:
            # As on a real server: nothing up to that revision is sent.
            self._sent = since
            return True
        except Expired:
            failure = expired(f"too old resource version: {since} ({self._state.store.oldest})")
            self._push(_frame("ERROR", _encode(failure.body)))
            self._closed = True
            return False
        for event in missed:
            self.deliver(event)
        self._sent = self._state.store.revision
        return True

    def _kind_of(self, event: Event) -> str:
        """The type this stream gives the event, by whether the object is and was meant; "" for none."""
        if self._namespace and event.name[0] != self._namespace:
            return ""
        if self._selection.everything:
            return event.type
        was = event.old is not None and self._meant(event.old)
        now = event.type != "DELETED" and self._meant(event.new)
        if was:
            return "MODIFIED" if now else "DELETED"
        return "ADDED" if now else ""

    def _meant(self, entry: Entry) -> bool:
        return self._selection.everything or self._selection.matches(entry.object)

    def _frame(self, kind: str, event: Event) -> bytes:
        headers = self._form.kind == "Table" and not self._headers_sent
        key = (kind, self._resource.api_version, self._form, self._include, headers)
        frame = event.frames.get(key)
        if frame is None:
            frame = event.frames[key] = self._encoded(kind, _shown(kind, event))
        else:
            self._headers_sent = True
        return frame

    def _encoded(self, kind: str, entry: Entry) -> bytes:
        if not self._form.kind:
            return _frame(kind, raw_of(self._resource, entry))
        shown = render(self._resource, from_storage(self._resource, entry.object), self._form, self._include)
        if self._form.kind == "Table" and self._headers_sent:
            # Columns are told once a stream.
            shown = {**shown, "columnDefinitions": None}
        self._headers_sent = True
        return _frame(kind, _encode(shown))

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        meta: Object = {"resourceVersion": str(self._state.store.revision)}
        if annotations:
            meta["annotations"] = annotations
        obj: Object = {"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": meta}
        if self._form.kind == "PartialObjectMetadata":
            obj = render(self._resource, obj, self._form)
        elif self._form.kind == "Table":
            obj = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
            obj |= {"columnDefinitions": None, "rows": []}
        return _frame("BOOKMARK", _encode(obj))

    def _push(self, frame: bytes) -> None:
        self._pending.append(frame)
        if self._direct:
            if len(self._pending) == 1:
                # Encrypting and sending costs more than making a frame, and requests come several in a turn.
                self._state.in_next_turn(self._send)
            return
        self._size += len(frame)
        if self._size > self._state.options.watch_buffer:
            self._pending, self._size = [], 0
            self.overflowed = True
            self.close()
        self._wake.set()

    def _send(self) -> None:
        # Once closed, what is pending is handed out by `chunks`, before the end.
        if self._pending and self.direct is not None and not self._closed:
            self.direct(self._taken())

    def _taken(self) -> bytes:
        frames, self._pending, self._size = b"".join(self._pending), [], 0
        return frames


def _shown(kind: str, event: Event) -> Entry:
    """The object an event shows: one that left the selection is shown as it was, at the new revision."""
    if kind != "DELETED" or event.type == "DELETED" or event.old is None:
        return event.new
    old = event.old.object
    meta = {**old["metadata"], "resourceVersion": str(event.revision)}
    return Entry({**old, "metadata": meta}, event.revision)


def _frame(kind: str, raw: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + raw + b"}\n"


def _timeout(query: Query, most: float) -> float:
    text = query.get("timeoutSeconds") or ""
    if not text:
        # Spread, so that watches that began together do not end together.
        return most * (1 + random.random())  # nosec B311  # nobody gains by guessing it
    if not text.isdigit():
        raise bad_request(
            f'timeoutSeconds: Invalid value: "{text}": strconv.ParseInt: parsing "{text}": invalid syntax'
        )
    return float(text)
