"""Controllers at rest: mistakes that a restart, a slow pod, or the objects and records of others show."""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from clientgo.clock import utc
from clientgo.errors import AlreadyExists
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.autoscaling_v2 import (
    CrossVersionObjectReference,
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec,
)
from clientgo.kubernetes.types.core_v1 import ConfigMap, Node, Secret, Taint
from clientgo.manager import Condition, ControllerBuilder, Result, set_status_condition
from clientgo.meta import ObjectName, is_controlled_by, meta_for, object_name, replace, to_dict
from clientgo.typed.options import DeleteOptions, Preconditions
from tests.perturb.bench.kinds import BenchReconciler, Bucket, Grant, Site, Task, config
from tests.perturb.bench.workloads import deployment

TTL = "bench.example.com/ttl"
TAINT = Taint(key="bench.example.com/drained", effect="NoSchedule")
REPLICAS = "bench.example.com/replicas"


class HostRecords(BenchReconciler[Site], finalizer="bench.example.com/hosts"):
    """Keeps a record of the provider for each host."""

    def reconcile(self, site: Site) -> Result | None:
        """Remove the records of former hosts, and add those of the present ones."""
        if self.client.is_current(site):
            for host in self.former(site):
                self.cloud.records.pop(host)
            self.cloud.records.update(dict.fromkeys(site.spec.hosts, site.metadata.name))
        return None

    def former(self, site: Site) -> list[str]:
        """Return the hosts that the site has no more."""
        return [host for host in self.records(site) if host not in site.spec.hosts]

    def records(self, site: Site) -> list[str]:
        """Return the hosts that have a record of the site."""
        return [host for host, name in self.cloud.records.items() if name == site.metadata.name]

    def finalize(self, site: Site) -> None:
        """Remove all records."""
        for host in self.records(site):
            self.cloud.records.pop(host)


class HostStays(HostRecords):
    """Bug: the record of a host that is removed from the list stays until the site is deleted."""

    def former(self, site: Site) -> list[str]:
        """Look for none."""
        return []


class OldestGrants(BenchReconciler[Grant]):
    """Admits the two oldest grants; the others wait."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Look at all grants if one changes or is deleted."""
        builder.watches(Grant, lambda _: [object_name(grant) for grant in self.client.list(Grant)])

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the phase."""
        grants = [each for each in self.client.list(Grant) if each.metadata.deletion_timestamp is None]
        grants.sort(key=lambda each: (each.metadata.creation_timestamp, each.metadata.name))
        is_admitted = any(each.metadata.uid == grant.metadata.uid for each in grants[:2])
        self.observed(grant, phase="Admitted" if is_admitted else "Waiting")
        return None


class WaitsForEver(OldestGrants):
    """Bug: a grant that waits is not looked at when another one is deleted."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Watch no others."""


class TokenOnce(BenchReconciler[Bucket], owns=[Secret]):
    """Creates a Secret with a random token, which stays."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Create the Secret."""
        secret = self.client.api_reader.find(Secret, object_name(bucket))
        if secret is None:
            data = {"token": secrets.token_bytes(8)}
            self.client.create(Secret(metadata=meta_for(bucket), data=data), owner=bucket)
        else:
            self.keep(secret)
        return None

    def keep(self, secret: Secret) -> None:
        """Leave the token."""


class TokenOfTheProcess(TokenOnce):
    """Bug: each start of the operator chooses other tokens."""

    tokens: dict[str, bytes] | None = None

    def keep(self, secret: Secret) -> None:
        """Write the token that this process has chosen."""
        self.tokens = self.tokens or {}
        token = self.tokens.setdefault(secret.metadata.name, secrets.token_bytes(8))
        if secret.data["token"] != token:
            self.client.update(replace(secret, data={"token": token}))


class RolledOut(BenchReconciler[Site], owns=[Deployment]):
    """Runs a site, and is ready once the Deployment is rolled out."""

    def reconcile(self, site: Site) -> Result | None:
        """Apply the Deployment, then write the condition."""
        stored = self.client.apply(deployment(site, site.spec.replicas or 1), owner=site, force=True)
        condition = Condition(
            type="Ready", status="True" if self.is_ready(stored) else "False", reason="Rollout",
            observed_generation=site.metadata.generation,
        )  # fmt: skip
        conditions = set_status_condition(site.status.conditions, condition, clock=self.clock)
        changed = replace(site, status=replace(site.status, conditions=conditions))
        self.observed(site, conditions=to_dict(changed)["status"]["conditions"])
        return None

    def is_ready(self, stored: Deployment) -> bool:
        """Return whether the status is that of this generation, and all pods are new and available."""
        return stored.status.observed_generation == stored.metadata.generation and self.are_available(stored)

    def are_available(self, stored: Deployment) -> bool:
        """Return whether all pods are new and available, by the status."""
        status = stored.status
        return status.replicas == status.updated_replicas == status.available_replicas == stored.spec.replicas


