"""Pools of members, each a ConfigMap: mistakes about names, numbers and deletions."""

from collections.abc import Iterable

from clientgo.errors import AlreadyExists
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Result
from clientgo.meta import ObjectMeta, ObjectName, is_controlled_by
from clientgo.typed.options import DeleteOptions, Preconditions
from tests.perturb.bench.kinds import BenchReconciler, Pool, config


class PoolReconciler(BenchReconciler[Pool], owns=[ConfigMap]):
    """Keeps one ConfigMap for each wanted member, under a name that follows from the spec."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Create what is missing, and delete what is too much, if the server still has this very spec."""
        expected = self.wanted(pool)
        for name, data in expected.items():
            self.client.apply(config(pool, name, data, {"pool": pool.metadata.name}), owner=pool, force=True)
        surplus = self.surplus(pool, expected)
        if surplus and not self.may_delete(pool):
            return Result(requeue_after=1.0)
        for member in surplus:
            self.client.delete(member, missing_ok=True)
        self.observed(pool, done=len(expected))
        return None

    def wanted(self, pool: Pool) -> dict[str, dict[str, str]]:
        """Return the data of each member by its name."""
        return {f"{pool.metadata.name}-{index}": {"tier": pool.spec.tier} for index in range(pool.spec.replicas)}

    def members(self, pool: Pool) -> Iterable[ConfigMap]:
        """Return the members that exist."""
        namespace, label = pool.metadata.namespace, f"pool={pool.metadata.name}"
        return self.client.list(ConfigMap, namespace=namespace, label_selector=label)

    def surplus(self, pool: Pool, expected: dict[str, dict[str, str]]) -> list[ConfigMap]:
        """Return the members that are too much."""
        members = [member for member in self.members(pool) if is_controlled_by(member, pool)]
        return [member for member in members if member.metadata.name not in expected]

    def may_delete(self, pool: Pool) -> bool:
        """Return whether the decision to delete is based on the current spec."""
        return self.is_current(pool)


class StaleScaleDown(PoolReconciler):
    """Bug: members are deleted by a spec that may be an old one."""

    def may_delete(self, pool: Pool) -> bool:
        """Trust the cache."""
        return True


class ListedPool(PoolReconciler):
    """Members by their place in a list; each has its name as data."""

    def wanted(self, pool: Pool) -> dict[str, dict[str, str]]:
        """Number the members."""
        return {f"{pool.metadata.name}-{index}": {"name": name} for index, name in enumerate(pool.spec.members)}


class RemovedItemStays(ListedPool):
    """Bug: an item that is removed from the list leaves the last member behind."""

    def surplus(self, pool: Pool, expected: dict[str, dict[str, str]]) -> list[ConfigMap]:
        """Delete nothing."""
        return []


class WrongEnd(PoolReconciler):
    """Bug: of too many members the first ones are deleted, and those left have other numbers than new ones would."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Keep the number of members."""
        members = sorted(self.members(pool), key=lambda member: member.metadata.name)
        if len(members) < pool.spec.replicas or not self.may_delete(pool):
            return super().reconcile(pool)
        for member in members[: len(members) - pool.spec.replicas]:
            self.client.delete(member, missing_ok=True)
        self.observed(pool, done=pool.spec.replicas)
        return None


class TierPool(PoolReconciler):
    """Members with the tier in their names and labels."""

    def wanted(self, pool: Pool) -> dict[str, dict[str, str]]:
        """Name members by the tier."""
        return {f"{pool.metadata.name}-{pool.spec.tier}-{index}": {} for index in range(pool.spec.replicas)}


class LooksByNewTier(TierPool):
    """Bug: members are looked for by the current tier, and those of the tier before are not seen any more."""

    def members(self, pool: Pool) -> Iterable[ConfigMap]:
        """Look for the prefix."""
        prefix = f"{pool.metadata.name}-{pool.spec.tier}-"
        return [member for member in super().members(pool) if member.metadata.name.startswith(prefix)]


class NamedChild(BenchReconciler[Pool], owns=[ConfigMap]):
    """Keeps one ConfigMap, whose name it records in the status."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Create it, then record it."""
        self.observed(pool, name=pool.status.name or self.create(pool))
        return None

    def create(self, pool: Pool) -> str:
        """Create it under a name that follows from the uid, so that a second attempt finds the first."""
        child = config(pool, f"{pool.metadata.name}-child", {})
        try:
            return self.client.create(child, owner=pool).metadata.name
        except AlreadyExists:
            return child.metadata.name


class GeneratedName(NamedChild):
    """Bug: the server chooses the name, and a crash before the status is written forgets the child."""

    def create(self, pool: Pool) -> str:
        """Create another one."""
        meta = ObjectMeta(generate_name=f"{pool.metadata.name}-", namespace=pool.metadata.namespace)
        return self.client.create(ConfigMap(metadata=meta), owner=pool).metadata.name


