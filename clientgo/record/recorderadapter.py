"""A recorder of events.k8s.io/v1's shape over one of core/v1's, for code that is to work with either."""

from collections.abc import Mapping
from typing import Protocol

from clientgo.meta.objects import EMPTY_MAP
from clientgo.record.recorder import EventRecorder


class SeriesEventRecorder(Protocol):
    """Records events with an action and a related object; never waits and never fails because of the server."""

    def eventf(
        self,
        regarding: object,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *args: object,
        related: object | None = None,
        annotations: Mapping[str, str] = EMPTY_MAP,
    ) -> None:
        """Record that `action` on `regarding` (and `related`) ended in `reason`; `note` is formatted by `%`."""


class EventRecorderAdapter:
    """Records through a core/v1 recorder, which knows neither actions nor related objects: they are left out."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def __repr__(self) -> str:
        return f"<EventRecorderAdapter {self._recorder!r}>"

    def eventf(
        self,
        regarding: object,
        event_type: str,
        reason: str,
        action: str,  # like `related`, what core/v1 has no place for
        note: str,
        *args: object,
        related: object | None = None,
        annotations: Mapping[str, str] = EMPTY_MAP,
    ) -> None:
        """Record that `reason` happened to `regarding`; `note` is formatted by `%`."""
        self._recorder.annotated_eventf(regarding, annotations, event_type, reason, note, *args)
