"""Many similar events become one that says so."""

from collections.abc import Callable

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.kubernetes.types.core_v1 import Event
from clientgo.meta.objects import ObjectMeta
from clientgo.record.events import event_name, moment, nanoseconds
from clientgo.record.keys import aggregate_by_reason, combined_message, event_key
from clientgo.record.lru import LRU

KeyFunction = Callable[[Event], tuple[str, str]]
"""Gives the group an event belongs to, and what tells it from the others of its group."""

MAX_EVENTS = 10
"""From this many different messages on, similar events are combined (client-go)."""

MAX_INTERVAL = 600.0
"""Seconds without a similar event after which a group starts anew (client-go: 10 minutes)."""


class _Group:
    __slots__ = ("last", "seen")

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.last = 0.0


class EventAggregator:
    """Passes events on until `max_events` different ones of a group came within `max_interval` of each other.

    Owned by one thread.
    """

    def __init__(
        self,
        *,
        cache_size: int,
        key: KeyFunction = aggregate_by_reason,
        message: Callable[[Event], str] = combined_message,
        max_events: int = MAX_EVENTS,
        max_interval: float = MAX_INTERVAL,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._groups: LRU[str, _Group] = LRU(cache_size)
        self._key = key
        self._message = message
        self._max_events = max_events
        self._max_interval = max_interval
        self._clock = clock

    def aggregate(self, event: Event) -> tuple[Event, str]:
        """The event to send, itself or its group's, and the key under which it is counted."""
        now = self._clock.now()
        key, own = self._key(event)
        group = self._groups.get(key)
        if group is None or now - group.last > self._max_interval:
            group = _Group()
        group.seen.add(own)
        group.last = now
        self._groups.put(key, group)
        if len(group.seen) < self._max_events:
            return event, event_key(event)
        # One goes, whichever: the set would otherwise grow with every message, and a group that stays at the limit is
        # combined from the next different message on.
        group.seen.pop()
        return self._combined(event), key

    def _combined(self, event: Event) -> Event:
        at = nanoseconds(self._clock.time())
        return Event(
            metadata=ObjectMeta(
                name=event_name(event.involved_object.name or "", at), namespace=event.metadata.namespace
            ),
            involved_object=event.involved_object,
            type=event.type,
            reason=event.reason,
            message=self._message(event),
            source=event.source,
            count=1,
            first_timestamp=moment(at),
            last_timestamp=moment(at),
        )
