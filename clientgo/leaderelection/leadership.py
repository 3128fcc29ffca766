"""Work of the elected leader, from standing by to releasing the lease.

    leadership = Leadership(lock)
    writer = FencedRequester(client, leadership.may_write)
    leadership.run(work, stop)

Shutdown is ordered. A leader that is stopped finishes its work while it still renews the lease, and releases the
lease last, so that the next leader never works at the same time. If the lease is lost, the work is stopped at once
and may not write any more (`may_write`), and the program ends, to be restarted as a standby.
"""

import threading
from collections.abc import Callable

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.leaderelection.elector import LeaderElector
from clientgo.leaderelection.lock import Lock
from clientgo.log import get_logger
from clientgo.stop.lifecycle import Group, StillRunning
from clientgo.stop.stopping import StopEvent

log = get_logger(__name__)

Work = Callable[[threading.Event], object]
"""Work of the leader until the event is set; must end soon afterwards."""

TOLERANCE = 20.0
"""Seconds after its lease expired before a leader is reported as unhealthy (as in Kubernetes' components)."""


class LeadershipLost(ClientGoError):
    """Another replica may lead now; this one must restart."""


class Leadership:
    """Runs for election with `lock`, and runs the work while it leads. All times are seconds.

    Raises:
        ValueError: the times are inconsistent, or the lock has no identity.
    """

    def __init__(
        self,
        lock: Lock,
        *,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        name: str = "",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clock = clock
        self._work: Work = lambda _: None
        # Stops the program.
        self._stop = threading.Event()
        # Ends the candidacy; set last.
        self._resigned = StopEvent()
        self._lost = False
        self._failed = False
        # Guards _over and _worked: leadership may start while the program stops.
        self._lock = threading.Lock()
        self._over: threading.Event | None = None
        self._worked = threading.Event()
        self._elector = LeaderElector(
            lock,
            on_started_leading=self._lead,
            on_stopped_leading=self._stopped_leading,
            on_new_leader=self._log_leader,
            lease_duration=lease_duration,
            renew_deadline=renew_deadline,
            retry_period=retry_period,
            name=name,
            clock=clock,
        )

    def __repr__(self) -> str:
        return f"<Leadership {self._elector!r}>"

    def may_write(self) -> bool:
        """Return whether this replica leads and no other can lead yet."""
        return self._elector.may_work()

    def check(self) -> None:
        """Return if this replica is healthy; raise `LeaseNotRenewed` if a leader has outlived its lease."""
        self._elector.check(TOLERANCE)

    @property
    def leader(self) -> str:
        """Identity of the leader that this replica last observed; empty for none."""
        return self._elector.leader

    def run(self, work: Work, stop: threading.Event) -> None:
        """Run `work` while this replica leads, until `stop` is set; may be called once.

        Raises:
            LeadershipLost: the lease was lost; `stop` is set then, too.
            StillRunning: the work did not end in time.
            BaseException: the exception of the work.
        """
        self._work, self._stop = work, stop
        with Group(stop=stop, clock=self._clock) as group:
            group.start(self._elect, name="elector")
            stop.wait()
            if self._end_work():
                # The work has its own time limit.
                self._worked.wait()
            self._resigned.set()
            group.join()
        if self._lost:
            raise LeadershipLost("leader election lost")

    def _elect(self) -> None:
        try:
            self._elector.run(self._resigned)
        except StillRunning as error:
            if self._failed:
                raise  # the work's own error
            # The lease was lost; `run` waits for the work, whose writes are rejected.
            log.warning("the lease ended before the work did", extra={"err": error})

    def _lead(self, over: threading.Event) -> None:
        with self._lock:
            self._over = over
            if self._stop.is_set():
                over.set()
        try:
            self._work(over)
        except BaseException:
            self._failed = True
            raise
        finally:
            self._worked.set()

    def _end_work(self) -> bool:
        with self._lock:
            if self._over is None:
                return False
            self._over.set()
            return True

    def _stopped_leading(self) -> None:
        if not self._resigned.is_set():
            self._lost = True
            self._stop.set()

    def _log_leader(self, leader: str) -> None:
        if leader:
            log.info("new leader elected", extra={"leader": leader})
