"""Sites: a ConfigMap of the texts, and mistakes about changes, errors, loops and the status."""

from clientgo.errors import ApiError, Conflict
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ControllerBuilder, Result, create_or_update
from clientgo.meta import ObjectName, replace
from tests.perturb.bench.kinds import BenchReconciler, Site, config


class SiteReconciler(BenchReconciler[Site], owns=[ConfigMap]):
    """Keeps a ConfigMap with the site's texts, then says so in the status."""

    def reconcile(self, site: Site) -> Result | None:
        """Write the ConfigMap before the status."""
        self.write(site)
        self.observed(site, phase="Ready")
        return None

    def write(self, site: Site) -> None:
        """Create or update the ConfigMap."""
        desired = config(site, site.metadata.name, self.data(site))
        create_or_update(self.client, desired, lambda existing: replace(existing, data=desired.data))

    def data(self, site: Site) -> dict[str, str]:
        """Return the ConfigMap's contents."""
        return {"image": site.spec.image, **site.spec.content}


class OwningSite(SiteReconciler):
    """As above, with an owner reference; the base of the controllers whose mistake is elsewhere."""

    def write(self, site: Site) -> None:
        """Apply the ConfigMap."""
        self.client.apply(config(site, site.metadata.name, self.data(site)), owner=site, force=True)


class StatusFirst(OwningSite):
    """Bug: the status is written before the work, and taken as a sign that the work is done."""

    def reconcile(self, site: Site) -> Result | None:
        """Skip what the status calls done."""
        if site.status.observed_generation == site.metadata.generation:
            return None
        self.observed(site, phase="Ready")
        self.write(site)
        return None


class OnCreationOnly(OwningSite):
    """Bug: a change of the site is not carried over to an existing ConfigMap."""

    def write(self, site: Site) -> None:
        """Create what is missing."""
        if self.client.find(ConfigMap, ObjectName(site.metadata.namespace, site.metadata.name)) is None:
            super().write(site)


class KeyStays(OwningSite):
    """Bug: a merge patch adds and changes keys, and removes none."""

    def write(self, site: Site) -> None:
        """Patch what exists."""
        desired = config(site, site.metadata.name, self.data(site))
        if self.client.find(ConfigMap, ObjectName(site.metadata.namespace, site.metadata.name)) is None:
            self.client.create(desired, owner=site)
        else:
            self.client.patch(desired, {"data": dict(desired.data)})


class PutSite(OwningSite):
    """Replaces the ConfigMap, so that a change in the meantime is a conflict; a conflict is retried."""

    def write(self, site: Site) -> None:
        """Replace what exists, if it differs."""
        existing = self.client.find(ConfigMap, ObjectName(site.metadata.namespace, site.metadata.name))
        if existing is None:
            self.client.create(config(site, site.metadata.name, self.data(site)), owner=site)
        elif dict(existing.data) != self.data(site):
            self.client.update(replace(existing, data=self.data(site)))


class ConflictSwallowed(PutSite):
    """Bug: a conflict is taken as a sign that another replica does the work."""

    def reconcile(self, site: Site) -> Result | None:
        """Ignore conflicts."""
        try:
            return super().reconcile(site)
        except Conflict:
            return None


class ErrorSwallowed(OwningSite):
    """Bug: an error is ignored, and no event leads to a second attempt."""

    def reconcile(self, site: Site) -> Result | None:
        """Ignore what the server says."""
        try:
            return super().reconcile(site)
        except ApiError:
            return None


