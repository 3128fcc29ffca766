"""From what a controller says to the Event that is sent: pure, but for the random name of last resort."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from clientgo.kubernetes.types.core_v1 import Event, EventSource, ObjectReference
from clientgo.meta.objects import EMPTY_MAP, ObjectMeta
from clientgo.meta.uids import random_uuid

NORMAL = "Normal"
"""The type of an event that tells what went as it should."""

WARNING = "Warning"
"""The type of an event that somebody should look at."""

TYPES = (NORMAL, WARNING)
"""All types the API server takes."""

DEFAULT_NAMESPACE = "default"
"""Where events about cluster-scoped objects are kept."""

NANOSECONDS = 1_000_000_000

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*\Z")
_MAX_NAME = 253


def make_event(
    involved: ObjectReference,
    *,
    event_type: str,
    reason: str,
    message: str,
    at: int,
    source: EventSource,
    annotations: Mapping[str, str] = EMPTY_MAP,
) -> Event:
    """The event as it happened for the first time, `at` nanoseconds since the epoch."""
    when = moment(at)
    return Event(
        metadata=ObjectMeta(
            name=event_name(involved.name or "", at),
            namespace=involved.namespace or DEFAULT_NAMESPACE,
            annotations=annotations,
        ),
        involved_object=involved,
        reason=reason,
        message=message,
        first_timestamp=when,
        last_timestamp=when,
        count=1,
        type=event_type,
        source=source,
        reporting_component=source.component or "",
        reporting_instance=source.host or "",
    )


def event_name(involved: str, at: int) -> str:
    """`<name of the object>.<time in hex>`, or a random UUID where that is no name (`system:node`, upper case)."""
    name = f"{involved}.{at:x}"
    return name if len(name) <= _MAX_NAME and _SUBDOMAIN.match(name) else random_uuid()


def moment(at: int) -> datetime:
    """The time to write into an event: whole seconds, because metav1.Time keeps no more."""
    return datetime.fromtimestamp(at // NANOSECONDS, UTC)


def nanoseconds(seconds: float) -> int:
    """Seconds since the epoch as whole nanoseconds."""
    return int(seconds * NANOSECONDS)
