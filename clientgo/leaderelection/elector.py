"""Leader elector: run for election, lead, renew the lease, step down.

Guarantees, as long as clocks run at the same speed: work is asked to stop before another candidate's work starts,
whether the leader was stopped, lost its connection, was overtaken, or its work crashed. A leader that is stopped
releases the lease at once, but only after its work has ended. Work that does not end keeps the lease until it expires,
and is named in an error. Work that must never run twice also needs a check at the resource itself: no lease can stop a
process that was suspended just before it writes.

When another candidate's lease counts as expired is decided by `Observation` in `record.py`.
"""

import random
import threading
from collections.abc import Callable

from clientgo.backoff import Random, jittered
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.leaderelection.bounded import BoundedLock
from clientgo.leaderelection.candidate import Candidate, ElectionMetrics
from clientgo.leaderelection.lock import Lock, request_timeout
from clientgo.leaderelection.reporter import Reporter
from clientgo.leaderelection.timing import JITTER_FACTOR, Timing, check_parts
from clientgo.log import get_logger
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import RELEASE_SECONDS

log = get_logger(__name__)

MIN_JOIN_SECONDS = 0.1
"""Minimum seconds for work to end, even after the lease is lost: time to check an event once."""


class LeaseNotRenewed(ClientGoError):
    """Failed health check: the leader has not renewed its lease for too long."""


