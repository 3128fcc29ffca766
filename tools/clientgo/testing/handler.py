"""Event handler for informers that records its calls, for tests to wait for and compare."""

import threading
from typing import Any, Generic, NamedTuple, TypeVar

from clientgo.cache.handlers import DeletedFinalStateUnknown
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject

T = TypeVar("T", bound=ApiObject)


class RecordedCall(NamedTuple):
    """One call of the handler: the kind of change and the object; `old` is None except for updates."""

    what: str
    name: str
    old: Any
    new: Any


class RecordingHandler(Generic[T]):
    """Event handler whose methods are passed to `add_event_handler`; `recorded` lists every call in order."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.recorded: list[RecordedCall] = []

    def on_add(self, obj: T) -> None:
        """Record an addition."""
        self._note(RecordedCall("add", str(object_name(obj)), None, obj))

    def on_initial_add(self, obj: T) -> None:
        """Record an addition from the initial list, as "initial add"."""
        self._note(RecordedCall("initial add", str(object_name(obj)), None, obj))

    def on_update(self, old: T, new: T) -> None:
        """Record an update."""
        self._note(RecordedCall("update", str(object_name(new)), old, new))

    def on_delete(self, deleted: T | DeletedFinalStateUnknown[T]) -> None:
        """Record a deletion; a tombstone is recorded as such."""
        self._note(RecordedCall("delete", str(object_name(deleted)), None, deleted))

    def calls(self) -> list[tuple[str, str]]:
        """Return the calls as pairs of change and object name."""
        with self._changed:
            return [(call.what, call.name) for call in self.recorded]

    def wait_for(self, count: int, timeout: float = 10.0) -> list[tuple[str, str]]:
        """Wait for at least `count` calls and return `calls()`.

        Raises:
            TimeoutError: fewer calls after `timeout` real seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.recorded) >= count, timeout):
                raise TimeoutError(f"{len(self.recorded)} calls, expected {count}: {self.recorded}")
        return self.calls()

    def _note(self, call: RecordedCall) -> None:
        with self._changed:
            self.recorded.append(call)
            self._changed.notify_all()
