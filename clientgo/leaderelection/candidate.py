"""Steps of one candidate: try to acquire or renew the lease, and release it. It has neither a loop nor a thread.

The leader writes without reading first, because most likely the lease is as it was last written; it reads only if that
fails. Other candidates read, and write if the lease is free. In coordinated leader election no candidate acquires the
lease: the API server assigns it to one, and ends its term by naming a preferred holder.
"""

import math
import threading
from collections.abc import Callable

from clientgo.clock import Clock, utc
from clientgo.errors import ClientGoError, NotFound
from clientgo.leaderelection.bounded import CallStopped
from clientgo.leaderelection.lock import Lock
from clientgo.leaderelection.record import LeaderElectionRecord, Observation, claim, released
from clientgo.log import get_logger
from clientgo.meta.codec import Undecodable
from clientgo.meta.objects import MicroTime
from clientgo.metrics import safe_provider
from clientgo.reconcile.retry import retry_on_conflict

log = get_logger(__name__)


class ElectionMetrics:
    """Metrics of an elector with Kubernetes' names, kept by the provider at the time of creation."""

    def __init__(self, name: str) -> None:
        labels = {"name": name}
        self.leading = safe_provider().gauge(
            "leader_election_master_status", "1 while this process holds the lease, 0 while it stands by", labels
        )
        self.slow_renewals = safe_provider().counter(
            "leader_election_slowpath_total", "Renewals that had to read the lease before writing it", labels
        )
        self.leading.set(0.0)


FAILURES = (ClientGoError, Undecodable)
"""Transient errors of a lock; any other error is a bug and ends the election."""


class Candidate:
    """Candidate for one lease. One thread calls the methods; any thread may read `observed`."""

    def __init__(
        self, lock: Lock, *, lease_duration: float, metrics: ElectionMetrics, clock: Clock, coordinated: bool = False
    ) -> None:
        self._lock = lock
        self._coordinated = coordinated
        self._lease_duration = lease_duration
        self._metrics = metrics
        self._clock = clock
        # Replaced as a whole and never modified, so that readers always see a record with its own time.
        self.observed = Observation()
        # Only this candidate's own writes extend it. Reads do not: the record may have been written long before, by a
        # request whose response was lost, and others have observed it since.
        self._held_until = -math.inf

    def __repr__(self) -> str:
        return (
            f"<Candidate {self._lock.identity} for {self._lock.describe()}, held by {self.observed.holder or 'none'}>"
        )

    @property
    def is_leader(self) -> bool:
        """True if the last observed holder is this candidate."""
        return self.observed.holder == self._lock.identity

    @property
    def is_overtaken(self) -> bool:
        """True if the last observed holder is another candidate."""
        return self.observed.holder not in ("", self._lock.identity)

    @property
    def is_retired(self) -> bool:
        """True if this candidate holds the lease and must not renew it, because the API server prefers another."""
        return self._coordinated and self.is_leader and bool(self.observed.record.preferred_holder)

    @property
    def expires(self) -> float:
        """Monotonic time until which no other can have acquired the lease; in the past if this one does not hold it."""
        return self._held_until if self.is_leader else -math.inf

    def try_acquire_or_renew(self) -> bool:
        """Return whether this candidate now holds the lease; log a failed request and return False."""
        try:
            if self._coordinated:
                return self._renew_if_assigned()
            return self._renew_unread() or self._acquire_or_renew()
        except CallStopped:
            return False
        except FAILURES as error:
            log.warning("cannot read or write lease", extra={"lease": self._lock.describe(), "err": error})
            return False

    def release(self) -> bool:
        """Release the lease for the next candidate; if that fails, log it, return False and let the lease expire."""
        if not self.is_leader:
            return True
        # From now on, regardless of the request's outcome.
        self._held_until = -math.inf
        try:
            # With an event of its own: the program has stopped, and the lock limits the time of the release.
            retry_on_conflict(self._release, clock=self._clock, stop=threading.Event())
        except FAILURES as error:
            log.warning("cannot release lease", extra={"lease": self._lock.describe(), "err": error})
            return False
        return True

    def _renew_unread(self) -> bool:
        if not self.is_leader or not self.observed.is_valid(self._clock.now()):
            return False
        try:
            self._hold(self._lock.update, self.observed.record)
        except CallStopped:
            raise
        except FAILURES as error:
            log.info("reading lease before renewing it", extra={"lease": self._lock.describe(), "err": error})
            return False
        return True

    def _acquire_or_renew(self) -> bool:
        try:
            observed = self._lock.get()
        except NotFound:
            self._hold(self._lock.create, None)
            return True
        now = self._clock.now()
        self.observed = self.observed.observe(observed, now)
        if not self.observed.may_be_taken_by(self._lock.identity, now):
            log.debug("lease is held", extra={"lease": self._lock.describe(), "by": self.observed.holder})
            return False
        if self.is_leader:
            self._metrics.slow_renewals.inc()
        self._hold(self._lock.update, observed)
        return True

    def _renew_if_assigned(self) -> bool:
        # Always read: the API server changes the lease too. client-go does the same.
        try:
            observed = self._lock.get()
        except NotFound:
            log.debug("lease does not exist yet", extra={"lease": self._lock.describe()})
            return False
        now = self._clock.now()
        self.observed = self.observed.observe(observed, now)
        if not self.is_leader or self.is_retired or not self.observed.is_valid(now):
            log.debug(
                "lease belongs to another candidate or is retired",
                extra={"lease": self._lock.describe(), "by": self.observed.holder},
            )
            return False
        self._metrics.slow_renewals.inc()
        self._hold(self._lock.update, observed)
        return True

    def _release(self) -> None:
        observed = self._lock.get()
        self.observed = self.observed.observe(observed, self._clock.now())
        if self.is_leader:
            record = released(observed, self._date(), coordinated=self._coordinated)
            self._lock.update(record)
            self.observed = Observation(record, self._clock.now())

    def _hold(self, write: Callable[[LeaderElectionRecord], None], old: LeaderElectionRecord | None) -> None:
        # The time before the request, not after: others may observe the record as soon as it is sent, and a lease that
        # is expired for them must be expired here too.
        before = self._clock.now()
        record = claim(old, self._lock.identity, self._lease_duration, self._date(), coordinated=self._coordinated)
        write(record)
        self.observed = Observation(record, before)
        self._held_until = before + self._lease_duration

    def _date(self) -> MicroTime:
        return MicroTime.of(utc(self._clock))
