"""Slots stored as Lease objects: the holder of each slot, and the slots that the holder considers held.

A slot's lease has the format of leader election, so `kubectl get lease` shows members as it shows leaders. The holder's
view is stored in an annotation and changes in the same write; if two members write at once, the object's
resourceVersion decides. Slots are read by one list without a resourceVersion, which returns the newest state; the
safety argument needs that.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from clientgo.errors import AlreadyExists, InvalidResponse
from clientgo.kubernetes.clients.coordination_v1 import CoordinationV1
from clientgo.kubernetes.types.coordination_v1 import Lease
from clientgo.leaderelection import LeaderElectionRecord
from clientgo.leaderelection.lock import confirmed
from clientgo.leaderelection.record import NO_HOLDER
from clientgo.log import get_logger
from clientgo.meta.codec import replace
from clientgo.meta.objects import ObjectMeta
from clientgo.rest.request import Requester
from clientgo.sharding.ownership import MOST_SLOTS, View
from clientgo.typed.clientset import BaseClientset

log = get_logger(__name__)

PREFIX_LABEL = "sharding.clientgo/prefix"
VIEW_ANNOTATION = "sharding.clientgo/view"

_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,56}[a-z0-9])?")
_VIEW = re.compile(r"v1/(\d{1,4}(?:,\d{1,4})*)")


@dataclass(frozen=True, slots=True)
class Slot:
    """Contents of a slot's lease: the holder's record and view. `lease` is the object for the next write."""

    record: LeaderElectionRecord = NO_HOLDER
    view: View = frozenset()
    lease: Lease = field(default_factory=Lease, compare=False, repr=False)


class Slots(Protocol):
    """Store of slots. Both methods raise `ApiError`, `ConnectionFailed` and `Undecodable`."""

    def read(self) -> Mapping[int, Slot]:
        """Return the current state of all slots by number, even beyond the intended count."""

    def write(self, number: int, record: LeaderElectionRecord, view: View, seen: Slot | None) -> Slot:
        """Replace the slot as last seen, or create it; `Conflict` or `AlreadyExists` if it has changed."""


class LeaseSlots:
    """Slots stored in the Leases `namespace/prefix-0`, `prefix-1` and so on. Implements `Slots`.

    Raises:
        ValueError: the prefix cannot start a lease's name or be a label value.
    """

    def __init__(self, target: BaseClientset | Requester, namespace: str, prefix: str) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ValueError(
                f"invalid lease prefix {prefix!r}: expected at most 58 lower-case letters, digits and '-', "
                "starting and ending with a letter or digit"
            )
        requester = target.requester if isinstance(target, BaseClientset) else target
        self._leases = CoordinationV1(requester).leases(namespace)
        self._namespace = namespace
        self._prefix = prefix

    def __repr__(self) -> str:
        return f"<LeaseSlots {self._namespace}/{self._prefix}-*>"

    def read(self) -> dict[int, Slot]:
        """Return all slots by number."""
        leases = self._leases.list(label_selector=f"{PREFIX_LABEL}={self._prefix}")
        # Skipping it would mean that its holder is gone.
        for error in leases.undecodable:
            raise error
        slots = ((self._number(lease.metadata.name), lease) for lease in leases.items)
        return {number: _slot(number, lease) for number, lease in slots if number is not None}

    def write(self, number: int, record: LeaderElectionRecord, view: View, seen: Slot | None) -> Slot:
        """Replace the slot as last seen, or create it."""
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
        slot = _slot(number, confirmed(lease, record))
        if lease.metadata.annotations.get(VIEW_ANNOTATION) != meta.annotations.get(VIEW_ANNOTATION):
            raise InvalidResponse(f"invalid response to the write of lease {name}: it has another view")
        return slot

    def _mark(self, name: str) -> None:
        # A lease of that name without our label is not listed. With the label, the next list shows it and its holder.
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
        # In canonical form: `-01` is not another name of `-1`.
        if not (digits.isascii() and digits.isdigit() and str(int(digits[:5])) == digits):
            return None
        return number if (number := int(digits)) < MOST_SLOTS else None


def _slot(number: int, lease: Lease) -> Slot:
    return Slot(LeaderElectionRecord.from_spec(lease.spec), _view(number, lease), lease)


def _view(number: int, lease: Lease) -> View:
    """Return the announced view; an invalid one counts as "everything is mine", which is safe."""
    match = _VIEW.fullmatch(lease.metadata.annotations.get(VIEW_ANNOTATION, ""))
    view = frozenset(map(int, match[1].split(","))) if match is not None else frozenset[int]()
    return view if number in view and max(view) < MOST_SLOTS else frozenset({number})


@dataclass(frozen=True, slots=True)
class ObservedSlot:
    """A slot's contents, the monotonic time of its last change, and whether its lease existed when last read."""

    slot: Slot
    at: float
    exists: bool = True

    @property
    def holder(self) -> str:
        """Last holder of the slot; empty if it is free."""
        return self.slot.record.holder_identity

    @property
    def expires(self) -> float:
        """Time until which the slot is held; in the past if it was released."""
        return self.at + self.slot.record.lease_duration_seconds if self.holder else -math.inf


