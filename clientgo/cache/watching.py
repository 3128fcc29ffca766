"""The watch half of a reflector: opens one watch after another and puts what each says into the sink."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

from clientgo.backoff import Random
from clientgo.cache.fitness import Unfit
from clientgo.cache.reflectormetrics import ReflectorMetrics
from clientgo.clock import Clock
from clientgo.errors import ConnectionFailed
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.listwatch import BadEvent, Bookmark, ChangeType, ListerWatcher, ListOptions, Watch, WatchEvent
from clientgo.meta.objects import ApiObject
from clientgo.meta.resourceversion import compare_resource_versions
from clientgo.rest.transport import IdleTimeout

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

MIN_WATCH_SECONDS = 300.0
"""A watch is asked to last between this and twice this, drawn anew each time (client-go: 5 to 10 min)."""

SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner, without an event, counts as a failure (client-go's very short watch)."""

Tweak = Callable[[ListOptions], ListOptions]


class Sink(Protocol[T]):
    """Where a reflector puts what it learns; called from its thread alone."""

    def prepare(self, page: ObjectList[T]) -> ObjectList[T]:
        """A page's objects as they are to be kept; called once for each page, before `replace`."""

    def replace(self, objects: Iterable[T], undecodable: Iterable[Undecodable], version: str) -> None:
        """These (prepared) objects exist at that version and no others, but for those that can't be decoded."""

    def apply(self, event: WatchEvent[T]) -> None:
        """One object came, changed or went."""

    def reject(self, event: BadEvent) -> None:
        """One object came, changed or went, and can't be decoded."""

    def bookmark(self, version: str) -> None:
        """Everything up to that version has been told."""


class VeryShortWatch(Exception):
    """The watch did not live long enough to count as one."""


class WentBack(Exception):
    """The server is at an older version than one it has told of, or has another past: it was restored from a backup."""


class OpenWatch(NamedTuple, Generic[T]):
    """A watch, the one iterator over it (a second could miss what the first has read ahead), and when it began."""

    watch: Watch[T]
    events: Iterator[WatchEvent[T] | Bookmark | BadEvent]
    began: float


