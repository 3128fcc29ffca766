"""Reconciler of IPPool: counts addresses and detects overlapping pools.

It uses the manager's client, and the generated lister and clientset, with the same types and the same cache.
"""

import logging
from ipaddress import IPv4Network, IPv6Network, ip_network

from clientgo.manager import ControllerBuilder, Manager, Reconciler, Result
from clientgo.meta import ObjectName, replace
from clientgo.meta.declarations import rbac

from api.v1alpha1.ippool_types import IPPool, IPPoolStatus
from generated.clientset import Clientset
from generated.informers.tsi_v1alpha1 import IPPoolInformer

GROUP = "tsi.tiduyun.com"

log = logging.getLogger(__name__)


@rbac(groups=GROUP, resources="ippools", verbs=("get", "list", "watch"))
@rbac(groups=GROUP, resources="ippools/status", verbs=("get", "patch", "update"))
@rbac(groups=GROUP, resources="ippools/finalizers", verbs="update")
class IPPoolReconciler(Reconciler[IPPool]):
    """Updates the status of every pool."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager.client, manager.recorder)
        self.pools = Clientset(manager.requester).tsi_v1alpha1.ip_pools()
        # Shares the manager's informer.
        self.lister = IPPoolInformer(manager.cache.factory).lister

    def setup(self, builder: ControllerBuilder) -> None:
        """Reconcile the other pools too when a pool changes."""
        builder.watches(IPPool, self.all_others)

    def reconcile(self, pool: IPPool) -> Result | None:
        """Reconcile one object; raised exceptions are retried with backoff."""
        status = self.status_of(pool)
        if status != pool.status:
            self.pools.update_status(replace(pool, status=status))
            log.info("reconciled", extra={"addresses": status.addresses, "overlaps": list(status.overlaps)})
        return None

    def status_of(self, pool: IPPool) -> IPPoolStatus:
        """Compute the status of a pool from its network and the other pools."""
        try:
            network = ip_network(pool.spec.cidr)
        except ValueError as error:
            return IPPoolStatus(problem=str(error))
        other_pools = (other for other in self.lister.list() if other.metadata.uid != pool.metadata.uid)
        names = sorted(other.metadata.name for other in other_pools if overlap(network, other.spec.cidr))
        return IPPoolStatus(addresses=network.num_addresses, overlaps=tuple(names))

    def all_others(self, pool: IPPool) -> list[ObjectName]:
        """Return the names of the pools whose overlaps this one may change."""
        names = (other.metadata.name for other in self.lister.list() if other.metadata.uid != pool.metadata.uid)
        return [ObjectName("", name) for name in names]


def overlap(network: IPv4Network | IPv6Network, cidr: str) -> bool:
    """Report whether two networks share an address; an invalid CIDR overlaps nothing."""
    try:
        other = ip_network(cidr)
    except ValueError:
        return False
    return network.version == other.version and network.overlaps(other)
