"""Keeps one sink equal to what the server has: list, then watch from there, for ever.

    LIST ──ok──▶ WATCH ──closed, connection lost, 429──▶ WATCH again from the last resourceVersion
      ▲            │
      └─ backoff ──┴── 410, any other refusal, a stream that ended at once

Each round through LIST costs one step of a growing backoff, so a server in trouble sees a bounded rate. Where the
source can stream lists, LIST is a watch too, and that watch goes on; whatever goes wrong with it leads to a plain list.
"""

import logging
import random
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from clientgo.backoff import REFLECTOR_BACKOFF, REFLECTOR_BACKOFF_RESET, Backoff, Random, ResettingBackoff
from clientgo.cache.fitness import describe, fitness_of
from clientgo.cache.listing import Listing, out_of_range
from clientgo.cache.reflectormetrics import reflector_metrics
from clientgo.cache.retrywindow import RetryWindow, is_internal_error
from clientgo.cache.watching import MIN_WATCH_SECONDS, OpenWatch, Sink, Tweak, VeryShortWatch, Watching
from clientgo.cache.watchlist import NOTICE_SECONDS, BookmarkNotice, StreamedList, streams_lists
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ApiError, ClientGoError, ConnectionFailed, Gone, TooManyRequests
from clientgo.lifecycle import Group
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.objects import ApiObject
from clientgo.meta.options import ListOptions
from clientgo.meta.watch import ListerWatcher

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

SLOW_LIST_SECONDS = 10.0
"""A list that takes longer is worth a line in the log (client-go)."""


