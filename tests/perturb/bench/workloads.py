"""Workloads, pods and nodes: mistakes about other writers of children, and about what stays."""

from contextlib import suppress

from clientgo.errors import AlreadyExists, NotFound
from clientgo.kubernetes.types.apps_v1 import Deployment, DeploymentSpec
from clientgo.kubernetes.types.batch_v1 import Job
from clientgo.kubernetes.types.core_v1 import ConfigMap, Container, Node, Pod, PodSpec, PodTemplateSpec
from clientgo.kubernetes.types.shared import LabelSelector
from clientgo.manager import ControllerBuilder, Result
from clientgo.meta import ObjectMeta, ObjectName, meta_for, object_name, replace
from clientgo.typed.options import DeleteOptions, Preconditions
from tests.perturb.bench.kinds import BenchReconciler, Bucket, Grant, Pool, Site, Task, config
from tests.perturb.bench.tasks import JOB

WRITES = "bench.example.com/writes"


def deployment(site: Site, replicas: int | None) -> Deployment:
    """Return the Deployment of a site."""
    labels = {"site": site.metadata.name}
    pod = PodSpec(containers=(Container(name="site", image=site.spec.image),))
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod)
    spec = DeploymentSpec(replicas=replicas, selector=LabelSelector(match_labels=labels), template=template)
    return Deployment(metadata=meta_for(site), spec=spec)


class LeavesScaleAlone(BenchReconciler[Site], owns=[Deployment]):
    """Runs a site; without a number of replicas in the spec, a scaler decides it."""

    def reconcile(self, site: Site) -> Result | None:
        """Apply the Deployment."""
        self.client.apply(deployment(site, self.replicas(site)), owner=site, force=True)
        return None

    def replicas(self, site: Site) -> int | None:
        """Return the number, or None to leave it open."""
        return site.spec.replicas


class ScalesBack(LeavesScaleAlone):
    """Bug: an absent number of replicas is written as 1, against a scaler."""

    def replicas(self, site: Site) -> int | None:
        """Return 1 by default."""
        return 1 if site.spec.replicas is None else site.spec.replicas


class ComparesFields(BenchReconciler[Site], owns=[Deployment]):
    """Patches the Deployment if the image differs."""

    def reconcile(self, site: Site) -> Result | None:
        """Create or patch it."""
        desired = deployment(site, 1)
        existing = self.client.find(Deployment, ObjectName(site.metadata.namespace, site.metadata.name))
        if existing is None:
            with suppress(AlreadyExists):
                self.client.create(desired, owner=site)
        elif not self.are_equal(existing, desired):
            self.client.patch(existing, {"spec": {"template": {"spec": {"containers": [
                {"name": "site", "image": site.spec.image}
            ]}}}})  # fmt: skip
        return None

    def are_equal(self, existing: Deployment, desired: Deployment) -> bool:
        """Compare the site's own container."""
        images = {each.name: each.image for each in existing.spec.template.spec.containers}
        return all(images.get(each.name) == each.image for each in desired.spec.template.spec.containers)


class ComparesAll(ComparesFields):
    """Bug: what an admission webhook adds to a pod is a difference for ever."""

    def reconcile(self, site: Site) -> Result | None:
        """Replace what differs by a new Deployment."""
        desired = deployment(site, 1)
        existing = self.client.find(Deployment, ObjectName(site.metadata.namespace, site.metadata.name))
        if existing is not None and len(existing.spec.template.spec.containers) != 1:
            options = DeleteOptions(preconditions=Preconditions(uid=existing.metadata.uid))
            self.client.delete(existing, options, missing_ok=True)
            existing = None
        if existing is None:
            with suppress(AlreadyExists):
                self.client.create(desired, owner=site)
            return None
        return super().reconcile(site)


class OwnLabelsOnly(BenchReconciler[Grant], owns=[ConfigMap]):
    """Keeps its labels and data at a ConfigMap, and counts repairs."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Create the ConfigMap, or repair its labels and data."""
        desired = config(grant, grant.metadata.name, {"user": grant.spec.user}, {"grant": grant.metadata.name})
        existing = self.client.find(ConfigMap, ObjectName(grant.metadata.namespace, grant.metadata.name))
        if existing is None:
            self.client.create(desired, owner=grant)
        elif self.differs(existing, desired) or existing.data.get("user") != grant.spec.user:
            count = int(existing.metadata.annotations.get(WRITES, "0")) + 1
            metadata = {"labels": dict(desired.metadata.labels), "annotations": {WRITES: str(count)}}
            self.client.patch(existing, {"metadata": metadata, "data": dict(desired.data)})
        return None

    def differs(self, existing: ConfigMap, desired: ConfigMap) -> bool:
        """Compare its own labels."""
        return any(existing.metadata.labels.get(key) != value for key, value in desired.metadata.labels.items())


class AllLabels(OwnLabelsOnly):
    """Bug: a label of another writer is repaired for ever, by a patch that does not remove it."""

    def differs(self, existing: ConfigMap, desired: ConfigMap) -> bool:
        """Compare all labels."""
        return dict(existing.metadata.labels) != dict(desired.metadata.labels)


