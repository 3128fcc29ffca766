"""Keeps one sink equal to what the server has: list, then watch from there, for ever.

    LIST ──ok──▶ WATCH ──closed, connection lost, 429──▶ WATCH again from the last resourceVersion
      ▲            │
      └─ backoff ──┴── 410, any other refusal, a stream that ended at once, a server that went back

After a lost or refused connection, the reflector first asks the server for one object at the last version: a server
that was restored from a backup does not know that version, and its watches would be silent until it gets there again.
(client-go does not ask.)

Each round through LIST costs one step of a growing backoff (`pausing`), so a server in trouble sees a bounded rate.
Where the source can stream lists, LIST is a watch too, and that watch goes on; whatever goes wrong with it leads to a
plain list.
"""

import logging
import random
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec.structs import replace

from clientgo.backoff import REFLECTOR_BACKOFF, Backoff, Random
from clientgo.cache.consistency import check_streamed_list, check_wanted
from clientgo.cache.fitness import describe, fitness_of
from clientgo.cache.lineage import Known, foreign
from clientgo.cache.listing import Listing, out_of_range
from clientgo.cache.pausing import Pauses, busy
from clientgo.cache.reflectormetrics import reflector_metrics
from clientgo.cache.retrywindow import RetryWindow, is_internal_error
from clientgo.cache.watching import MIN_WATCH_SECONDS, OpenWatch, Sink, Tweak, VeryShortWatch, Watching, WentBack
from clientgo.cache.watchlist import NOTICE_SECONDS, BookmarkNotice, NoListEnd, StreamedList, streams_lists
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ApiError, ClientGoError, ConnectionFailed, Forbidden, Gone, NotFound, TooManyRequests
from clientgo.lifecycle import Group
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.listwatch import ListerWatcher, ListOptions
from clientgo.meta.objects import ApiObject

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

SLOW_LIST_SECONDS = 10.0
"""A list that takes longer is worth a line in the log (client-go)."""


