"""An informer's handler that keeps what it was told, for tests to wait for and compare."""

import threading
from typing import Any, Generic, NamedTuple, TypeVar

from clientgo.cache.tombstone import DeletedFinalStateUnknown
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject

T = TypeVar("T", bound=ApiObject)


class Told(NamedTuple):
    """One call of the handler: what happened to which object; `old` is None unless it is an update."""

    what: str
    name: str
    old: Any
    new: Any


class RecordingHandler(Generic[T]):
    """Give its methods to `add_event_handler`; `told` is every call in order."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.told: list[Told] = []

    def on_add(self, obj: T) -> None:
        """Note an addition."""
        self._note(Told("add", str(object_name(obj)), None, obj))

    def on_initial_add(self, obj: T) -> None:
        """Note an addition of what was there from the start, as "initial add"."""
        self._note(Told("initial add", str(object_name(obj)), None, obj))

    def on_update(self, old: T, new: T) -> None:
        """Note an update."""
        self._note(Told("update", str(object_name(new)), old, new))

    def on_delete(self, deleted: T | DeletedFinalStateUnknown[T]) -> None:
        """Note a deletion; a tombstone is kept as such."""
        self._note(Told("delete", str(object_name(deleted)), None, deleted))

    def calls(self) -> list[tuple[str, str]]:
        """What was told, as pairs of what happened and the object's name."""
        with self._changed:
            return [(told.what, told.name) for told in self.told]

    def wait_for(self, count: int, timeout: float = 10.0) -> list[tuple[str, str]]:
        """`calls`, once there are at least `count`; raises TimeoutError after `timeout` real seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.told) >= count, timeout):
                raise TimeoutError(f"{len(self.told)} calls came, not {count}: {self.told}")
        return self.calls()

    def _note(self, told: Told) -> None:
        with self._changed:
            self.told.append(told)
            self._changed.notify_all()
