from collections.abc import Callable
from queue import Queue

from clientgo.manager import Manager, Result
from clientgo.meta import ApiObject, ObjectName

from api.v1alpha1.foo_types import Foo
from controllers.foo_controller import FooReconciler
from tests.samples import sample


class Watched(FooReconciler):
    """Tells which requests have been answered without an error."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.done: Queue[ObjectName] = Queue()

    def reconcile(self, request: ObjectName) -> Result | None:
        result = super().reconcile(request)
        self.done.put(request)
        return result


def test_the_sample_is_reconciled(manager: Manager, started: Callable[[], Manager], created: list[ApiObject]) -> None:
    reconciler = Watched(manager)
    reconciler.setup_with_manager(manager)
    started()
    name = ObjectName("default", "test-foo")

    wanted = sample(Foo, "samplecontroller_v1alpha1_foo.yaml", **name._asdict())
    created.append(manager.client.create(wanted))

    assert reconciler.done.get(timeout=20) == name
