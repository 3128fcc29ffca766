"""Which events are the same, similar, or from one noisy place: the three keys of client-go's correlator.

The parts are joined with nothing between them, as client-go does it; two different events could share a key only if
their texts ran into each other, and the worst of it is a count one too high.
"""

from clientgo.kubernetes.types.core_v1 import Event

COMBINED = "(combined from similar events): "
"""What the message of an aggregate begins with."""


def event_key(event: Event) -> str:
    """Equal for events that are the same in everything: they are counted."""
    return _source(event) + _object(event, field_path=True) + _joined(event.type, event.reason, event.message)


def aggregate_key(event: Event) -> str:
    """Equal for events that differ in message only: when many, they are sent as one."""
    return (
        _source(event)
        + _object(event, field_path=False)
        + _joined(event.type, event.reason, event.reporting_component, event.reporting_instance)
    )


def aggregate_by_reason(event: Event) -> tuple[str, str]:
    """The group an event belongs to, and what tells it from others of the group: its message."""
    return aggregate_key(event), event.message or ""


def combined_message(event: Event) -> str:
    """The message an aggregate has, made from that of its latest event."""
    return COMBINED + (event.message or "")


def spam_key(event: Event) -> str:
    """Equal for events of one type from one source about one object: they share a rate."""
    return _source(event) + _object(event, field_path=False) + _joined(event.type)


def _source(event: Event) -> str:
    return _joined(event.source.component, event.source.host) if event.source is not None else ""


def _object(event: Event, *, field_path: bool) -> str:
    about = event.involved_object
    path = about.field_path if field_path else ""
    return _joined(about.kind, about.namespace, about.name, path, about.uid, about.api_version)


def _joined(*parts: str | None) -> str:
    return "".join(part or "" for part in parts)
