"""Watches of a reflector: opens one watch after another and puts their events into the sink."""

import threading
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

from clientgo.backoff import Random
from clientgo.cache.metrics import ReflectorMetrics
from clientgo.cache.sink import Sink
from clientgo.cache.validation import RejectReason, unexpected
from clientgo.clock import Clock
from clientgo.errors import CallbackFailed, ClientGoError, ConnectionFailed, run_callback
from clientgo.log import get_logger
from clientgo.meta.codec import UnexpectedObject
from clientgo.meta.listwatch import (
    BadEvent,
    Bookmark,
    ChangeType,
    ListerWatcher,
    ListOptions,
    Watch,
    WatchEvent,
    is_older,
)
from clientgo.meta.objects import ApiObject
from clientgo.rest.transport import IdleTimeout
from clientgo.stopping import current_scopes

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

MIN_WATCH_SECONDS = 300.0
"""Minimum timeout of a watch in seconds; each watch gets a random one, up to twice this (client-go: 5 to 10 min)."""

SHORT_WATCH_SECONDS = 1.0
"""Duration below which a watch is short; one without events is a failure (client-go's very short watch)."""

Tweak = Callable[[ListOptions], ListOptions]
"""Changes the options of each list and watch."""


def tweaked(tweak: Tweak | None, options: ListOptions) -> ListOptions:
    """Return the options for a list or watch.

    Raises:
        CallbackFailed: the program's function raised, or returned something else.
    """
    if tweak is None:
        return options
    try:
        changed = run_callback(tweak, options)
    except CallbackFailed as error:
        raise CallbackFailed(f"tweak_list_options failed: {error}") from error.__cause__
    if not isinstance(changed, ListOptions):
        raise CallbackFailed(f"tweak_list_options returned a {type(changed).__name__}, expected ListOptions")
    return changed


class VeryShortWatch(ClientGoError):
    """The watch ended within a second, without events."""


class ResourceVersionRegressed(ClientGoError):
    """The server is at an older resourceVersion than before, or has another history: it was restored or replaced."""


class OpenWatch(NamedTuple, Generic[T]):
    """A watch, its only iterator (a second one could miss what the first has buffered), and its start time."""

    watch: Watch[T]
    events: Iterator[WatchEvent[T] | Bookmark | BadEvent]
    began: float


