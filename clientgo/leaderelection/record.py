"""What a lease says of its holder, and who may take it when. Pure: times come in as arguments.

Two kinds of time never mix here. What is written (`acquire_time`, `renew_time`) tells people when something happened.
What is decided rests on `Observation.at` alone, the moment this process saw the record change, so machines whose clocks
disagree still agree on who leads, as long as seconds pass equally fast on them. Of a date it matters only that every
renewal writes another one: that is how others see it.
"""

import math
from dataclasses import dataclass

import msgspec

from clientgo.kubernetes.types.coordination_v1 import LeaseSpec
from clientgo.meta.objects import MicroTime

RELEASED_SECONDS = 1
"""The duration a released lease is written with: the server takes none below, and nobody waits for it (client-go's)."""


class LeaderElectionRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who holds a lease, since when and for how long; nobody while `holder_identity` is empty."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    leader_transitions: int = 0
    strategy: str = ""
    preferred_holder: str = ""

    @classmethod
    def from_spec(cls, spec: LeaseSpec) -> "LeaderElectionRecord":
        """What a lease's spec says; what it leaves out reads as empty or 0."""
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
        """The spec that says the same.

        An empty holder and 0 transitions are written out; an empty strategy or preferred holder is left out, because
        the server refuses it.
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


NOBODY = LeaderElectionRecord()
"""The record before there is one."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A record, and when this process saw it change, in monotonic seconds."""

    record: LeaderElectionRecord = NOBODY
    at: float = -math.inf

    @property
    def holder(self) -> str:
        """Who holds the lease; empty for nobody."""
        return self.record.holder_identity

    def is_valid(self, now: float) -> bool:
        """Whether the time the holder asked for has not passed yet."""
        return now < self.at + self.record.lease_duration_seconds

    def may_be_taken_by(self, identity: str, now: float) -> bool:
        """Whether the lease is free, expired, or that identity's own."""
        return self.holder in ("", identity) or not self.is_valid(now)

    def seeing(self, record: LeaderElectionRecord, now: float) -> "Observation":
        """This observation while the record stays the same; a new one as soon as anything in it differs."""
        return self if record == self.record else Observation(record, now)


def claim(
    old: LeaderElectionRecord | None, identity: str, lease_duration: float, at: MicroTime, *, coordinated: bool = False
) -> LeaderElectionRecord:
    """What `identity` writes to hold the lease for `lease_duration` seconds; `old` is None while there is no lease.

    Whoever renews keeps the time of acquisition; a new holder is one more transition. A strategy and a preferred holder
    are not carried over: they belong to coordinated election, and a holder that is not coordinated takes the lease out
    of it (as client-go's does). One that is `coordinated` keeps the strategy.
    """
    renews = old is not None and old.holder_identity == identity
    transitions = old.leader_transitions if old is not None else 0
    return LeaderElectionRecord(
        holder_identity=identity,
        # Up, never down: a lease of 1.5 s written as 1 would let others in while its holder still works.
        lease_duration_seconds=math.ceil(lease_duration),
        acquire_time=old.acquire_time if old is not None and renews else at,
        renew_time=at,
        leader_transitions=transitions + (old is not None and not renews),
        strategy=old.strategy if old is not None and coordinated else "",
    )


def released(old: LeaderElectionRecord, at: MicroTime, *, coordinated: bool = False) -> LeaderElectionRecord:
    """What the holder writes to let the next one in at once; one that is `coordinated` leaves the lease so."""
    return LeaderElectionRecord(
        lease_duration_seconds=RELEASED_SECONDS,
        acquire_time=at,
        renew_time=at,
        leader_transitions=old.leader_transitions,
        strategy=old.strategy if coordinated else "",
    )
