"""Lets one of several candidates work at a time: stand for election, lead, renew, step down.

Promises, as far as clocks run equally fast: work has been told to stop before another candidate's begins, whether the
leader was stopped, lost its connection, was overtaken, or its work died. A leader that is told to stop hands over at
once, but only after its work has ended. Work that does not end keeps its lease until it expires, and is named in an
error. Whoever may not work twice at once must still check at the resource: no lease can stop a process that was
suspended just before it writes.
"""

import logging
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
from clientgo.lifecycle import Group

log = logging.getLogger(__name__)

A_MOMENT = 0.1
"""Seconds that work always has to end, even if the lease is lost already: time to look at an event once."""


class LeaseNotRenewed(ClientGoError):
    """This process believes that it leads, and has not renewed its lease for too long."""


class LeaderElector:
    """Runs one candidate for the lease of `lock`. `run` is for one thread at a time; everything else for any.

    `on_started_leading(stop)` is the leader's work: it runs on a thread of its own and must return soon after the event
    it is given is set. `on_stopped_leading()` is called at every end of `run`, even if this candidate never led.
    `on_new_leader(identity)` is called once per change, in order, on another thread; empty means nobody.

    All times are seconds; client-go's defaults. `name` is for metrics and messages, the lock's own by default. With
    `coordinated`, the API server chooses among those who stand by a `LeaseCandidate`, whose name is the identity.

    Raises:
        ValueError: the times can't work together, or the lock has no identity.
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
        # From the moment the lease could not be renewed in time, although it has not expired yet.
        self._lost = True

    def __repr__(self) -> str:
        return f"<LeaderElector {self.name}, led by {self.leader or 'nobody'}>"

    @property
    def is_leader(self) -> bool:
        """Whether the last observed holder is this candidate: good for a status page, not for guarding work."""
        return self._candidate.is_leader

    def may_work(self) -> bool:
        """Whether this candidate leads and, by this machine's clock, no other can yet: ask before each write.

        A leader told to stop may finish what it is at; one that lost its lease, or slept past its end, may not.
        """
        return not self._lost and self._clock.now() < self._candidate.expires

    @property
    def leader(self) -> str:
        """The identity of the last observed holder; empty if there was none."""
        return self._candidate.observed.holder

    def check(self, max_tolerable_expired_lease: float) -> None:
        """Return while all is well; a candidate that stands by is well.

        Raises:
            LeaseNotRenewed: this leader's lease expired more than that many seconds ago, so that it ought to be dead.
        """
        seen = self._candidate.observed
        if seen.holder != self._lock.identity:
            return
        if self._clock.now() - seen.at > self._timing.lease_duration + max_tolerable_expired_lease:
            raise LeaseNotRenewed(f"failed election to renew leadership on lease {self.name}")

    def run(self, stop: threading.Event) -> None:
        """Stand for election, and lead, until `stop` is set or leadership is lost; blocks. May be called again.

        Leadership is lost when the lease could not be renewed in time, or another holds it. What a callback raises
        ends leadership and sets `stop`, because whatever shares it relies on the work being done.

        Raises:
            StillRunning: the work did not end in time; it may be running beside another leader's.
            RuntimeError: the elector is running already.
            BaseException: what a callback raised.
        """
        if not self._running.acquire(blocking=False):
            raise RuntimeError(f"the elector of {self.name} is running already")
        try:
            with self._reporter.reporting(stop):
                self._stand(stop)
        finally:
            self._running.release()
            if late := self._lock.under_way():
                log.warning("requests were given up and go on", extra={"lease": self.name, "threads": ", ".join(late)})

    def _stand(self, stop: threading.Event) -> None:
        try:
            if self._acquired(stop):
                self._lead(stop)
        finally:
            self._on_stopped_leading()

    def _acquired(self, stop: threading.Event) -> bool:
        log.info("standing for election", extra={"lease": self.name, "identity": self._lock.identity})
        while not stop.is_set():
            if self._try(stop, self._clock.now() + self._timing.renew_deadline):
                return True
            self._clock.sleep(stop, jittered(self._timing.retry_period, JITTER_FACTOR, self._rand))
        return False

    def _lead(self, stop: threading.Event) -> None:
        # First: what is told of it may itself be a write that asks whether it may be made.
        self._lost = False
        log.info("became leader", extra={"lease": self.name, "identity": self._lock.identity})
        self._lock.record_event("became leader")
        self._metrics.leads(True)
        work, ended = Group(stop=stop, clock=self._clock), threading.Event()
        work.start(self._on_started_leading, ended, name=f"leading-{self.name}")
        try:
            self._renew(stop)
        finally:
            ended.set()
            self._metrics.leads(False)
            self._step_down(work)

    def _renew(self, stop: threading.Event) -> None:
        while not stop.is_set():
            if not self._renewed(stop):
                if not stop.is_set():
                    self._lost = True
                    log.error("leadership is lost", extra={"lease": self.name, "to": self.leader})
                return
            self._clock.sleep(stop, self._timing.retry_period)

    def _renewed(self, stop: threading.Event) -> bool:
        # No later than the lease's own end: a process that was suspended, or whose last renewal took long, has less.
        deadline = min(self._clock.now() + self._timing.renew_deadline, self._candidate.expires)
        while self._clock.now() < deadline:
            if self._try(stop, deadline):
                return True
            # client-go goes on trying here; but once another leads, or is to, every moment of work is one too many.
            if self._candidate.is_overtaken or self._candidate.is_retired:
                return False
            if self._clock.sleep(stop, min(self._timing.retry_period, deadline - self._clock.now())):
                return False
        return False

    def _step_down(self, work: Group) -> None:
        # The lease is not renewed meanwhile, so the work can't have longer than it lasts.
        now = self._clock.now()
        patience = min(self._timing.renew_deadline, self._candidate.expires - now)
        try:
            work.join(max(A_MOMENT, patience))
        finally:
            if self._release_on_cancel and not work.alive():
                self._release()
            self._lock.record_event("stopped leading")
            log.info("stopped leading", extra={"lease": self.name, "identity": self._lock.identity})

    def _release(self) -> None:
        # Without `stop`, which may well be set: releasing has a time of its own.
        self._lock.limit(self._clock.now() + self._timing.renew_deadline)
        self._candidate.release()
        self._reporter.report(self.leader)

    def _try(self, stop: threading.Event, deadline: float) -> bool:
        self._lock.limit(deadline, stop)
        holds = self._candidate.try_acquire_or_renew()
        self._reporter.report(self.leader)
        return holds


class HealthAdaptor:
    """A health check that may be registered before there is an elector; safe for any number of threads.

    `timeout` is how many seconds after its lease expired a leader is still called well: time to end by itself.
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
        """Return while all is well, which it is without an elector; raises `LeaseNotRenewed` otherwise."""
        if self._elector is not None:
            self._elector.check(self._timeout)
