"""The Foo controller: keeps one Deployment for each Foo, and says in the Foo's status how many replicas are available.

Informers tell of changes, handlers turn each into the name of a Foo in the queue, workers take names and call `sync`.
`sync` looks only at what is, never at what happened, so a name may come any number of times. An exception means "again,
later"; returning means "nothing until something changes".
"""

import logging
import threading

from clientgo.cache import DeletedFinalStateUnknown, MutationCache, last_known, wait_for_cache_sync
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import NotFound
from clientgo.kubernetes.clients.apps_v1 import AppsV1
from clientgo.kubernetes.informers.apps_v1 import DeploymentInformer
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.lifecycle import Group
from clientgo.meta import ObjectName, controller_of, object_name, replace
from clientgo.meta.declarations import rbac
from clientgo.reconcile.attempts import Attempts
from clientgo.record import EventRecorder
from clientgo.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
    RateLimitingQueue,
    ShutDown,
)
from controller.api.v1alpha1 import Foo, FooStatus
from controller.component import COMPONENT
from controller.desired import Create, Foreign, Nothing, Scale, plan
from controller.turns import Alone, Turn
from generated.clientset.samplecontroller_v1alpha1 import SamplecontrollerV1alpha1
from generated.informers.samplecontroller_v1alpha1 import FooInformer

log = logging.getLogger(__name__)

SYNCED, MESSAGE_SYNCED = "Synced", "Foo synced successfully"
ERR_RESOURCE_EXISTS = "ErrResourceExists"


class ResourceExists(Exception):
    """The Deployment's name is taken by one that is not the Foo's."""


