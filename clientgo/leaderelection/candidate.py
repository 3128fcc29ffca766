"""One candidate's moves: try to take or keep the lease, and give it up. No loop and no thread of its own.

The leader writes without reading first, since the lease it wrote last is most likely still there; only when that fails
does it read. A candidate reads, and writes if the lease is free. In a coordinated election nobody takes a lease: the
API server gives it to one of those who stand, and takes it back by naming whom it prefers.
"""

import logging
import math
from collections.abc import Callable

from clientgo.clock import Clock, utc
from clientgo.errors import ClientGoError, NotFound
from clientgo.leaderelection.bounded import CallStopped
from clientgo.leaderelection.lock import Lock
from clientgo.leaderelection.record import LeaderElectionRecord, Observation, claim, released
from clientgo.meta.codec import Undecodable
from clientgo.meta.objects import MicroTime
from clientgo.metrics import provider
from clientgo.retry import retry_on_conflict

log = logging.getLogger(__name__)


class ElectionMetrics:
    """Who leads, and how often renewing took the long way; kept by the provider of the time it is made."""

    def __init__(self, name: str) -> None:
        labels = {"name": name}
        self._leading = provider().gauge(
            "leader_election_master_status", "1 while this process holds the lease, 0 while it stands by", labels
        )
        self._slow = provider().counter(
            "leader_election_slowpath_total", "Renewals that had to read the lease before they could write it", labels
        )
        self._leading.set(0.0)

    def leads(self, leads: bool) -> None:
        """This process has become leader, or is leader no more."""
        self._leading.set(float(leads))

    def renewed_slowly(self) -> None:
        """The leader had to read the lease in order to renew it."""
        self._slow.inc()


FAILURES = (ClientGoError, Undecodable)
"""What a lock may raise for a reason that passes; everything else is a mistake in a program and ends the election."""


class Candidate:
    """Stands for one lease. Moves are made by one thread; `observed` may be read by any."""

    def __init__(
        self, lock: Lock, *, lease_duration: float, metrics: ElectionMetrics, clock: Clock, coordinated: bool = False
    ) -> None:
        self._lock = lock
        self._coordinated = coordinated
        self._lease_duration = lease_duration
        self._metrics = metrics
        self._clock = clock
        # Replaced as a whole and never changed, so that a reader always sees a record with its own time.
        self.observed = Observation()
        # Moved on by this candidate's own writes alone. Reading does not count: what is read may have been written long
        # before, by a request whose answer was lost, and others have seen it since.
        self._held_until = -math.inf

    def __repr__(self) -> str:
        return (
            f"<Candidate {self._lock.identity} for {self._lock.describe()}, held by {self.observed.holder or 'nobody'}>"
        )

    @property
    def is_leader(self) -> bool:
        """Whether the last observed holder is this candidate."""
        return self.observed.holder == self._lock.identity

    @property
    def is_overtaken(self) -> bool:
        """Whether the last observed holder is another."""
        return self.observed.holder not in ("", self._lock.identity)

    @property
    def is_retired(self) -> bool:
        """Whether this candidate holds the lease and the API server prefers another: it is not to renew."""
        return self._coordinated and self.is_leader and bool(self.observed.record.preferred_holder)

    @property
    def expires(self) -> float:
        """Until when (in monotonic seconds) no other can have taken the lease; a past time if this does not hold it."""
        return self._held_until if self.is_leader else -math.inf

    def try_acquire_or_renew(self) -> bool:
        """Whether this candidate holds the lease now; False if another does or a request failed, which is logged."""
        try:
            if self._coordinated:
                return self._renewed_if_given()
            return self._renewed_unread() or self._acquired_or_renewed()
        except CallStopped:
            return False
        except FAILURES as error:
            log.warning("lease can't be written or read", extra={"lease": self._lock.describe(), "err": error})
            return False

    def release(self) -> bool:
        """Let the next candidate in at once; False if that failed, which is logged, so that the lease has to expire."""
        if not self.is_leader:
            return True
        # From here on, whatever becomes of the request.
        self._held_until = -math.inf
        try:
            retry_on_conflict(self._release, clock=self._clock)
        except FAILURES as error:
            log.warning("lease can't be released", extra={"lease": self._lock.describe(), "err": error})
            return False
        return True

    def _renewed_unread(self) -> bool:
        if not self.is_leader or not self.observed.is_valid(self._clock.now()):
            return False
        try:
            self._hold(self._lock.update, self.observed.record)
        except CallStopped:
            raise
        except FAILURES as error:
            log.info("lease is read before it is renewed", extra={"lease": self._lock.describe(), "err": error})
            return False
        return True

    def _acquired_or_renewed(self) -> bool:
        try:
            found = self._lock.get()
        except NotFound:
            self._hold(self._lock.create, None)
            return True
        now = self._clock.now()
        self.observed = self.observed.seeing(found, now)
        if not self.observed.may_be_taken_by(self._lock.identity, now):
            log.debug("lease is held", extra={"lease": self._lock.describe(), "by": self.observed.holder})
            return False
        if self.is_leader:
            self._metrics.renewed_slowly()
        self._hold(self._lock.update, found)
        return True

    def _renewed_if_given(self) -> bool:
        # Always read: the lease changes without this candidate's doing. client-go does the same.
        try:
            found = self._lock.get()
        except NotFound:
            log.debug("lease is not there yet", extra={"lease": self._lock.describe()})
            return False
        now = self._clock.now()
        self.observed = self.observed.seeing(found, now)
        if not self.is_leader or self.is_retired or not self.observed.is_valid(now):
            log.debug("lease is not ours", extra={"lease": self._lock.describe(), "by": self.observed.holder})
            return False
        self._metrics.renewed_slowly()
        self._hold(self._lock.update, found)
        return True

    def _release(self) -> None:
        found = self._lock.get()
        self.observed = self.observed.seeing(found, self._clock.now())
        if self.is_leader:
            record = released(found, self._date(), coordinated=self._coordinated)
            self._lock.update(record)
            self.observed = Observation(record, self._clock.now())

    def _hold(self, write: Callable[[LeaderElectionRecord], None], old: LeaderElectionRecord | None) -> None:
        # The time before the request, not after: others may see the record the moment it is sent, and what they take
        # for expired must be expired here too.
        before = self._clock.now()
        record = claim(old, self._lock.identity, self._lease_duration, self._date(), coordinated=self._coordinated)
        write(record)
        self.observed = Observation(record, before)
        self._held_until = before + self._lease_duration

    def _date(self) -> MicroTime:
        return MicroTime.of(utc(self._clock))
