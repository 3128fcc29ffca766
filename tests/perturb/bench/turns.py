"""Turns: a lock, numbers, requests and deletions of which one is served at a time, and writes of which some fail."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from clientgo.clock import utc
from clientgo.errors import AlreadyExists, ApiError
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.batch_v1 import Job
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.log import get_logger
from clientgo.manager import ControllerBuilder, Result, remove_owner_reference, set_owner_reference
from clientgo.meta import ObjectMeta, ObjectName, change, is_controlled_by, meta_for, object_name
from clientgo.typed.options import DeleteOptions, Preconditions
from tests.perturb.bench.kinds import BenchReconciler, Bucket, Grant, Pool, Site, Task, config
from tests.perturb.bench.settled import Autoscaled
from tests.perturb.bench.tasks import JOB
from tests.perturb.bench.workloads import deployment

LOCKS = "kube-public"
PART, OF = "bench.example.com/part", "bench.example.com/of"
RESTARTED = "bench.example.com/restarted"

log = get_logger(__name__)


class Locks(BenchReconciler[Grant], finalizer="bench.example.com/lock"):
    """Gives the lock of a user to the grant that asks first; the others wait."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when a lock is free."""
        builder.watches(ConfigMap, lambda _: [object_name(grant) for grant in self.client.list(Grant)])

    def reconcile(self, grant: Grant) -> Result | None:
        """Release the lock of a former user, then ask for that of the present one."""
        name = ObjectName(LOCKS, f"lock-{grant.spec.user}")
        if (former := self.former(grant)) and self.client.is_current(grant):
            self.release(former)
        lock = self.client.find(ConfigMap, name)
        if lock is None and self.client.still_exists(grant):
            meta = ObjectMeta(name=name.name, namespace=name.namespace)
            lock = self.client.create(ConfigMap(metadata=meta, data={"holder": grant.metadata.name}))
        is_held = lock is not None and lock.data["holder"] == grant.metadata.name
        self.observed(grant, phase="Held" if is_held else "Waiting")
        return None

    def former(self, grant: Grant) -> list[ConfigMap]:
        """Return the locks that the grant holds of other users."""
        return [lock for lock in self.held(grant) if lock.metadata.name != f"lock-{grant.spec.user}"]

    def held(self, grant: Grant) -> list[ConfigMap]:
        """Return the locks that the grant holds."""
        locks = self.client.api_reader.list(ConfigMap, namespace=LOCKS)
        return [lock for lock in locks if lock.data.get("holder") == grant.metadata.name]

    def release(self, locks: Iterable[ConfigMap]) -> None:
        """Delete locks."""
        for lock in locks:
            options = DeleteOptions(preconditions=Preconditions(uid=lock.metadata.uid))
            self.client.delete(lock, options, missing_ok=True)

    def finalize(self, grant: Grant) -> None:
        """Release all locks."""
        self.release(self.held(grant))


class HoldsFormerLock(Locks):
    """Bug: the lock of a former user is held until the grant is deleted."""

    def former(self, grant: Grant) -> list[ConfigMap]:
        """Look for none."""
        return []


class NotedJobs(BenchReconciler[Task], owns=[Job]):
    """Runs a Job for each size, with the note that the task has at that time."""

    def reconcile(self, task: Task) -> Result | None:
        """Create the Job, then write which one has run."""
        if task.status.done != task.spec.size and self.client.is_current(task):
            self.run(task)
        return None

    def run(self, task: Task) -> None:
        """Create the Job before it is recorded."""
        self.create(task)
        self.observed(task, done=task.spec.size)

    def create(self, task: Task) -> None:
        """Create the Job of a size."""
        spec = change(JOB, lambda job: job.template.spec.containers[0].args).to((task.spec.note,))
        with suppress(AlreadyExists):
            self.client.create(Job(metadata=meta_for(task, f"a-{task.spec.size}"), spec=spec), owner=task)


class RecordsJobFirst(NotedJobs):
    """Bug: a Job is recorded before it is created."""

    def run(self, task: Task) -> None:
        """Record the Job before it is created."""
        self.observed(task, done=task.spec.size)
        self.create(task)


