"""Foo controller built with a manager: the same behaviour as `controller/`, with a higher-level API."""

from clientgo.errors import AlreadyExists
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.manager import Reconciler, run
from clientgo.meta import ObjectName, controller_uids, replace
from clientgo.typed import DeleteOptions, Preconditions
from controller.api.v1alpha1 import Foo, FooStatus
from controller.desired import Create, Foreign, Resize, is_renamed, plan


class FooReconciler(
    Reconciler[Foo], owns=[Deployment], indexes={Deployment: {"controller": controller_uids}}, workers=2
):
    """Keeps one Deployment for each Foo, and reports the available replicas in the Foo's status."""

    def reconcile(self, foo: Foo) -> None:
        """Bring one Foo's Deployment and status to the desired state, writing only changes."""
        if not foo.spec.deployment_name:
            return  # invalid until its author changes it
        reported = foo.status.available_replicas
        name = ObjectName(foo.metadata.namespace, foo.spec.deployment_name)
        match step := plan(foo, self.client.find(Deployment, name)):
            case Create(_) if reported is not None and not self.client.is_current(foo):
                return  # the Foo was deleted or renamed its Deployment, and the cache is stale
            case Create(wanted):
                deployment = self.client.create(wanted)
            case Resize(current, replicas):
                this = {"uid": current.metadata.uid}  # not another one, created under the name in the meantime
                deployment = self.client.patch(current, {"metadata": this, "spec": {"replicas": replicas}})
            case Foreign():
                message = f'Resource "{step.name}" already exists and is not managed by Foo'
                self.recorder.event(foo, "Warning", "ErrResourceExists", message)
                raise AlreadyExists(message)
            case _:
                deployment = step.deployment
        controlled = self.client.list(Deployment, fields={"controller": foo.metadata.uid})
        renamed = [former for former in controlled if is_renamed(former, foo)]
        if renamed and self.client.is_current(foo):
            for former in renamed:
                only_this = DeleteOptions(preconditions=Preconditions(uid=former.metadata.uid))
                self.client.delete(former, only_this, missing_ok=True)
        available = deployment.status.available_replicas or 0
        if reported != available:
            self.client.update_status(replace(foo, status=FooStatus(available_replicas=available)))
        if reported is None or isinstance(step, Create | Resize):
            self.recorder.event(foo, "Normal", "Synced", "Foo synced successfully")


if __name__ == "__main__":
    run(FooReconciler, name="foo-manager")
