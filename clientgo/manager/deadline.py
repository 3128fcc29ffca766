"""How long ending may take in all, however many parts there are to end one after another."""

import math

from clientgo.clock import SYSTEM_CLOCK, Clock


class Deadline:
    """Counts `seconds` (infinity for no end) from the first `begin`; `late` is what had not ended by its time."""

    def __init__(self, seconds: float, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._seconds = seconds
        self._clock = clock
        self._at: float | None = None
        self.late: list[str] = []

    def begin(self) -> None:
        """Ending begins now, unless it has begun."""
        if self._at is None:
            self._at = self._clock.now() + self._seconds

    def left(self) -> float | None:
        """Seconds that are left, 0 at least; None for all the time it takes."""
        if self._at is None or math.isinf(self._at):
            return None
        return max(0.0, self._at - self._clock.now())
