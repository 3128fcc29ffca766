"""Order in which a queue returns its ready keys: the interface, first in first out, and the usual priorities."""

from collections import deque
from typing import Protocol, TypeVar

K = TypeVar("K")

NORMAL = 0
"""Default priority of a key."""

LOW = -100
"""Priority of the initial list and of unchanged objects (controller-runtime's handler.LowPriority)."""


def checked_priority(priority: object) -> int:
    """Return the priority as a plain integer; TypeError if it is not an integer."""
    if isinstance(priority, int) and not isinstance(priority, bool):
        return int(priority)
    raise TypeError(f"priority must be an integer, got {type(priority).__qualname__}")


class Storage(Protocol[K]):
    """Order of the ready keys; always called with the queue's lock held.

    An attribute is optional: in a dict `priorities` the queue keeps the priority of each key that is queued or delayed.
    It is the highest with which the key was added, and set before the key is pushed or touched.
    """

    def push(self, item: K, /) -> None:
        """Add a key that is not in the storage."""

    def pop(self) -> K:
        """Remove and return the next key; called only when there is one."""

    def touch(self, item: K, /) -> None:
        """Note that a key in the storage was added again, for orders that depend on it."""

    def __len__(self) -> int:
        """Return the number of stored keys."""


class FIFO(deque[K]):
    """First in, first out: the default order."""

    # A deque under other names instead of a wrapper: no Python code runs for a push or a pop.
    __slots__ = ()
    push = deque.append
    pop = deque.popleft

    def touch(self, item: K, /) -> None:
        """Keep the position of a key that was added again."""
