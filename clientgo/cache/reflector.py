"""Keeps one sink equal to what the server has: list, then watch from there, for ever.

    LIST ──ok──▶ WATCH ──closed, connection lost, 429──▶ WATCH again from the last resourceVersion
      ▲            │
      └─ backoff ──┴── 410, any other refusal, a stream that ended at once

The first list asks for any cached state (resourceVersion "0"), later ones for nothing older than what was seen, and
after a 410 for the newest. Each round through LIST costs one step of a growing backoff, so a server in trouble sees a
bounded rate.
"""

import logging
import random
import threading
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from msgspec.structs import replace

from clientgo.backoff import REFLECTOR_BACKOFF, REFLECTOR_BACKOFF_RESET, Backoff, Random, ResettingBackoff
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ApiError, ClientGoError, ConnectionFailed, Gone, TooManyRequests
from clientgo.meta.codec import Undecodable
from clientgo.meta.objects import ApiObject
from clientgo.meta.options import ListOptions
from clientgo.meta.watch import BadEvent, Bookmark, ListerWatcher, Watch, WatchEvent

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

PAGE_SIZE = 500
"""Objects a page, as client-go's pager asks for."""

MIN_WATCH_SECONDS = 300
"""A watch is asked to last between this and twice this, drawn anew each time (client-go: 5 to 10 min)."""

SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner, without an event, counts as a failure (client-go's very short watch)."""

Tweak = Callable[[ListOptions], ListOptions]


class Sink(Protocol[T]):
    """Where a reflector puts what it learns; called from its thread alone."""

    def replace(self, objects: Iterable[T], undecodable: Iterable[Undecodable]) -> None:
        """These objects exist and no others, but for those that exist and can't be decoded."""

    def apply(self, event: WatchEvent[T]) -> None:
        """One object came, changed or went."""

    def reject(self, event: BadEvent) -> None:
        """One object came, changed or went, and can't be decoded."""


class _StreamFailed(Exception):
    """The watch did not live long enough to count as one."""


class Reflector(Generic[T]):
    """Lists and watches `source` into `sink` until told to stop; survives whatever the server and the network do."""

    def __init__(
        self,
        source: ListerWatcher[T],
        sink: Sink[T],
        *,
        name: str = "",
        page_size: int = 0,
        tweak: Tweak | None = None,
        backoff: Backoff = REFLECTOR_BACKOFF,
        on_error: Callable[[Exception], None] | None = None,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self.name = name or source.kind.__name__
        self.last_sync_resource_version = ""
        self._source = source
        self._sink = sink
        self._page_size = page_size
        self._tweak = tweak or (lambda options: options)
        self._backoff = ResettingBackoff(backoff, reset=REFLECTOR_BACKOFF_RESET, clock=clock, rand=rand)
        self._on_error = on_error or self._say_once
        self._said = ""  # the trouble the log has been told of; empty while there is none
        self._clock = clock
        self._rand = rand
        self._newest_needed = False  # the server no longer has what was seen: ask for the newest state
        self._paged = False  # the server paged although any cached state would have done: it has no cache
        self._lock = threading.Lock()
        self._watch: Watch[T] | None = None  # guarded by _lock, like _closed
        self._closed = False

    def __repr__(self) -> str:
        return f"<Reflector {self.name} at {self.last_sync_resource_version or 'nothing'}>"

    def run(self, stop: threading.Event) -> None:
        """List and watch until `stop` is set; `close` ends a blocked watch."""
        while not stop.is_set():
            try:
                self.list_once()
                self._watch_on(stop)
            except ClientGoError as error:
                if not stop.is_set():
                    self._on_error(error)
            except (Undecodable, _StreamFailed) as error:
                self._on_error(error)
            self._clock.sleep(stop, self._backoff.next())

    def close(self) -> None:
        """End the watch that is open, from any thread; the loop ends too if its stop event is set."""
        with self._lock:
            self._closed = True
            watch = self._watch
        if watch is not None:
            watch.close()

    def list_once(self) -> None:
        """Fill the sink from one complete list.

        Raises:
            ApiError: the server refused, also with an empty resourceVersion where that makes sense.
            ConnectionFailed: the server can't be reached.
        """
        try:
            self._list_at(self._list_version())
        except ApiError as error:
            if not (isinstance(error, Gone) or _too_large(error)):
                raise
            self._newest_needed = True
            self._list_at("")

    def _list_version(self) -> str:
        return "" if self._newest_needed else self.last_sync_resource_version or "0"

    def _list_at(self, version: str) -> None:
        # A server with a watch cache answers version "0" from memory, whole; asking for pages would send it to etcd.
        limit = self._page_size or (0 if version == "0" and not self._paged else PAGE_SIZE)
        objects: list[T] = []
        undecodable: list[Undecodable] = []
        options = self._tweak(ListOptions(resource_version=version, limit=limit))
        while True:
            page = self._source.list_page(options)
            objects += page.items
            undecodable += page.undecodable
            if not page.metadata.continue_:
                break
            self._paged |= version == "0"
            # The token pins the version; the two together are refused.
            options = replace(options, continue_=page.metadata.continue_, resource_version="")
        self._say_recovered()
        self._sink.replace(objects, undecodable)
        self.last_sync_resource_version = page.metadata.resource_version
        self._newest_needed = False

    def _watch_on(self, stop: threading.Event) -> None:
        """Watch again and again from the last version seen; return or raise when only a list helps."""
        while not stop.is_set():
            try:
                watch = self._open()
            except TooManyRequests as error:
                self._pause(stop, error.retry_after)
                continue
            except ConnectionFailed as error:
                if not error.refused:
                    raise
                self._on_error(error)
                self._pause(stop, None)
                continue
            if watch is None or not self._consume(watch, stop):
                return

    def _open(self) -> Watch[T] | None:
        seconds = int(MIN_WATCH_SECONDS * (1.0 + self._rand()))
        options = ListOptions(
            resource_version=self.last_sync_resource_version,
            timeout_seconds=seconds,
            allow_watch_bookmarks=True,
            watch=True,
        )
        watch = self._source.watch_from(self._tweak(options))
        with self._lock:
            self._watch = watch
            closed = self._closed
        if closed:  # close() came while the watch was being opened, and could not see it
            watch.close()
            return None
        return watch

    def _consume(self, watch: Watch[T], stop: threading.Event) -> bool:
        """Read one watch to its end; whether to watch again from the last version."""
        began, events = self._clock.now(), 0
        try:
            for event in watch:
                events += 1
                self._take(event)
        except Gone:
            # A list at the last version, which is tried next, already means "at least as new as that".
            return False
        except TooManyRequests as error:
            self._pause(stop, error.retry_after)
            return True
        except ConnectionFailed as error:
            if not stop.is_set():
                log.info("watch lost; watching again", extra={"reflector": self.name, "err": error})
        finally:
            watch.close()
            with self._lock:
                self._watch = None
        if not stop.is_set() and not events and self._clock.now() - began < SHORT_WATCH_SECONDS:
            raise _StreamFailed(f"very short watch: {self.name}: watch lasted less than a second and no items received")
        return True

    def _take(self, event: WatchEvent[T] | Bookmark | BadEvent) -> None:
        match event:
            case WatchEvent(_, obj):
                self._sink.apply(event)
                version = obj.metadata.resource_version
            case BadEvent(_, error):
                self._sink.reject(event)
                version = error.metadata.resource_version
            case Bookmark(version):
                pass
        # Last event wins: versions are not compared here, the server sends them in order.
        self.last_sync_resource_version = version or self.last_sync_resource_version

    def _pause(self, stop: threading.Event, retry_after: float | None) -> None:
        self._clock.sleep(stop, max(self._backoff.next(), retry_after or 0.0))

    def _say_once(self, error: Exception) -> None:
        # One line for one trouble, however many tries it lasts.
        level = logging.DEBUG if str(error) == self._said else logging.WARNING
        self._said = str(error)
        log.log(level, "failed to list or watch; will keep trying", extra={"reflector": self.name, "err": error})

    def _say_recovered(self) -> None:
        if self._said:
            log.info("listing and watching works again", extra={"reflector": self.name})
            self._said = ""


def _too_large(error: ApiError) -> bool:
    # Servers before 1.17 named no cause; their message is all there is.
    return error.has_cause("ResourceVersionTooLarge") or "Too large resource version" in error.message
