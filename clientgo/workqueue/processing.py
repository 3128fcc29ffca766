"""Context manager that has one key of a queue for the length of its block."""

from types import TracebackType
from typing import Generic, Protocol, TypeVar

K = TypeVar("K")


class Keys(Protocol[K]):
    """Queue, as far as the context manager needs it."""

    def get(self) -> K:
        """Return the next key."""

    def done(self, item: K, /) -> None:
        """Mark the key as processed."""


class Processing(Generic[K]):
    """Context manager that gets a key and marks it done at the end of the block."""

    __slots__ = ("_item", "_queue")

    def __init__(self, queue: Keys[K]) -> None:
        self._queue = queue
        self._item: K

    def __enter__(self) -> K:
        self._item = self._queue.get()
        return self._item

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.done(self._item)
