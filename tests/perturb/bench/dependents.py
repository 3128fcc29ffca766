"""Controllers whose objects depend on others: mistakes about what is late, changed, deleted, or of another owner."""

from clientgo.errors import NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.manager import ControllerBuilder, Result
from clientgo.meta import ObjectName, controller_of, new_controller_ref, replace
from tests.perturb.bench.kinds import BenchReconciler, Bucket, Grant, Site, config


class ColourSite(BenchReconciler[Site], owns=[ConfigMap]):
    """Copies the colour of its settings, and follows them."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch the ConfigMaps that sites name."""
        builder.watches(ConfigMap, self.sites_with)

    def sites_with(self, settings: ConfigMap) -> list[ObjectName]:
        """Return the sites that name a ConfigMap."""
        sites = self.client.list(Site, namespace=settings.metadata.namespace)
        named = (site.metadata for site in sites if site.spec.settings == settings.metadata.name)
        return [ObjectName(meta.namespace, meta.name) for meta in named]

    def reconcile(self, site: Site) -> Result | None:
        """Write the colour; settings that are missing are reported, and the last colour stays."""
        settings = self.client.find(ConfigMap, ObjectName(site.metadata.namespace, site.spec.settings or "none"))
        if site.spec.settings is None and self.is_current(site):
            self.client.delete(config(site, f"{site.metadata.name}-colour", {}), missing_ok=True)
        if settings is None:
            return self.report_missing(site)
        self.write(site, settings.data.get("colour", ""))
        self.observed(site, phase="Ready")
        return None

    def write(self, site: Site, colour: str) -> None:
        """Write the ConfigMap."""
        child = config(site, f"{site.metadata.name}-colour", {"colour": colour})
        self.client.apply(child, owner=site, force=True)

    def report_missing(self, site: Site) -> Result | None:
        """Report it in the status."""
        self.observed(site, phase="NoSettings")
        return None


class SettingsUnwatched(ColourSite):
    """Bug: the settings are read, and not watched."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch nothing more."""


class PollsSettings(ColourSite):
    """Looks at the settings each five minutes."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch nothing more."""

    def reconcile(self, site: Site) -> Result | None:
        """Come back."""
        super().reconcile(site)
        return Result(requeue_after=300.0)


class PollsWhileMissing(PollsSettings):
    """Bug: once there were settings, they are not looked at any more."""

    def reconcile(self, site: Site) -> Result | None:
        """Come back until there are settings."""
        return None if site.status.phase == "Ready" else super().reconcile(site)


class MissingForEver(ColourSite):
    """Bug: settings that were missing once are not looked for again."""

    def reconcile(self, site: Site) -> Result | None:
        """Stop at a failure."""
        return None if site.status.phase == "NoSettings" else super().reconcile(site)


class CreationOnly(ColourSite):
    """Bug: of the settings only the creation is followed, not a change."""

    def write(self, site: Site, colour: str) -> None:
        """Create what is missing."""
        name = ObjectName(site.metadata.namespace, f"{site.metadata.name}-colour")
        if self.client.find(ConfigMap, name) is None:
            super().write(site, colour)


class DeletedSettings(ColourSite):
    """Deletes its ConfigMap while there are no settings."""

    def report_missing(self, site: Site) -> Result | None:
        """Delete the copy, if the server has no settings either."""
        name = ObjectName(site.metadata.namespace, site.spec.settings or "none")
        if not self.is_current(site) or self.client.api_reader.find(ConfigMap, name) is not None:
            return Result(requeue_after=1.0)
        self.client.delete(config(site, f"{site.metadata.name}-colour", {}), missing_ok=True)
        return super().report_missing(site)


class ForgetsAfterDeletion(DeletedSettings):
    """Bug: settings that were deleted and created again are those of before, and the copy stays deleted."""

    def write(self, site: Site, colour: str) -> None:
        """Write a colour once."""
        seen: dict[str, str] = self.__dict__.setdefault("seen", {})
        if seen.get(site.metadata.uid) != colour:
            super().write(site, colour)
        seen[site.metadata.uid] = colour


class Credentials(BenchReconciler[Bucket], owns=[ConfigMap]):
    """Keeps the length of the user's password, which a Secret has."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch Secrets."""
        builder.watches(Secret, self.buckets_with)

    def buckets_with(self, secret: Secret) -> list[ObjectName]:
        """Return the buckets that name a Secret."""
        buckets = self.client.list(Bucket, namespace=secret.metadata.namespace)
        named = (bucket.metadata for bucket in buckets if bucket.spec.secret_name == secret.metadata.name)
        return [ObjectName(meta.namespace, meta.name) for meta in named]

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write the length; without a Secret, the framework tries again."""
        name = ObjectName(bucket.metadata.namespace, bucket.spec.secret_name)
        secret = self.client.find(Secret, name)
        if secret is None:
            raise NotFound(f"Secret {name} not found")
        data = {"length": str(len(secret.data.get("password", b"")))}
        self.client.apply(config(bucket, bucket.metadata.name, data), owner=bucket, force=True)
        return None


class SecretIsLate(Credentials):
    """Bug: a Secret that does not exist is taken for an empty one, and is not watched."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch nothing more."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write 0 without a Secret."""
        secret = self.client.find(Secret, ObjectName(bucket.metadata.namespace, bucket.spec.secret_name))
        data = {"length": str(len(secret.data.get("password", b"")) if secret else 0)}
        self.client.apply(config(bucket, bucket.metadata.name, data), owner=bucket, force=True)
        return None


class RespectsOwners(BenchReconciler[Grant], owns=[ConfigMap]):
    """Keeps a ConfigMap, unless another controller has one of the name."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Create it, replace it, or report."""
        desired = config(grant, grant.metadata.name, {"user": grant.spec.user})
        existing = self.client.find(ConfigMap, ObjectName(grant.metadata.namespace, grant.metadata.name))
        if existing is None:
            self.client.create(desired, owner=grant)
        elif self.is_foreign(grant, existing):
            self.observed(grant, phase="NameInUse")
            return None
        elif existing.data != desired.data or controller_of(existing) is None or self.is_foreign_owner(grant, existing):
            metadata = replace(existing.metadata, owner_references=(new_controller_ref(grant),))
            self.client.update(replace(existing, data=desired.data, metadata=metadata))
        self.observed(grant, phase="Ready")
        return None

    def is_foreign(self, grant: Grant, existing: ConfigMap) -> bool:
        """Return whether another object is its controller."""
        return self.is_foreign_owner(grant, existing)

    def is_foreign_owner(self, grant: Grant, existing: ConfigMap) -> bool:
        """Return whether it has another controller."""
        owner = controller_of(existing)
        return owner is not None and owner.uid != grant.metadata.uid


class StealsChildren(RespectsOwners):
    """Bug: the child of another controller is taken over."""

    def is_foreign(self, grant: Grant, existing: ConfigMap) -> bool:
        """Trust names."""
        return False
