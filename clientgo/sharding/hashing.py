"""Which slot a key belongs to: rendezvous hashing (highest random weight, Thaler and Ravishankar). Pure.

Every slot draws a number for every key, and the highest wins. A slot that goes leaves its own keys to the runners-up, a
slot that comes wins only for itself, and nothing else moves. Slots are numbered, and it is the number that draws, not
whoever holds the slot: a replica that replaces another in its slot gets exactly what that one had.
"""

import hashlib
from collections.abc import Iterable

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