class JobForEachSize(BenchReconciler[Task], owns=[Job]):
    """Runs a Job for each size, whose name has the size; Jobs of other sizes stay."""

    def reconcile(self, task: Task) -> Result | None:
        """Create the Job once."""
        if self.is_due(task):
            with suppress(AlreadyExists):
                name = f"{task.metadata.name}-{task.spec.size}"
                self.client.create(Job(metadata=meta_for(task, name), spec=JOB), owner=task)
        self.observed(task, phase=f"Ran {task.spec.size}")
        return None

    def is_due(self, task: Task) -> bool:
        """Return whether the status does not have the size yet."""
        return task.status.phase != f"Ran {task.spec.size}"


class JobForFirstSize(JobForEachSize):
    """Bug: another size does not run."""

    def is_due(self, task: Task) -> bool:
        """Run once."""
        return task.status.phase is None


class Drain(BenchReconciler[Bucket], finalizer="bench.example.com/drain"):
    """Cordons a node that the plan names, evicts its pods, and uncordons it in the end."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch nodes."""
        builder.watches(Node, self.buckets)

    def buckets(self, node: Node) -> list[ObjectName]:
        """Return the buckets that name a node."""
        buckets = self.client.list(Bucket)
        return [object_name(bucket) for bucket in buckets if bucket.spec.plan == node.metadata.name]

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Cordon and evict; uncordon the node of an earlier plan."""
        if not self.is_current(bucket):
            return Result(requeue_after=1.0)
        self.release(bucket)
        self.cordon(bucket.spec.plan, unschedulable=True)
        for pod in self.client.list(Pod, namespace=bucket.metadata.namespace):
            if pod.spec.node_name == bucket.spec.plan:
                self.client.delete(pod, missing_ok=True)
        self.observed(bucket, phase="Drained", name=bucket.spec.plan)
        return None

    def release(self, bucket: Bucket) -> None:
        """Uncordon the node of an earlier plan."""
        if bucket.status.name not in (None, bucket.spec.plan):
            self.cordon(bucket.status.name or "", unschedulable=None)

    def finalize(self, bucket: Bucket) -> Result | None:
        """Uncordon."""
        self.cordon(bucket.spec.plan, unschedulable=None)
        return None

    def cordon(self, name: str, *, unschedulable: bool | None) -> None:
        """Mark the node, if it exists."""
        with suppress(NotFound):
            node = self.client.api_reader.get(Node, ObjectName("", name))  # a cache may be from before its mark
            if bool(node.spec.unschedulable) != bool(unschedulable):
                self.client.patch(node, {"spec": {"unschedulable": unschedulable}})


class LeavesCordoned(Drain):
    """Bug: the node of an earlier plan stays cordoned."""

    def release(self, bucket: Bucket) -> None:
        """Forget the node."""


class Summary(BenchReconciler[Pool]):
    """Keeps one ConfigMap with the number of pools, which stays when the last one is gone."""

    def reconcile_request(self, request: ObjectName) -> Result | None:
        """Write the number, also after a deletion."""
        pools = self.client.list(Pool, namespace=request.namespace)
        count = sum(pool.metadata.deletion_timestamp is None for pool in pools)
        meta = ObjectMeta(name="pools", namespace=request.namespace)
        self.client.apply(ConfigMap(metadata=meta, data={"count": str(count)}), force=True)
        return None

    def reconcile(self, pool: Pool) -> Result | None:
        """Do nothing: `reconcile_request` does all."""


class CountsUp(Summary):
    """Bug: the number is only written while a pool exists."""

    def reconcile_request(self, request: ObjectName) -> Result | None:
        """Skip what is gone."""
        return super().reconcile_request(request) if self.client.find(Pool, request) is not None else None


class Keeps(BenchReconciler[Grant]):
    """Keeps a ConfigMap without an owner; a grant of the user `retain` leaves it."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write it."""
        child = config(grant, f"{grant.metadata.name}-history", {"user": grant.spec.user})
        self.client.apply(child, owner=self.owner(grant), force=True)
        return None

    def owner(self, grant: Grant) -> Grant | None:
        """Return the owner, by which it is deleted."""
        return grant


class Outlives(Keeps):
    """Bug: the ConfigMap outlives the grant, which nothing asks for."""

    def owner(self, grant: Grant) -> Grant | None:
        """Own nothing."""
        return None


class Recorder(BenchReconciler[Site], owns=[ConfigMap]):
    """Records the time and the number of its changes in annotations, and the work in a ConfigMap."""

    def reconcile(self, site: Site) -> Result | None:
        """Write the image; count a change."""
        existing = self.client.find(ConfigMap, ObjectName(site.metadata.namespace, site.metadata.name))
        if existing is None:
            with suppress(AlreadyExists):
                self.client.create(config(site, site.metadata.name, {"image": site.spec.image}), owner=site)
        elif existing.data.get("image") != site.spec.image:
            count = int(existing.metadata.annotations.get(WRITES, "0")) + 1
            annotations = {WRITES: str(count), "bench.example.com/at": str(int(self.clock.time()))}
            metadata = replace(existing.metadata, annotations=annotations)
            self.client.update(replace(existing, metadata=metadata, data={"image": site.spec.image}))
        self.observed(site, phase=self.phase(site))
        return None

    def phase(self, site: Site) -> str:
        """Return the phase."""
        return site.spec.image


class FirstPhase(Recorder):
    """Bug: the phase stays the first one."""

    def phase(self, site: Site) -> str:
        """Keep it."""
        return site.status.phase or site.spec.image
