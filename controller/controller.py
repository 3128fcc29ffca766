"""Foo controller: keeps one Deployment for each Foo and writes the number of available replicas to the Foo's status.

Informers call handlers, handlers add the name of a Foo to the queue, workers take names and call `sync`. `sync`
compares the current state with the spec and does not know which event led to it, so a name may be queued any number of
times. If `sync` raises, the name is retried with backoff; if it returns, nothing happens until the next event.
"""

import threading

from clientgo.cache import DeletedFinalStateUnknown, MutationCache, last_known, wait_for_cache_sync
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.coordination import Coordinator
from clientgo.errors import Conflict, NotFound
from clientgo.kubernetes.clients.apps_v1 import AppsV1
from clientgo.kubernetes.informers.apps_v1 import DeploymentInformer
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.log import get_logger
from clientgo.meta import ObjectName, controller_of, controller_uids, object_name, replace
from clientgo.meta.declarations import rbac
from clientgo.reconcile import Attempts, Workers
from clientgo.record import EventRecorder
from clientgo.typed import DeleteOptions, Preconditions
from clientgo.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
    RateLimitingQueue,
)
from controller import COMPONENT
from controller.api.v1alpha1 import Foo, FooStatus
from controller.desired import Create, Foreign, Nothing, Resize, is_renamed, plan
from generated.clientset.samplecontroller_v1alpha1 import SamplecontrollerV1alpha1
from generated.informers.samplecontroller_v1alpha1 import FooInformer

log = get_logger(__name__)

SYNCED, MESSAGE_SYNCED = "Synced", "Foo synced successfully"
ERR_RESOURCE_EXISTS = "ErrResourceExists"
BY_CONTROLLER = "controller"


class ResourceExists(Exception):
    """A Deployment of that name exists and is not controlled by the Foo."""


