"""Grants in other namespaces: mistakes about owners, names and objects of others."""

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ControllerBuilder, MapFuncs, Result
from clientgo.meta import ObjectMeta, ObjectName, controller_of, new_controller_ref, replace
from tests.perturb.bench.kinds import BenchReconciler, Grant, config


class GrantReconciler(BenchReconciler[Grant], finalizer="bench.example.com/grant"):
    """Keeps a ConfigMap in the target namespace, which a finalizer removes."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the ConfigMap, if the object still exists."""
        if not self.is_current(grant):
            return Result(requeue_after=1.0)
        self.client.apply(self.child(grant), force=True)
        return None

    def child(self, grant: Grant) -> ConfigMap:
        """Return the ConfigMap."""
        return ConfigMap(metadata=ObjectMeta(name=f"grant-{grant.metadata.name}", namespace="kube-public"))

    def finalize(self, grant: Grant) -> Result | None:
        """Delete the ConfigMap."""
        self.client.delete(self.child(grant), missing_ok=True)
        return None


class LeavesChild(BenchReconciler[Grant]):
    """Bug: nothing removes the ConfigMap of another namespace."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write it."""
        meta = ObjectMeta(name=f"grant-{grant.metadata.name}", namespace="kube-public")
        self.client.apply(ConfigMap(metadata=meta), force=True)
        return None


class OwnerElsewhere(GrantReconciler):
    """Bug: an owner in another namespace does not exist for the garbage collector, which deletes the ConfigMap."""

    def child(self, grant: Grant) -> ConfigMap:
        """Add an owner."""
        child = super().child(grant)
        return replace(child, metadata=replace(child.metadata, owner_references=(new_controller_ref(grant),)))


class Careful(BenchReconciler[Grant], owns=[ConfigMap]):
    """Keeps a ConfigMap of the grant's name, unless another user has one of that name."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Respect what others own."""
        desired = config(grant, grant.metadata.name, {"user": grant.spec.user})
        existing = self.client.api_reader.find(ConfigMap, ObjectName(grant.metadata.namespace, grant.metadata.name))
        if existing is not None and self.is_foreign(grant, existing):
            self.observed(grant, phase="NameInUse")
            return None
        self.client.apply(desired, owner=grant, force=True)
        self.observed(grant, phase="Ready")
        return None

    def is_foreign(self, grant: Grant, existing: ConfigMap) -> bool:
        """Return whether this grant is not its controller."""
        owner = controller_of(existing)
        return owner is None or owner.uid != grant.metadata.uid


class TakesOver(Careful):
    """Bug: an object of another user that has the name is overwritten."""

    def is_foreign(self, grant: Grant, existing: ConfigMap) -> bool:
        """Trust names."""
        return False


class LabelledByUser(BenchReconciler[Grant], owns=[ConfigMap]):
    """Labels its ConfigMap by the user."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the label, if it is one."""
        user = grant.spec.user
        self.client.apply(
            config(grant, grant.metadata.name, {"user": user}, self.labels(user)), owner=grant, force=True
        )
        self.observed(grant, phase="Ready")
        return None

    def labels(self, user: str) -> dict[str, str]:
        """Return the label with the characters that a label may have."""
        return {"user": "".join(c if c.isascii() and c.isalnum() else "x" for c in user)[:63]}


class AnyLabel(LabelledByUser):
    """Bug: a user's name that is no label is rejected for ever."""

    def labels(self, user: str) -> dict[str, str]:
        """Use the name as it is."""
        return {"user": user}


class Counter(BenchReconciler[Grant]):
    """Counts the ConfigMaps whose label names the grant."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Count."""
        label = f"grant={grant.metadata.name}"
        self.observed(grant, done=len(self.client.list(ConfigMap, label_selector=label)))
        return None

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back when a ConfigMap is, or was, labelled so."""
        builder.watches(ConfigMap, self.named)

    def named(self, labelled: ConfigMap) -> list[ObjectName]:
        """Return the grant that the label names."""
        name = labelled.metadata.labels.get("grant")
        return [ObjectName("default", name)] if name else []


class OldLabelIgnored(Counter):
    """Bug: a ConfigMap that moves from one grant to another changes only the count of the new one."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Come back for the new label only."""
        functions = MapFuncs(create=self.named, update=lambda _, new: self.named(new), delete=self.named)
        builder.watches(ConfigMap, functions)
