"""Tells a health endpoint when a leader that ought to have stepped down is still alive."""

from clientgo.leaderelection.elector import LeaderElector


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