class ReadyByOldStatus(RolledOut):
    """Bug: right after a change the status is still that of the Deployment before."""

    def is_ready(self, stored: Deployment) -> bool:
        """Trust the status."""
        return self.are_available(stored)


class Autoscaled(BenchReconciler[Site], owns=[Deployment, HorizontalPodAutoscaler]):
    """Runs a site, whose autoscaler decides how many replicas there are."""

    is_forced = True

    def reconcile(self, site: Site) -> Result | None:
        """Apply the Deployment and the autoscaler."""
        self.client.apply(deployment(site, self.replicas(site)), owner=site, force=self.is_forced)
        target = CrossVersionObjectReference(api_version="apps/v1", kind="Deployment", name=site.metadata.name)
        spec = HorizontalPodAutoscalerSpec(max_replicas=9, scale_target_ref=target)
        self.client.apply(HorizontalPodAutoscaler(metadata=meta_for(site), spec=spec), owner=site, force=True)
        return None

    def replicas(self, site: Site) -> int | None:
        """Leave the number open."""
        return None


class FightsAutoscaler(Autoscaled):
    """Bug: the number of the spec is written in spite of the autoscaler."""

    def replicas(self, site: Site) -> int | None:
        """Return the number of the spec."""
        return site.spec.replicas


class Expires(BenchReconciler[ConfigMap]):
    """Deletes ConfigMaps after the seconds that an annotation names; it looks at all of them, the first one first."""

    def reconcile(self, _: ConfigMap) -> Result | None:
        """Delete what has expired, and come back."""
        for each in sorted(self.client.list(ConfigMap), key=object_name):
            seconds = self.seconds(each)
            age = (
                utc(self.clock) - each.metadata.creation_timestamp if each.metadata.creation_timestamp else timedelta()
            )
            if seconds is not None and age >= timedelta(seconds=seconds):
                self.client.delete(
                    each, DeleteOptions(preconditions=Preconditions(uid=each.metadata.uid)), missing_ok=True
                )
        return Result(requeue_after=30.0)

    def seconds(self, each: ConfigMap) -> int | None:
        """Return the seconds; None if there are none, or what is there is no number."""
        text = each.metadata.annotations.get(TTL, "")
        return int(text) if text.isdigit() else None


class BadBlocksOthers(Expires, expected=[ValueError]):
    """Bug: after an object whose annotation is no number, no other one is looked at."""

    def seconds(self, each: ConfigMap) -> int | None:
        """Return the seconds; ValueError if they are no number."""
        return int(each.metadata.annotations[TTL]) if TTL in each.metadata.annotations else None


class Tainted(BenchReconciler[Grant], finalizer="bench.example.com/taint"):
    """Taints all nodes while there is a grant."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Look at all grants if a node changes."""
        builder.watches(Node, lambda _: [object_name(grant) for grant in self.client.list(Grant)])

    def reconcile(self, grant: Grant) -> Result | None:
        """Add the taint."""
        for node in self.client.api_reader.list(Node):
            if TAINT.key not in (taint.key for taint in node.spec.taints) and self.client.still_exists(grant):
                self.write(node, [*node.spec.taints, TAINT])
        return None

    def finalize(self, grant: Grant) -> None:
        """Remove the taint."""
        for node in self.client.api_reader.list(Node):
            self.write(node, self.others(node))

    def others(self, node: Node) -> list[Taint]:
        """Return the taints of others."""
        return [taint for taint in node.spec.taints if taint.key != TAINT.key]

    def write(self, node: Node, taints: Iterable[Taint]) -> None:
        """Replace the taints."""
        patch = to_dict(replace(node, spec=replace(node.spec, taints=tuple(taints))))["spec"].get("taints")
        version = {"resourceVersion": node.metadata.resource_version}
        self.client.patch(node, {"metadata": version, "spec": {"taints": patch}})


class ClearsTaints(Tainted):
    """Bug: the taints of others are removed, too."""

    def others(self, node: Node) -> list[Taint]:
        """Return none."""
        return []


