"""Foo controller built with a manager: the same behaviour as `controller/`, with a higher-level API."""

from clientgo import log
from clientgo.errors import AlreadyExists
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.manager import ControllerBuilder, Manager, Options, exit_code, stop_on_signals
from clientgo.meta import ObjectName, replace
from clientgo.rest import load_config
from controller.api.v1alpha1 import Foo, FooStatus
from controller.desired import Create, Foreign, Resize, plan


class FooReconciler:
    """Keeps one Deployment for each Foo, and reports the available replicas in the Foo's status."""

    def __init__(self, manager: Manager) -> None:
        self.client, self.server, self.recorder = manager.client, manager.api_reader, manager.recorder

    def reconcile(self, request: ObjectName) -> None:
        """Bring one Foo's Deployment and status to the desired state, writing only changes."""
        foo = self.client.find(Foo, request)
        if foo is None or foo.metadata.deletion_timestamp is not None or not foo.spec.deployment_name:
            return  # deleted, terminating, or invalid until its author changes it
        reported = foo.status.available_replicas
        match step := plan(foo, self.client.find(Deployment, request._replace(name=foo.spec.deployment_name))):
            case Create(_) if reported is not None and self.server.find(Foo, request) is None:
                return  # the Foo and its Deployment were deleted, and the cache is stale
            case Create(wanted):
                deployment = self.client.create(wanted)
            case Resize(current, replicas):
                deployment = self.client.patch(current, {"spec": {"replicas": replicas}})
            case Foreign():
                message = f'Resource "{step.name}" already exists and is not managed by Foo'
                self.recorder.event(foo, "Warning", "ErrResourceExists", message)
                raise AlreadyExists(message)
            case _:
                deployment = step.deployment
        available = deployment.status.available_replicas or 0
        if reported != available:
            self.client.update_status(replace(foo, status=FooStatus(available_replicas=available)))
        if reported is None or isinstance(step, Create | Resize):
            self.recorder.event(foo, "Normal", "Synced", "Foo synced successfully")


def add_to(manager: Manager) -> None:
    """Register the controller with the manager."""
    ControllerBuilder(manager).for_(Foo).owns(Deployment).with_workers(2).complete(FooReconciler(manager))


def main() -> None:
    """Run on kubectl's current cluster until a signal."""
    manager = Manager(load_config(), options=Options(name="foo-manager"))
    add_to(manager)
    manager.run(stop_on_signals())


if __name__ == "__main__":
    log.setup()
    raise SystemExit(exit_code(main))
