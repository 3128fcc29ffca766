"""The slots as one replica has seen them, and when: which are held, and by whom. Pure; times come in as arguments.

As in leader election, what is written into a lease never counts as time. A slot counts as held for as long as its
holder asked for, from the moment this process saw its lease change.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clientgo.sharding.hashing import View
from clientgo.sharding.slots import Slot


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a slot said, since when (monotonic seconds), and whether its lease was there at the last look."""

    slot: Slot
    at: float
    there: bool = True

    @property
    def holder(self) -> str:
        """Who holds or held the slot; empty for nobody."""
        return self.slot.record.holder_identity

    @property
    def expires(self) -> float:
        """Until when the slot is held; long ago if it was given up."""
        return self.at + self.slot.record.lease_duration_seconds if self.holder else -math.inf


class Sightings:
    """All slots ever seen. Taken in by one thread, read by any."""

    def __init__(self) -> None:
        # Replaced as a whole, so that readers need no lock.
        self._seen: dict[int, Sighting] = {}

    def __repr__(self) -> str:
        return f"<Sightings {', '.join(f'{n}: {s.holder}' for n, s in sorted(self._seen.items()))}>"

    def look(self, found: Mapping[int, Slot], now: float) -> None:
        """Take in all slots as they were read no later than `now`."""
        for number, slot in found.items():
            self.note(number, slot, now)
        for number in self._seen.keys() - found.keys():
            # Whoever held a deleted lease may not know yet: it counts as held until it would have expired.
            old = self._seen[number]
            self._keep(number, Sighting(old.slot, old.at, there=False))

    def note(self, number: int, slot: Slot, now: float) -> None:
        """Take in one slot; the time counts from when what it says first differed."""
        old = self._seen.get(number)
        at = old.at if old is not None and old.there and old.slot == slot else now
        # The newest object even so: somebody may have put a label on it.
        self._keep(number, Sighting(slot, at))

    def last(self, number: int) -> Slot | None:
        """The slot as it was when last seen; None if its lease is not there."""
        seen = self._seen.get(number)
        return seen.slot if seen is not None and seen.there else None

    def holder(self, number: int) -> str:
        """Who holds the slot, as last seen; empty for nobody."""
        seen = self._seen.get(number)
        return seen.holder if seen is not None and seen.there else ""

    def held(self, now: float) -> dict[int, Sighting]:
        """The slots that are held now, by number, in order."""
        return {number: seen for number, seen in sorted(self._seen.items()) if now < seen.expires}

    def rivals(self, me: int, now: float) -> tuple[tuple[int, View], ...]:
        """What the holders of other slots announced."""
        return tuple((number, seen.slot.view) for number, seen in self.held(now).items() if number != me)

    def free(self, identity: str, count: int, now: float, rand: Callable[[], float]) -> int | None:
        """One of the first `count` slots that `identity` may take: its own if it has one, else any; None if none is."""
        own = [number for number in range(count) if self.holder(number) == identity]
        free = own or [number for number in range(count) if number not in self.held(now)]
        # Any, not the first: replicas that start together would all try for that.
        return free[min(int(rand() * len(free)), len(free) - 1)] if free else None

    def _keep(self, number: int, seen: Sighting) -> None:
        self._seen = {**self._seen, number: seen}

    def next_expiry(self, me: int, now: float) -> float:
        """When the next other slot expires if nothing is heard of its holder."""
        return min((seen.expires for number, seen in self.held(now).items() if number != me), default=math.inf)
