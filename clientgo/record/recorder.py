"""What a controller calls: tell something about an object and go on."""

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from clientgo.kubernetes.types.core_v1 import EventSource
from clientgo.meta.objects import EMPTY_MAP
from clientgo.record.events import TYPES
from clientgo.record.occurrence import Occurrence
from clientgo.record.ticks import Ticks

log = logging.getLogger(__name__)


class EventRecorder(Protocol):
    """Records events about objects; never waits and never fails because of the server.

    `obj` is an API object or an `ObjectReference`; `event_type` is "Normal" or "Warning"; `reason` is one CamelCase
    word for machines, `message` a sentence for people.
    """

    def event(self, obj: object, event_type: str, reason: str, message: str) -> None:
        """Record that `reason` happened to `obj`."""

    def eventf(self, obj: object, event_type: str, reason: str, message: str, *args: object) -> None:
        """The same, `message` being formatted with `args` by `%`."""

    def annotated_eventf(
        self, obj: object, annotations: Mapping[str, str], event_type: str, reason: str, message: str, *args: object
    ) -> None:
        """The same, with annotations on the event."""


def formatted(message: str, args: tuple[object, ...]) -> str:
    """`message % args`; a message without arguments may hold any `%`."""
    return message % args if args else message


class BroadcastRecorder:
    """The recorder of an `EventBroadcaster`: it notes time and words; everything else happens on other threads."""

    def __init__(self, publish: Callable[[Occurrence], None], source: EventSource, ticks: Ticks) -> None:
        self._publish = publish
        self._source = source
        self._ticks = ticks

    def __repr__(self) -> str:
        return f"<BroadcastRecorder {self._source.component}>"

    def event(self, obj: object, event_type: str, reason: str, message: str) -> None:
        """Record that `reason` happened to `obj`; returns at once."""
        self._record(obj, EMPTY_MAP, event_type, reason, message)

    def eventf(self, obj: object, event_type: str, reason: str, message: str, *args: object) -> None:
        """The same, `message` being formatted with `args` by `%`."""
        self._record(obj, EMPTY_MAP, event_type, reason, formatted(message, args))

    def annotated_eventf(
        self, obj: object, annotations: Mapping[str, str], event_type: str, reason: str, message: str, *args: object
    ) -> None:
        """The same, with annotations on the event."""
        self._record(obj, annotations, event_type, reason, formatted(message, args))

    def _record(self, obj: object, annotations: Mapping[str, str], event_type: str, reason: str, message: str) -> None:
        if event_type not in TYPES:
            # Not raised: an event is never worth failing the work it is about.
            log.error("event of an unsupported type dropped", extra={"type": event_type, "reason": reason})
            return
        self._publish(
            Occurrence(
                obj,
                annotations=annotations,
                event_type=event_type,
                reason=reason,
                message=message,
                at=self._ticks.next(),
                source=self._source,
            )
        )
