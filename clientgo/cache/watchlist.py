"""Streamed lists (KEP-3157): a list sent as a watch, with ADDED events and a bookmark after the last one.

The list is incomplete until that bookmark, so its objects are collected first and then replace the store at once; the
same watch continues with the changes. Neither the server nor the client holds pages of objects in memory.

For test runs, an environment variable (client-go's) makes the reflector compare each streamed list with a regular one.
The former comes from the server's watch cache, the latter from its storage: if they differ, one of them is wrong, and
every cache may be. The program ends then.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from clientgo.cache.sink import Sink
from clientgo.cache.validation import RejectReason, unexpected
from clientgo.cache.watcher import SHORT_WATCH_SECONDS
from clientgo.clock import Clock
from clientgo.errors import ClientGoError
from clientgo.log import get_logger
from clientgo.meta.codec import ObjectList, Undecodable, UnexpectedObject
from clientgo.meta.jsonvalues import same
from clientgo.meta.listwatch import BadEvent, Bookmark, ListOptions, WatchEvent
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, ListMeta

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

BOOKMARK_PERIOD = 10.0
"""Seconds between warnings that the bookmark has not arrived (client-go's)."""

BOOKMARK_TIMEOUT = 30.0
"""Seconds without an event after which a streamed list is abandoned."""

PREPARED_AT_ONCE = 100
"""Objects that wait to be prepared: their number limits the memory for fields that a transform drops."""

DETECTOR_VARIABLE = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR"
"""Environment variable that enables the comparison with regular lists."""

DETECTOR_RETRY_SECONDS = 1.0
"""Seconds between attempts of a regular list that fails (client-go's)."""

_TRUE = ("1", "t", "T", "true", "TRUE", "True")  # as Go's strconv.ParseBool


class NoListEnd(ClientGoError):
    """The list will not end: the server ignores the request for one, as servers before 1.27 do."""


class ListsDiffer(AssertionError):
    """A streamed list and a regular one of the same version have different objects."""


def streams_lists(source: object, requested: bool | None) -> bool | None:
    """Return whether streamed lists are to be requested from a source: as `requested`, unless it has none.

    A source or requester declares with the attribute `supports_watch_list` whether it has them. None requests them only
    from a source that declares it, and not if its `lists_in_parts` are better; it is returned if nothing decides.
    """
    declared: bool | None = getattr(source, "supports_watch_list", None)
    if declared is False:
        return False
    if requested is None and not getattr(source, "lists_in_parts", False):
        return declared
    return requested


class StreamedList(Generic[T]):
    """Objects of a streamed list; complete once `ended`."""

    def __init__(self, sink: Sink[T], kind: type[T], reject_reason: RejectReason) -> None:
        self.version = ""
        self.ended = False
        self._sink = sink
        self._kind = kind
        self._reject_reason = reject_reason
        self._received: dict[ObjectName, T] = {}
        self._prepared: dict[ObjectName, T] = {}
        self._undecodable: dict[ObjectName, Undecodable] = {}
        self._unexpected: list[Undecodable] = []

    def __repr__(self) -> str:
        objects = len(self._prepared) + len(self._received)
        return f"<StreamedList {objects} objects, {'complete' if self.ended else 'not complete'}>"

    @property
    def objects(self) -> list[T]:
        """Prepared objects."""
        return list(self._prepared.values())

    @property
    def undecodable(self) -> tuple[Undecodable, ...]:
        """Errors of the objects that could not be decoded, or that are not what was requested."""
        return (*self._undecodable.values(), *self._unexpected)

    def take(self, event: WatchEvent[T] | Bookmark | BadEvent) -> None:
        """Add an event; objects may change and be deleted while the list is sent.

        Raises:
            NoListEnd: a bookmark that does not mark the end; a server that streams lists sends none before it.
        """
        match event:
            case WatchEvent(_, obj) if reason := self._reject_reason(obj):
                self._unexpected.append(unexpected(self._kind, obj, reason))
            case WatchEvent("DELETED", obj):
                self._drop(object_name(obj))
            case WatchEvent(_, obj):
                self._keep(obj)
            case BadEvent(_, UnexpectedObject() as error):
                self._unexpected.append(error)
            case BadEvent(kind, error):
                self._drop(object_name(error))
                if kind != "DELETED":
                    self._undecodable[object_name(error)] = error
            case Bookmark(version, ended):
                if not ended:
                    raise NoListEnd("received a bookmark that does not mark the end of the list")
                self._prepare()
                self.version, self.ended = version, ended

    def _keep(self, obj: T) -> None:
        self._received[object_name(obj)] = obj
        if len(self._received) == PREPARED_AT_ONCE:
            self._prepare()

    def _prepare(self) -> None:
        received, self._received = self._received, {}
        for key in received:
            self._drop(key)
        page = self._sink.prepare(ObjectList(ListMeta(), list(received.values())))
        self._prepared.update({object_name(obj): obj for obj in page.items})
        self._undecodable.update({object_name(error): error for error in page.undecodable})

    def _drop(self, key: ObjectName) -> None:
        self._received.pop(key, None)
        self._prepared.pop(key, None)
        self._undecodable.pop(key, None)


class BookmarkTicker:
    """Warns every `period` seconds that the final bookmark is missing; gives up after `BOOKMARK_TIMEOUT`.

    Period 0 disables both. Runs in its own thread, because the reader of the stream is blocked meanwhile.
    """

    def __init__(self, name: str, clock: Clock, *, period: float = BOOKMARK_PERIOD) -> None:
        self.period = period
        self.gave_up = False
        self._name = name
        self._clock = clock
        self._began = self._last = clock.now()
        self._events = False

    def event_received(self, now: float) -> None:
        """Record the time of an event."""
        self._events = True
        self._last = now

    @property
    def too_short(self) -> bool:
        """True if the stream has had no event, and has lasted less than a second."""
        return not self._events and self._clock.now() - self._began < SHORT_WATCH_SECONDS

    def text(self) -> str:
        """Return the warning (client-go's words)."""
        seconds = f"{self._clock.now() - self._last:g}s"
        if self._events:
            return (
                f"{self._name}: hasn't received required bookmark event marking the end of initial events stream, "
                f"received last event {seconds} ago"
            )
        return (
            f"{self._name}: awaiting required bookmark event for initial events stream, "
            f"no events received for {seconds}"
        )

    def run(self, done: threading.Event, give_up: Callable[[], object]) -> None:
        """Warn until `done` is set; call `give_up` and return after the timeout."""
        while self.period > 0 and not self._clock.wait_for(done, self.period):
            log.warning(self.text())
            if self._clock.now() - self._last >= BOOKMARK_TIMEOUT:
                self.gave_up = True
                give_up()
                return


def is_detector_enabled(environ: Mapping[str, str] | None = None) -> bool:
    """Return True if the environment enables the comparison with regular lists."""
    environ = os.environ if environ is None else environ
    return environ.get(DETECTOR_VARIABLE, "") in _TRUE


def check_consistency(
    name: str,
    streamed: StreamedList[T],
    fetch: Callable[[ListOptions], ObjectList[T]],
    *,
    stop: threading.Event,
    clock: Clock,
) -> None:
    """Compare a streamed list with a regular one of exactly that version; retry a list that fails until `stop`.

    Raises:
        ListsDiffer: their objects differ.
    """
    log.warning("comparing each streamed list with a regular one", extra={"reflector": name})
    options = ListOptions(resource_version=streamed.version, resource_version_match="Exact")
    while not stop.is_set():
        try:
            listed = fetch(options)
        except (ClientGoError, Undecodable) as error:
            log.error("streamed list cannot be compared; will retry", extra={"reflector": name, "err": error})
            clock.sleep(stop, DETECTOR_RETRY_SECONDS)
            continue
        if differing := differences(streamed.objects, listed.items):
            raise ListsDiffer(f"{name} at resourceVersion {streamed.version}: {differing}")
        return


def differences(streamed: Iterable[T], listed: Iterable[T]) -> str:
    """Return a description of the differences between two sets of objects; empty if there are none."""
    ours, theirs = _by_name(streamed), _by_name(listed)
    differing = {
        "streamed but not listed": ours.keys() - theirs.keys(),
        "listed but not streamed": theirs.keys() - ours.keys(),
        "different": {key for key in ours.keys() & theirs.keys() if not same(ours[key], theirs[key])},
    }
    return "; ".join(f"{title}: {', '.join(sorted(map(str, keys)))}" for title, keys in differing.items() if keys)


def _by_name(objects: Iterable[T]) -> dict[ObjectName, T]:
    return {object_name(obj): obj for obj in objects}
