"""What `add_event_handler` hands out: one handler's place at an informer."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from clientgo.cache.listener import Listener
from clientgo.meta.objects import ApiObject

T = TypeVar("T", bound=ApiObject)


class Registration(Generic[T]):
    """One handler's place at an informer; the same handler may have several."""

    def __init__(self, listener: Listener[T], remove: Callable[[Listener[T]], None]) -> None:
        self._listener = listener
        self._remove = remove

    def __repr__(self) -> str:
        return f"<Registration of {self._listener!r}>"

    @property
    def name(self) -> str:
        """What waiting for it and its thread are called."""
        return self._listener.name

    @property
    def has_synced(self) -> bool:
        """Whether this handler was called for every object of the initial list."""
        return self._listener.has_synced

    @property
    def synced(self) -> threading.Event:
        """Set once `has_synced`, for threads that wait for it; not to be set by others."""
        return self._listener.synced

    @property
    def resync(self) -> float:
        """Seconds between resyncs; 0 for never."""
        return self._listener.resync

    @property
    def waiting(self) -> int:
        """How many notifications wait for this handler."""
        return self._listener.waiting

    def remove(self, *, wait: bool = False, timeout: float | None = None) -> bool:
        """Deliver nothing more to this handler; with `wait`, return only once it is not being called any more.

        Returns whether it is known not to be called any more: at most `timeout` seconds are waited, and a handler that
        removes itself is not waited for. May be called again, and after the informer has stopped.
        """
        self._remove(self._listener)
        started = self._listener.started
        if wait and started:
            return self._listener.wait_ended(timeout)
        return not started or self._listener.wait_ended(0)