class ObservedSlots:
    """All slots that this replica has observed. One thread updates them, any thread reads them.

    As in leader election, written times do not count: a slot is held for the duration that its holder requested,
    starting when this process saw the lease change.
    """

    def __init__(self) -> None:
        # Replaced as a whole, so that readers need no lock.
        self._seen: dict[int, ObservedSlot] = {}

    def __repr__(self) -> str:
        return f"<ObservedSlots {', '.join(f'{n}: {s.holder}' for n, s in sorted(self._seen.items()))}>"

    def observe_all(self, slots: Mapping[int, Slot], now: float) -> None:
        """Store all slots, which were read no later than `now`."""
        for number, slot in slots.items():
            self.observe(number, slot, now)
        for number in self._seen.keys() - slots.keys():
            # The holder of a deleted lease may not know yet: the slot is held until the lease would have expired.
            old = self._seen[number]
            self._keep(number, ObservedSlot(old.slot, old.at, exists=False))

    def observe(self, number: int, slot: Slot, now: float) -> None:
        """Store one slot; its time changes only if its contents do."""
        old = self._seen.get(number)
        at = old.at if old is not None and old.exists and old.slot == slot else now
        # Always the newest object: another client may have labelled it.
        self._keep(number, ObservedSlot(slot, at))

    def last(self, number: int) -> Slot | None:
        """Return the slot as last seen; None if its lease does not exist."""
        seen = self._seen.get(number)
        return seen.slot if seen is not None and seen.exists else None

    def holder(self, number: int) -> str:
        """Return the last seen holder of the slot; empty if it is free."""
        seen = self._seen.get(number)
        return seen.holder if seen is not None and seen.exists else ""

    def held(self, now: float) -> dict[int, ObservedSlot]:
        """Return the slots that are held now, sorted by number."""
        return {number: seen for number, seen in sorted(self._seen.items()) if now < seen.expires}

    def other_holders(self, me: int, now: float) -> tuple[tuple[int, View], ...]:
        """Return the views that holders of other slots announced."""
        return tuple((number, seen.slot.view) for number, seen in self.held(now).items() if number != me)

    def free(self, identity: str, count: int, now: float, rand: Callable[[], float]) -> int | None:
        """Return one of the first `count` slots that `identity` may acquire, preferably its own, or None."""
        held = [number for number in range(count) if self.holder(number) == identity]
        free = held or [number for number in range(count) if number not in self.held(now)]
        # A random one: replicas that start together would all try the first.
        return free[min(int(rand() * len(free)), len(free) - 1)] if free else None

    def next_expiry(self, me: int, now: float) -> float:
        """Return the earliest time at which another slot expires unless it is renewed."""
        return min((seen.expires for number, seen in self.held(now).items() if number != me), default=math.inf)

    def _keep(self, number: int, seen: ObservedSlot) -> None:
        self._seen = {**self._seen, number: seen}
