"""A recorder for tests: events become short strings to compare.

It lives here and not in `clientgo.testing`, which offers it too, because a package imports nothing of a higher level.
"""

import queue
from collections.abc import Mapping

from clientgo.meta.objects import EMPTY_MAP
from clientgo.record.recorder import formatted
from clientgo.record.reference import reference_to


class FakeRecorder:
    """Keeps each event as `"<type> <reason> <message>"` in `events`, a queue of `size`; without a size it drops them.

    A full queue blocks the caller until somebody reads, as client-go's does: a test that gives a size says how many
    events it expects. `include_object` appends ` involvedObject{kind=K,apiVersion=GV}`, annotations append ` map[k:v]`.
    """

    def __init__(self, size: int | None = None, *, include_object: bool = False) -> None:
        self.events: queue.Queue[str] | None = queue.Queue(size) if size is not None else None
        self._include_object = include_object

    def __repr__(self) -> str:
        return f"<FakeRecorder {self.events.qsize() if self.events is not None else 'keeping no'} events>"

    def event(self, obj: object, event_type: str, reason: str, message: str) -> None:
        """Keep the event."""
        self._keep(obj, EMPTY_MAP, event_type, reason, message)

    def eventf(self, obj: object, event_type: str, reason: str, message: str, *args: object) -> None:
        """Keep the event, `message` being formatted with `args` by `%`."""
        self._keep(obj, EMPTY_MAP, event_type, reason, formatted(message, args))

    def annotated_eventf(
        self, obj: object, annotations: Mapping[str, str], event_type: str, reason: str, message: str, *args: object
    ) -> None:
        """Keep the event and its annotations."""
        self._keep(obj, annotations, event_type, reason, formatted(message, args))

    def drain(self) -> list[str]:
        """All events kept and not read yet, in order; they are read then."""
        kept: list[str] = []
        while self.events is not None and not self.events.empty():
            kept.append(self.events.get())
        return kept

    def _keep(self, obj: object, annotations: Mapping[str, str], event_type: str, reason: str, message: str) -> None:
        if self.events is None:
            return
        text = f"{event_type} {reason} {message}"
        if self._include_object:
            about = reference_to(obj)
            text += f" involvedObject{{kind={about.kind},apiVersion={about.api_version}}}"
        if annotations:
            # Sorted, as Go prints maps.
            text += f" map[{' '.join(f'{key}:{value}' for key, value in sorted(annotations.items()))}]"
        self.events.put(text)
