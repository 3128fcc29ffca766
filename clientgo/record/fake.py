"""Fake event recorder; not in `clientgo.testing`, because packages import only from lower rows."""

import queue
from collections.abc import Mapping

from clientgo.meta.objects import EMPTY_MAP
from clientgo.record.events import reference_to
from clientgo.record.recorder import EventRecorder, formatted


class FakeRecorder(EventRecorder):
    """Recorder for tests: stores each event as `"<type> <reason> <message>"` in `events`, a queue of `size`.

    Without a size events are dropped. A full queue blocks the caller, as client-go's does: the size is the number of
    events that a test expects. `include_object` appends ` involvedObject{kind=K,apiVersion=GV}`; annotations append
    ` map[k:v]`.
    """

    def __init__(self, size: int | None = None, *, include_object: bool = False) -> None:
        self.events: queue.Queue[str] | None = queue.Queue(size) if size is not None else None
        self._include_object = include_object

    def __repr__(self) -> str:
        return f"<FakeRecorder {self.events.qsize() if self.events is not None else 'dropping'} events>"

    def eventf(
        self, obj: object, event_type: str, reason: str, message: str, *args: object,
        action: str = "", related: object | None = None, annotations: Mapping[str, str] = EMPTY_MAP,
    ) -> None:  # fmt: skip
        """Store the event without its action and related object, formatting `message % args`."""
        del action, related
        if self.events is None:
            return
        text = f"{event_type} {reason} {formatted(message, args)}"
        if self._include_object:
            about = reference_to(obj)
            text += f" involvedObject{{kind={about.kind},apiVersion={about.api_version}}}"
        if annotations:
            # Sorted, as Go prints maps.
            text += f" map[{' '.join(f'{key}:{value}' for key, value in sorted(annotations.items()))}]"
        self.events.put(text)

    def drain(self) -> list[str]:
        """Remove and return all stored events, in order."""
        stored: list[str] = []
        while self.events is not None and not self.events.empty():
            stored.append(self.events.get())
        return stored
