"""What an elector counts, under the names Kubernetes' dashboards know."""

from clientgo.metrics import provider


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
