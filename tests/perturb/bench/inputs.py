"""Controllers of grants, sites and pools: mistakes about labels, refused values, lists, and what was valid before."""

from clientgo.errors import Invalid
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ControllerBuilder, Result
from clientgo.manager.predicates import GenerationChanged
from clientgo.meta import ObjectName
from tests.perturb.bench.kinds import BenchReconciler, Bucket, Grant, Pool, Site, config

TEAM = "bench.example.com/team"
COLOUR = "bench.example.com/colour"


class TeamGrant(BenchReconciler[Grant], owns=[ConfigMap]):
    """Copies the team of a grant, a label, to its ConfigMap."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the team."""
        data = {"team": grant.metadata.labels.get(TEAM, "none")}
        self.client.apply(config(grant, grant.metadata.name, data), owner=grant, force=True)
        return None


class IgnoresLabels(TeamGrant):
    """Bug: only changes of the spec are seen, and the label is read as well."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Ignore what does not change the generation."""
        builder.with_predicates(GenerationChanged())


class ColourGrant(BenchReconciler[Grant], owns=[ConfigMap]):
    """Copies the colour of a grant, an annotation that few grants have."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the colour."""
        data = {"colour": grant.metadata.annotations.get(COLOUR, "grey")}
        if self.is_due(grant):
            self.client.apply(config(grant, grant.metadata.name, data), owner=grant, force=True)
        self.observed(grant, phase="Ready")
        return None

    def is_due(self, grant: Grant) -> bool:
        """Return whether the ConfigMap is written."""
        return True


class ColourOnce(ColourGrant):
    """Bug: a current status means that nothing has to be done, and an annotation does not change the generation."""

    def is_due(self, grant: Grant) -> bool:
        """Trust the generation."""
        return grant.status.observed_generation != grant.metadata.generation


class LabelCopier(BenchReconciler[Grant], owns=[ConfigMap]):
    """Copies the labels of a grant to its ConfigMap."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write them."""
        child = config(grant, grant.metadata.name, {"user": grant.spec.user}, dict(grant.metadata.labels))
        self.client.apply(child, owner=grant, force=True)
        return None


class LabelStays(LabelCopier):
    """Bug: a label that is removed from the grant stays at the ConfigMap."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Merge them."""
        name = ObjectName(grant.metadata.namespace, grant.metadata.name)
        existing = self.client.find(ConfigMap, name)
        if existing is None:
            return super().reconcile(grant)
        if any(existing.metadata.labels.get(key) != value for key, value in grant.metadata.labels.items()):
            self.client.patch(existing, {"metadata": {"labels": dict(grant.metadata.labels)}})
        return None


class ReportsInvalid(BenchReconciler[Grant], owns=[ConfigMap]):
    """Labels its ConfigMap by the user, and reports a user that is not a valid label."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the label, or report."""
        user = grant.spec.user
        child = config(grant, grant.metadata.name, {"user": user}, {"user": user})
        try:
            self.client.apply(child, owner=grant, force=True)
        except Invalid as error:
            self.report(grant, error)
            return None
        self.observed(grant, phase="Ready", name=user)
        return None

    def report(self, grant: Grant, error: Invalid) -> None:
        """Report it in the status."""
        self.observed(grant, phase="Invalid", name=None)


class ClaimsRefused(ReportsInvalid):
    """Bug: the status claims what the server has refused."""

    def report(self, grant: Grant, error: Invalid) -> None:
        """Ignore the error."""
        self.observed(grant, phase="Ready", name=grant.spec.user)


class RecoversFromInvalid(ReportsInvalid):
    """Reports a user that is not a valid label, and recovers."""


class InvalidForEver(ReportsInvalid):
    """Bug: what was refused once is never tried again."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Stop at a failure."""
        return None if grant.status.phase == "Invalid" else super().reconcile(grant)


