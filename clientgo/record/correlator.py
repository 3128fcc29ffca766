"""Event correlation: aggregation of similar events, counting of equal events, then the spam filter.

As in client-go, the filter comes last: a dropped event is counted, so the next event sent has the correct count.
"""

from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Protocol, TypeVar

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.internal.boundeddict import BoundedDict
from clientgo.internal.tokenbucket import TokenBucket
from clientgo.kubernetes.types.core_events import Event
from clientgo.meta.codec import encode_value, replace
from clientgo.meta.objects import ObjectMeta
from clientgo.record.events import event_name, moment, nanoseconds

V = TypeVar("V")

KeyFunction = Callable[[Event], tuple[str, str]]
"""Function that returns the group of an event and its distinguishing text within the group."""

COMBINED = "(combined from similar events): "
"""Prefix of an aggregate's message."""


def event_key(event: Event) -> str:
    """Return a key shared by events equal in everything but time; they are counted.

    All keys join their parts without a separator, as client-go does. A collision makes a count one too high at worst.
    """
    path = event.involved_object.field_path or ""
    return f"{_origin(event, path)}{event.type or ''}{event.reason or ''}{event.message or ''}"


def aggregate_key(event: Event) -> str:
    """Return a key shared by events that differ only in their message; many of them are sent as one."""
    reporter = f"{event.reporting_component or ''}{event.reporting_instance or ''}"
    return f"{_origin(event)}{event.type or ''}{event.reason or ''}{reporter}"


def aggregate_by_reason(event: Event) -> tuple[str, str]:
    """Return the aggregate key of an event and its message."""
    return aggregate_key(event), event.message or ""


def combined_message(event: Event) -> str:
    """Return the message of an aggregate whose latest event is `event`."""
    return COMBINED + (event.message or "")


def spam_key(event: Event) -> str:
    """Return a key shared by events of one type from one source about one object; they share a rate limit."""
    return f"{_origin(event)}{event.type or ''}"


def _origin(event: Event, field_path: str = "") -> str:
    # One f-string: this runs three times per event.
    source, about = event.source, event.involved_object
    reporter = f"{source.component or ''}{source.host or ''}" if source is not None else ""
    return (
        f"{reporter}{about.kind or ''}{about.namespace or ''}{about.name or ''}{field_path}"
        f"{about.uid or ''}{about.api_version or ''}"
    )


class CorrelatorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of event correlation; the defaults are client-go's."""

    cache_size: int = 4096
    """Maximum number of keys in each cache."""
    burst: int = 25
    """Events per spam key that may be sent at once."""
    qps: float = 1 / 300
    """Events per second and spam key after that: one every five minutes."""
    key: KeyFunction = aggregate_by_reason
    message: Callable[[Event], str] = combined_message
    max_events: int = 10
    """Number of different messages from which similar events are combined."""
    max_interval: float = 600.0
    """Seconds without a similar event after which a group is reset."""
    spam_key: Callable[[Event], str] = spam_key


class Correlated(msgspec.Struct, frozen=True):
    """Result of correlation: create `event` if `patch` is empty, patch the stored event otherwise; or skip it.

    `key` identifies the event when the server's response is passed to `update_state`.
    """

    event: Event
    patch: bytes
    skip: bool
    key: Hashable


class Correlator(Protocol):
    """Grouping of repeated events, as required by a sender."""

    def correlate(self, event: Event) -> Correlated:
        """Return what to send for this event."""

    def update_state(self, stored: Event, key: Hashable) -> None:
        """Update the event of that key with the server's response."""


class _Sent(msgspec.Struct, frozen=True):
    count: int
    first_timestamp: datetime | None
    name: str
    resource_version: str


class EventCorrelator:
    """Correlator of core/v1 events for one sink. Owned by one thread; starts with empty caches."""

    def __init__(self, options: CorrelatorOptions | None = None, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._options = options = options if options is not None else CorrelatorOptions()
        self._clock = clock
        self._groups: BoundedDict[Hashable, tuple[float, set[str]]] = BoundedDict(options.cache_size)
        self._sent: BoundedDict[Hashable, _Sent] = BoundedDict(options.cache_size)
        self._buckets: BoundedDict[Hashable, TokenBucket] = BoundedDict(options.cache_size)

    def correlate(self, event: Event) -> Correlated:
        """Return what to send for this event."""
        combined, key = self._aggregate(event)
        counted, patch = self._count(combined, key)
        return Correlated(counted, patch, self._is_spam(counted), key)

    def update_state(self, stored: Event, key: Hashable) -> None:
        """Remember the name, version and count of the stored event."""
        meta = stored.metadata
        self._sent[key] = _Sent(stored.count or 0, stored.first_timestamp, meta.name, meta.resource_version)

    def _aggregate(self, event: Event) -> tuple[Event, str]:
        """Return the event or, once its group has `max_events` different messages, an aggregate; and the count key."""
        now = self._clock.now()
        key, message = self._options.key(event)
        last, messages = self._groups.use(key) or (now, set())
        if now - last > self._options.max_interval:
            messages = set()
        messages.add(message)
        self._groups[key] = (now, messages)
        if len(messages) < self._options.max_events:
            return event, event_key(event)
        # An arbitrary one is removed. The set would otherwise grow with every message; a group that stays at the limit
        # is combined from the next different message on.
        messages.pop()
        return self._aggregate_of(event), key

    def _aggregate_of(self, event: Event) -> Event:
        at = nanoseconds(self._clock.time())
        name, when = event_name(event.involved_object.name or "", at), moment(at)
        return Event(
            metadata=ObjectMeta(name=name, namespace=event.metadata.namespace), involved_object=event.involved_object,
            type=event.type, reason=event.reason, message=self._options.message(event), source=event.source,
            count=1, first_timestamp=when, last_timestamp=when,
        )  # fmt: skip

    def _count(self, event: Event, key: str) -> tuple[Event, bytes]:
        """Return the event with its count, and the patch for the stored event; a new event has an empty patch."""
        before = self._sent.use(key)
        patch = b""
        if before is not None and before.count > 0:
            event = replace(
                event,
                metadata=replace(event.metadata, name=before.name, resource_version=before.resource_version),
                first_timestamp=before.first_timestamp,
                count=before.count + 1,
            )
            patch = _count_patch(event)
        self.update_state(event, key)
        return event, patch

    def _is_spam(self, event: Event) -> bool:
        """Take a token from the event's bucket; return True if there is none."""
        now = self._clock.now()
        key = self._options.spam_key(event)
        bucket = self._buckets.use(key)
        if bucket is None:
            bucket = TokenBucket(self._options.qps, self._options.burst, now)
            self._buckets[key] = bucket
        return not bucket.try_take(now)


def _count_patch(event: Event) -> bytes:
    # Only the fields that change with each occurrence. Without a resourceVersion the patch cannot conflict.
    changed: dict[str, object] = {"count": event.count, "lastTimestamp": event.last_timestamp}
    if event.message:
        changed["message"] = event.message
    return encode_value(changed)
