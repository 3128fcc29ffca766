"""Delayed keys, by the times at which they become ready."""

import math
from typing import TypeVar

from clientgo.internal.keyheap import KeyHeap

K = TypeVar("K")


class DelayHeap(KeyHeap[K]):
    """Heap of keys by due time; a key added twice has the earlier time. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0

    @property
    def earliest(self) -> float:
        """Due time of the next key; infinity if there is none."""
        entry = self.first()
        return math.inf if entry is None else entry[0]

    @property
    def times(self) -> dict[K, float]:
        """Due times by key, a copy."""
        return {key: entry[0] for key, entry in self.entries.items()}

    def time_of(self, item: K) -> float | None:
        """Return the due time of a key; None if it is not in the heap."""
        entry = self.entries.get(item)
        return None if entry is None else entry[0]

    def push(self, item: K, at: float) -> float | None:
        """Add a key that is due at `at`; return the time if it is due earlier already, and None otherwise."""
        entry = self.entries.get(item)
        if entry is not None and entry[0] <= at:
            return entry[0]
        # Keys that are due at the same time keep the order in which they got it.
        self._number += 1
        self.put(item, at, self._number)
        return None

    def pop_due(self, now: float) -> list[K]:
        """Remove and return the keys that are due, in the order of their times."""
        due: list[K] = []
        while (entry := self.first()) is not None and entry[0] <= now:
            due.append(self.pop())
        return due
