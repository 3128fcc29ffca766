"""Reflector: keeps a sink equal to the server's objects by list and watch.

    LIST ──complete──▶ WATCH ──closed, connection lost, 429, timeout──▶ WATCH again from the last resourceVersion
      ▲                  │
      └──── backoff ─────┴── 410, any other error, a very short watch, an older resourceVersion

After a failed connection, the reflector first requests one object at the last version: a server that was restored from
a backup does not know that version, and its watches would have no events until it reaches it. (client-go does not.)

Each return to LIST waits for the backoff, which limits the rate of requests to a failing server. If the source can
stream lists, LIST is a watch too, which then continues; any failure of it falls back to a regular list.
"""

import random
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec.structs import replace

from clientgo.backoff import Backoff, Random
from clientgo.cache.backoff import (
    REFLECTOR_BACKOFF,
    ReflectorBackoff,
    RetryWithDeadline,
    is_internal_error,
    is_unavailable,
    may_open_again,
)
from clientgo.cache.metrics import ReflectorMetrics, ReflectorReport
from clientgo.cache.pager import ReflectorPager, out_of_range
from clientgo.cache.sink import Sink
from clientgo.cache.state import Position, ReflectorState
from clientgo.cache.validation import LastMetadata, describe, replaced_server, type_check_for, without_unexpected
from clientgo.cache.watcher import (
    MIN_WATCH_SECONDS,
    OpenWatch,
    ReflectorWatcher,
    ResourceVersionRegressed,
    Tweak,
    tweaked,
)
from clientgo.cache.watchlist import (
    BOOKMARK_PERIOD,
    BookmarkTicker,
    NoListEnd,
    StreamedList,
    check_consistency,
    is_detector_enabled,
    streams_lists,
)
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ApiError, ClientGoError, ConnectionFailed, Forbidden, Gone, TooManyRequests
from clientgo.lifecycle import Group
from clientgo.log import get_logger
from clientgo.meta.codec import ObjectList, Undecodable, without_collection
from clientgo.meta.listwatch import ListerWatcher, ListOptions
from clientgo.meta.objects import ApiObject
from clientgo.stopping import ends_with

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

SLOW_LIST_SECONDS = 10.0
"""Seconds from which a list is logged as slow (client-go's)."""


