"""The same event again is not sent again: the one the server has is counted up."""

from datetime import datetime

import msgspec

from clientgo.kubernetes.types.core_v1 import Event
from clientgo.meta.codec import encode_value, replace
from clientgo.record.lru import LRU


class _Sent(msgspec.Struct, frozen=True):
    count: int
    first_timestamp: datetime | None
    name: str
    resource_version: str


class EventCounter:
    """Remembers under each key what was sent last (client-go's eventLogger). Owned by one thread."""

    def __init__(self, *, cache_size: int) -> None:
        self._sent: LRU[str, _Sent] = LRU(cache_size)

    def observe(self, event: Event, key: str) -> tuple[Event, bytes]:
        """The event with its count so far, and the patch that makes the server's copy equal to it.

        The patch is empty for an event that is new.
        """
        before = self._sent.get(key)
        patch = b""
        if before is not None and before.count > 0:
            event = replace(
                event,
                metadata=replace(event.metadata, name=before.name, resource_version=before.resource_version),
                first_timestamp=before.first_timestamp,
                count=before.count + 1,
            )
            patch = _patch(event)
        self.remember(event, key)
        return event, patch

    def remember(self, event: Event, key: str) -> None:
        """Take over what the server answered: its name and version of the event."""
        self._sent.put(
            key, _Sent(event.count or 0, event.first_timestamp, event.metadata.name, event.metadata.resource_version)
        )


def _patch(event: Event) -> bytes:
    # Only what differs from one occurrence to the next; the version is left out, so that the patch can't conflict.
    changed: dict[str, object] = {"count": event.count, "lastTimestamp": event.last_timestamp}
    if event.message:
        changed["message"] = event.message
    return encode_value(changed)
