"""Leader election: of several replicas of a program, one works, and another takes over when it is gone.

    lock = LeaseLock(clientset, "default", "sample-controller", new_identity())
    elector = LeaderElector(lock, on_started_leading=work, on_stopped_leading=stopped)
    elector.run(stop)

`work(stop)` runs on a thread of its own while this process leads. Candidates written with client-go can stand for the
same lease. Where the API server is to choose who leads, `clientgo.leaderelection.leasecandidate` says who stands, and
electors are `coordinated`.
"""

from clientgo.leaderelection.elector import HealthAdaptor, LeaderElector, LeaseNotRenewed
from clientgo.leaderelection.leadership import Leadership, LeadershipLost
from clientgo.leaderelection.lock import LeaseLock, LeaseNotRead, Lock, config_for_lock, new_identity
from clientgo.leaderelection.record import LeaderElectionRecord

__all__ = [
    "LeaderElector", "Leadership", "LeadershipLost", "HealthAdaptor", "LeaseNotRenewed",
    "Lock", "LeaseLock", "LeaseNotRead", "LeaderElectionRecord", "config_for_lock", "new_identity",
]  # fmt: skip