class Parts(BenchReconciler[Site], owns=[ConfigMap]):
    """Keeps a ConfigMap for each text, and counts them in the status."""

    def reconcile(self, site: Site) -> Result | None:
        """Write all parts, although some may fail."""
        errors: list[ApiError] = []
        for key, text in site.spec.content.items():
            try:
                self.client.apply(config(site, f"{site.metadata.name}-{key}", {"text": text}), owner=site, force=True)
            except ApiError as error:
                errors.append(error)
        self.remove(site)
        self.observed(site, done=len(site.spec.content) - len(errors))
        self.report(errors)
        return None

    def remove(self, site: Site) -> None:
        """Delete the parts of former texts."""
        names = {f"{site.metadata.name}-{key}" for key in site.spec.content}
        configs = self.client.list(ConfigMap, namespace=site.metadata.namespace)
        former = [each for each in configs if is_controlled_by(each, site) and each.metadata.name not in names]
        if former and self.client.is_current(site):
            for each in former:
                self.client.delete(each, missing_ok=True)

    def report(self, errors: list[ApiError]) -> None:
        """Retry what has failed."""
        if errors:
            raise errors[0]


class LogsFailedParts(Parts):
    """Bug: parts that fail are logged, and tried again only with the next event."""

    def report(self, errors: list[ApiError]) -> None:
        """Log."""
        for error in errors:
            log.warning("a part failed", extra={"err": error})


class ByIndex(BenchReconciler[Pool], owns=[ConfigMap]):
    """Keeps as many members as replicas, by their indexes."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Create the missing members, and delete the others."""
        members = {each.metadata.name: each for each in self.members(pool)}
        indexes = self.missing([*members], pool)
        names = {f"{pool.metadata.name}-{index}" for index in range(pool.spec.replicas)}
        if (indexes or members.keys() - names) and not self.client.is_current(pool):
            return Result(requeue_after=1.0)
        for index in indexes:
            self.client.create(config(pool, f"{pool.metadata.name}-{index}", {}, {OF: pool.metadata.name}), owner=pool)
        for name in members.keys() - names:
            self.client.delete(members[name], missing_ok=True)
        return None

    def members(self, pool: Pool) -> list[ConfigMap]:
        """Return the members of a pool."""
        configs = self.client.list(ConfigMap, namespace=pool.metadata.namespace)
        return [config for config in configs if is_controlled_by(config, pool)]

    def missing(self, names: list[str], pool: Pool) -> list[int]:
        """Return the indexes that no member has."""
        return [index for index in range(pool.spec.replicas) if f"{pool.metadata.name}-{index}" not in names]


class ByCount(ByIndex):
    """Bug: the indexes follow from the number of members, of which a middle one may be gone."""

    def missing(self, names: list[str], pool: Pool) -> list[int]:
        """Return the indexes above the number of members."""
        return [*range(len(names), pool.spec.replicas)]


class AsksAutoscaler(Autoscaled):
    """Bug: its own number of replicas is in conflict with the autoscaler, and no further change is applied."""

    is_forced = False

    def replicas(self, site: Site) -> int | None:
        """Return one."""
        return 1


class ImageOfSettings(BenchReconciler[Site], owns=[Deployment]):
    """Runs the image of a ConfigMap, by default the latest one."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch the settings."""
        builder.watches(ConfigMap, lambda _: [object_name(site) for site in self.client.list(Site)])

    def reconcile(self, site: Site) -> Result | None:
        """Apply the Deployment."""
        image = self.image(site)
        of_settings = change(site, lambda s: s.spec.image).to(image)
        self.client.apply(deployment(of_settings, 1), owner=site, force=True)
        return None

    def image(self, site: Site) -> str:
        """Return the image of the settings."""
        settings = self.client.find(ConfigMap, ObjectName(site.metadata.namespace, "settings"))
        return settings.data["colour"] if settings is not None else "site:latest"


class ImageAtStart(ImageOfSettings):
    """Bug: the image is read once for all sites."""

    _image = ""

    def image(self, site: Site) -> str:
        """Remember the first image."""
        self._image = self._image or super().image(site)
        return self._image


