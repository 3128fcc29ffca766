"""Reflector: keeps a sink equal to the server's objects by list and watch.

    LIST ──complete──▶ WATCH ──closed, connection lost, 429, timeout──▶ WATCH again from the last resourceVersion
      ▲                  │
      └──── backoff ─────┴── 410, any other error, a very short watch, an older resourceVersion

`NEXT` is this diagram: each step has one of the outcomes, and each outcome one next step. What a step needs of the ones
before is in `Position`.

After a failed connection, the reflector first requests one object at the last version: a server that was restored from
a backup does not know that version, and its watches would have no events until it reaches it. (client-go does not.)

Each return to LIST waits for the backoff, which limits the rate of requests to a failing server. If the source can
stream lists, LIST is a watch too, which then continues; any failure of it falls back to a regular list.
"""

import random
import threading
from collections.abc import Callable
from typing import Generic, TypeVar, cast

import msgspec
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
from clientgo.cache.state import NEXT, Position, ReflectorState, WatchOutcome, WatchStep
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
from clientgo.internal.collector import without_collection
from clientgo.log import get_logger
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.listwatch import ListerWatcher, ListOptions, PartLister
from clientgo.meta.objects import ApiObject, ListMeta
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import ends_with

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

SLOW_LIST_SECONDS = 10.0
"""Seconds from which a list is logged as slow (client-go's)."""


class ReflectorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a reflector, as client-go's.

    `watch_list` requests streamed lists (None: from sources that declare them, and no lists in parts). For
    `internal_error_retry` seconds, an internal error in a watch is followed by another watch, then by a list; 0 lists
    at once. `check_lists` compares each streamed list with a regular one, and raises `ListsDiffer` (None: if the
    environment enables it).
    `last_metadata` returns the metadata of an object as last received, by which a replaced server is detected.
    `newest_first_list` requests the newest state at first, instead of any state in the server's cache. `page_size` 0
    lists all objects at once; a watch without bookmarks for `bookmark_notice` seconds is logged.
    """

    name: str = ""
    page_size: int = 0
    tweak: Tweak | None = None
    backoff: Backoff = REFLECTOR_BACKOFF
    on_error: Callable[[Exception], None] | None = None
    watch_list: bool | None = None
    min_watch_seconds: float = MIN_WATCH_SECONDS
    internal_error_retry: float = 0.0
    bookmark_notice: float = BOOKMARK_PERIOD
    check_lists: bool | None = None
    last_metadata: LastMetadata | None = None
    newest_first_list: bool = False


DEFAULT_OPTIONS = ReflectorOptions()


class Reflector(Generic[T]):
    """Lists and watches `source` into `sink` until it is stopped; retries every error of the server and the network."""

    def __init__(
        self,
        source: ListerWatcher[T],
        sink: Sink[T],
        options: ReflectorOptions = DEFAULT_OPTIONS,
        *,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self.name = options.name or describe(source.kind)
        self.watch_list = streams_lists(source, options.watch_list) is True
        self._options = options
        self._source = source
        self._sink = sink
        # Requests fail if the server lags: requesting the newest list is faster than waiting.
        self._tweak: Tweak = lambda request: replace(tweaked(options.tweak, request), retry_lagging=False)
        self._backoff = ReflectorBackoff(options.backoff, clock=clock, rand=rand)
        self._check_lists = is_detector_enabled() if options.check_lists is None else options.check_lists
        self._clock = clock
        self._metrics = ReflectorMetrics(self.name)
        self._report = ReflectorReport(self.name, self._metrics, options.on_error)
        self._reject_reason = type_check_for(source.kind)
        in_parts = not self.watch_list and isinstance(source, PartLister) and source.lists_in_parts
        self._part_lister: PartLister[T] | None = cast(PartLister[T], source) if in_parts else None
        self._position = Position(newest_required=options.newest_first_list or self._part_lister is not None)
        self._opened: OpenWatch[T] | None = None
        self._pager: ReflectorPager[T] = ReflectorPager(
            self._list_page, self._position, page_size=options.page_size, in_parts=in_parts
        )
        self._watcher: ReflectorWatcher[T] = ReflectorWatcher(
            source,
            sink,
            self._position,
            name=self.name,
            tweak=self._tweak,
            reject_reason=self._reject_reason,
            min_seconds=options.min_watch_seconds,
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
        step = WatchStep.STREAM if self.watch_list else WatchStep.LIST
        retry = RetryWithDeadline(self._options.internal_error_retry, clock=self._clock)
        with ends_with(stop):
            try:
                while step is not WatchStep.RETURN and not stop.is_set():
                    outcome, error = self._perform(step, retry, stop)
                    step, waits = NEXT[outcome]
                    if waits:
                        self._sleep(stop, error)
            finally:
                if self._opened is not None:  # and not read, because of the stop
                    self._watcher.end(self._opened)
                    self._opened = None

    def _perform(
        self, step: WatchStep, retry: RetryWithDeadline, stop: threading.Event
    ) -> tuple[WatchOutcome, Exception | None]:
        match step:
            case WatchStep.STREAM:
                return self._stream_list(stop)
            case WatchStep.LIST:
                self.list_once()
                return WatchOutcome.LISTED, None
            case WatchStep.OPEN:
                return self._open()
        return self._read(retry, stop)

    @without_collection(lasting=True)
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
        options = self._tweak(options)
        if self._part_lister is None:
            return self._prepared(self._source.list_page(options))
        items: list[T] = []
        undecodable: list[Undecodable] = []
        metadata = ListMeta()
        for part in map(self._prepared, self._part_lister.list_parts(options)):
            items += part.items
            undecodable += part.undecodable
            metadata = part.metadata
        return ObjectList(metadata, items, tuple(undecodable))

    def _prepared(self, page: ObjectList[T]) -> ObjectList[T]:
        self._position.last_event_at = self._clock.now()
        return self._sink.prepare(without_unexpected(page, self._source.kind, self._reject_reason))

    def _count_list(self) -> float:
        self._position.lists += 1
        self._metrics.lists.inc()
        self._position.last_request_at = now = self._clock.now()
        return now

    def _fill(self, objects: list[T], undecodable: tuple[Undecodable, ...], version: str, began: float) -> None:
        self._report.succeeded()
        self._sink.replace(objects, undecodable, version)
        self._position.listed(version)
        took = self._clock.now() - began
        self._metrics.listed(took, len(objects))
        self._metrics.reached(version)
        if took > SLOW_LIST_SECONDS:
            log.info("list was slow", extra={"reflector": self.name, "seconds": took, "objects": len(objects)})

    def _stream_list(self, stop: threading.Event) -> tuple[WatchOutcome, Exception | None]:
        """Fill the sink from a streamed list, whose watch is then open."""
        began, position = self._count_list(), self._position
        try:
            opened = self._watcher.open(stream_list=True)
            if self._read_list(opened, began, stop):
                self._opened = opened._replace(began=self._clock.now())  # the watch's duration excludes the list
                return WatchOutcome.STREAMED, None
        except (ClientGoError, Undecodable) as error:
            if is_unavailable(error):
                self._report.unavailable(error)
                return WatchOutcome.STREAM_UNAVAILABLE, error
            if out_of_range(error) and not position.newest_required:
                position.newest_required = True
                return WatchOutcome.NEWER_REQUIRED, error
            if isinstance(error, NoListEnd):
                self.watch_list = False  # every further attempt would take as long
            if not stop.is_set():
                self._report.fallback(error)
            return WatchOutcome.NOT_STREAMED, error
        return WatchOutcome.STREAM_ENDED, None

    def _read_list(self, opened: OpenWatch[T], began: float, stop: threading.Event) -> bool:
        """Fill the sink from the stream; return False if the stream ended before the list."""
        streamed: StreamedList[T] = StreamedList(self._sink, self._source.kind, self._reject_reason)
        filled = False
        ticker = BookmarkTicker(self.name, self._clock, period=self._options.bookmark_notice)
        try:
            # Once for both: in between, the collector would look at the whole list.
            with without_collection(lasting=True):
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

    def _open(self) -> tuple[WatchOutcome, Exception | None]:
        """Open a watch at the last version."""
        try:
            self._verify_server()
            self._opened = self._watcher.open()
        except (ConnectionFailed, TooManyRequests) as error:
            if not may_open_again(error, self._clock.now() - (self._position.last_event_at or 0.0)):
                raise
            self._report.unavailable(error)
            return WatchOutcome.UNAVAILABLE, error
        self._report.succeeded()
        return WatchOutcome.OPENED, None

    def _read(self, retry: RetryWithDeadline, stop: threading.Event) -> tuple[WatchOutcome, Exception | None]:
        """Read the open watch to its end."""
        opened, self._opened = self._opened, None
        assert opened is not None, "a step before has opened it"
        try:
            self._watcher.read(opened, stop)
        except Gone as error:
            self._metrics.failed(error)
            log.info("watch expired; listing again", extra={"reflector": self.name, "err": error})
            return WatchOutcome.EXPIRED, error
        except TooManyRequests as error:
            self._report.unavailable(error)
            return WatchOutcome.UNAVAILABLE, error
        except ApiError as error:
            retry.after(error)
            if not (is_internal_error(error) and retry.should_retry()):
                raise
            return WatchOutcome.FAILED_INTERNALLY, error
        return WatchOutcome.SHORT if self._position.short_watches > 1 else WatchOutcome.CLOSED, None

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
        if self._options.last_metadata is not None and (
            reason := replaced_server(page, version, self._options.last_metadata, all_cached=not selects)
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
