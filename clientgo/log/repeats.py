"""Rate limit for repeated log lines: the first one, then one per period with the number left out."""

import threading
from collections.abc import Hashable

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.internal.boundeddict import BoundedDict
from clientgo.internal.forks import fork_safe


class Repeats:
    """Rate limit of one line per `period` seconds about a subject, unless the reason changes; thread-safe.

        if (left_out := repeats.due(key, str(error))) is not None:
            log.warning("cannot be synced", extra={"err": error, "left_out": left_out})

    At most `size` subjects are stored; the least recently used one is evicted, and logged again when it recurs.
    """

    def __init__(self, period: float, *, size: int = 1024, clock: Clock = SYSTEM_CLOCK) -> None:
        self._period = period
        self._clock = clock
        self._lock = fork_safe(threading.Lock())
        # For each subject: reason and time of its last line, and the number of lines left out since.
        self._logged: BoundedDict[Hashable, tuple[Hashable, float, int]] = BoundedDict(size)

    def __repr__(self) -> str:
        return f"<Repeats every {self._period} s, {len(self._logged)} remembered>"

    def due(self, subject: Hashable, reason: Hashable = None) -> int | None:
        """Return the number of lines left out since the last one, or None if this line is to be left out too."""
        now = self._clock.now()
        with self._lock:
            last, at, left_out = self._logged.get(subject, (None, None, 0))
            due = at is None or reason != last or now - at >= self._period
            self._logged[subject] = (reason, now, 0) if at is None or due else (reason, at, left_out + 1)
        return left_out if due else None

    def last(self, subject: Hashable) -> tuple[float, int]:
        """Return the seconds since the last line about the subject, and the number of lines left out since."""
        with self._lock:
            _, at, left_out = self._logged.get(subject, (None, None, 0))
        return (0.0, 0) if at is None else (self._clock.now() - at, left_out)

    def forget(self, subject: Hashable) -> None:
        """Reset the subject: if it recurs, it is logged at once."""
        with self._lock:
            self._logged.pop(subject, None)
