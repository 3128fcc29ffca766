"""A map that forgets what was not used for longest, so that memory stays bounded however many keys come along."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LRU(Generic[K, V]):
    """At most `size` entries; reading or writing one makes it the most recent. Owned by one thread."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a cache of {size} entries can't hold anything")
        self._size = size
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __repr__(self) -> str:
        return f"<LRU {len(self._entries)} of {self._size}>"

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value of the key, or None."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Keep the value; the entry unused for longest makes room."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)