class Scales(BenchReconciler[Pool]):
    """Scales the Deployment that a pool names."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Scale it, if its number is another one."""
        name = ObjectName(pool.metadata.namespace, pool.spec.tier)
        target = self.client.find(Deployment, name)
        if target is not None and self.is_due(pool, target) and self.client.is_current(pool):
            deployments = self.client.typed(Deployment, name.namespace)
            deployments.patch_scale(name.name, {"spec": {"replicas": self.size(pool)}})
        self.observed(pool, done=self.size(pool))
        return Result(requeue_after=30.0)

    def size(self, pool: Pool) -> int:
        """Return the number of replicas."""
        return pool.spec.replicas

    def is_due(self, pool: Pool, target: Deployment) -> bool:
        """Compare the number."""
        return target.spec.replicas != self.size(pool)


class ScalesByStatus(Scales):
    """Bug: another Deployment of the same number is not scaled."""

    def is_due(self, pool: Pool, target: Deployment) -> bool:
        """Compare the status."""
        return pool.status.done != self.size(pool)


class WaitsForGrants(BenchReconciler[Bucket], finalizer="bench.example.com/grants"):
    """Keeps a bucket until the last grant is gone, which the server is asked for."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back with each grant."""
        builder.watches(Grant, lambda _: [object_name(bucket) for bucket in self.client.list(Bucket)])

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write the status."""
        self.observed(bucket, phase="Ready")
        return None

    def finalize(self, bucket: Bucket) -> Result | None:
        """Wait for the next event while there are grants."""
        return Result() if self.client.api_reader.list(Grant, namespace=bucket.metadata.namespace) else None


class WaitsForItself(WaitsForGrants):
    """Bug: grants are not watched, and a bucket that waits for them stays."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch none."""


class Adopts(BenchReconciler[Pool]):
    """Owns the ConfigMaps with the label of its tier, and releases them when the label changes."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back with each ConfigMap."""
        builder.watches(ConfigMap, lambda _: [object_name(pool) for pool in self.client.list(Pool)])

    def reconcile(self, pool: Pool) -> Result | None:
        """Adopt and release."""
        for each in self.client.list(ConfigMap, namespace=pool.metadata.namespace):
            is_own = any(owner.uid == pool.metadata.uid for owner in each.metadata.owner_references)
            if self.wants(each, pool, is_own=is_own) != is_own and self.client.is_current(pool):
                self.client.update((remove_owner_reference if is_own else set_owner_reference)(pool, each))
        return None

    def wants(self, each: ConfigMap, pool: Pool, *, is_own: bool) -> bool:
        """Return whether a ConfigMap has the label."""
        return each.metadata.labels.get(PART) == pool.spec.tier


class AdoptsForEver(Adopts):
    """Bug: what was adopted goes with the pool, although it has another label now."""

    def wants(self, each: ConfigMap, pool: Pool, *, is_own: bool) -> bool:
        """Keep what it owns."""
        return is_own or super().wants(each, pool, is_own=is_own)


class RestartsOnce(BenchReconciler[Bucket]):
    """Restarts the pods of a Deployment an hour after its own creation."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Restart them once."""
        began = bucket.metadata.creation_timestamp or utc(self.clock)
        due = began + timedelta(hours=1)
        if utc(self.clock) < due:
            return Result.until(due, clock=self.clock)
        if bucket.status.phase != "Restarted" and self.client.is_current(bucket):
            self.restart(bucket, due)
        return None

    def restart(self, bucket: Bucket, due: datetime) -> None:
        """Change the template, then write the status."""
        self.stamp(bucket, due)
        self.observed(bucket, phase="Restarted")

    def stamp(self, bucket: Bucket, due: datetime) -> None:
        """Write the time to the template of the Deployment."""
        app = self.client.find(Deployment, ObjectName(bucket.metadata.namespace, "app"))
        if app is not None:
            metadata = {"annotations": {RESTARTED: due.isoformat()}}
            self.client.patch(app, {"spec": {"template": {"metadata": metadata}}})


class RestartsAfterStatus(RestartsOnce):
    """Bug: the status says that the pods are restarted before they are."""

    def restart(self, bucket: Bucket, due: datetime) -> None:
        """Write the status first."""
        self.observed(bucket, phase="Restarted")
        self.stamp(bucket, due)
