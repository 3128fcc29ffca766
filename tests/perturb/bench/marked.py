"""Controllers of built-in kinds, which labels and annotations tell what to do."""

from clientgo.kubernetes.types.core_v1 import Namespace, Service
from clientgo.kubernetes.types.rbac_v1 import RoleBinding, RoleRef, Subject
from clientgo.manager import Finalizer, Result
from clientgo.meta import ObjectMeta, ObjectName, object_name
from tests.perturb.bench.kinds import BenchReconciler

HOST, TEAM, TIER = "bench.example.com/host", "bench.example.com/team", "bench.example.com/tier"


class RecordsHost(BenchReconciler[Service]):
    """Keeps a record at the provider for the host that a Service's annotation names, with a finalizer."""

    def reconcile_request(self, request: ObjectName) -> Result | None:
        """Write the record, or remove it with the annotation, and with the Service."""
        service = self.client.find(Service, request)
        if service is None:
            return None
        finalizer = Finalizer(self.client, "bench.example.com/record")
        host = service.metadata.annotations.get(HOST)
        if host and service.metadata.deletion_timestamp is None:
            if self.client.still_exists(service):
                self.write(service, host, finalizer)
        elif finalizer.is_on(service):
            self.cloud.records.pop(str(request), None)
            finalizer.remove(service)
        return None

    def write(self, service: Service, host: str, finalizer: Finalizer) -> None:
        """Add the finalizer, then the record."""
        finalizer.ensure(service)
        self.cloud.records[str(object_name(service))] = host


class RecordBeforeFinalizer(RecordsHost):
    """Bug: the record is written before the finalizer, and stays if the Service is deleted between them."""

    def write(self, service: Service, host: str, finalizer: Finalizer) -> None:
        """Write the record, then add the finalizer."""
        self.cloud.records[str(object_name(service))] = host
        finalizer.ensure(service)


class BindsTeam(BenchReconciler[Namespace], owns=[RoleBinding]):
    """Gives the team that a label names, and its tier, rights in the namespace."""

    def reconcile(self, namespace: Namespace) -> Result | None:
        """Write a binding, or delete it with the label."""
        labels, name = namespace.metadata.labels, namespace.metadata.name
        meta = ObjectMeta(name="team", namespace=name, labels={TIER: labels.get(TIER, "none")})
        ref = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="edit")
        existing = self.client.find(RoleBinding, ObjectName(name, "team"))
        if TEAM in labels:
            group = self.group(labels[TEAM], existing)
            subject = Subject(api_group="rbac.authorization.k8s.io", kind="Group", name=group)
            self.client.apply(RoleBinding(metadata=meta, role_ref=ref, subjects=[subject]), owner=namespace, force=True)
        elif existing is not None:
            live = self.client.api_reader.find(Namespace, object_name(namespace))
            if live is not None and TEAM not in live.metadata.labels:
                self.client.delete(existing, missing_ok=True)
        return None

    def group(self, team: str, existing: RoleBinding | None) -> str:
        """Return the group that gets the rights."""
        return team


class BindsFirstTeam(BindsTeam):
    """Bug: a binding that exists stays with the team that the namespace had first."""

    def group(self, team: str, existing: RoleBinding | None) -> str:
        """Return the group that has the rights already."""
        return existing.subjects[0].name if existing is not None else team