class ReflectorWatcher(Generic[T]):
    """Watches of one source, and the state of its reflector.

    The public attributes are read-only for others. They are written in the reflector's thread, and read without a lock.
    """

    def __init__(
        self,
        source: ListerWatcher[T],
        sink: Sink[T],
        *,
        name: str,
        tweak: Tweak,
        reject_reason: RejectReason,
        min_seconds: float,
        metrics: ReflectorMetrics,
        clock: Clock,
        rand: Random,
    ) -> None:
        self.version = ""
        """Last resourceVersion received, at which the next watch starts."""
        self.requested = 0
        """Number of requested watches, including those that failed."""
        self.last_event_at: float | None = None
        """Time of the last response, event or bookmark."""
        self.last_request_at: float | None = None
        """Time of the last request, including those that failed."""
        self.watching_since: float | None = None
        """Time at which the open watch was requested; None without one."""
        self.consecutive_short_watches = 0
        """Number of watches in a row that lasted less than a second, with or without events."""
        self.needs_verification = False
        """True after a failed connection: the server that responds next may not be the same."""
        self._source = source
        self._sink = sink
        self._name = name
        self._tweak = tweak
        self._reject_reason = reject_reason
        self._min_seconds = max(min_seconds, MIN_WATCH_SECONDS)
        self._metrics = metrics
        self._clock = clock
        self._rand = rand
        self._unordered = False  # the watch began without a version: its first ADDED events are a list, in any order

    def __repr__(self) -> str:
        return f"<ReflectorWatcher {self._name} at {self.version or 'no version'}>"

    def request_sent(self) -> float:
        """Record and return the time of a request."""
        self.last_request_at = now = self._clock.now()
        return now

    def response_received(self) -> float:
        """Record and return the time of a response or event."""
        self.last_event_at = now = self._clock.now()
        return now

    def verified(self) -> None:
        """Record that the server is the one watched before."""
        self.needs_verification = False

    def listed(self, version: str) -> None:
        """Start the next watch at the version of a complete list, which is in the sink."""
        self.version = version
        self.needs_verification = False

    def open(self, version: str, *, stream_list: bool = False) -> OpenWatch[T]:
        """Open a watch of the changes after `version`, preceded by a list with `stream_list`; a stop closes it.

        Raises:
            ApiError, ConnectionFailed: the watch could not be opened.
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
        self.requested += 1
        self._metrics.watches.inc()
        began = self.request_sent()
        options = self._tweak(wanted)
        try:
            watch = self._source.watch_from(options)
        except ConnectionFailed:
            self.needs_verification = True
            raise
        self.response_received()
        self.watching_since = began
        for scope in current_scopes():
            scope.add(self, watch.close)
        return OpenWatch(watch, iter(watch), began)

    def end(self, opened: OpenWatch[T]) -> None:
        """Close a watch."""
        for scope in current_scopes():
            scope.remove(self)
        opened.watch.close()
        self.watching_since = None

    def read(self, opened: OpenWatch[T], stop: threading.Event) -> None:
        """Put all events into the sink until the watch ends or its connection fails; then close it.

        Raises:
            ApiError: the server ended the watch with it.
            ResourceVersionRegressed: a bookmark has an older version than an earlier event.
            VeryShortWatch: the watch ended within a second, without events.
        """
        events, take, now = 0, self._take, self._clock.now
        try:
            for event in opened.events:
                events += 1
                self.last_event_at = now()
                take(event)
        except IdleTimeout as error:
            self.needs_verification = True
            log.info("watch was idle; watching again", extra={"reflector": self._name, "err": error})
        except ConnectionFailed as error:
            self.needs_verification = True
            if not stop.is_set():
                self._metrics.failed(error)
                log.info("watch lost", extra={"reflector": self._name, "err": error})
        finally:
            self.end(opened)
            lasted = self._clock.now() - opened.began
            is_short = lasted < SHORT_WATCH_SECONDS
            self.consecutive_short_watches = self.consecutive_short_watches + 1 if is_short else 0
            failed = is_short and not events
            self._metrics.watched(lasted, events, self.version, short=failed)
        if failed and not stop.is_set():
            raise self.too_short()

    def too_short(self) -> VeryShortWatch:
        """Return the error of a watch that ended too early."""
        return VeryShortWatch(f"very short watch: {self._name}: watch lasted less than a second and no items received")

    def _take(self, event: WatchEvent[T] | Bookmark | BadEvent) -> None:
        match event:
            case WatchEvent(change, obj):
                if reason := self._reject_reason(obj):
                    self._sink.reject(BadEvent(change, unexpected(self._source.kind, obj, reason)), self.version)
                    return
                version = self._version_after(change, obj.metadata.resource_version)
                self._sink.apply(event, version)
            case BadEvent(change, error):
                if isinstance(error, UnexpectedObject):
                    self._sink.reject(event, self.version)
                    return
                version = self._version_after(change, error.metadata.resource_version)
                self._sink.reject(event, version)
            case Bookmark(version):
                self._check_order(version)
                self._unordered = False
                version = version or self.version
                self._metrics.reached(version)
                self._sink.bookmark(version)
        self.version = version

    def _version_after(self, change: ChangeType, version: str) -> str:
        """Return the version up to which everything is received with a change of that version."""
        if self._unordered:
            if change == "ADDED":
                return self.version
            self._unordered = False
        # The last event wins: the server sends them in order, so versions are not compared here.
        return version or self.version

    def _check_order(self, version: str) -> None:
        # Only for bookmarks, which come once a minute; for every event it would cost more than it could find.
        if not self._unordered and is_older(version, self.version):
            raise ResourceVersionRegressed(
                f"the server is at resourceVersion {version}, and was at {self.version} before"
            )