class LeaderElector:
    """Runs one candidate for the lease of `lock`. One thread at a time calls `run`; other methods are thread-safe.

    `on_started_leading(stop)` is the leader's work: it runs in a thread of its own and must return soon after `stop` is
    set. `on_stopped_leading()` is called at each end of `run`, even if this candidate never led.
    `on_new_leader(identity)` is called once per change, in order, in another thread; an empty identity means that there
    is no leader.

    All times are seconds, with client-go's defaults. A stopped leader releases the lease, and waits 0.4 s for
    that. `name` is for metrics and messages; by default the lock's. With `coordinated`, the API server chooses the
    leader among LeaseCandidates, whose names are the identities.

    Raises:
        ValueError: the times are inconsistent, or the lock has no identity.
    """

    def __init__(
        self,
        lock: Lock,
        *,
        on_started_leading: Callable[[threading.Event], object],
        on_stopped_leading: Callable[[], object],
        on_new_leader: Callable[[str], object] | None = None,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        release_on_cancel: bool = True,
        coordinated: bool = False,
        name: str = "",
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self._timing = Timing(lease_duration=lease_duration, renew_deadline=renew_deadline, retry_period=retry_period)
        check_parts(lock, on_started_leading, on_stopped_leading)
        self.name = name or lock.describe()
        self._on_started_leading = on_started_leading
        self._on_stopped_leading = on_stopped_leading
        self._release_on_cancel = release_on_cancel
        self._clock = clock
        self._rand = rand
        self._metrics = ElectionMetrics(self.name)
        self._lock = BoundedLock(lock, longest=request_timeout(renew_deadline), clock=clock)
        self._candidate = Candidate(
            self._lock, lease_duration=lease_duration, metrics=self._metrics, clock=clock, coordinated=coordinated
        )
        self._reporter = Reporter(on_new_leader, name=self.name, clock=clock)
        self._running = threading.Lock()
        # True once the lease could not be renewed in time, even if it has not expired yet.
        self._lost = True

    def __repr__(self) -> str:
        return f"<LeaderElector {self.name}, led by {self.leader or 'none'}>"

    @property
    def is_leader(self) -> bool:
        """True if the last observed holder is this candidate: for status pages, not for guarding writes."""
        return self._candidate.is_leader

    def may_work(self) -> bool:
        """Return whether this candidate leads and, by this machine's clock, no other can yet; check before each write.

        A leader that is stopped may finish its current work; one that lost its lease, or slept past its end, may
        not.
        """
        return not self._lost and self._clock.now() < self._candidate.expires

    @property
    def leader(self) -> str:
        """Identity of the last observed holder; empty if there was none."""
        return self._candidate.observed.holder

    def check(self, max_tolerable_expired_lease: float) -> None:
        """Return if this candidate is healthy; standbys always are.

        Raises:
            LeaseNotRenewed: the lease of this leader expired more than that many seconds ago.
        """
        seen = self._candidate.observed
        if seen.holder != self._lock.identity:
            return
        if self._clock.now() - seen.at > self._timing.lease_duration + max_tolerable_expired_lease:
            raise LeaseNotRenewed(f"failed election to renew leadership on lease {self.name}")

    def run(self, stop: threading.Event) -> None:
        """Run for election and lead until `stop` is set or leadership is lost. Blocks; may be called again.

        Leadership is lost when the lease was not renewed in time or another candidate holds it. An exception of a
        callback ends leadership and sets `stop`, because other parts of the program rely on the work.

        Raises:
            StillRunning: the work did not end in time; it may run while another leader works.
            RuntimeError: the elector is already running.
            BaseException: the exception of a callback.
        """
        if not self._running.acquire(blocking=False):
            raise RuntimeError(f"the elector of {self.name} is already running")
        try:
            with self._reporter.reporting(stop):
                self._stand(stop)
        finally:
            self._running.release()
            if late := self._lock.under_way():
                log.warning(
                    "abandoned requests are still in progress", extra={"lease": self.name, "threads": ", ".join(late)}
                )

    def _stand(self, stop: threading.Event) -> None:
        try:
            if self._acquire(stop):
                self._lead(stop)
        finally:
            self._on_stopped_leading()

    def _acquire(self, stop: threading.Event) -> bool:
        log.info("standing for election", extra={"lease": self.name, "identity": self._lock.identity})
        while not stop.is_set():
            if self._try(stop, self._clock.now() + self._timing.renew_deadline):
                return True
            self._clock.sleep(stop, jittered(self._timing.retry_period, JITTER_FACTOR, self._rand))
        return False

    def _lead(self, stop: threading.Event) -> None:
        # First, because the event recorded below is itself a write that checks `may_work`.
        self._lost = False
        log.info("became leader", extra={"lease": self.name, "identity": self._lock.identity})
        self._lock.record_event("became leader")
        self._metrics.leading.set(1.0)
        work, ended = Group(stop=stop, clock=self._clock), threading.Event()
        work.start(self._on_started_leading, ended, name=f"leading-{self.name}")
        try:
            self._renew(stop)
        finally:
            ended.set()
            self._metrics.leading.set(0.0)
            self._step_down(work)

    def _renew(self, stop: threading.Event) -> None:
        while not stop.is_set():
            if not self._renewed(stop):
                if not stop.is_set():
                    self._lost = True
                    log.error("leadership lost", extra={"lease": self.name, "to": self.leader})
                return
            self._clock.sleep(stop, self._timing.retry_period)

    def _renewed(self, stop: threading.Event) -> bool:
        # No later than the lease's end: a process that was suspended, or renewed slowly, has less time.
        deadline = min(self._clock.now() + self._timing.renew_deadline, self._candidate.expires)
        while self._clock.now() < deadline:
            if self._try(stop, deadline):
                return True
            # client-go keeps trying here; but once another leads, or is preferred, work must stop at once.
            if self._candidate.is_overtaken or self._candidate.is_retired:
                return False
            if self._clock.sleep(stop, min(self._timing.retry_period, deadline - self._clock.now())):
                return False
        return False

    def _step_down(self, work: Group) -> None:
        # The lease is not renewed meanwhile, so the work must end before it expires.
        now = self._clock.now()
        timeout = min(self._timing.renew_deadline, self._candidate.expires - now)
        try:
            work.join(max(MIN_JOIN_SECONDS, timeout))
        finally:
            if self._release_on_cancel and not work.alive():
                self._release()
            self._lock.record_event("stopped leading")
            log.info("stopped leading", extra={"lease": self.name, "identity": self._lock.identity})

    def _release(self) -> None:
        # Without `stop`, which may be set: the release has its own time limit.
        self._lock.limit(self._clock.now() + RELEASE_SECONDS)
        self._candidate.release()
        self._reporter.report(self.leader)

    def _try(self, stop: threading.Event, deadline: float) -> bool:
        self._lock.limit(deadline, stop)
        holds = self._candidate.try_acquire_or_renew()
        self._reporter.report(self.leader)
        return holds


class HealthAdaptor:
    """Health check that may be registered before the elector exists. Thread-safe.

    `timeout` is the number of seconds after the lease expired in which a leader still counts as healthy, so that it can
    end by itself.
    """

    name = "leaderElection"

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._elector: LeaderElector | None = None

    def __repr__(self) -> str:
        return f"<HealthAdaptor of {self._elector.name if self._elector is not None else 'no elector'}>"

    def set_leader_election(self, elector: LeaderElector) -> None:
        """Check this elector from now on."""
        self._elector = elector

    def check(self) -> None:
        """Return if the elector is healthy or not set; raise `LeaseNotRenewed` otherwise."""
        if self._elector is not None:
            self._elector.check(self._timeout)
