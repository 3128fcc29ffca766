"""Event recorders for core/v1 and events.k8s.io/v1."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from clientgo.kubernetes.types.core_events import EventSource
from clientgo.log import get_logger
from clientgo.meta.objects import EMPTY_MAP
from clientgo.record.events import TYPES, Occurrence, UniqueTimestamps, make_event

log = get_logger(__name__)


class EventRecorder(Protocol):
    """Recorder of core/v1 events about objects; never blocks, and never raises because of the server.

    `obj` is an API object or an `ObjectReference`; `event_type` is "Normal" or "Warning"; `reason` is one CamelCase
    word for machines, `message` a sentence for people. A subclass has to define `annotated_eventf` only.
    """

    def event(self, obj: object, event_type: str, reason: str, message: str) -> None:
        """Record an event about `obj`."""
        self.annotated_eventf(obj, EMPTY_MAP, event_type, reason, message)

    def eventf(self, obj: object, event_type: str, reason: str, message: str, *args: object) -> None:
        """Record an event about `obj`, formatting `message % args`."""
        self.annotated_eventf(obj, EMPTY_MAP, event_type, reason, message, *args)

    def annotated_eventf(
        self, obj: object, annotations: Mapping[str, str], event_type: str, reason: str, message: str, *args: object
    ) -> None:
        """Record an event with annotations about `obj`, formatting `message % args` if there are arguments."""


class SeriesEventRecorder(Protocol):
    """Recorder of events.k8s.io/v1 events; never blocks, and never raises because of the server."""

    def eventf(
        self, regarding: object, event_type: str, reason: str, action: str, note: str, *args: object,
        related: object | None = None, annotations: Mapping[str, str] = EMPTY_MAP,
    ) -> None:  # fmt: skip
        """Record an `action` on `regarding`, which may involve `related`; `note` is formatted as `note % args`."""


class EventRecorderAdapter(SeriesEventRecorder):
    """`SeriesEventRecorder` on top of an `EventRecorder`, fakes included; drops the action and the related object."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def __repr__(self) -> str:
        return f"<EventRecorderAdapter {self._recorder!r}>"

    def eventf(
        self, regarding: object, event_type: str, reason: str, action: str, note: str, *args: object,
        related: object | None = None, annotations: Mapping[str, str] = EMPTY_MAP,
    ) -> None:  # fmt: skip
        """Record an event about `regarding`, formatting `note % args`."""
        self._recorder.annotated_eventf(regarding, annotations, event_type, reason, note, *args)


class _Recorder:
    def __init__(
        self, publish: Callable[[Occurrence], None], source: EventSource, timestamps: UniqueTimestamps
    ) -> None:
        self._publish = publish
        self._source = source
        self._timestamps = timestamps

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._source.component}>"

    def _record(
        self, obj: object, event_type: str, reason: str, message: str, *,
        annotations: Mapping[str, str], action: str | None = None, related: object | None = None,
    ) -> None:  # fmt: skip
        if event_type not in TYPES:
            # Not raised: an event must not make the work it reports fail.
            log.error("event of an unsupported type dropped", extra={"type": event_type, "reason": reason})
            return
        build = partial(
            make_event, obj, event_type=event_type, reason=reason, message=message, at=self._timestamps.next(),
            source=self._source, annotations=annotations, action=action, related=related,
        )  # fmt: skip
        self._publish(Occurrence(build))


class BroadcastRecorder(_Recorder, EventRecorder):
    """`EventRecorder` of an `EventBroadcaster`."""

    def annotated_eventf(
        self, obj: object, annotations: Mapping[str, str], event_type: str, reason: str, message: str, *args: object
    ) -> None:
        """Record an event with annotations about `obj`; returns at once."""
        self._record(obj, event_type, reason, formatted(message, args), annotations=annotations)


class SeriesRecorder(_Recorder, SeriesEventRecorder):
    """`SeriesEventRecorder` of a `SeriesBroadcaster`."""

    def eventf(
        self, regarding: object, event_type: str, reason: str, action: str, note: str, *args: object,
        related: object | None = None, annotations: Mapping[str, str] = EMPTY_MAP,
    ) -> None:  # fmt: skip
        """Record an `action` on `regarding`, which may involve `related`; returns at once."""
        note = formatted(note, args)
        self._record(regarding, event_type, reason, note, annotations=annotations, action=action, related=related)


def formatted(message: str, args: tuple[object, ...]) -> str:
    """Return `message % args`; a message without arguments may contain any `%`."""
    return message % args if args else message
