"""Watches of a reflector: opens one watch after another and puts their events into the sink."""

import threading
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

from clientgo.backoff import Random
from clientgo.cache.metrics import ReflectorMetrics
from clientgo.cache.sink import Sink
from clientgo.cache.state import Position
from clientgo.cache.validation import RejectReason, unexpected
from clientgo.clock import Clock
from clientgo.errors import CallbackFailed, ClientGoError, ConnectionFailed
from clientgo.internal.callbacks import run_callback
from clientgo.log import get_logger
from clientgo.meta.codec import UnexpectedObject
from clientgo.meta.listwatch import BadEvent, Bookmark, ListerWatcher, ListOptions, Watch, WatchEvent, is_older
from clientgo.meta.objects import ApiObject
from clientgo.rest.transport import IdleTimeout
from clientgo.stop.stopping import current_scopes

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
    """Watches of one source, which advance the position of its reflector."""

    def __init__(
        self,
        source: ListerWatcher[T],
        sink: Sink[T],
        position: Position,
        *,
        name: str,
        tweak: Tweak,
        reject_reason: RejectReason,
        min_seconds: float,
        metrics: ReflectorMetrics,
        clock: Clock,
        rand: Random,
    ) -> None:
        self._source = source
        self._sink = sink
        self._position = position
        self._name = name
        self._tweak = tweak
        self._reject_reason = reject_reason
        self._min_seconds = max(min_seconds, MIN_WATCH_SECONDS)
        self._metrics = metrics
        self._clock = clock
        self._rand = rand

    def __repr__(self) -> str:
        return f"<ReflectorWatcher {self._name} at {self._position.version or 'no version'}>"

    def open(self, *, stream_list: bool = False) -> OpenWatch[T]:
        """Open a watch of the changes after the last version, or of a list and then changes; a stop closes it.

        Raises:
            ApiError, ConnectionFailed: the watch could not be opened.
        """
        position = self._position
        version = "" if stream_list and position.newest_required else position.version
        watch_options = ListOptions(
            resource_version=version,
            resource_version_match="NotOlderThan" if stream_list else "",
            send_initial_events=stream_list,
            timeout_seconds=int(self._min_seconds * (1.0 + self._rand())),
            allow_watch_bookmarks=True,
            watch=True,
        )
        position.unordered = version in ("", "0") and not stream_list
        position.watches += 1
        self._metrics.watches.inc()
        position.last_request_at = began = self._clock.now()
        options = self._tweak(watch_options)
        try:
            watch = self._source.watch_from(options)
        except ConnectionFailed:
            position.needs_verification = True
            raise
        position.last_event_at = self._clock.now()
        position.watching_since = began
        for scope in current_scopes():
            scope.add(self, watch.close)
        return OpenWatch(watch, iter(watch), began)

    def end(self, opened: OpenWatch[T]) -> None:
        """Close a watch."""
        for scope in current_scopes():
            scope.remove(self)
        opened.watch.close()
        self._position.watching_since = None

    def read(self, opened: OpenWatch[T], stop: threading.Event) -> None:
        """Put all events into the sink until the watch ends or its connection fails; then close it.

        Raises:
            ApiError: the server ended the watch with it.
            ResourceVersionRegressed: a bookmark has an older version than an earlier event.
            VeryShortWatch: the watch ended within a second, without events.
        """
        events, take, now, position = 0, self._take, self._clock.now, self._position
        try:
            for event in opened.events:
                events += 1
                position.last_event_at = now()
                take(event)
        except IdleTimeout as error:
            position.needs_verification = True
            log.info("watch was idle; watching again", extra={"reflector": self._name, "err": error})
        except ConnectionFailed as error:
            position.needs_verification = True
            if not stop.is_set():
                self._metrics.failed(error)
                log.info("watch lost", extra={"reflector": self._name, "err": error})
        finally:
            self.end(opened)
            lasted = self._clock.now() - opened.began
            is_short = lasted < SHORT_WATCH_SECONDS
            position.short_watches = position.short_watches + 1 if is_short else 0
            failed = is_short and not events
            self._metrics.watched(lasted, events, position.version, short=failed)
        if failed and not stop.is_set():
            raise self.too_short()

    def too_short(self) -> VeryShortWatch:
        """Return the error of a watch that ended too early."""
        return VeryShortWatch(f"very short watch: {self._name}: watch lasted less than a second and no items received")

    def _take(self, event: WatchEvent[T] | Bookmark | BadEvent) -> None:
        position = self._position
        if isinstance(event, WatchEvent):  # nearly always; a class pattern takes four times as long
            obj, change = event.object, event.type
            if reason := self._reject_reason(obj):
                self._sink.reject(BadEvent(change, unexpected(self._source.kind, obj, reason)), position.version)
                return
            version = position.after(obj.metadata.resource_version, added=change == "ADDED")
            self._sink.apply(event, version)
        elif isinstance(event, BadEvent):
            if isinstance(event.error, UnexpectedObject):
                self._sink.reject(event, position.version)
                return
            version = position.after(event.error.metadata.resource_version, added=event.type == "ADDED")
            self._sink.reject(event, version)
        else:
            self._check_order(event.resource_version)
            version = position.after(event.resource_version, added=False)
            self._metrics.reached(version)
            self._sink.bookmark(version)
        position.version = version

    def _check_order(self, version: str) -> None:
        # Only for bookmarks, which come once a minute; for every event it would cost more than it could find.
        position = self._position
        if not position.unordered and is_older(version, position.version):
            position.newest_required = True
            raise ResourceVersionRegressed(
                f"the server is at resourceVersion {version}, and was at {position.version} before"
            )
