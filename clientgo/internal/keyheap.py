"""Heap of keys in which each key has one rank; ranks can be changed and keys removed at any time."""

import heapq
from collections.abc import MutableMapping
from typing import Generic, TypeVar

K = TypeVar("K")

HeapEntry = tuple[float, int, K]
"""Value and number, which are the rank of the key, and the key; no two entries have the same number and value."""


class KeyHeap(Generic[K]):
    """Heap of keys, lowest rank first, with at most twice as many heap entries as keys. Not thread-safe."""

    def __init__(self, entries: MutableMapping[K, HeapEntry[K]] | None = None) -> None:
        """`entries`, an empty mapping, determines the order in which `entries` is iterated."""
        # The current entry of each key.
        self.entries: MutableMapping[K, HeapEntry[K]] = {} if entries is None else entries
        # Other entries in the heap are outdated. They are dropped when they are popped, or when they outnumber the
        # current ones: to find one of them would cost more, and all of them would keep keys alive.
        self._heap: list[HeapEntry[K]] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self)} keys>"

    def __len__(self) -> int:
        return len(self.entries)

    def put(self, key: K, value: float, number: int) -> None:
        """Add a key, or change its rank; of equal values the lower number is first."""
        self.entries[key] = entry = (value, number, key)
        heapq.heappush(self._heap, entry)
        self._compact()

    def remove(self, key: K) -> None:
        """Remove a key; KeyError if it is not in the heap."""
        del self.entries[key]
        self._compact()

    def discard(self, key: K) -> None:
        """Remove a key if it is in the heap."""
        if key in self.entries:
            self.remove(key)

    def first(self) -> HeapEntry[K] | None:
        """Return the entry with the lowest rank, or None if there is none."""
        heap, entries = self._heap, self.entries
        while heap:
            entry = heap[0]
            if entries.get(entry[2]) is entry:
                return entry
            heapq.heappop(heap)
        return None

    def pop(self) -> K:
        """Remove and return the key with the lowest rank; IndexError if there is none."""
        while True:
            entry = heapq.heappop(self._heap)
            key = entry[2]
            if self.entries.get(key) is entry:
                del self.entries[key]
                self._compact()
                return key

    def clear(self) -> None:
        """Remove all keys."""
        self.entries.clear()
        self._heap.clear()

    def _compact(self) -> None:
        if len(self._heap) > 2 * len(self.entries):
            self._heap = list(self.entries.values())
            heapq.heapify(self._heap)
