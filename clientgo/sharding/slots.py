"""Slots as Lease objects: who holds each, since when, and which slots the holder takes to be held.

A slot's lease is what leader election would write, so `kubectl get lease` shows members as it shows leaders. The view
that its holder acts upon stands in an annotation, and changes with the same write, or not at all: what decides between
two who write at once is the object's resourceVersion. Reading is one list, without a resourceVersion, which the server
answers with the newest state; the argument for safety needs that.
"""

import logging
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from clientgo.errors import AlreadyExists
from clientgo.kubernetes.clients.coordination_v1 import CoordinationV1
from clientgo.kubernetes.types.coordination_v1 import Lease
from clientgo.leaderelection import LeaderElectionRecord
from clientgo.leaderelection.record import NOBODY
from clientgo.meta.codec import replace
from clientgo.meta.objects import ObjectMeta
from clientgo.rest.request import Requester
from clientgo.sharding.ownership import MOST_SLOTS, View
from clientgo.typed.clientset import BaseClientset

log = logging.getLogger(__name__)

PREFIX_LABEL = "sharding.clientgo/prefix"
VIEW_ANNOTATION = "sharding.clientgo/view"

_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,56}[a-z0-9])?")
_VIEW = re.compile(r"v1/(\d{1,4}(?:,\d{1,4})*)")


@dataclass(frozen=True, slots=True)
class Slot:
    """What a slot's lease says: its holder's record and view. `lease` is the object, for who writes it next."""

    record: LeaderElectionRecord = NOBODY
    view: View = frozenset()
    lease: Lease = field(default_factory=Lease, compare=False, repr=False)


class Slots(Protocol):
    """Keeps the slots. Both methods raise `ApiError`, `ConnectionFailed`, and `Undecodable`."""

    def read(self) -> Mapping[int, Slot]:
        """Every slot there is, by its number, as it is now, whatever the number of slots was meant to be."""

    def write(self, number: int, record: LeaderElectionRecord, view: View, seen: Slot | None) -> Slot:
        """Replace what was seen of a slot, or create it; `Conflict` or `AlreadyExists` if it is not like that now."""


class LeaseSlots:
    """The slots that are the Leases `namespace/prefix-0`, `prefix-1`, and so on. Implements `Slots`.

    Raises:
        ValueError: the prefix can't begin a lease's name and be a label's value.
    """

    def __init__(self, target: BaseClientset | Requester, namespace: str, prefix: str) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ValueError(
                f"the lease prefix {prefix!r} can't be used: give at most 58 lower-case letters, digits and '-', "
                "with a letter or digit at both ends"
            )
        requester = target.requester if isinstance(target, BaseClientset) else target
        self._leases = CoordinationV1(requester).leases(namespace)
        self._namespace = namespace
        self._prefix = prefix

    def __repr__(self) -> str:
        return f"<LeaseSlots {self._namespace}/{self._prefix}-*>"

    def read(self) -> dict[int, Slot]:
        """Every slot there is, by its number."""
        found = self._leases.list(label_selector=f"{PREFIX_LABEL}={self._prefix}")
        # To go on without would be to take its holder for gone.
        for error in found.undecodable:
            raise error
        slots = ((self._number(lease.metadata.name), lease) for lease in found.items)
        return {number: _slot(number, lease) for number, lease in slots if number is not None}

    def write(self, number: int, record: LeaderElectionRecord, view: View, seen: Slot | None) -> Slot:
        """Replace what was seen of a slot, or create it."""
        name = f"{self._prefix}-{number}"
        if seen is None:
            meta = self._marked(ObjectMeta(name=name, namespace=self._namespace), view)
            try:
                lease = self._leases.create(Lease(metadata=meta, spec=record.to_spec()))
            except AlreadyExists:
                self._mark(name)
                raise
        else:
            meta = self._marked(seen.lease.metadata, view)
            lease = self._leases.update(replace(seen.lease, metadata=meta, spec=record.to_spec()))
        return _slot(number, lease)

    def _mark(self, name: str) -> None:
        # A lease of that name without our label is in no list. With it, the next one shows it, and who holds it.
        lease = self._leases.get(name)
        if lease.metadata.labels.get(PREFIX_LABEL) != self._prefix:
            labels = {**lease.metadata.labels, PREFIX_LABEL: self._prefix}
            self._leases.update(replace(lease, metadata=replace(lease.metadata, labels=labels)))

    def _marked(self, meta: ObjectMeta, view: View) -> ObjectMeta:
        annotations = {key: value for key, value in meta.annotations.items() if key != VIEW_ANNOTATION}
        if view:
            annotations[VIEW_ANNOTATION] = f"v1/{','.join(map(str, sorted(view)))}"
        return replace(meta, labels={**meta.labels, PREFIX_LABEL: self._prefix}, annotations=annotations)

    def _number(self, name: str) -> int | None:
        digits = name.removeprefix(f"{self._prefix}-")
        # As it would be written: `-01` is not another name of `-1`.
        if not (digits.isascii() and digits.isdigit() and str(int(digits[:5])) == digits):
            return None
        return number if (number := int(digits)) < MOST_SLOTS else None


def _slot(number: int, lease: Lease) -> Slot:
    return Slot(LeaderElectionRecord.from_spec(lease.spec), _view(number, lease), lease)


def _view(number: int, lease: Lease) -> View:
    """What the holder announced. One that can't be read is taken for "everything is mine", the safe reading."""
    found = _VIEW.fullmatch(lease.metadata.annotations.get(VIEW_ANNOTATION, ""))
    view = frozenset(map(int, found[1].split(","))) if found is not None else frozenset[int]()
    return view if number in view and max(view) < MOST_SLOTS else frozenset({number})


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
