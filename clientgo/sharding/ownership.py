"""Assignment of keys to slots, and the rule by which a member may start to work on a key. Pure.

Rendezvous hashing (highest random weight, Thaler and Ravishankar) assigns keys: each slot has a pseudo-random number
for each key, and the highest wins. A slot that leaves passes its keys to the runners-up, a new slot takes only the keys
it wins, and no other key moves. Slots are numbered; a replica that replaces another in its slot gets the same keys.

A member starts on a key only if it owns the key in each view that others may know of it, and no other slot owns the key
in the view that it announced. Together these exclude two owners, for any views (docs/decisions/replicas.md).
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

View = frozenset[int]
"""Set of slots that a member considers held."""

MOST_SLOTS = 1024

_BYTES = 8


class Draw:
    """Numbers of one key for a number of slots."""

    __slots__ = ("_numbers",)

    def __init__(self, key: str, slots: int) -> None:
        # An extendable hash returns all numbers in one call; a slot's number does not depend on the count of slots.
        self._numbers = hashlib.shake_128(key.encode(errors="surrogatepass")).digest(_BYTES * slots)

    def number(self, slot: int) -> bytes:
        """Return the number of the slot, which is only meaningful in comparisons."""
        return self._numbers[_BYTES * slot : _BYTES * slot + _BYTES]

    def winner(self, view: Iterable[int]) -> int:
        """Return the slot in the view that owns the key; `ValueError` for an empty view."""
        return max(view, key=self.number)


def owner(key: str, view: View) -> int:
    """Return the slot in the view that owns the key; `ValueError` for an empty view."""
    return Draw(key, max(view) + 1).winner(view)


@dataclass(frozen=True, slots=True)
class Ownership:
    """Rule for one moment, replaced as a whole. Without a slot, or while `settled` is False, no work may start.

    `views` are this member's own: the one that others see, those they may see because a write was not confirmed, and
    the one it is about to announce. `others` are other held slots with the views they announced, if these differ from
    the own views; a member that announced the same view cannot claim the same key.
    """

    slot: int = -1
    views: tuple[View, ...] = ()
    other_views: tuple[tuple[int, View], ...] = ()
    settled: bool = False
    session: int = 0

    def allows(self, key: str) -> bool:
        """Return whether work on the key may start."""
        if not self.settled:
            return False
        draw = Draw(key, self._slots())
        return all(draw.winner(view) == self.slot for view in self.views) and not any(
            draw.winner(view) == rival for rival, view in self.other_views
        )

    def loses(self, key: str, target: View) -> bool:
        """Return whether another slot owns the key in that view."""
        return Draw(key, max(target) + 1).winner(target) != self.slot

    def _slots(self) -> int:
        return 1 + max(max(view) for view in (*self.views, *(view for _, view in self.other_views)))


NOTHING = Ownership()
"""Ownership of a replica without a slot."""
