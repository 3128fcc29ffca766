"""History of one controller's reconciliations, for its dashboard: the last ones, and the objects that fail.

Memory is bounded: the number of reconciliations and of failing objects is limited, and so is the length of errors.
Recording one takes about half a microsecond.
"""

import threading
from collections import deque
from collections.abc import Hashable

import msgspec

from clientgo.internal.boundeddict import BoundedDict
from clientgo.internal.forks import fork_safe

RECENT = 200
"""Default number of reconciliations kept."""

FAILING = 1000
"""Maximum number of failing objects kept; the one that failed least recently is evicted first."""

ERROR_LENGTH = 300
"""Maximum length of an error text."""


class Reconciliation(msgspec.Struct, frozen=True, gc=False):
    """One finished reconciliation; times are those of the controller's clock.

    `outcome` is success, requeue_after, error or terminal. `next_at` is the time of the retry or requeue, if any.
    """

    key: Hashable
    trigger: str
    began: float
    seconds: float
    outcome: str
    error: str = ""
    next_at: float | None = None


class FailingObject(msgspec.Struct, frozen=True, gc=False):
    """Object whose last reconciliation failed: failures in a row, the first one's time, and the last one's error."""

    key: Hashable
    failures: int
    since: float
    error: str
    next_at: float | None


class History:
    """The last `size` reconciliations of a controller, and its failing objects. Thread-safe.

    Raises:
        ValueError: the size is below 1.
    """

    def __init__(self, size: int = RECENT) -> None:
        if size < 1:
            raise ValueError(f"invalid size of the history {size}: must be at least 1")
        self._lock = fork_safe(threading.Lock())
        # Guarded by _lock.
        self._count = 0
        self._recent: deque[Reconciliation] = deque(maxlen=size)
        self._failing: BoundedDict[Hashable, FailingObject] = BoundedDict(FAILING)

    def __repr__(self) -> str:
        return f"<History of {self._count} reconciliations, {len(self._failing)} objects failing>"

    @property
    def size(self) -> int:
        """Maximum number of reconciliations kept."""
        return self._recent.maxlen or 0

    def add(self, reconciliation: Reconciliation) -> None:
        """Record a reconciliation; one with an error adds to the object's failures, one without resets them."""
        with self._lock:
            self._count += 1
            if reconciliation.error:
                before = self._failing.get(reconciliation.key)
                failures, since = (before.failures, before.since) if before is not None else (0, reconciliation.began)
                self._failing[reconciliation.key] = FailingObject(
                    reconciliation.key, failures + 1, since, reconciliation.error, reconciliation.next_at
                )
            elif self._failing:
                self._failing.pop(reconciliation.key, None)
            self._recent.append(reconciliation)

    def after(self, number: int) -> list[tuple[int, Reconciliation]]:
        """Return the kept reconciliations with a number above this one, counted from 1, the oldest first."""
        with self._lock:
            first = self._count - len(self._recent) + 1
            return [numbered for numbered in enumerate(self._recent, first) if numbered[0] > number]

    def failing(self) -> list[FailingObject]:
        """Return the failing objects, the most recent failure first."""
        with self._lock:
            return list(reversed(self._failing.values()))

    def failure_of(self, key: Hashable) -> FailingObject | None:
        """Return the failures of an object, or None if its last reconciliation succeeded."""
        with self._lock:
            return self._failing.get(key)
