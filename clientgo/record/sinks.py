"""Event sinks: the events of a server.

All events are written as core/v1, also those with an action and a series, which client-go writes as events.k8s.io/v1:
both groups serve the same stored objects under different field names, and only in core/v1 may a note change.
"""

from typing import Protocol

from clientgo.kubernetes.types.core_events import Event
from clientgo.rest.request import STRATEGIC_PATCH, Requester
from clientgo.typed.client import TypedClient
from clientgo.typed.clientset import BaseClientset


class EventSink(Protocol):
    """Store of events; the type of a raised exception decides whether the event is retried (see `sender`)."""

    def create(self, event: Event) -> Event:
        """Store a new event; return it as stored."""

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        """Apply a strategic merge patch; return the event as stored. Raises `NotFound` if it has expired."""


class CoreEventClient(TypedClient[Event]):
    """Client of core/v1 events."""

    kind = Event


class CoreSink:
    """Sink that writes core/v1 events, each to its namespace."""

    def __init__(self, requester: Requester) -> None:
        self._requester = requester

    def create(self, event: Event) -> Event:
        """Create the event."""
        return CoreEventClient(self._requester, event.metadata.namespace).create(event)

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        """Patch the event."""
        return CoreEventClient(self._requester, namespace).patch(name, patch, content_type=STRATEGIC_PATCH)


def sink_for(target: BaseClientset | Requester) -> EventSink:
    """Return the sink of a clientset or requester, fakes included."""
    return CoreSink(target.requester if isinstance(target, BaseClientset) else target)
