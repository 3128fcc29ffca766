"""Where events go: two calls, and the API server's core/v1 events behind them."""

from typing import Protocol, cast

from clientgo.kubernetes.types.core_v1 import Event
from clientgo.rest.request import STRATEGIC_PATCH, Requester
from clientgo.typed.client import TypedClient


class EventSink(Protocol):
    """Keeps events; what it raises decides whether an event is tried again (see `sender`)."""

    def create(self, event: Event) -> Event:
        """Keep a new event; returns it as kept."""

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        """Apply a strategic merge patch to an event; returns it as kept. `NotFound` if it is there no more."""


class HasRequester(Protocol):
    """A clientset, as far as a sink needs it."""

    @property
    def requester(self) -> Requester:
        """What answers its requests."""


class EventClient(TypedClient[Event]):
    """Reads and writes core/v1 events."""

    kind = Event


class ApiSink:
    """Sends events to the API server, each to the namespace it names."""

    def __init__(self, requester: Requester) -> None:
        self._requester = requester

    def create(self, event: Event) -> Event:
        """POST the event."""
        return EventClient(self._requester, event.metadata.namespace).create(event)

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        """PATCH the event."""
        return EventClient(self._requester, namespace).patch(name, patch, content_type=STRATEGIC_PATCH)


def sink_for(target: Requester | HasRequester) -> EventSink:
    """The sink that sends to the API server behind a clientset or requester, fakes included."""
    requester: object = getattr(target, "requester", target)
    return ApiSink(cast(Requester, requester))
