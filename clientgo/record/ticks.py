"""Times that never repeat."""

import threading

from clientgo.clock import Clock
from clientgo.record.events import nanoseconds


class Ticks:
    """Hands out times: an event's name is made of one, and two events of one name would be one lost."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        """Nanoseconds since the epoch, later than all given before."""
        with self._lock:
            self._last = max(self._last + 1, nanoseconds(self._clock.time()))
            return self._last