class LastTwo(BenchReconciler[Site], owns=[ConfigMap]):
    """Keeps an immutable ConfigMap for each image, and the one before for a roll-back."""

    def reconcile(self, site: Site) -> Result | None:
        """Create the ConfigMap of the image, and delete those before the last one."""
        name = f"{site.metadata.name}-{site.spec.image}"
        if self.client.find(ConfigMap, ObjectName(site.metadata.namespace, name)) is None:
            try:
                created = replace(config(site, name, {"image": site.spec.image}), immutable=True)
                self.client.create(created, owner=site)
            except AlreadyExists:
                return Result(requeue_after=1.0)
        configs = [each for each in self.client.list(ConfigMap) if is_controlled_by(each, site)]
        former = [each for each in configs if each.metadata.name != name]
        surplus = self.surplus(sorted(former, key=lambda each: (each.metadata.creation_timestamp, each.metadata.name)))
        if surplus and self.client.is_current(site):
            for each in surplus:
                self.client.delete(
                    each, DeleteOptions(preconditions=Preconditions(uid=each.metadata.uid)), missing_ok=True
                )
        return None

    def surplus(self, former: list[ConfigMap]) -> list[ConfigMap]:
        """Return all but the last one."""
        return former[:-1]


class KeepsAll(LastTwo):
    """Bug: a ConfigMap stays for each image that there has ever been."""

    def surplus(self, former: list[ConfigMap]) -> list[ConfigMap]:
        """Return none."""
        return []


class Ends(BenchReconciler[Task]):
    """Deletes a task as many hours after its creation as it is large."""

    def reconcile(self, task: Task) -> Result | None:
        """Delete it, or write when that will be."""
        due, now = self.due(task), utc(self.clock)
        if now < due:
            self.observed(task, name=due.isoformat())
            return Result(requeue_after=(due - now).total_seconds())
        if self.client.is_current(task):
            options = DeleteOptions(preconditions=Preconditions(uid=task.metadata.uid))
            self.client.delete(task, options, missing_ok=True)
        return None

    def due(self, task: Task) -> datetime:
        """Return the time of its deletion."""
        return (task.metadata.creation_timestamp or utc(self.clock)) + timedelta(hours=task.spec.size)


class EndsAsCreated(Ends):
    """Bug: the time is computed once."""

    def due(self, task: Task) -> datetime:
        """Return the recorded time."""
        return datetime.fromisoformat(task.status.name) if task.status.name else super().due(task)


class Quiesces(BenchReconciler[Bucket], finalizer="bench.example.com/quiesce"):
    """Scales a Deployment to 0, makes a copy, and scales it up again, each in a step that the status records."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Look at all buckets if a Deployment changes."""
        builder.watches(Deployment, lambda _: [object_name(bucket) for bucket in self.client.list(Bucket)])

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Take the next step."""
        live = self.client.api_reader.find(Bucket, object_name(bucket))
        app = self.app(bucket)
        if live is None or live.metadata.uid != bucket.metadata.uid or app is None or bucket.status.phase == "Done":
            return None
        if live.status.phase is None:
            if REPLICAS not in app.metadata.annotations:
                self.scale(app, 0, str(app.spec.replicas))
            self.observed(live, phase="Quiet")
        elif live.status.phase == "Quiet":
            self.cloud.records.setdefault(bucket.metadata.name, app.metadata.name)
            self.observed(live, phase="Copied")
        else:
            self.resume(app)
            self.observed(live, phase="Done")
        return None

    def app(self, bucket: Bucket) -> Deployment | None:
        """Return the Deployment that the bucket is a copy of."""
        return self.client.api_reader.find(Deployment, ObjectName(bucket.metadata.namespace, "app"))

    def scale(self, app: Deployment, replicas: int, before: str | None) -> None:
        """Write the number of replicas, and the one before as an annotation."""
        metadata = {"resourceVersion": app.metadata.resource_version, "annotations": {REPLICAS: before}}
        self.client.patch(app, {"metadata": metadata, "spec": {"replicas": replicas}})

    def resume(self, app: Deployment) -> None:
        """Scale up again."""
        if REPLICAS in app.metadata.annotations:
            self.scale(app, int(app.metadata.annotations[REPLICAS]), None)

    def finalize(self, bucket: Bucket) -> None:
        """Delete the copy; scale up what was abandoned."""
        self.abandon(self.app(bucket))
        self.cloud.records.pop(bucket.metadata.name, None)

    def abandon(self, app: Deployment | None) -> None:
        """Scale up again."""
        if app is not None:
            self.resume(app)


class StaysQuiet(Quiesces):
    """Bug: a bucket that is deleted before the copy is done leaves the Deployment without pods."""

    def abandon(self, app: Deployment | None) -> None:
        """Leave it."""
