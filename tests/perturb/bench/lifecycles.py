"""Controllers of which objects end, pause or refuse: mistakes that show only after a deletion, a pause or a refusal."""

from clientgo.errors import AlreadyExists
from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace
from clientgo.manager import Condition, ControllerBuilder, Result, is_status_condition_true, set_status_condition
from clientgo.manager.predicates import GenerationChanged
from clientgo.meta import ObjectMeta, ObjectName, is_controlled_by, object_name, replace, to_dict
from tests.perturb.bench.kinds import BenchReconciler, Bucket, Grant, Pool, Site, config

PAUSED = "lifecycles.bench.example.com/paused"
COPY = "bench.example.com/copy"


class TaggedVolume(BenchReconciler[Bucket], finalizer="bench.example.com/volume"):
    """Keeps a volume, which the provider numbers, and finds it by its tag, the uid of the bucket."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Create the volume, then write its number to the status."""
        number = self.volume(bucket)
        if not number and self.client.still_exists(bucket):
            number = next(f"vol-{n}" for n in range(1, 99) if f"vol-{n}" not in self.cloud.records)
            self.cloud.records[number] = str(bucket.metadata.uid)
        self.observed(bucket, name=number)
        return None

    def finalize(self, bucket: Bucket) -> None:
        """Delete the volume."""
        self.cloud.records.pop(self.volume(bucket), None)

    def volume(self, bucket: Bucket) -> str:
        """Return the number of the volume; empty if there is none."""
        return next((number for number, tag in self.cloud.records.items() if tag == bucket.metadata.uid), "")


class VolumeByStatus(TaggedVolume):
    """Bug: a bucket is deleted before the number is in the status, and the volume stays for ever."""

    def finalize(self, bucket: Bucket) -> None:
        """Delete the volume that the status names."""
        self.cloud.records.pop(bucket.status.name or "", None)


class CopiesGrant(BenchReconciler[Grant], finalizer="bench.example.com/copies"):
    """Keeps a ConfigMap for a grant in another namespace, where it cannot have the grant as its owner."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when a namespace is created."""
        builder.watches(Namespace, lambda _: [object_name(grant) for grant in self.client.list(Grant)])

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the copy."""
        if self.client.find(Namespace, ObjectName("", "team")) is not None and self.client.still_exists(grant):
            meta = ObjectMeta(name=f"copy-{grant.metadata.name}", namespace="team")
            self.client.apply(ConfigMap(metadata=meta, data={"user": grant.spec.user}), force=True)
        return None

    def finalize(self, grant: Grant) -> None:
        """Delete the copy."""
        meta = ObjectMeta(name=f"copy-{grant.metadata.name}", namespace="team")
        self.client.delete(ConfigMap(metadata=meta), missing_ok=True)


class LeavesCopy(CopiesGrant):
    """Bug: the copy in another namespace outlives the grant, until that namespace is deleted."""

    def finalize(self, grant: Grant) -> None:
        """Rely on the garbage collector."""


class Pausable(BenchReconciler[Grant], owns=[ConfigMap]):
    """Leaves a grant alone that is paused by an annotation."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the ConfigMap."""
        if grant.metadata.annotations.get(PAUSED) != "true":
            self.client.apply(config(grant, grant.metadata.name, {"user": grant.spec.user}), owner=grant, force=True)
        return None


class StaysPaused(Pausable, predicates=[GenerationChanged()]):
    """Bug: the end of a pause does not change the generation, and what was changed meanwhile is never carried out."""


class OwnsConfig(BenchReconciler[Grant], owns=[ConfigMap]):
    """Keeps a ConfigMap, also if it is deleted, and says that it is there."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the ConfigMap, then the condition."""
        if not self.is_done(grant):
            self.client.apply(config(grant, grant.metadata.name, {"user": grant.spec.user}), owner=grant, force=True)
            ready = Condition(type="Ready", status="True", reason="Kept", observed_generation=grant.metadata.generation)
            conditions = set_status_condition(grant.status.conditions, ready, clock=self.clock)
            changed = replace(grant, status=replace(grant.status, conditions=conditions))
            self.observed(grant, conditions=to_dict(changed)["status"]["conditions"])
        return None

    def is_done(self, grant: Grant) -> bool:
        """Return whether the ConfigMap has the user."""
        child = self.client.find(ConfigMap, object_name(grant))
        return child is not None and child.data.get("user") == grant.spec.user and self.says_so(grant)

    def says_so(self, grant: Grant) -> bool:
        """Return whether the condition is that of this generation."""
        return is_status_condition_true(grant.status.conditions, "Ready", generation=grant.metadata.generation)


class ReadyForEver(OwnsConfig):
    """Bug: a grant that is ready is not looked at again, not even if its ConfigMap is deleted."""

    def is_done(self, grant: Grant) -> bool:
        """Trust the condition."""
        return self.says_so(grant)


class FixedSize(BenchReconciler[Bucket], owns=[ConfigMap]):
    """Keeps a ConfigMap of the first size, which cannot change, and reports a change that it does not carry out."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Create the ConfigMap, or compare."""
        name, size = object_name(bucket), str(bucket.spec.size)
        existing = self.client.find(ConfigMap, name)
        if existing is None or not is_controlled_by(existing, bucket):
            try:
                existing = self.client.create(config(bucket, name.name, {"size": size}), owner=bucket)
            except AlreadyExists:
                return Result(requeue_after=1.0)
        self.report(bucket, is_fixed=existing.data["size"] != size)
        return None

    def report(self, bucket: Bucket, *, is_fixed: bool) -> None:
        """Say what was done."""
        self.observed(bucket, phase="Unsupported" if is_fixed else "Ready")


class HidesFixedSize(FixedSize):
    """Bug: a size that is not carried out is reported as if it were."""

    def report(self, bucket: Bucket, *, is_fixed: bool) -> None:
        """Say that all is well."""
        super().report(bucket, is_fixed=False)


class SiteImages(BenchReconciler[Site]):
    """Writes to the status of a site where its image is served."""

    def reconcile(self, site: Site) -> Result | None:
        """Write the address."""
        self.observed(site, name=f"https://{site.metadata.name}/{site.spec.image}")
        return None


class FollowsSite(BenchReconciler[Pool], owns=[ConfigMap]):
    """Keeps a ConfigMap with the address of the site that its tier names; while there is none, it leaves all alone."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when a site changes."""
        builder.watches(Site, lambda site: [object_name(pool) for pool in self.client.list(Pool)])

    def reconcile(self, pool: Pool) -> Result | None:
        """Write the address."""
        site = self.client.find(Site, ObjectName(pool.metadata.namespace, pool.spec.tier))
        if site is None or not site.status.name:
            self.observed(pool, phase="Pending")
            return self.wait()
        self.client.apply(config(pool, pool.metadata.name, {"address": site.status.name}), owner=pool, force=True)
        self.observed(pool, phase="Ready")
        return None

    def wait(self) -> Result | None:
        """Wait for an event."""
        return None


class AsksOnce(FollowsSite):
    """Bug: the address is polled until it is there, and its later changes are not seen."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch nothing."""

    def wait(self) -> Result | None:
        """Poll."""
        return Result(requeue_after=5.0)