class Reflector(Generic[T]):
    """Lists and watches `source` into `sink` until it is stopped; retries every error of the server and the network.

    `watch_list` requests streamed lists (None: from sources that declare them). For `internal_error_retry` seconds,
    an internal error in a watch is followed by another watch, then by a list; 0 lists at once. `check_lists` compares
    each streamed list with a regular one, and raises `ListsDiffer` (None: if the environment enables it). `known`
    returns the metadata of an object as last received, by which a replaced server is detected. `newest_first_list`
    requests the newest state at first, instead of any state in the server's cache.
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
        bookmark_notice: float = BOOKMARK_PERIOD,
        check_lists: bool | None = None,
        last_metadata: LastMetadata | None = None,
        newest_first_list: bool = False,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self.name = name or describe(source.kind)
        self.watch_list = streams_lists(source, watch_list)
        self._source = source
        self._sink = sink
        # Requests fail if the server lags: requesting the newest list is faster than waiting.
        self._tweak: Tweak = lambda options: replace(tweaked(tweak, options), retry_lagging=False)
        self._backoff = ReflectorBackoff(backoff, clock=clock, rand=rand)
        self._internal_error_retry = internal_error_retry
        self._bookmark_notice = bookmark_notice
        self._last_metadata = last_metadata
        self._check_lists = is_detector_enabled() if check_lists is None else check_lists
        self._clock = clock
        self._metrics = ReflectorMetrics(self.name)
        self._report = ReflectorReport(self.name, self._metrics, on_error)
        self._reject_reason = type_check_for(source.kind)
        self._position = Position(newest_required=newest_first_list)
        self._pager: ReflectorPager[T] = ReflectorPager(self._list_page, self._position, page_size=page_size)
        self._watcher: ReflectorWatcher[T] = ReflectorWatcher(
            source,
            sink,
            self._position,
            name=self.name,
            tweak=self._tweak,
            reject_reason=self._reject_reason,
            min_seconds=min_watch_seconds,
            metrics=self._metrics,
            clock=clock,
            rand=rand,
        )

    def __repr__(self) -> str:
        return f"<Reflector {self.name} at {self.last_sync_resource_version or 'no version'}>"

    @property
    def last_sync_resource_version(self) -> str:
        """ResourceVersion of the last list, event or bookmark in the sink; empty before the first."""
        return self._position.version

    @property
    def lists(self) -> int:
        """Number of requested lists, including streamed ones and those that failed."""
        return self._position.lists

    @property
    def last_error(self) -> str:
        """Error of the last list or watch; empty after one that succeeded."""
        return self._report.last_error

    def state(self) -> ReflectorState:
        """Return a snapshot; takes no lock."""
        return self._position.state(self.last_error)

    def run(self, stop: threading.Event) -> None:
        """List and watch until `stop` is set, which also ends a list or watch in progress."""
        while not stop.is_set():
            ended: Exception | None = None
            try:
                self.list_and_watch(stop)
            except (ClientGoError, Undecodable) as error:
                ended = error
                if not stop.is_set():
                    self._report.failed(error)
            self._sleep(stop, ended)

    def list_and_watch(self, stop: threading.Event) -> None:
        """Fill the sink from a list, then watch until the watch expires or fails in a way that requires another list.

        Raises:
            ClientGoError, Undecodable: the failure.
        """
        with ends_with(stop):
            opened = self._list_by_watch(stop) if self.watch_list else None
            if opened is None and not stop.is_set():
                self.list_once()
            self._watch_on(opened, stop)

    def list_once(self) -> None:
        """Fill the sink from one complete list.

        Raises:
            ApiError: the server rejected the request, also with an empty resourceVersion if that may help.
            ConnectionFailed: the server cannot be reached.
        """
        began = self._count_list()
        objects = self._pager.list()
        self._fill(objects.items, objects.undecodable, objects.metadata.resource_version, began)

    def _list_page(self, options: ListOptions) -> ObjectList[T]:
        page = self._source.list_page(self._tweak(options))
        self._position.last_event_at = self._clock.now()
        return self._sink.prepare(without_unexpected(page, self._source.kind, self._reject_reason))

    def _count_list(self) -> float:
        self._position.lists += 1
        self._metrics.lists.inc()
        self._position.last_request_at = now = self._clock.now()
        return now

    @without_collection()
    def _fill(self, objects: list[T], undecodable: tuple[Undecodable, ...], version: str, began: float) -> None:
        self._report.succeeded()
        self._sink.replace(objects, undecodable, version)
        self._position.listed(version)
        took = self._clock.now() - began
        self._metrics.listed(took, len(objects))
        self._metrics.reached(version)
        if took > SLOW_LIST_SECONDS:
            log.info("list was slow", extra={"reflector": self.name, "seconds": took, "objects": len(objects)})

    def _list_by_watch(self, stop: threading.Event) -> OpenWatch[T] | None:
        """Fill the sink from a streamed list and return its watch; None if a regular list is required."""
        while not stop.is_set():
            began = self._count_list()
            try:
                opened = self._watcher.open(stream_list=True)
                if self._read_list(opened, began, stop):
                    return opened._replace(began=self._clock.now())  # the duration of the watch excludes the list
            except (ClientGoError, Undecodable) as error:
                if not self._may_stream_again(error, stop):
                    if not stop.is_set():
                        self._report.fallback(error)
                    return None
            else:
                self._sleep(stop)  # the stream ended early; the next one might, too
        return None

    def _may_stream_again(self, error: Exception, stop: threading.Event) -> bool:
        """Return True if a streamed list may succeed after this error; wait if necessary."""
        if is_unavailable(error):
            self._report.unavailable(error)
            self._sleep(stop, error)
            return True
        if out_of_range(error) and not self._position.newest_required:
            self._position.newest_required = True
            return True
        if isinstance(error, NoListEnd):
            self.watch_list = False  # every further attempt would take as long
        return False

    def _read_list(self, opened: OpenWatch[T], began: float, stop: threading.Event) -> bool:
        """Fill the sink from the stream; return False if the stream ended before the list."""
        streamed: StreamedList[T] = StreamedList(self._sink, self._source.kind, self._reject_reason)
        filled = False
        ticker = BookmarkTicker(self.name, self._clock, period=self._bookmark_notice)
        try:
            with without_collection():  # once for both: in between, the collector would look at the whole list
                self._receive(opened, streamed, ticker)
                if streamed.ended:
                    self._fill(streamed.objects, streamed.undecodable, streamed.version, began)
            if streamed.ended:
                if self._check_lists:
                    check_consistency(self.name, streamed, self._list_page, stop=stop, clock=self._clock)
                filled = True
        finally:
            if not filled:
                self._watcher.end(opened)
        if ticker.gave_up:
            raise NoListEnd("no bookmark marked the end of the list")
        if not filled and ticker.too_short and not stop.is_set():
            raise self._watcher.too_short()
        return filled

    def _receive(self, opened: OpenWatch[T], streamed: StreamedList[T], ticker: BookmarkTicker) -> None:
        """Read events into the list until it or the stream ends."""
        with Group(clock=self._clock) as group:
            if ticker.period > 0:
                group.start(ticker.run, group.stop_event, opened.watch.close, name=f"bookmark-{self.name}")
            for event in opened.events:
                self._position.last_event_at = now = self._clock.now()
                ticker.event_received(now)
                streamed.take(event)
                if streamed.ended:
                    return

    def _watch_on(self, opened: OpenWatch[T] | None, stop: threading.Event) -> None:
        """Watch repeatedly from the last version; return or raise when a list is required."""
        retry = RetryWithDeadline(self._internal_error_retry, clock=self._clock)
        while not stop.is_set():
            opened = opened or self._reopen(stop)
            if opened is None:
                continue
            try:
                self._watcher.read(opened, stop)
            except Gone as error:
                self._metrics.failed(error)
                log.info("watch expired; listing again", extra={"reflector": self.name, "err": error})
                # The next list, at the last version, means "at least as new as that".
                return
            except TooManyRequests as error:
                self._report.unavailable(error)
                self._sleep(stop, error)
            except ApiError as error:
                retry.after(error)
                if not (is_internal_error(error) and retry.should_retry()):
                    raise
            else:
                if self._position.short_watches > 1 and not stop.is_set():
                    self._sleep(stop)
            opened = None

    def _reopen(self, stop: threading.Event) -> OpenWatch[T] | None:
        """Open a watch at the last version; None if it is to be tried again."""
        try:
            self._verify_server()
            opened = self._watcher.open()
        except (ConnectionFailed, TooManyRequests) as error:
            if not may_open_again(error, self._clock.now() - (self._position.last_event_at or 0.0)):
                raise
            self._report.unavailable(error)
            self._sleep(stop, error)
            return None
        self._report.succeeded()
        return opened

    def _verify_server(self) -> None:
        """After a failed connection, request one object no older than the last version.

        Raises:
            ApiError, ConnectionFailed: the request failed; a restored server rejects the version.
            ResourceVersionRegressed: the object comes from another server.
        """
        position, version = self._position, self._position.version
        if not position.needs_verification or not version:
            return
        options = self._tweak(ListOptions(resource_version=version, resource_version_match="NotOlderThan", limit=1))
        selects = bool(options.label_selector or options.field_selector)
        position.last_request_at = self._clock.now()
        try:
            page = without_unexpected(self._any_object(options), self._source.kind, self._reject_reason)
        except ApiError as error:
            position.newest_required |= out_of_range(error)
            raise
        if self._last_metadata is not None and (
            reason := replaced_server(page, version, self._last_metadata, all_cached=not selects)
        ):
            position.newest_required = True
            raise ResourceVersionRegressed(reason)
        position.needs_verification = False

    def _any_object(self, options: ListOptions) -> ObjectList[T]:
        # Without selectors: an older server would read every object in etcd until one matches.
        unselective = replace(options, label_selector="", field_selector="")
        try:
            return self._source.list_page(unselective)
        except Forbidden:
            if unselective == options:
                raise
            return self._source.list_page(options)  # permission for named objects requires their selector

    def _sleep(self, stop: threading.Event, error: Exception | None = None) -> None:
        self._clock.sleep(stop, self._backoff.next(error))
