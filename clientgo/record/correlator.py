"""Decides what becomes of an event: sent as new, sent as a higher count, combined with others, or not sent.

    event ─▶ EventAggregator ─▶ EventCounter ─▶ EventSpamFilter ─▶ Correlated

The filter comes last, as in client-go: an event that is not sent was counted all the same, so the next one that is sent
tells the true number.
"""

from collections.abc import Callable

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.kubernetes.types.core_v1 import Event
from clientgo.record.aggregator import MAX_EVENTS, MAX_INTERVAL, EventAggregator, KeyFunction
from clientgo.record.counter import EventCounter
from clientgo.record.keys import aggregate_by_reason, combined_message, spam_key
from clientgo.record.spamfilter import BURST, QPS, EventSpamFilter

CACHE_SIZE = 4096
"""Keys that each part remembers (client-go)."""


class CorrelatorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How events are grouped and bounded; the defaults are client-go's."""

    cache_size: int = CACHE_SIZE
    burst: int = BURST
    qps: float = QPS
    key: KeyFunction = aggregate_by_reason
    message: Callable[[Event], str] = combined_message
    max_events: int = MAX_EVENTS
    max_interval: float = MAX_INTERVAL
    spam_key: Callable[[Event], str] = spam_key


class Correlated(msgspec.Struct, frozen=True):
    """What to send: `event` is new if `patch` is empty, else the server's copy of it is to be patched.

    `skip` says to send nothing. `key` is what the server's answer is to be remembered under.
    """

    event: Event
    patch: bytes
    skip: bool
    key: str


class EventCorrelator:
    """Sees every event of one sink, in order. Owned by one thread; starts with no memory of earlier events."""

    def __init__(self, options: CorrelatorOptions | None = None, *, clock: Clock = SYSTEM_CLOCK) -> None:
        o = options if options is not None else CorrelatorOptions()
        self._aggregator = EventAggregator(
            cache_size=o.cache_size,
            key=o.key,
            message=o.message,
            max_events=o.max_events,
            max_interval=o.max_interval,
            clock=clock,
        )
        self._counter = EventCounter(cache_size=o.cache_size)
        self._filter = EventSpamFilter(cache_size=o.cache_size, burst=o.burst, qps=o.qps, key=o.spam_key, clock=clock)

    def correlate(self, event: Event) -> Correlated:
        """What to send for this event."""
        combined, key = self._aggregator.aggregate(event)
        counted, patch = self._counter.observe(combined, key)
        return Correlated(counted, patch, self._filter.filter(counted), key)

    def update_state(self, answer: Event, key: str) -> None:
        """Remember the event as the server now has it."""
        self._counter.remember(answer, key)
