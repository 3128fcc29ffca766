"""A list that comes as a watch (KEP-3157): objects as ADDED events, then a bookmark that says these were all.

Until that bookmark nothing is complete, so what comes is put aside; then it takes the store's place at once, and the
same watch goes on with what changes. The server keeps no page of objects in memory, and neither do we.
"""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from clientgo.cache.fitness import Unfit
from clientgo.cache.watching import SHORT_WATCH_SECONDS, Sink
from clientgo.clock import Clock
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.listwatch import BadEvent, Bookmark, ListerWatcher, WatchEvent
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, ListMeta

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

NOTICE_SECONDS = 10.0
"""Seconds between notices that the bookmark has not come (client-go)."""


PATIENCE = 30.0
"""Seconds of silence after which a streamed list is taken for one that will not end."""


class NoListEnd(Exception):
    """The list is not going to end: the server watches as if no list had been asked for, as those before 1.27 do."""


def streams_lists(source: ListerWatcher[T], wanted: bool | None) -> bool:
    """Whether to ask `source` for streamed lists: as `wanted`, but never against what it declares.

    A source declares by an attribute `supports_watch_list`. None, the default, asks only one that says it can.
    """
    declared = getattr(source, "supports_watch_list", None)
    if wanted is None:
        return declared is True
    return wanted and declared is not False


class StreamedList(Generic[T]):
    """The objects of a streamed list so far; complete once `ended`."""

    def __init__(self, sink: Sink[T], unfit: Unfit) -> None:
        self.version = ""
        self.ended = False
        self._sink = sink
        self._unfit = unfit
        self._objects: dict[ObjectName, T] = {}
        self._undecodable: dict[ObjectName, Undecodable] = {}

    def __repr__(self) -> str:
        return f"<StreamedList {len(self._objects)} objects, {'complete' if self.ended else 'not complete'}>"

    @property
    def objects(self) -> list[T]:
        """What exists, ready for the store."""
        return list(self._objects.values())

    @property
    def undecodable(self) -> tuple[Undecodable, ...]:
        """What exists and can't be decoded."""
        return tuple(self._undecodable.values())

    def take(self, event: WatchEvent[T] | Bookmark | BadEvent) -> None:
        """One event of the stream; objects may change and go while the list is sent.

        Raises:
            NoListEnd: a bookmark that ends no list; a server that streams lists sends none before the one that does.
        """
        match event:
            case WatchEvent("DELETED", obj):
                self._drop(object_name(obj))
            case WatchEvent(_, obj):
                self._keep(obj)
            case BadEvent(kind, error):
                self._drop(ObjectName(error.metadata.namespace, error.metadata.name))
                if kind != "DELETED":
                    self._reject(error)
            case Bookmark(version, ended):
                if not ended:
                    raise NoListEnd("a bookmark came that does not mark the end of the list")
                self.version, self.ended = version, ended

    def _keep(self, obj: T) -> None:
        if why := self._unfit(obj):
            log.error("object skipped in a streamed list", extra={"err": why})
            return
        # Made ready one by one, so that what a transform drops is not held for the whole list.
        page = self._sink.prepare(ObjectList(ListMeta(), [obj]))
        self._drop(object_name(obj))
        for ready in page.items:
            self._objects[object_name(obj)] = ready
        for error in page.undecodable:
            self._reject(error)

    def _drop(self, key: ObjectName) -> None:
        self._objects.pop(key, None)
        self._undecodable.pop(key, None)

    def _reject(self, error: Undecodable) -> None:
        self._undecodable[ObjectName(error.metadata.namespace, error.metadata.name)] = error


class BookmarkNotice:
    """Says every `period` seconds that the list's end has not come, and gives up after `PATIENCE`; 0 does neither.

    Runs in a thread of its own, because the reader of the stream is blocked in it when this is of interest.
    """

    def __init__(self, name: str, clock: Clock, *, period: float = NOTICE_SECONDS) -> None:
        self.period = period
        self.gave_up = False
        self._name = name
        self._clock = clock
        self._began = self._since = clock.now()
        self._events = False

    def seen(self) -> None:
        """An event came."""
        self._events = True
        self._since = self._clock.now()

    @property
    def too_short(self) -> bool:
        """Whether nothing came, in less time than a watch is given to say something."""
        return not self._events and self._clock.now() - self._began < SHORT_WATCH_SECONDS

    def text(self) -> str:
        """What there is to say now."""
        seconds = f"{self._clock.now() - self._since:g}s"
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
        """Speak up until the list is done, or silence has lasted too long: then `give_up` is called."""
        while self.period > 0 and not self._clock.wait_for(done, self.period):
            log.warning(self.text())
            if self._clock.now() - self._since >= PATIENCE:
                self.gave_up = True
                give_up()
                return
