"""Event recorders."""

import platform
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from clientgo.kubernetes.types.core_events import EventSource
from clientgo.log import get_logger
from clientgo.meta.objects import EMPTY_MAP
from clientgo.meta.selectors import is_qualified_name
from clientgo.record.events import TYPES, Occurrence, UniqueTimestamps, make_event, shortened

log = get_logger(__name__)


class EventRecorder(Protocol):
    """Recorder of events about objects; never blocks, and never raises because of the server.

    `obj` is an API object or an `ObjectReference`; `event_type` is "Normal" or "Warning"; `reason` is one CamelCase
    word for machines, `message` a sentence for people. An `action` makes it an event as of events.k8s.io/v1: equal ones
    are a series, also with different messages. `related` is a second object. A subclass has to define `eventf` only.
    """

    def event(
        self, obj: object, event_type: str, reason: str, message: str, *,
        action: str = "", related: object | None = None, annotations: Mapping[str, str] = EMPTY_MAP,
    ) -> None:  # fmt: skip
        """Record an event about `obj`."""
        self.eventf(obj, event_type, reason, message, action=action, related=related, annotations=annotations)

    def eventf(
        self, obj: object, event_type: str, reason: str, message: str, *args: object,
        action: str = "", related: object | None = None, annotations: Mapping[str, str] = EMPTY_MAP,
    ) -> None:  # fmt: skip
        """Record an event about `obj`, formatting `message % args` if there are arguments."""


class BroadcastRecorder(EventRecorder):
    """`EventRecorder` of an `EventBroadcaster`."""

    def __init__(
        self, publish: Callable[[Occurrence], None], source: EventSource, timestamps: UniqueTimestamps
    ) -> None:
        component = source.component or ""
        self._publish = publish
        self._source = source
        self._instance = shortened(f"{component}-{source.host or platform.node()}")
        self._may_act = is_qualified_name(component)
        self._timestamps = timestamps

    def __repr__(self) -> str:
        return f"<BroadcastRecorder {self._source.component}>"

    def eventf(
        self, obj: object, event_type: str, reason: str, message: str, *args: object,
        action: str = "", related: object | None = None, annotations: Mapping[str, str] = EMPTY_MAP,
    ) -> None:  # fmt: skip
        """Record an event about `obj`, formatting `message % args` if there are arguments; returns at once."""
        # Logged, not raised: an event must not make the work it reports fail.
        if event_type not in TYPES:
            log.error("event of an unsupported type dropped", extra={"type": event_type, "reason": reason})
            return
        if action and not self._may_act:
            log.error(
                "event with an action dropped: the name of its recorder must have at most 63 letters, digits, '-', '_' "
                "and '.', beginning and ending with a letter or digit, such as foo-controller",
                extra={"component": self._source.component, "reason": reason},
            )
            return
        build = partial(
            make_event, obj, event_type=event_type, reason=reason, message=formatted(message, args),
            at=self._timestamps.next(), source=self._source, annotations=annotations,
            action=action, instance=self._instance, related=related,
        )  # fmt: skip
        self._publish(Occurrence(build))


def formatted(message: str, args: tuple[object, ...]) -> str:
    """Return `message % args`; a message without arguments may contain any `%`."""
    return message % args if args else message
