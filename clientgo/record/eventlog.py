"""An event as a line of a log, in client-go's two shapes."""

import json
import logging
from collections.abc import Callable

from clientgo.kubernetes.types.core_v1 import Event, ObjectReference

log = logging.getLogger(__name__)


def log_structured(event: Event) -> None:
    """Log the event as key=value; its message is called `note`, as the name `message` is taken by `logging`."""
    about = event.involved_object
    name = f"{about.namespace}/{about.name}" if about.namespace else about.name or ""
    log.info(
        "Event occurred",
        extra={
            "object": name,
            "fieldPath": about.field_path or "",
            "kind": about.kind or "",
            "apiVersion": about.api_version or "",
            "type": event.type or "",
            "reason": event.reason or "",
            "note": event.message or "",
        },
    )


def text_logger(write: Callable[[str], object]) -> Callable[[Event], None]:
    """Hands `write` each event as a line of text."""

    def log_text(event: Event) -> None:
        write(text_line(event))

    return log_text


def text_line(event: Event) -> str:
    """The event as client-go's `StartLogging` writes it."""
    about = _reference(event.involved_object)
    return f"Event({about}): type: '{event.type}' reason: '{event.reason}' {event.message}"


def _reference(about: ObjectReference) -> str:
    fields = (
        ("Kind", about.kind), ("Namespace", about.namespace), ("Name", about.name), ("UID", about.uid),
        ("APIVersion", about.api_version), ("ResourceVersion", about.resource_version), ("FieldPath", about.field_path),
    )  # fmt: skip
    inside = ", ".join(f"{name}:{json.dumps(value or '', ensure_ascii=False)}" for name, value in fields)
    return f"v1.ObjectReference{{{inside}}}"
