"""What one member may begin to work on, as far as it knows. Pure; replaced as a whole.

A member begins a key only if the key is its own in every view that others may know of it, and nobody else's in the view
that they announced. Both together make two owners impossible, whatever the two views are (docs/decisions/017).
"""

from dataclasses import dataclass

from clientgo.sharding.hashing import Draw, View


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
