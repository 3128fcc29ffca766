"""Controllers whose objects refer to others: by name, by address, by hash, or in a list that others write, too."""

import zlib

from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import ConfigMap, LocalObjectReference, Namespace, Pod, Secret, ServiceAccount
from clientgo.manager import ControllerBuilder, Result
from clientgo.meta import ObjectMeta, ObjectName, change, is_controlled_by, object_name
from tests.perturb.bench.kinds import BenchReconciler, Bucket, Grant, Pool, Site, config
from tests.perturb.bench.settled import Autoscaled
from tests.perturb.bench.workloads import deployment

OF = "references.bench.example.com/grant"
CONFIG = "references.bench.example.com/config"
ADDED = "pull"


class KeepsScale(Autoscaled):
    """Creates the Deployment with the number of the spec, which its autoscaler changes later."""

    def replicas(self, site: Site) -> int | None:
        """Return the present number, or that of the spec."""
        existing = self.client.api_reader.find(Deployment, object_name(site))
        return site.spec.replicas if existing is None else existing.spec.replicas


class Addresses(BenchReconciler[Grant], owns=[ConfigMap]):
    """Lists the addresses of all pods."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when a pod changes."""
        builder.watches(Pod, lambda _: [object_name(grant) for grant in self.client.list(Grant)])

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the addresses by the pods' names."""
        addresses = {each.metadata.name: each.status.pod_ip or "" for each in self.client.list(Pod)}
        self.client.apply(config(grant, grant.metadata.name, addresses), owner=grant, force=True)
        return None


class AddressesOnce(Addresses):
    """Bug: the addresses are those of the pods that there were when the grant was created."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch nothing more."""


class Watched(BenchReconciler[Grant], owns=[ConfigMap]):
    """Keeps a ConfigMap."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Apply what differs."""
        existing = self.client.find(ConfigMap, object_name(grant))
        if existing is None or existing.data.get("user") != grant.spec.user:
            self.client.apply(config(grant, grant.metadata.name, {"user": grant.spec.user}), owner=grant, force=True)
        return None


class Unwatched(BenchReconciler[Grant]):
    """Bug: the ConfigMap is not watched, and created again only after the next change of the grant, or a restart."""

    reconcile = Watched.reconcile


class FollowsName(BenchReconciler[Grant], finalizer="references.bench.example.com/copies"):
    """Keeps a ConfigMap in the namespace that is called as the user."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when a namespace is created."""
        builder.watches(Namespace, lambda _: [object_name(grant) for grant in self.client.list(Grant)])

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the copy, and remove those in other namespaces."""
        if not self.is_current(grant):
            return Result(requeue_after=1.0)
        if self.client.api_reader.find(Namespace, ObjectName("", grant.spec.user)) is not None:
            meta = ObjectMeta(name=grant.metadata.name, namespace=grant.spec.user, labels={OF: grant.metadata.name})
            self.client.apply(ConfigMap(metadata=meta), force=True)
        for copy in self.former(grant):
            self.client.delete(copy, missing_ok=True)
        return None

    def former(self, grant: Grant) -> list[ConfigMap]:
        """Return the copies in namespaces of former users."""
        return [each for each in self.copies(grant) if each.metadata.namespace != grant.spec.user]

    def copies(self, grant: Grant) -> list[ConfigMap]:
        """Return all copies."""
        return [*self.client.api_reader.list(ConfigMap, label_selector=f"{OF}={grant.metadata.name}")]

    def finalize(self, grant: Grant) -> None:
        """Delete all copies."""
        for copy in self.copies(grant):
            self.client.delete(copy, missing_ok=True)


class FormerCopyStays(FollowsName):
    """Bug: the copy in the namespace that was named before stays until the grant is deleted."""

    def former(self, grant: Grant) -> list[ConfigMap]:
        """Look for none."""
        return []


class AddsPullSecret(BenchReconciler[Grant], finalizer="references.bench.example.com/pull"):
    """Adds a Secret to those with which a service account of the user pulls images."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when a service account changes."""
        builder.watches(ServiceAccount, lambda _: [object_name(grant) for grant in self.client.list(Grant)])

    def reconcile(self, grant: Grant) -> Result | None:
        """Add it, unless it is there."""
        account = self.client.find(ServiceAccount, ObjectName(grant.metadata.namespace, "builder"))
        if account is not None and ADDED not in self.names(account) and self.client.still_exists(grant):
            self.write(account, [*self.others(account), ADDED])
        return None

    def finalize(self, grant: Grant) -> None:
        """Remove it."""
        account = self.client.api_reader.find(ServiceAccount, ObjectName(grant.metadata.namespace, "builder"))
        if account is not None and ADDED in self.names(account):
            self.write(account, self.others(account))

    def names(self, account: ServiceAccount) -> list[str]:
        """Return the names of all Secrets."""
        return [each.name for each in account.image_pull_secrets if each.name]

    def others(self, account: ServiceAccount) -> list[str]:
        """Return the names of the Secrets of others."""
        return [name for name in self.names(account) if name != ADDED]

    def write(self, account: ServiceAccount, names: list[str]) -> None:
        """Replace the list."""
        references = tuple(LocalObjectReference(name=name) for name in names)
        changed = change(account, lambda each: each.image_pull_secrets).to(references)
        self.client.patch_to(account, changed, optimistic_lock=True)


class OnlyItsPullSecret(AddsPullSecret):
    """Bug: the Secrets of others are removed from the list."""

    def others(self, account: ServiceAccount) -> list[str]:
        """Return none."""
        return []