# Exactly the verbs that are used; hack/update-codegen.sh generates artifacts/rbac/role.yaml from them.
@rbac(groups="samplecontroller.k8s.io", resources="foos", verbs=("get", "list", "watch"))
@rbac(groups="samplecontroller.k8s.io", resources="foos/status", verbs="update")
# Never requested. Clusters that enforce permissions on owner references (OpenShift) require this verb for the
# Deployment's blockOwnerDeletion.
@rbac(groups="samplecontroller.k8s.io", resources="foos/finalizers", verbs="update")
@rbac(groups="apps", resources="deployments", verbs=("create", "delete", "list", "patch", "watch"))
@rbac(groups="core", resources="events", verbs=("create", "patch"))
class Controller:
    """Controller that syncs Foos with any number of workers, never the same Foo in two workers at once."""

    def __init__(
        self,
        apps: AppsV1,
        foos: SamplecontrollerV1alpha1,
        deployment_informer: DeploymentInformer,
        foo_informer: FooInformer,
        recorder: EventRecorder,
        *,
        coordinator: Coordinator | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._apps = apps
        self._api = foos
        self._recorder = recorder
        self._coordinator: Coordinator = coordinator if coordinator is not None else Coordinator()
        self._clock = clock
        self.attempts = Attempts("Foo", expected=(ResourceExists,), clock=clock)
        self._lister = foo_informer.lister
        # Each serves the object last written until the informer's cache has caught up with it.
        self._foos: MutationCache[Foo] = MutationCache.over(foo_informer.informer, clock=clock)
        self._deployments: MutationCache[Deployment] = MutationCache.over(deployment_informer.informer, clock=clock)
        deployment_informer.informer.add_indexers({BY_CONTROLLER: controller_uids})
        limiter = MaxOfRateLimiter[ObjectName](
            ItemExponentialFailureRateLimiter(0.005, 1000.0), BucketRateLimiter(50.0, 300, clock=clock)
        )
        self.queue = RateLimitingQueue(limiter, name="Foos", clock=clock)
        self._workers = Workers(self.sync, self.queue, self.attempts, clock=clock)
        self._synced = (
            foo_informer.informer.add_event_handler(
                on_add=self.enqueue_foo, on_update=self.update_foo, on_delete=self.delete_foo
            ),
            deployment_informer.informer.add_event_handler(
                on_add=self.handle_deployment, on_update=self.update_deployment, on_delete=self.delete_deployment
            ),
        )
        self._coordinator.on_change(self.enqueue_all)

    def run(self, workers: int, stop: threading.Event, *, grace: float | None = None) -> None:
        """Sync with `workers` threads until `stop` is set, and return when each has finished its Foo.

        Raises:
            StillRunning: a worker was still running `grace` seconds after `stop` was set.
        """
        log.info("waiting for informer caches to sync")
        if not wait_for_cache_sync(stop, *self._synced, clock=self._clock):
            return
        log.info("starting workers", extra={"count": workers})
        with self._workers.running(workers, stop, name="worker", grace=grace):
            self.attempts.wait(stop)
            log.info("shutting down workers")

    def process_next(self) -> None:
        """Sync the next Foo in the queue; requeue it with backoff if that fails."""
        self._workers.process_next()

    def sync(self, key: ObjectName) -> None:
        """Create or scale the Deployment of one Foo, then update the Foo's status; write only differences.

        A Deployment that it controls under a former name is deleted once the new one exists.

        Raises:
            ResourceExists: the Deployment is not controlled by the Foo.
            ApiError, ConnectionFailed: a write failed.
        """
        foo = self._foos.get_by_key(key)
        if foo is None:
            return  # deleted; the garbage collector deletes its Deployment
        with self._coordinator.owning(foo.metadata.uid) as owned:
            if owned:
                self._sync(key, foo)

    def _sync(self, key: ObjectName, foo: Foo) -> None:
        if not foo.spec.deployment_name:
            # Not raised: a retry would not help, and a change of the spec arrives as an event.
            log.error("deploymentName must be specified")
            return
        if foo.metadata.deletion_timestamp is not None:
            return  # the garbage collector would delete a new Deployment too
        step = plan(foo, self._deployments.get_by_key(ObjectName(key.namespace, foo.spec.deployment_name)))
        if isinstance(step, Foreign):
            message = f'Resource "{step.name}" already exists and is not managed by Foo'
            self._recorder.event(foo, "Warning", ERR_RESOURCE_EXISTS, message)
            raise ResourceExists(message)
        reported = foo.status.available_replicas
        if isinstance(step, Create) and reported is not None and not self._is_current(foo):
            log.info("Foo was deleted or renamed its Deployment; nothing is created for the old state")
            return
        deployment = self._carry_out(step)
        self._delete_renamed(foo)
        available = deployment.status.available_replicas or 0
        if reported != available:
            self.update_foo_status(foo, available)
        if reported is None or not isinstance(step, Nothing):
            self._recorder.event(foo, "Normal", SYNCED, MESSAGE_SYNCED)
        if reported != available or not isinstance(step, Nothing):
            log.info("synced", extra={"deployment": object_name(deployment), "available": available})

    def update_foo_status(self, foo: Foo, available: int) -> None:
        """Write the number of available replicas to the Foo's status."""
        updated = replace(foo, status=FooStatus(available_replicas=available))
        client = self._api.foos(foo.metadata.namespace)
        self._foos.mutation(client.update_status(updated, field_manager=COMPONENT))

    def enqueue_foo(self, foo: Foo) -> None:
        """Queue a Foo."""
        self.queue.add(object_name(foo))

    def enqueue_all(self) -> None:
        """Queue every Foo: this replica may have gained some of them."""
        for foo in self._lister.list():
            self.enqueue_foo(foo)

    def update_foo(self, _old: Foo, new: Foo) -> None:
        """Queue a Foo that changed or was resynced."""
        self.enqueue_foo(new)

    def delete_foo(self, deleted: Foo | DeletedFinalStateUnknown[Foo]) -> None:
        """Forget a deleted Foo; the garbage collector deletes its Deployment."""
        self.queue.forget(object_name(deleted))

    def update_deployment(self, old: Deployment, new: Deployment) -> None:
        """Queue the Foo of a changed Deployment; ignore resyncs, which repeat the same version."""
        if old.metadata.resource_version != new.metadata.resource_version:
            self.handle_deployment(new)

    def delete_deployment(self, deleted: Deployment | DeletedFinalStateUnknown[Deployment]) -> None:
        """Queue the Foo of a deleted Deployment, which creates it again."""
        deployment = last_known(deleted)
        if deployment is not None:
            self.handle_deployment(deployment)

    def handle_deployment(self, deployment: Deployment) -> None:
        """Queue the Foo that controls this Deployment, if there is one."""
        owner = controller_of(deployment)
        if owner is not None and owner.kind == "Foo" and owner.api_version.startswith("samplecontroller.k8s.io/"):
            self.queue.add(ObjectName(deployment.metadata.namespace, owner.name))

    def _is_current(self, foo: Foo) -> bool:
        """Return whether the server still has the Foo, with this name for its Deployment.

        Checked before its Deployment is created again, and before another one is deleted. The Deployment may be gone
        because its Foo was deleted and the cache does not know yet. A Deployment created for a deleted Foo would be
        garbage collected at once, and then be created again.
        """
        try:
            stored = self._api.foos(foo.metadata.namespace).get(foo.metadata.name)
        except NotFound:
            return False
        return stored.metadata.uid == foo.metadata.uid and stored.spec.deployment_name == foo.spec.deployment_name

    def _delete_renamed(self, foo: Foo) -> None:
        """Delete the Deployments that the Foo controls under names that its spec had before."""
        controlled = self._deployments.by_index(BY_CONTROLLER, foo.metadata.uid)
        renamed = [deployment.metadata for deployment in controlled if is_renamed(deployment, foo)]
        if not renamed or not self._is_current(foo):
            return
        client = self._apps.deployments(foo.metadata.namespace)
        for meta in renamed:
            try:
                client.delete(meta.name, DeleteOptions(preconditions=Preconditions(uid=meta.uid)))
            except (NotFound, Conflict):
                continue  # deleted by an earlier sync; the cache does not know yet
            log.info("deleted the Deployment of the former name", extra={"deployment": meta.name})

    def _carry_out(self, step: Create | Resize | Nothing) -> Deployment:
        match step:
            case Create(wanted):
                client = self._apps.deployments(wanted.metadata.namespace)
                deployment = client.create(wanted, field_manager=COMPONENT)
            case Resize(current, replicas):
                # A patch of the one field that the Foo controls: it keeps fields that others have set. The uid prevents
                # that it changes another Deployment, created under this name in the meantime.
                client = self._apps.deployments(current.metadata.namespace)
                patch = {"metadata": {"uid": current.metadata.uid}, "spec": {"replicas": replicas}}
                deployment = client.patch(current.metadata.name, patch, field_manager=COMPONENT)
            case Nothing(current):
                return current
        self._deployments.mutation(deployment)
        return deployment
