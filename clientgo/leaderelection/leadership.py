"""Work that only the leader of several replicas does, from standing by to giving the lease up.

    leadership = Leadership(lock)
    writer = FencedRequester(client, leadership.may_write)
    leadership.run(work, stop)

The leader's end has an order. Told to stop, it finishes its work while it still renews the lease, and gives the lease
up last, so that the next one never begins beside it. If the lease is lost, the work is told to end at once, may write
nothing more (`may_write`), and the program ends, to be started again as a stand-by.
"""

import logging
import threading
from collections.abc import Callable

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.leaderelection.elector import LeaderElector
from clientgo.leaderelection.lock import Lock
from clientgo.lifecycle import Group, StillRunning

log = logging.getLogger(__name__)

Work = Callable[[threading.Event], object]
"""What the leader does until the event is set, and must end soon after."""

TOLERANCE = 20.0
"""Seconds after its lease expired until a leader that is still there is called unhealthy (Kubernetes' components')."""


class LeadershipLost(ClientGoError):
    """Another replica may lead now; this one has to start anew."""


class Leadership:
    """Stands for election with `lock`, and lets its work be done while it leads. All times are seconds.

    Raises:
        ValueError: the times can't work together, or the lock has no identity.
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
        # What the program's end is told by.
        self._stop = threading.Event()
        # What ends the candidacy; set last.
        self._resigned = threading.Event()
        self._lost = False
        self._failed = False
        # Guards the two below: leadership may come while the program is told to stop.
        self._lock = threading.Lock()
        self._over: threading.Event | None = None
        self._worked = threading.Event()
        self._elector = LeaderElector(
            lock,
            on_started_leading=self._lead,
            on_stopped_leading=self._stopped_leading,
            on_new_leader=self._tell,
            lease_duration=lease_duration,
            renew_deadline=renew_deadline,
            retry_period=retry_period,
            name=name,
            clock=clock,
        )

    def __repr__(self) -> str:
        return f"<Leadership {self._elector!r}>"

    def may_write(self) -> bool:
        """Whether this replica leads and no other can by now."""
        return self._elector.may_work()

    def check(self) -> None:
        """All is well, unless this leader has outlived its lease: then `LeaseNotRenewed` is raised."""
        self._elector.check(TOLERANCE)

    @property
    def leader(self) -> str:
        """Who leads, as far as this replica has seen; empty for nobody."""
        return self._elector.leader

    def run(self, work: Work, stop: threading.Event) -> None:
        """Do `work` whenever this replica leads, until `stop` is set; may be called once.

        Raises:
            LeadershipLost: the lease was lost; `stop` is set then, too.
            StillRunning: the work did not end in time.
            BaseException: what the work raised.
        """
        self._work, self._stop = work, stop
        with Group(stop=stop, clock=self._clock) as group:
            group.start(self._elect, name="elector")
            stop.wait()
            if self._end_work():
                # The work has a time limit of its own.
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
                raise  # the work's own
            # Of a lost lease; `run` waits for the work, and what it wants to write is not sent.
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

    def _tell(self, leader: str) -> None:
        if leader:
            log.info("new leader elected", extra={"leader": leader})
