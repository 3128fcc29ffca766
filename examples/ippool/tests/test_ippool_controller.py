from collections.abc import Callable
from queue import Queue

from clientgo.manager import Client, Manager, Result
from clientgo.meta import ApiObject, ObjectMeta, ObjectName
from clientgo.perturb import change, create, delete

from api.v1alpha1.ippool_types import IPPool, IPPoolSpec
from controllers.ippool_controller import IPPoolReconciler
from generated.clientset import Clientset


class Watched(IPPoolReconciler):
    """Reconciler that records successful requests."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.done: Queue[ObjectName] = Queue()

    def reconcile_request(self, request: ObjectName) -> Result | None:
        result = super().reconcile_request(request)
        self.done.put(request)
        return result


def test_a_new_object_is_reconciled(
    manager: Manager, started: Callable[[], Manager], client: Client, created: list[ApiObject]
) -> None:
    reconciler = Watched(manager)
    manager.add_reconciler(reconciler)
    started()
    name = ObjectName("", "test-ippool")

    pool = IPPool(metadata=ObjectMeta(name=name.name), spec=IPPoolSpec(cidr="10.0.0.0/24"))
    created.append(client.create(pool))

    assert reconciler.done.get(timeout=20) == name


def test_pools_that_overlap_name_each_other(
    manager: Manager, started: Callable[[], Manager], client: Client, created: list[ApiObject]
) -> None:
    reconciler = Watched(manager)
    manager.add_reconciler(reconciler)
    started()
    pools = Clientset(manager.requester).tsi_v1alpha1.ip_pools()

    for name, cidr in (("narrow", "10.8.1.0/24"), ("wide", "10.8.0.0/16")):
        created.append(client.create(IPPool(metadata=ObjectMeta(name=name), spec=IPPoolSpec(cidr=cidr))))

    while [pools.get(name).status.overlaps for name in ("narrow", "wide")] != [("wide",), ("narrow",)]:
        reconciler.done.get(timeout=20)
    assert pools.get("wide").status.addresses == 65536


def test_invalid_network_is_reported_in_the_status(manager: Manager) -> None:
    pool = IPPool(metadata=ObjectMeta(name="wrong"), spec=IPPoolSpec(cidr="10.8.0.0/99"))

    assert "10.8.0.0/99" in IPPoolReconciler(manager).status_of(pool).problem


def test_no_perturbation_changes_the_outcome(perturb: Callable[..., None]) -> None:
    pools = [
        IPPool(metadata=ObjectMeta(name=name), spec=IPPoolSpec(cidr=cidr))
        for name, cidr in (("narrow", "10.8.1.0/24"), ("wide", "10.8.0.0/16"))
    ]
    apart = change(pools[0], {"spec": {"cidr": "10.9.1.0/24"}})
    steps = [create(pools[0]), create(pools[1]), apart, delete(pools[1])]

    def add(manager: Manager) -> None:
        manager.add_reconciler(IPPoolReconciler(manager))

    perturb(add, steps)
