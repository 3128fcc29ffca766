"""What a recorder was told, kept as cheaply as can be."""

from collections.abc import Mapping

from clientgo.kubernetes.types.core_v1 import Event, EventSource
from clientgo.record.events import make_event
from clientgo.record.reference import reference_to


class Occurrence:
    """What a recorder was told; it becomes an `Event` on the thread of whoever wants one, and only once."""

    __slots__ = ("_annotations", "_at", "_event", "_message", "_object", "_reason", "_source", "_type")

    def __init__(
        self,
        obj: object,
        *,
        annotations: Mapping[str, str],
        event_type: str,
        reason: str,
        message: str,
        at: int,
        source: EventSource,
    ) -> None:
        self._object = obj
        self._annotations = annotations
        self._type = event_type
        self._reason = reason
        self._message = message
        self._at = at
        self._source = source
        self._event: Event | None = None

    def event(self) -> Event:
        """The event; `TypeError` if it is about something that can't be referred to."""
        if self._event is None:
            # Two threads may both make one; they are alike.
            self._event = make_event(
                reference_to(self._object),
                event_type=self._type,
                reason=self._reason,
                message=self._message,
                at=self._at,
                source=self._source,
                annotations=self._annotations,
            )
        return self._event
