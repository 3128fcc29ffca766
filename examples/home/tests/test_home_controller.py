from collections.abc import Callable
from queue import Queue

from clientgo.manager import Client, Manager, Result
from clientgo.meta import ApiObject, ObjectName
from clientgo.perturb import create, delete

from api.v1.home_types import Home
from controllers.home_controller import HomeReconciler
from tests.samples import sample


class Watched(HomeReconciler):
    """Reconciler that records successful reconciliations."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager.client, manager.recorder)
        self.done: Queue[ObjectName] = Queue()

    def reconcile_request(self, request: ObjectName) -> Result | None:
        result = super().reconcile_request(request)
        self.done.put(request)
        return result


def test_the_sample_is_reconciled(
    manager: Manager, started: Callable[[], Manager], client: Client, created: list[ApiObject]
) -> None:
    reconciler = Watched(manager)
    manager.add_reconciler(reconciler)
    started()
    name = ObjectName("default", "test-home")

    desired = sample(Home, "ajd_v1_home.yaml", **name._asdict())
    created.append(client.create(desired))

    assert reconciler.done.get(timeout=20) == name


def test_no_perturbation_changes_the_outcome(perturb: Callable[..., None]) -> None:
    desired = sample(Home, "ajd_v1_home.yaml", namespace="default", name="perturbed-home")
    # TODO(user): add a step for each change that a user makes: change(desired, {"spec": {...}}).
    perturb(HomeReconciler, [create(desired), delete(desired)])
