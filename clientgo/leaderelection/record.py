"""Records of leader election: contents of a lease, and rules for acquiring it. Pure functions; times are arguments.

Two kinds of time are never mixed. Written times (`acquire_time`, `renew_time`) are for people. Decisions rely only on
`Observation.at`, the moment at which this process saw the record change. So machines with different clocks agree on the
leader as long as seconds last equally long on them. Of a written time it matters only that each renewal changes it:
that is how other candidates notice the renewal.
"""

import math
from dataclasses import dataclass

import msgspec

from clientgo.kubernetes.types.coordination_v1 import LeaseSpec
from clientgo.meta.objects import MicroTime

RELEASED_SECONDS = 1
"""Duration in a released lease: the minimum that the server accepts; no candidate waits for it (client-go's)."""


class LeaderElectionRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Holder of a lease, with times; an empty `holder_identity` means that the lease is free."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    leader_transitions: int = 0
    strategy: str = ""
    preferred_holder: str = ""

    @classmethod
    def from_spec(cls, spec: LeaseSpec) -> "LeaderElectionRecord":
        """Return the record in a lease's spec; missing fields are empty or 0."""
        return cls(
            holder_identity=spec.holder_identity or "",
            lease_duration_seconds=spec.lease_duration_seconds or 0,
            acquire_time=spec.acquire_time,
            renew_time=spec.renew_time,
            leader_transitions=spec.lease_transitions or 0,
            strategy=spec.strategy or "",
            preferred_holder=spec.preferred_holder or "",
        )

    def to_spec(self) -> LeaseSpec:
        """Return the lease's spec for this record.

        An empty holder and 0 transitions are written; an empty strategy or preferred holder is omitted, because the
        server rejects it.
        """
        return LeaseSpec(
            holder_identity=self.holder_identity,
            lease_duration_seconds=self.lease_duration_seconds,
            acquire_time=self.acquire_time,
            renew_time=self.renew_time,
            lease_transitions=self.leader_transitions,
            strategy=self.strategy or None,
            preferred_holder=self.preferred_holder or None,
        )


NO_HOLDER = LeaderElectionRecord()
"""Record before the first one is known."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A record, and the monotonic time at which this process saw it change.

    client-go: `observedRecord` and `observedTime`, with `isLeaseValid`.
    """

    record: LeaderElectionRecord = NO_HOLDER
    at: float = -math.inf

    @property
    def holder(self) -> str:
        """Identity of the lease's holder; empty if it is free."""
        return self.record.holder_identity

    def is_valid(self, now: float) -> bool:
        """Return whether the lease has not expired (client-go: isLeaseValid)."""
        return now < self.at + self.record.lease_duration_seconds

    def may_be_taken_by(self, identity: str, now: float) -> bool:
        """Return whether the lease is free, expired or held by that identity."""
        return self.holder in ("", identity) or not self.is_valid(now)

    def observe(self, record: LeaderElectionRecord, now: float) -> "Observation":
        """Return this observation if the record is unchanged, otherwise a new one."""
        return self if record == self.record else Observation(record, now)


def claim(
    old: LeaderElectionRecord | None, identity: str, lease_duration: float, at: MicroTime, *, coordinated: bool = False
) -> LeaderElectionRecord:
    """Return the record with which `identity` holds the lease for `lease_duration` seconds; `old` is None without one.

    A renewal keeps the time of acquisition; a new holder counts as a transition. Strategy and preferred holder are
    dropped: they belong to coordinated election, and other holders take the lease out of it (as client-go's do). A
    `coordinated` holder keeps the strategy.
    """
    renews = old is not None and old.holder_identity == identity
    transitions = old.leader_transitions if old is not None else 0
    return LeaderElectionRecord(
        holder_identity=identity,
        # Rounded up: a lease of 1.5 s written as 1 s would expire for others while its holder still works.
        lease_duration_seconds=math.ceil(lease_duration),
        acquire_time=old.acquire_time if old is not None and renews else at,
        renew_time=at,
        leader_transitions=transitions + (old is not None and not renews),
        strategy=old.strategy if old is not None and coordinated else "",
    )


def released(old: LeaderElectionRecord, at: MicroTime, *, coordinated: bool = False) -> LeaderElectionRecord:
    """Return the record of a lease that its holder releases; a `coordinated` holder keeps the strategy."""
    return LeaderElectionRecord(
        lease_duration_seconds=RELEASED_SECONDS,
        acquire_time=at,
        renew_time=at,
        leader_transitions=old.leader_transitions,
        strategy=old.strategy if coordinated else "",
    )