class Session(BenchReconciler[Pool], owns=[ConfigMap]):
    """Keeps an immutable ConfigMap of the session: a new session means a new ConfigMap of the same name."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Replace the ConfigMap of an older session."""
        existing = self.client.find(ConfigMap, ObjectName(pool.metadata.namespace, pool.metadata.name))
        if existing is not None and existing.data.get("session") != pool.spec.session:
            if not self.may_delete(pool):
                return Result(requeue_after=1.0)
            self.delete(existing)
            existing = None
        if existing is None:
            self.client.create(config(pool, pool.metadata.name, {"session": pool.spec.session}), owner=pool)
        self.observed(pool)
        return None

    def may_delete(self, pool: Pool) -> bool:
        """Return whether the spec is the current one."""
        return self.is_current(pool)

    def delete(self, existing: ConfigMap) -> None:
        """Delete this very ConfigMap; another one of the name is a conflict."""
        self.client.delete(existing, DeleteOptions(preconditions=Preconditions(uid=existing.metadata.uid)))


class DeletesByName(Session):
    """Bug: an old copy in the cache leads to the deletion of the new ConfigMap of that name."""

    def delete(self, existing: ConfigMap) -> None:
        """Delete any object of that name."""
        self.client.delete(existing, missing_ok=True)


class ChangesImmutable(Session):
    """Bug: what cannot be changed is changed, and the server rejects it for ever."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Apply, with the mark that nothing changes."""
        child = config(pool, pool.metadata.name, {"session": pool.spec.session})
        child = ConfigMap(metadata=child.metadata, data=child.data, immutable=True)
        self.client.apply(child, owner=pool, force=True)
        self.observed(pool)
        return None


class Revisions(BenchReconciler[Pool], owns=[ConfigMap]):
    """Keeps a ConfigMap for the current tier, and the status names it; it deletes those of earlier tiers."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Create the revision, then record it."""
        name = self.name(pool)
        if name is None:
            return None
        if self.client.find(ConfigMap, ObjectName(pool.metadata.namespace, name)) is None:
            try:
                self.client.create(config(pool, name, {"tier": pool.spec.tier}), owner=pool)
            except AlreadyExists:
                return Result(requeue_after=1.0)
        self.observed(pool, name=name, phase=pool.spec.tier)
        for revision in self.client.list(ConfigMap, namespace=pool.metadata.namespace):
            if is_controlled_by(revision, pool) and revision.data.get("tier") != pool.spec.tier:
                if not self.is_current(pool):
                    return Result(requeue_after=1.0)
                self.client.delete(revision, missing_ok=True)
        return None

    def name(self, pool: Pool) -> str | None:
        """Return the name of the tier's revision."""
        return f"{pool.metadata.name}-{pool.spec.tier}"


class RevisionByCount(Revisions):
    """Bug: the next number is the number of revisions in the cache, and a crash leads to one more."""

    def name(self, pool: Pool) -> str | None:
        """Count."""
        if pool.status.phase == pool.spec.tier:
            return None
        count = len(self.client.list(ConfigMap, namespace=pool.metadata.namespace))
        return f"{pool.metadata.name}-{count + 1}"


class Collector(BenchReconciler[Pool], finalizer="bench.example.com/collector"):
    """Keeps a ConfigMap in another namespace, and deletes those of pools that are gone."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Write its own, and collect those of others."""
        if not self.is_current(pool):
            return Result(requeue_after=1.0)
        meta = ObjectMeta(name=pool.metadata.name, namespace="kube-public", labels={"collected": "true"})
        self.client.apply(ConfigMap(metadata=meta, data={"tier": pool.spec.tier}), force=True)
        for child in self.client.list(ConfigMap, namespace="kube-public", label_selector="collected=true"):
            if not self.exists(ObjectName(pool.metadata.namespace, child.metadata.name)):
                self.client.delete(child, missing_ok=True)
        return None

    def exists(self, name: ObjectName) -> bool:
        """Return whether the server has a pool of that name."""
        return self.client.api_reader.find(Pool, name) is not None

    def finalize(self, pool: Pool) -> Result | None:
        """Delete its own."""
        meta = ObjectMeta(name=pool.metadata.name, namespace="kube-public")
        self.client.delete(ConfigMap(metadata=meta), missing_ok=True)
        return None


class StaleCollector(Collector):
    """Bug: a pool that the cache does not have yet loses its ConfigMap."""

    def exists(self, name: ObjectName) -> bool:
        """Ask the cache."""
        return self.client.find(Pool, name) is not None