class Watching(Generic[T]):
    """Watches one source; `version` is the last one seen, from which the next watch goes on."""

    def __init__(
        self,
        source: ListerWatcher[T],
        sink: Sink[T],
        *,
        name: str,
        tweak: Tweak,
        unfit: Unfit,
        min_seconds: float,
        metrics: ReflectorMetrics | None,
        clock: Clock,
        rand: Random,
    ) -> None:
        self.version = ""
        # For whoever wants to know how it goes; written by the reflector's thread alone, read without a lock.
        self.asked = 0  # watches, those that could not be opened included
        self.heard: float | None = None  # when the server said anything last
        self.since: float | None = None  # when the open watch was asked for
        self.requested: float | None = None  # when anything was asked for last, whatever the answer
        self._source = source
        self._sink = sink
        self._name = name
        self._tweak = tweak
        self._unfit = unfit
        self._min_seconds = max(min_seconds, MIN_WATCH_SECONDS)
        self._metrics = metrics
        self._clock = clock
        self._rand = rand
        self.hasty = 0  # watches in a row that lasted less than a second, whatever they said
        # The connection broke or could not be made: the server that answers next may not know what was seen.
        self.doubtful = False
        self._unordered = False  # the watch began nowhere: its first ADDED events are a list, in any order
        self._lock = threading.Lock()
        self._watch: Watch[T] | None = None  # guarded by _lock, like _closed
        self._closed = False

    def __repr__(self) -> str:
        return f"<Watching {self._name} at {self.version or 'nothing'}>"

    @property
    def closed(self) -> bool:
        """Whether there will be no watch any more."""
        return self._closed

    def close(self) -> None:
        """End the watch that is open and every later one, from any thread."""
        with self._lock:
            self._closed = True
            watch = self._watch
        if watch is not None:
            watch.close()

    def open(self, version: str, *, stream_list: bool = False) -> OpenWatch[T] | None:
        """A watch of what happens after `version`, or of what exists and then happens; None once closed.

        Raises:
            ApiError, ConnectionFailed: it can't be opened.
        """
        wanted = ListOptions(
            resource_version=version,
            resource_version_match="NotOlderThan" if stream_list else "",
            send_initial_events=stream_list,
            timeout_seconds=int(self._min_seconds * (1.0 + self._rand())),
            allow_watch_bookmarks=True,
            watch=True,
        )
        self._unordered = version in ("", "0") and not stream_list
        self.asked += 1
        self.requested = self._clock.now()
        if self._metrics is not None:
            self._metrics.watching()
        began = self._clock.now()
        options = self._tweak(wanted)
        try:
            watch = self._source.watch_from(options)
        except ConnectionFailed:
            self.doubtful = True
            raise
        self.heard, self.since = self._clock.now(), began
        with self._lock:
            self._watch = watch
            closed = self._closed
        if closed:  # close() came while the watch was being opened, and could not see it
            watch.close()
            self.since = None
            return None
        return OpenWatch(watch, iter(watch), began)

    def end(self, opened: OpenWatch[T]) -> None:
        """The watch is of no use any more."""
        opened.watch.close()
        self.since = None
        with self._lock:
            self._watch = None

    def read(self, opened: OpenWatch[T], stop: threading.Event) -> None:
        """Put everything the watch says into the sink, until it ends or its connection is lost; it is closed then.

        Raises:
            ApiError: what the server ended it with.
            WentBack: the server knows less than it did.
            VeryShortWatch: it ended, or was lost, at once: another one might as well, again and again.
        """
        events, take, now = 0, self._take, self._clock.now
        try:
            for event in opened.events:
                events += 1
                self.heard = now()
                take(event)
        except IdleTimeout as error:
            self.doubtful = True
            log.info("watch was idle; watching again", extra={"reflector": self._name, "err": error})
        except ConnectionFailed as error:
            self.doubtful = True
            if not stop.is_set():
                if self._metrics is not None:
                    self._metrics.failed(error)
                log.info("watch lost", extra={"reflector": self._name, "err": error})
        finally:
            self.end(opened)
            lasted = self._clock.now() - opened.began
            self.hasty = self.hasty + 1 if lasted < SHORT_WATCH_SECONDS else 0
            short = self.hasty > 0 and not events
            if self._metrics is not None:
                self._metrics.watched(lasted, events, self.version, short=short)
        if short and not stop.is_set():
            raise self.too_short()

    def too_short(self) -> VeryShortWatch:
        """The error that a watch ended before anything came."""
        return VeryShortWatch(f"very short watch: {self._name}: watch lasted less than a second and no items received")

    def _take(self, event: WatchEvent[T] | Bookmark | BadEvent) -> None:
        change: ChangeType | None
        match event:
            case WatchEvent(change, obj):
                if why := self._unfit(obj):
                    log.error("watch event skipped", extra={"reflector": self._name, "err": why})
                    return
                self._sink.apply(event)
                version = obj.metadata.resource_version
            case BadEvent(change, error):
                self._sink.reject(event)
                version = error.metadata.resource_version
            case Bookmark(version):
                change = None
                self._check_order(version)
                if self._metrics is not None:
                    self._metrics.reached(version)
                self._sink.bookmark(version)
        if self._unordered:
            if change == "ADDED":
                return
            self._unordered = False
        # Last event wins: versions are not compared here, the server sends them in order.
        self.version = version or self.version

    def _check_order(self, version: str) -> None:
        # Bookmarks alone, because they come once a minute: to look at each event would cost more than it could find.
        if not self._unordered and _older(version, self.version):
            raise WentBack(f"the server is at resourceVersion {version}, and was at {self.version} before")


def _older(version: str, seen: str) -> bool:
    try:
        return compare_resource_versions(version, seen) < 0
    except ValueError:  # one of them is no number, and tells nothing
        return False
