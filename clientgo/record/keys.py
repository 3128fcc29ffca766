"""Which events are the same, similar, or from one noisy place: the three keys of client-go's correlator.

The parts are joined with nothing between them, as client-go does it; two different events could share a key only if
their texts ran into each other, and the worst of it is a count one too high.
"""

from clientgo.kubernetes.types.core_v1 import Event

COMBINED = "(combined from similar events): "
"""What the message of an aggregate begins with."""


def event_key(event: Event) -> str:
    """Equal for events that are the same in everything: they are counted."""
    path = event.involved_object.field_path or ""
    return f"{_origin(event, path)}{event.type or ''}{event.reason or ''}{event.message or ''}"


def aggregate_key(event: Event) -> str:
    """Equal for events that differ in message only: when many, they are sent as one."""
    reporter = f"{event.reporting_component or ''}{event.reporting_instance or ''}"
    return f"{_origin(event)}{event.type or ''}{event.reason or ''}{reporter}"


def aggregate_by_reason(event: Event) -> tuple[str, str]:
    """The group an event belongs to, and what tells it from others of the group: its message."""
    return aggregate_key(event), event.message or ""


def combined_message(event: Event) -> str:
    """The message an aggregate has, made from that of its latest event."""
    return COMBINED + (event.message or "")


def spam_key(event: Event) -> str:
    """Equal for events of one type from one source about one object: they share a rate."""
    return f"{_origin(event)}{event.type or ''}"


def _origin(event: Event, field_path: str = "") -> str:
    """Who says it about what; one f-string, since each event is asked three times."""
    source, about = event.source, event.involved_object
    said_by = f"{source.component or ''}{source.host or ''}" if source is not None else ""
    return (
        f"{said_by}{about.kind or ''}{about.namespace or ''}{about.name or ''}{field_path}"
        f"{about.uid or ''}{about.api_version or ''}"
    )