# The verbs that are used and no others; hack/update-codegen.sh makes artifacts/rbac/role.yaml of them.
@rbac(groups="samplecontroller.k8s.io", resources="foos", verbs=("get", "list", "watch"))
@rbac(groups="samplecontroller.k8s.io", resources="foos/status", verbs="update")
# No request goes there. Clusters that enforce permissions on owner references (OpenShift does) ask for this verb before
# they let a Deployment say that it blocks its Foo's deletion.
@rbac(groups="samplecontroller.k8s.io", resources="foos/finalizers", verbs="update")
@rbac(groups="apps", resources="deployments", verbs=("create", "list", "patch", "watch"))
@rbac(groups="core", resources="events", verbs=("create", "patch"))
class Controller:
    """Syncs Foos with any number of workers, one Foo never in two of them at once."""

    def __init__(
        self,
        apps: AppsV1,
        foos: SamplecontrollerV1alpha1,
        deployment_informer: DeploymentInformer,
        foo_informer: FooInformer,
        recorder: EventRecorder,
        *,
        turn: Turn | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._apps = apps
        self._api = foos
        self._recorder = recorder
        self._turn: Turn = turn if turn is not None else Alone()
        self._clock = clock
        self._attempts = Attempts("Foo", expected=(ResourceExists,), clock=clock)
        self._lister = foo_informer.lister
        # What was written last stands in for the cache until the cache has caught up with it.
        self._foos: MutationCache[Foo] = MutationCache.over(foo_informer.informer, clock=clock)
        self._deployments: MutationCache[Deployment] = MutationCache.over(deployment_informer.informer, clock=clock)
        self.queue: RateLimitingQueue[ObjectName] = RateLimitingQueue(
            MaxOfRateLimiter(
                ItemExponentialFailureRateLimiter(0.005, 1000.0), BucketRateLimiter(50.0, 300, clock=clock)
            ),
            name="Foos",
            clock=clock,
        )
        self._synced = (
            foo_informer.informer.add_event_handler(
                on_add=self.enqueue_foo, on_update=self.update_foo, on_delete=self.delete_foo
            ),
            deployment_informer.informer.add_event_handler(
                on_add=self.handle_deployment, on_update=self.update_deployment, on_delete=self.delete_deployment
            ),
        )

        self._turn.when_changed(self.enqueue_all)

    def run(self, workers: int, stop: threading.Event, *, grace: float | None = None) -> None:
        """Sync with `workers` threads until `stop` is set; returns when each has finished the Foo it was at.

        Raises:
            StillRunning: some worker had not, `grace` seconds after `stop` was set.
        """
        log.info("waiting for informer caches to sync")
        if not wait_for_cache_sync(stop, *self._synced, clock=self._clock):
            return
        log.info("starting workers", extra={"count": workers})
        self._attempts.set_workers(workers)
        # Should a worker die, which nothing it does can cause, the others end too: fewer workers would go unnoticed.
        group = Group(stop=stop, clock=self._clock)
        for number in range(workers):
            group.start(self.run_worker, stop, name=f"worker-{number}")
        stop.wait()
        log.info("shutting down workers")
        self.queue.shut_down()
        group.join(grace)

    def run_worker(self, stop: threading.Event) -> None:
        """Sync one Foo after another until `stop` is set; what is queued then is for whoever runs next."""
        try:
            while not stop.is_set():
                self.process_next()
        except ShutDown:
            return

    def process_next(self) -> None:
        """Sync the next Foo in the queue; a failure puts it back, later each time."""
        with self.queue.taking() as key, self._attempts.at(key) as attempt:
            try:
                self.sync(key)
            except Exception as error:  # noqa: BLE001  # whatever went wrong with one Foo must not end the worker
                attempt.failed(error)
                self.queue.add_rate_limited(key)
            else:
                attempt.succeeded()
                self.queue.forget(key)

    def sync(self, key: ObjectName) -> None:
        """Make what exists for one Foo what its spec asks for, then its status what exists; writes only what changes.

        Raises:
            ResourceExists: its Deployment's name is taken.
            ApiError, ConnectionFailed: a write failed.
        """
        foo = self._foos.get_by_key(key)
        if foo is None:
            return  # deleted; its Deployment goes with it
        with self._turn.taking(foo.metadata.uid) as ours:
            if ours:
                self._sync(key, foo)

    def _sync(self, key: ObjectName, foo: Foo) -> None:
        if not foo.spec.deployment_name:
            # Absorbed: trying again can't help, only another spec can, and that comes as a change.
            log.error("deploymentName must be specified")
            return
        if foo.metadata.deletion_timestamp is not None:
            return  # its Deployment is the garbage collector's now, which would have to delete each new one too
        step = plan(foo, self._deployments.get_by_key(ObjectName(key.namespace, foo.spec.deployment_name)))
        if isinstance(step, Foreign):
            message = f'Resource "{step.name}" already exists and is not managed by Foo'
            self._recorder.event(foo, "Warning", ERR_RESOURCE_EXISTS, message)
            raise ResourceExists(message)
        reported = foo.status.available_replicas
        if isinstance(step, Create) and reported is not None and not self._exists(foo):
            log.info("Foo %s is gone", key)
            return
        deployment = self._carry_out(step)
        available = deployment.status.available_replicas or 0
        if reported != available:
            self.update_foo_status(foo, available)
        if reported is None or not isinstance(step, Nothing):
            self._recorder.event(foo, "Normal", SYNCED, MESSAGE_SYNCED)
        if reported != available or not isinstance(step, Nothing):
            log.info("Foo %s synced", key, extra={"deployment": object_name(deployment), "available": available})

    def update_foo_status(self, foo: Foo, available: int) -> None:
        """Write how many replicas are available into the Foo's status."""
        updated = replace(foo, status=FooStatus(available_replicas=available))
        client = self._api.foos(foo.metadata.namespace)
        self._foos.mutation(client.update_status(updated, field_manager=COMPONENT))

    def enqueue_foo(self, foo: Foo) -> None:
        """Have a Foo synced."""
        self.queue.add(object_name(foo))

    def enqueue_all(self) -> None:
        """Have every Foo synced: some may be this replica's only now."""
        for foo in self._lister.list():
            self.enqueue_foo(foo)

    def update_foo(self, old: Foo, new: Foo) -> None:
        """A Foo changed, or is shown again by a resync: have it synced."""
        self._foos.on_update(old, new)
        self.enqueue_foo(new)

    def delete_foo(self, deleted: Foo | DeletedFinalStateUnknown[Foo]) -> None:
        """A Foo went: what was remembered of it is void. Its Deployment is collected by the cluster."""
        self.queue.forget(object_name(deleted))
        self._foos.on_delete(object_name(deleted), last_known(deleted))

    def update_deployment(self, old: Deployment, new: Deployment) -> None:
        """A Deployment changed; a resync shows the same version again and is of no interest."""
        self._deployments.on_update(old, new)
        if old.metadata.resource_version != new.metadata.resource_version:
            self.handle_deployment(new)

    def delete_deployment(self, deleted: Deployment | DeletedFinalStateUnknown[Deployment]) -> None:
        """A Deployment went, perhaps unseen: have its Foo synced, which makes it again."""
        deployment = last_known(deleted)
        self._deployments.on_delete(object_name(deleted), deployment)
        if deployment is not None:
            self.handle_deployment(deployment)

    def handle_deployment(self, deployment: Deployment) -> None:
        """Have the Foo that controls this Deployment synced, if a Foo does."""
        owner = controller_of(deployment)
        if owner is not None and owner.kind == "Foo" and owner.api_version.startswith("samplecontroller.k8s.io/"):
            self.queue.add(ObjectName(deployment.metadata.namespace, owner.name))

    def _exists(self, foo: Foo) -> bool:
        """Asked of the server before a Deployment that had been there is made again.

        It may be gone because its Foo is, and the cache has not heard of that yet: each one made for a Foo that is gone
        would be collected at once, and be missed again.
        """
        try:
            return self._api.foos(foo.metadata.namespace).get(foo.metadata.name).metadata.uid == foo.metadata.uid
        except NotFound:
            return False

    def _carry_out(self, step: Create | Scale | Nothing) -> Deployment:
        match step:
            case Create(wanted):
                client = self._apps.deployments(wanted.metadata.namespace)
                deployment = client.create(wanted, field_manager=COMPONENT)
            case Scale(current, replicas):
                # The one field the Foo speaks for: whatever others have set on the Deployment stays.
                client = self._apps.deployments(current.metadata.namespace)
                patch = {"spec": {"replicas": replicas}}
                deployment = client.patch(current.metadata.name, patch, field_manager=COMPONENT)
            case Nothing(current):
                return current
        self._deployments.mutation(deployment)
        return deployment