class Requests(BenchReconciler[Pool], owns=[ConfigMap]):
    """Keeps a request, named by a hash, for the present session only."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Delete former requests, then create the present one."""
        if not self.is_current(pool):
            return Result(requeue_after=1.0)
        name = f"{pool.metadata.name}-{zlib.crc32(pool.spec.session.encode()):08x}"
        requests = [each for each in self.client.list(ConfigMap) if is_controlled_by(each, pool)]
        for each in self.former(requests, name):
            self.client.delete(each, missing_ok=True)
        self.client.apply(config(pool, name, {"session": pool.spec.session}), owner=pool, force=True)
        return None

    def former(self, requests: list[ConfigMap], name: str) -> list[ConfigMap]:
        """Return the requests of other names."""
        return [each for each in requests if each.metadata.name != name]


class RequestStays(Requests):
    """Bug: one of the former requests stays."""

    def former(self, requests: list[ConfigMap], name: str) -> list[ConfigMap]:
        """Return all but the first one."""
        return super().former(requests, name)[1:]


class NeedsSecret(BenchReconciler[Bucket], finalizer="references.bench.example.com/bucket"):
    """Keeps a record with the password of a Secret; without that, the last record stays, and the status reports it."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when a Secret changes."""
        builder.watches(Secret, lambda _: [object_name(bucket) for bucket in self.client.list(Bucket)])

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write the record."""
        secret = self.secret(bucket)
        if secret is not None and self.client.still_exists(bucket):
            self.cloud.records[bucket.metadata.name] = secret.data["password"].decode()
        self.observed(bucket, phase="Ready" if secret is not None else f"secret {bucket.spec.secret_name} not found")
        return None

    def secret(self, bucket: Bucket) -> Secret | None:
        """Return the Secret that the bucket names."""
        return self.client.find(Secret, ObjectName(bucket.metadata.namespace, bucket.spec.secret_name))

    def finalize(self, bucket: Bucket) -> None:
        """Remove the record."""
        self.cloud.records.pop(bucket.metadata.name, None)


class SecretFirst(NeedsSecret):
    """Bug: the Secret is needed to remove the record, and may be gone before."""

    def finalize(self, bucket: Bucket) -> None:
        """Log in with the password."""
        if (secret := self.secret(bucket)) is not None and secret.data["password"]:
            super().finalize(bucket)


class RollsByHash(BenchReconciler[Site], owns=[Deployment]):
    """Runs a site whose pods are replaced when its settings change."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when settings change."""
        builder.watches(ConfigMap, self.sites_with)

    def sites_with(self, settings: ConfigMap) -> list[ObjectName]:
        """Return the sites that name a ConfigMap."""
        sites = self.client.list(Site, namespace=settings.metadata.namespace)
        return [object_name(site) for site in sites if site.spec.settings == settings.metadata.name]

    def reconcile(self, site: Site) -> Result | None:
        """Apply the Deployment with a hash in its template."""
        settings = self.client.find(ConfigMap, ObjectName(site.metadata.namespace, site.spec.settings or "none"))
        digest = f"{zlib.crc32(repr(sorted(settings.data.items())).encode()):08x}" if settings is not None else "none"
        desired = deployment(site, site.spec.replicas)
        desired = change(desired, lambda each: each.spec.template.metadata.annotations).to({CONFIG: digest})
        self.client.apply(desired, owner=site, force=True)
        return None


class RollsByName(RollsByHash):
    """Bug: settings are followed only if they have the name of the site."""

    def sites_with(self, settings: ConfigMap) -> list[ObjectName]:
        """Return the site of that name."""
        return [object_name(settings)]


class Elects(BenchReconciler[Grant]):
    """Writes to the status which pod is the primary one: it stays so while it exists."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when a pod changes."""
        builder.watches(Pod, lambda _: [object_name(grant) for grant in self.client.list(Grant)])

    def reconcile(self, grant: Grant) -> Result | None:
        """Keep the primary, or elect the first one by name."""
        names = sorted(each.metadata.name for each in self.client.list(Pod))
        is_elected = grant.status.name in names
        self.observed(grant, name=grant.status.name if is_elected else (names or ["none"])[0])
        return None


class ElectsOnce(Elects):
    """Bug: pods are not watched, so that nothing is elected later."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch nothing more."""


class Generations(BenchReconciler[Site], owns=[ConfigMap]):
    """Keeps a ConfigMap that is named by the generation, and deletes the former ones."""

    def reconcile(self, site: Site) -> Result | None:
        """Write the present one, then delete the others."""
        if self.is_current(site):
            name = f"{site.metadata.name}-{site.metadata.generation:03d}"
            self.client.apply(config(site, name, {"image": site.spec.image}), owner=site, force=True)
            self.finish(site, name)
        return None

    def finish(self, site: Site, name: str) -> None:
        """Delete those of other generations, then write the status."""
        for each in self.client.api_reader.list(ConfigMap):
            if is_controlled_by(each, site) and each.metadata.name != name:
                self.client.delete(each, missing_ok=True)
        self.observed(site, name=name)


class FormerInStatus(Generations):
    """Bug: the former ConfigMap is that of the status, which is written before that is deleted."""

    def finish(self, site: Site, name: str) -> None:
        """Write the status, then delete the one that it named."""
        self.observed(site, name=name)
        if site.status.name not in (None, name):
            self.client.delete(config(site, str(site.status.name), {}), missing_ok=True)