class NamedBucket(BenchReconciler[Bucket], owns=[ConfigMap]):
    """Keeps a ConfigMap of a name of the user; retries what the server refuses, without a report."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write the ConfigMap."""
        if not self.is_current(bucket):
            return Result(requeue_after=1.0)
        self.client.apply(config(bucket, f"{bucket.spec.plan}-plan", {}), owner=bucket, force=True)
        for child in self.client.list(ConfigMap, namespace=bucket.metadata.namespace):
            owned = any(owner.uid == bucket.metadata.uid for owner in child.metadata.owner_references)
            if owned and child.metadata.name != f"{bucket.spec.plan}-plan":
                self.client.delete(child, missing_ok=True)
        self.observed(bucket, phase="Ready", name=bucket.spec.plan)
        return None


class RecordsFirst(NamedBucket):
    """Bug: the name is in the status before the server has accepted it."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Record, then write."""
        self.observed(bucket, phase="Ready", name=bucket.spec.plan)
        return super().reconcile(bucket)


class Quota(BenchReconciler[Bucket], owns=[ConfigMap]):
    """Marks a bucket that is too large as Degraded, and resets the mark."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Judge the size."""
        size = str(bucket.spec.size)
        self.client.apply(config(bucket, bucket.metadata.name, {"size": size}), owner=bucket, force=True)
        self.judge(bucket, is_too_large=bucket.spec.size == 7)
        return None

    def judge(self, bucket: Bucket, *, is_too_large: bool) -> None:
        """Write the phase."""
        self.observed(bucket, phase="Degraded" if is_too_large else "Ready")


class DegradedForEver(Quota):
    """Bug: the mark is set and never reset."""

    def judge(self, bucket: Bucket, *, is_too_large: bool) -> None:
        """Keep a mark."""
        super().judge(bucket, is_too_large=is_too_large or bucket.status.phase == "Degraded")


class SortedHosts(BenchReconciler[Site], owns=[ConfigMap]):
    """Keeps the hosts in order, and counts the writes in an annotation."""

    def reconcile(self, site: Site) -> Result | None:
        """Write the hosts if they differ."""
        existing = self.client.find(ConfigMap, ObjectName(site.metadata.namespace, site.metadata.name))
        hosts = " ".join(sorted(site.spec.hosts))
        if existing is None:
            self.client.create(config(site, site.metadata.name, {"hosts": hosts}), owner=site)
        elif not self.are_equal(existing.data.get("hosts", ""), site):
            count = str(int(existing.metadata.annotations.get("writes", "0")) + 1)
            self.client.patch(existing, {"metadata": {"annotations": {"writes": count}}, "data": {"hosts": hosts}})
        return None

    def are_equal(self, stored: str, site: Site) -> bool:
        """Return whether nothing has to change."""
        return stored == " ".join(sorted(site.spec.hosts))


class ComparesUnsorted(SortedHosts):
    """Bug: the stored hosts are sorted, and compared with those of the user; each comparison leads to a write."""

    def are_equal(self, stored: str, site: Site) -> bool:
        """Compare in the user's order."""
        return stored == " ".join(site.spec.hosts)


class DistinctMembers(BenchReconciler[Pool], owns=[ConfigMap]):
    """Keeps a ConfigMap for each different member; the status has their number."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Write the members, and delete others."""
        if not self.is_current(pool):
            return Result(requeue_after=1.0)
        names = {f"{pool.metadata.name}-{member}" for member in pool.spec.members}
        for name in sorted(names):
            self.client.apply(config(pool, name, {}, {"pool": pool.metadata.name}), owner=pool, force=True)
        label = f"pool={pool.metadata.name}"
        for child in self.client.list(ConfigMap, namespace=pool.metadata.namespace, label_selector=label):
            if child.metadata.name not in names:
                self.client.delete(child, missing_ok=True)
        self.report(pool, len(names))
        return None

    def report(self, pool: Pool, count: int) -> None:
        """Write the number."""
        self.observed(pool, done=count)


class WaitsForAll(DistinctMembers):
    """Bug: with a member twice there are never as many ConfigMaps as members, and the status is written each time."""

    def report(self, pool: Pool, count: int) -> None:
        """Count attempts until all are there."""
        if count == len(pool.spec.members):
            super().report(pool, count)
        else:
            self.observed(pool, done=(pool.status.done or 0) + 1)
