"""What one member may begin to work on, as far as it knows. Pure; replaced as a whole.

A member begins a key only if the key is its own in every view that others may know of it, and nobody else's in the view
that they announced. Both together make two owners impossible, whatever the two views are (docs/decisions/017).
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

View = frozenset[int]
"""A set of slots: those that a member takes to be held by somebody."""

MOST_SLOTS = 1024

_BYTES = 8


class Draw:
    """The numbers drawn for one key, for as many slots as are asked about."""

    __slots__ = ("_numbers",)

    def __init__(self, key: str, slots: int) -> None:
        # An extendable hash gives all numbers in one call, and the same for a slot however many there are.
        self._numbers = hashlib.shake_128(key.encode(errors="surrogatepass")).digest(_BYTES * slots)

    def number(self, slot: int) -> bytes:
        """What the slot drew; only comparing it means anything."""
        return self._numbers[_BYTES * slot : _BYTES * slot + _BYTES]

    def winner(self, view: Iterable[int]) -> int:
        """The slot of the view that the key belongs to; `ValueError` if the view is empty."""
        return max(view, key=self.number)


def owner(key: str, view: View) -> int:
    """The slot of the view that the key belongs to; `ValueError` if the view is empty."""
    return Draw(key, max(view) + 1).winner(view)


@dataclass(frozen=True, slots=True)
class Ownership:
    """The rule for one moment. Without a slot, or while `settled` is False, nothing may be begun.

    `views` are this member's own: the one that others are known to see, those that they may see because a write has
    not been confirmed, and the one it is about to announce. `rivals` are other slots that are held, with what each
    announced, as far as that differs from the own views; who announced the same can't want the same key.
    """

    slot: int = -1
    views: tuple[View, ...] = ()
    rivals: tuple[tuple[int, View], ...] = ()
    settled: bool = False
    session: int = 0

    def allows(self, key: str) -> bool:
        """Whether work on the key may begin."""
        if not self.settled:
            return False
        draw = Draw(key, self._slots())
        return all(draw.winner(view) == self.slot for view in self.views) and not any(
            draw.winner(view) == rival for rival, view in self.rivals
        )

    def loses(self, key: str, target: View) -> bool:
        """Whether the key would be another's under that view."""
        return Draw(key, max(target) + 1).winner(target) != self.slot

    def _slots(self) -> int:
        return 1 + max(max(view) for view in (*self.views, *(view for _, view in self.rivals)))


NOTHING = Ownership()
"""What a replica without a slot may begin."""
