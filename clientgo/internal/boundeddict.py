"""Bounded dict: the base of all caches with a maximum number of entries."""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

# Called through super(), it would take half as long again.
_SET = OrderedDict.__setitem__


class BoundedDict(OrderedDict[K, V]):
    """Dict of at most `size` entries, which evicts the oldest one; setting a key makes it the newest. Not thread-safe.

    Raises:
        ValueError: the size is below 1.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"invalid cache size {size}: must be at least 1")
        super().__init__()
        self.size = size

    def __setitem__(self, key: K, value: V) -> None:
        excess = len(self) - self.size
        if key in self:
            self.move_to_end(key)
        else:
            excess += 1
        # Before the new entry: a thread that reads the length meanwhile never sees more than the size.
        while excess > 0:
            self.popitem(last=False)
            excess -= 1
        _SET(self, key, value)

    def use(self, key: K) -> V | None:
        """Return the value of a key and make it the newest, as an LRU cache does; None if there is none."""
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value