class Reflector(Generic[T]):
    """Lists and watches `source` into `sink` until told to stop; survives whatever the server and the network do.

    `watch_list` asks for streamed lists (None: of sources that declare them). Internal errors in a watch are met by
    watching again at once for `internal_error_retry` seconds, then by a list; 0 lists at once. `check_lists` compares
    each streamed list with a plain one, and ends in `ListsDiffer` (None: if the environment asks for it). `known` gives
    the metadata of an object as the server sent it last, which detects another server.
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
        check_lists: bool | None = None,
        known: Known | None = None,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self.name = name or describe(source.kind)
        self.watch_list = streams_lists(source, watch_list)
        self._source = source
        self._sink = sink
        self._tweak = _impatient(tweak or (lambda options: options))
        self._pauses = Pauses(backoff, clock=clock, rand=rand)
        self._on_error = on_error or self._warn
        self.lists = 0
        """Lists asked for, those that failed and streamed ones included."""
        self.last_error = ""
        """Why the last try to list or watch failed; empty once one works again."""
        self._said = ""  # the trouble the log has been told of; empty while there is none
        self._fallback = ""  # why no streamed list came last
        self._internal_error_retry = internal_error_retry
        self._bookmark_notice = bookmark_notice
        self._known = known
        self._check_lists = check_wanted() if check_lists is None else check_lists
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

    @property
    def watches(self) -> int:
        """Watches asked for, those that failed and streamed lists included."""
        return self._watching.asked

    @property
    def last_event(self) -> float | None:
        """When, by the clock's `now()`, the server said anything last: a list, an event, a bookmark."""
        return self._watching.heard

    @property
    def last_active(self) -> float | None:
        """Time of the last request or answer, failed ones included; None before the first."""
        return max((at for at in (self._watching.requested, self._watching.heard) if at is not None), default=None)

    @property
    def watching_since(self) -> float | None:
        """When the open watch was asked for; None while there is none."""
        return self._watching.since

    def run(self, stop: threading.Event) -> None:
        """List and watch until `stop` is set or it is closed; `close` ends a blocked watch."""
        while not stop.is_set() and not self._watching.closed:
            ended: Exception | None = None
            try:
                self.list_and_watch(stop)
            except (ClientGoError, Undecodable, VeryShortWatch, WentBack) as error:
                ended = error
                if not stop.is_set():
                    self._failed(error)
            self._pause(stop, ended)

    def close(self) -> None:
        """End the watch that is open and the loop, from any thread; a list that is under way is finished first."""
        self._watching.close()

    def list_and_watch(self, stop: threading.Event) -> None:
        """One round: fill the sink, then watch until that ends in a way that only another round can mend.

        Raises:
            ApiError, ConnectionFailed, Undecodable, VeryShortWatch, WentBack: why; a watch that expires just ends.
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
        began = self._count_list()
        objects = self._listing.fetch(self.last_sync_resource_version)
        self._fill(objects.items, objects.undecodable, objects.metadata.resource_version, began)

    def _list_page(self, options: ListOptions) -> ObjectList[T]:
        page = self._source.list_page(self._tweak(options))
        self._watching.heard = self._clock.now()
        return self._sink.prepare(page)

    def _count_list(self) -> float:
        self.lists += 1
        if self._metrics is not None:
            self._metrics.listing()
        self._watching.requested = now = self._clock.now()
        return now

    def _fill(self, objects: list[T], undecodable: tuple[Undecodable, ...], version: str, began: float) -> None:
        self._works()
        self._sink.replace(objects, undecodable, version)
        self._watching.version = version
        self._watching.doubtful = False
        self._listing.done()
        took = self._clock.now() - began
        if self._metrics is not None:
            self._metrics.listed(took, len(objects))
            self._metrics.reached(version)
        if took > SLOW_LIST_SECONDS:
            log.info("list was slow", extra={"reflector": self.name, "seconds": took, "objects": len(objects)})

    def _list_by_watch(self, stop: threading.Event) -> OpenWatch[T] | None:
        """Fill the sink from a streamed list; the watch it came by, or None where a plain list must do."""
        while not stop.is_set() and not self._watching.closed:
            began = self._count_list()
            try:
                opened = self._watching.open(self._known_version(), stream_list=True)
                if opened is None:
                    return None
                if self._read_list(opened, began, stop):
                    # What follows the list is a watch like any other, and counts from here.
                    return opened._replace(began=self._clock.now())
            except (ClientGoError, Undecodable, VeryShortWatch, NoListEnd) as error:
                if not self._may_stream_again(error, stop):
                    if not stop.is_set():
                        self._say_fallback(error)
                    return None
            else:
                self._pause(stop)  # it ended too early; the next one, if asked for at once, might as well
        return None

    def _known_version(self) -> str:
        return "" if self._listing.newest_needed else self.last_sync_resource_version

    def _may_stream_again(self, error: Exception, stop: threading.Event) -> bool:
        """Whether a streamed list may succeed after this error, perhaps after a pause."""
        if busy(error):
            self._refused(error)
            self._pause(stop, error)
            return True
        if out_of_range(error) and not self._listing.newest_needed:
            self._listing.need_newest()
            return True
        if isinstance(error, NoListEnd):
            self.watch_list = False  # to find that out again with every list would take too long
        return False

    def _read_list(self, opened: OpenWatch[T], began: float, stop: threading.Event) -> bool:
        """Read the stream up to the end of the list, into the sink; whether it got there."""
        streamed: StreamedList[T] = StreamedList(self._sink, self._unfit)
        filled = False
        notice = BookmarkNotice(self.name, self._clock, period=self._bookmark_notice)
        try:
            with Group(clock=self._clock) as group:
                if notice.period > 0:
                    group.start(notice.run, group.stop_event, opened.watch.close, name=f"bookmark-{self.name}")
                for event in opened.events:
                    self._watching.heard = self._clock.now()
                    notice.seen()
                    streamed.take(event)
                    if streamed.ended:
                        break
            if streamed.ended:
                self._fill(streamed.objects, streamed.undecodable, streamed.version, began)
                self._check(streamed, stop)
                filled = True
        finally:
            if not filled:
                self._watching.end(opened)
        if notice.gave_up:
            raise NoListEnd("no bookmark came that marks the end of the list")
        if not filled and notice.too_short and not stop.is_set():
            raise self._watching.too_short()
        return filled

    def _check(self, streamed: StreamedList[T], stop: threading.Event) -> None:
        if self._check_lists:
            check_streamed_list(
                self.name, streamed.version, streamed.objects, self._list_page, stop=stop, clock=self._clock
            )

    def _watch_on(self, opened: OpenWatch[T] | None, stop: threading.Event) -> None:
        """Watch again and again from the last version seen; return or raise when only a list helps."""
        retry = RetryWindow(self._internal_error_retry, clock=self._clock)
        while not stop.is_set() and not self._watching.closed:
            opened = opened or self._reopen(stop)
            if opened is None:
                continue
            try:
                self._watching.read(opened, stop)
            except Gone as error:
                self._count(error)
                log.info("watch expired; listing anew", extra={"reflector": self.name, "err": error})
                # A list at the last version, which is tried next, already means "at least as new as that".
                return
            except TooManyRequests as error:
                self._refused(error)
                self._pause(stop, error)
            except WentBack:
                self._listing.need_newest()
                raise
            except ApiError as error:
                retry.after(error)
                if not (is_internal_error(error) and retry.should_retry()):
                    raise
            else:
                if self._watching.hasty > 1 and not stop.is_set():  # something cuts every watch off at once
                    self._pause(stop)
            opened = None

    def _reopen(self, stop: threading.Event) -> OpenWatch[T] | None:
        """A watch from the last version; None after a pause if another try may do, or when told to stop."""
        try:
            self._confirm_version()
            opened = self._watching.open(self.last_sync_resource_version)
        except (ConnectionFailed, TooManyRequests) as error:
            if not busy(error):
                raise
            self._refused(error)
            self._pause(stop, error)
            return None
        self._works()
        return opened

    def _confirm_version(self) -> None:
        """After a broken connection, request one object no older than the last version; do nothing otherwise.

        Raises:
            ApiError, ConnectionFailed: the server rejected the request, as one that went back does, or is unreachable.
            WentBack: the object comes from another server.
        """
        version = self.last_sync_resource_version
        if not self._watching.doubtful or not version:
            return
        wanted = self._tweak(ListOptions(resource_version=version, resource_version_match="NotOlderThan", limit=1))
        selects = bool(wanted.label_selector or wanted.field_selector)
        self._watching.requested = self._clock.now()
        try:
            page = self._any_object(wanted)
        except ApiError as error:
            if out_of_range(error):
                self._listing.need_newest()
            raise
        if self._known is not None and (why := foreign(page, version, self._known, all_cached=not selects)):
            self._listing.need_newest()
            raise WentBack(why)
        self._watching.doubtful = False

    def _any_object(self, options: ListOptions) -> ObjectList[T]:
        # Without selectors: an older server would read every object in etcd until one matches.
        unselective = replace(options, label_selector="", field_selector="")
        try:
            return self._source.list_page(unselective)
        except Forbidden:
            if unselective == options:
                raise
            return self._source.list_page(options)  # permission for named objects needs the selector of the name

    def _pause(self, stop: threading.Event, error: Exception | None = None) -> None:
        self._clock.sleep(stop, self._pauses.after(error))

    def _failed(self, error: Exception) -> None:
        self._count(error)
        self.last_error = str(error)
        try:
            self._on_error(error)
        except Exception:  # foreign code: it was to be told of trouble, and must not make more
            log.exception("the handler of watch errors raised", extra={"reflector": self.name, "err": error})

    def _refused(self, error: Exception) -> None:
        # That the server asks for fewer requests is no trouble to warn of; that it is away is.
        if isinstance(error, TooManyRequests):
            self._count(error)
            self.last_error = str(error)
            self._say_once("the server asks for fewer requests; waiting", error, logging.INFO)
        else:
            self._failed(error)

    def _say_fallback(self, error: Exception) -> None:
        # Once for each reason; the regular list reports what it cannot do either.
        known = isinstance(error, Forbidden | NotFound) or str(error) == self._fallback
        self._fallback = str(error)
        what = "streaming list not supported; falling back to a regular list"
        log.log(logging.DEBUG if known else logging.INFO, what, extra={"reflector": self.name, "err": error})

    def _count(self, error: Exception) -> None:
        if self._metrics is not None:
            self._metrics.failed(error)

    def _works(self) -> None:
        self.last_error = ""
        if self._said:
            log.info("listing and watching works again", extra={"reflector": self.name})
            self._said = ""

    def _warn(self, error: Exception) -> None:
        self._say_once("failed to list or watch; will keep trying", error, logging.WARNING)

    def _say_once(self, what: str, error: Exception, level: int) -> None:
        # One line for one trouble, however many tries it lasts.
        level = logging.DEBUG if str(error) == self._said else level
        self._said = str(error)
        log.log(level, what, extra={"reflector": self.name, "err": error})


def _impatient(tweak: Tweak) -> Tweak:
    """The same, for a client that is not to wait for a server to reach a version: the newest list is had sooner."""
    return lambda options: replace(tweak(options), retry_lagging=False)
