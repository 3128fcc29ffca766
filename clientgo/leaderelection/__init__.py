"""Leader election: one of several replicas works, and another one takes over when it is gone.

    lock = LeaseLock(clientset, "default", "sample-controller", new_identity())
    elector = LeaderElector(lock, on_started_leading=work, on_stopped_leading=stopped)
    elector.run(stop)

`work(stop)` runs in a thread of its own while this process leads. Candidates written with client-go can compete for the
same lease. If the API server chooses the leader (coordinated leader election), each replica also runs a
`LeaseCandidacy` of `clientgo.leaderelection.leasecandidate`, and electors are `coordinated`.
"""

from clientgo.leaderelection.elector import HealthAdaptor, LeaderElector, LeaseNotRenewed
from clientgo.leaderelection.leadership import Leadership, LeadershipLost
from clientgo.leaderelection.lock import LeaseLock, LeaseNotRead, Lock, config_for_lock, new_identity
from clientgo.leaderelection.record import LeaderElectionRecord

__all__ = [
    "LeaderElector", "Leadership", "LeadershipLost", "HealthAdaptor", "LeaseNotRenewed",
    "Lock", "LeaseLock", "LeaseNotRead", "LeaderElectionRecord", "config_for_lock", "new_identity",
]  # fmt: skip