class Reflector(Generic[T]):
    """Lists and watches `source` into `sink` until told to stop; survives whatever the server and the network do.

    `watch_list` asks for streamed lists (None: of sources that declare them). Internal errors in a watch are met by
    watching again at once for `internal_error_retry` seconds, then by a list; 0 lists at once.
    """

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
        watch_list: bool | None = None,
        min_watch_seconds: float = MIN_WATCH_SECONDS,
        internal_error_retry: float = 0.0,
        bookmark_notice: float = NOTICE_SECONDS,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self.name = name or describe(source.kind)
        self.watch_list = streams_lists(source, watch_list)
        self._source = source
        self._sink = sink
        self._tweak = tweak or (lambda options: options)
        self._backoff = ResettingBackoff(backoff, reset=REFLECTOR_BACKOFF_RESET, clock=clock, rand=rand)
        self._on_error = on_error or self._say_once
        self._said = ""  # the trouble the log has been told of; empty while there is none
        self._internal_error_retry = internal_error_retry
        self._bookmark_notice = bookmark_notice
        self._clock = clock
        self._metrics = reflector_metrics(self.name)
        self._unfit = fitness_of(source.kind)
        self._listing: Listing[T] = Listing(self._list_page, page_size=page_size)
        self._watching: Watching[T] = Watching(
            source,
            sink,
            name=self.name,
            tweak=self._tweak,
            unfit=self._unfit,
            min_seconds=min_watch_seconds,
            metrics=self._metrics,
            clock=clock,
            rand=rand,
        )

    def __repr__(self) -> str:
        return f"<Reflector {self.name} at {self.last_sync_resource_version or 'nothing'}>"

    @property
    def last_sync_resource_version(self) -> str:
        """The version of the last list, event or bookmark that is in the sink; empty before the first."""
        return self._watching.version

    def run(self, stop: threading.Event) -> None:
        """List and watch until `stop` is set; `close` ends a blocked watch."""
        while not stop.is_set():
            try:
                self.list_and_watch(stop)
            except (ClientGoError, Undecodable, VeryShortWatch) as error:
                if not stop.is_set():
                    self._on_error(error)
            self._clock.sleep(stop, self._backoff.next())

    def close(self) -> None:
        """End the watch that is open, from any thread; the loop ends too if its stop event is set."""
        self._watching.close()

    def list_and_watch(self, stop: threading.Event) -> None:
        """One round: fill the sink, then watch until that ends in a way that only another round can mend.

        Raises:
            ApiError, ConnectionFailed, Undecodable, VeryShortWatch: why it ended; a watch that expires just ends.
        """
        opened = self._list_by_watch(stop) if self.watch_list else None
        if opened is None and not stop.is_set():
            self.list_once()
        self._watch_on(opened, stop)

    def list_once(self) -> None:
        """Fill the sink from one complete list.

        Raises:
            ApiError: the server refused, also with an empty resourceVersion where that makes sense.
            ConnectionFailed: the server can't be reached.
        """
        began = self._clock.now()
        objects = self._listing.fetch(self.last_sync_resource_version)
        self._fill(objects.items, objects.undecodable, objects.metadata.resource_version)
        took = self._clock.now() - began
        if self._metrics is not None:
            self._metrics.listed(took, len(objects.items), self.last_sync_resource_version)
        if took > SLOW_LIST_SECONDS:
            log.info("list was slow", extra={"reflector": self.name, "seconds": took, "objects": len(objects.items)})

    def _list_page(self, options: ListOptions) -> ObjectList[T]:
        return self._sink.prepare(self._source.list_page(self._tweak(options)))

    def _fill(self, objects: list[T], undecodable: tuple[Undecodable, ...], version: str) -> None:
        if self._said:
            log.info("listing and watching works again", extra={"reflector": self.name})
            self._said = ""
        self._sink.replace(objects, undecodable, version)
        self._watching.version = version
        self._listing.done()

    def _list_by_watch(self, stop: threading.Event) -> OpenWatch[T] | None:
        """Fill the sink from a streamed list; the watch it came by, or None where a plain list must do."""
        while not stop.is_set():
            try:
                opened = self._watching.open(self._known_version(), stream_list=True)
                if opened is None:
                    return None
                if self._read_list(opened, stop):
                    # What follows the list is a watch like any other, and counts from here.
                    return opened._replace(began=self._clock.now())
            except (ClientGoError, Undecodable, VeryShortWatch) as error:
                if not self._may_stream_again(error, stop):
                    if not stop.is_set():
                        log.info("a streamed list can't be had; listing", extra={"reflector": self.name, "err": error})
                    return None
            else:
                self._pause(stop)  # it ended too early; the next one, if asked for at once, might as well
        return None

    def _known_version(self) -> str:
        return "" if self._listing.newest_needed else self.last_sync_resource_version

    def _may_stream_again(self, error: Exception, stop: threading.Event) -> bool:
        """Whether a streamed list may succeed after this error, perhaps after a pause."""
        if _busy(error):
            self._pause(stop, error.retry_after if isinstance(error, ApiError) else None)
            return True
        if out_of_range(error) and not self._listing.newest_needed:
            self._listing.need_newest()
            return True
        return False

    def _read_list(self, opened: OpenWatch[T], stop: threading.Event) -> bool:
        """Read the stream up to the end of the list, into the sink; whether it got there."""
        streamed: StreamedList[T] = StreamedList(self._sink, self._unfit)
        filled = False
        notice = BookmarkNotice(self.name, self._clock, period=self._bookmark_notice)
        try:
            with Group(clock=self._clock) as group:
                if notice.period > 0:
                    group.start(notice.run, group.stop_event, name=f"bookmark-{self.name}")
                for event in opened.events:
                    notice.seen()
                    streamed.take(event)
                    if streamed.ended:
                        break
            if streamed.ended:
                self._fill(streamed.objects, streamed.undecodable, streamed.version)
                filled = True
        finally:
            if not filled:
                self._watching.end(opened)
        if not filled and notice.too_short and not stop.is_set():
            raise self._watching.too_short()
        return filled

    def _watch_on(self, opened: OpenWatch[T] | None, stop: threading.Event) -> None:
        """Watch again and again from the last version seen; return or raise when only a list helps."""
        retry = RetryWindow(self._internal_error_retry, clock=self._clock)
        while not stop.is_set() and not self._watching.closed:
            opened = opened or self._reopen(stop)
            if opened is None:
                continue
            try:
                self._watching.read(opened, stop)
            except Gone:
                # A list at the last version, which is tried next, already means "at least as new as that".
                return
            except TooManyRequests as error:
                self._pause(stop, error.retry_after)
            except ApiError as error:
                retry.after(error)
                if not (is_internal_error(error) and retry.should_retry()):
                    raise
            opened = None

    def _reopen(self, stop: threading.Event) -> OpenWatch[T] | None:
        """A watch from the last version; None after a pause if another try may do, or when told to stop."""
        try:
            return self._watching.open(self.last_sync_resource_version)
        except (ConnectionFailed, TooManyRequests) as error:
            if not _busy(error):
                raise
            if isinstance(error, ConnectionFailed):
                self._on_error(error)
            self._pause(stop, error.retry_after if isinstance(error, ApiError) else None)
        return None

    def _pause(self, stop: threading.Event, retry_after: float | None = None) -> None:
        self._clock.sleep(stop, max(self._backoff.next(), retry_after or 0.0))

    def _say_once(self, error: Exception) -> None:
        # One line for one trouble, however many tries it lasts.
        level = logging.DEBUG if str(error) == self._said else logging.WARNING
        self._said = str(error)
        log.log(level, "failed to list or watch; will keep trying", extra={"reflector": self.name, "err": error})


def _busy(error: Exception) -> bool:
    """Whether the server takes no requests just now, and an unchanged one may do later."""
    return isinstance(error, TooManyRequests) or (isinstance(error, ConnectionFailed) and error.refused)