class ScaledSite(OwningSite):
    """Splits the texts by the number of replicas; one without a number."""

    def data(self, site: Site) -> dict[str, str]:
        """Return the contents with the share of each replica."""
        replicas = 1 if site.spec.replicas is None else site.spec.replicas
        return {"image": site.spec.image, "share": str(100 // max(1, replicas))}


class AbsentReplicas(ScaledSite):
    """Bug: an absent number is not thought of."""

    def data(self, site: Site) -> dict[str, str]:
        """Divide by what is there."""
        return {"image": site.spec.image, "share": str(100 // max(1, site.spec.replicas))}  # type: ignore[operator, type-var]


class ClaimsTooMuch(OwningSite):
    """Bug: the status claims the new generation while the ConfigMap still has the old one."""

    def reconcile(self, site: Site) -> Result | None:
        """Claim first."""
        ready = {"type": "Ready", "status": "True", "reason": "Applied", "message": ""}
        condition = {**ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        self.observed(site, conditions=[{**condition, "observedGeneration": site.metadata.generation}])
        self.write(site)
        return None


class TruthfulSite(ClaimsTooMuch):
    """The same status, after the work."""

    def reconcile(self, site: Site) -> Result | None:
        """Work first."""
        self.write(site)
        return super().reconcile(site)


class SettingsSite(OwningSite):
    """Copies a value from a ConfigMap that the site names, and follows its changes."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch the ConfigMaps that sites name."""
        builder.watches(ConfigMap, self.sites_with)

    def sites_with(self, settings: ConfigMap) -> list[ObjectName]:
        """Return the sites that name a ConfigMap."""
        namespace = settings.metadata.namespace
        sites = self.client.list(Site, namespace=namespace)
        return [ObjectName(namespace, s.metadata.name) for s in sites if s.spec.settings == settings.metadata.name]

    def data(self, site: Site) -> dict[str, str]:
        """Return the contents with the colour of the settings."""
        name = ObjectName(site.metadata.namespace, site.spec.settings or "none")
        settings = self.client.find(ConfigMap, name)
        return {"image": site.spec.image, "colour": settings.data.get("colour", "") if settings else ""}


class SettingsNotWatched(SettingsSite):
    """Bug: what the site refers to is read, and its changes are not watched."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch nothing more."""


class Autoscaler(BenchReconciler[Site], name="autoscaler"):
    """Counts the hosts in the ConfigMap's annotations."""

    key = "bench.example.com/hosts"

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when the ConfigMap changes."""
        builder.owns(ConfigMap)

    def reconcile(self, site: Site) -> Result | None:
        """Annotate the ConfigMap, if it exists."""
        existing = self.client.find(ConfigMap, ObjectName(site.metadata.namespace, site.metadata.name))
        hosts = str(len(site.spec.hosts)) if site.spec.hosts else None
        if existing is not None and existing.metadata.annotations.get(self.key) != hosts:
            self.client.patch(existing, {"metadata": {"annotations": {self.key: hosts}}})
        return None


class FightingSite(PutSite):
    """Bug: annotations that it did not write itself are removed, and another controller writes one for hosts."""

    def write(self, site: Site) -> None:
        """Have no annotations."""
        super().write(site)
        existing = self.client.find(ConfigMap, ObjectName(site.metadata.namespace, site.metadata.name))
        if existing is not None and existing.metadata.annotations:
            self.client.update(replace(existing, metadata=replace(existing.metadata, annotations={})))


class CountsItself(OwningSite):
    """Bug: each reconciliation writes a counter, whose event is the next reconciliation."""

    def reconcile(self, site: Site) -> Result | None:
        """Count."""
        self.write(site)
        self.observed(site, done=(site.status.done or 0) + 1)
        return None


class HostsSite(OwningSite):
    """Keeps the hosts, sorted."""

    def reconcile(self, site: Site) -> Result | None:
        """Write the hosts if they changed."""
        existing = self.client.find(ConfigMap, ObjectName(site.metadata.namespace, site.metadata.name))
        before = existing.data.get("hosts", "").split() if existing else None
        if before is None or not self.are_equal(before, site.spec.hosts):
            data = {"hosts": " ".join(sorted(set(site.spec.hosts)))}
            self.client.apply(config(site, site.metadata.name, data, self.labels(existing)), owner=site, force=True)
        self.observed(site)
        return None

    def are_equal(self, before: list[str], hosts: tuple[str, ...]) -> bool:
        """Return whether nothing has to change."""
        return set(before) == set(hosts)

    def labels(self, existing: ConfigMap | None) -> dict[str, str]:
        """Return the labels of a changed ConfigMap."""
        return {}


class ListByOrder(HostsSite):
    """Bug: the sorted hosts are compared with those of the spec, item by item, and each change is counted."""

    def are_equal(self, before: list[str], hosts: tuple[str, ...]) -> bool:
        """Compare lists."""
        return before == list(hosts)

    def labels(self, existing: ConfigMap | None) -> dict[str, str]:
        """Count."""
        return {"changes": str(int(existing.metadata.labels.get("changes", "0")) + 1 if existing else 0)}
