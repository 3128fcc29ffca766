"""Controllers that keep records: histories, counts of attempts, conditions, finished work and what was billed."""

from clientgo.clock import Clock, utc
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Client, Condition, Result, set_status_condition
from clientgo.meta import object_name, replace
from clientgo.record import EventRecorder
from tests.perturb.bench.kinds import BenchReconciler, Bucket, Cloud, Entry, Grant, Site, Task, config

NEWEST = 3


class KeepsHistory(BenchReconciler[Site], owns=[ConfigMap]):
    """Keeps the last images, with the times at which they came, in the status."""

    def reconcile(self, site: Site) -> Result | None:
        """Write the image, then the history."""
        self.client.apply(config(site, site.metadata.name, {"image": site.spec.image}), owner=site, force=True)
        if self.is_new(site):
            entry = Entry(site.spec.image, utc(self.clock).replace(microsecond=0))
            history = (*site.status.history, entry)[-NEWEST:]
            self.client.update_status(replace(site, status=replace(site.status, history=history)))
        return None

    def is_new(self, site: Site) -> bool:
        """Return whether the newest entry is another one."""
        return not site.status.history or site.status.history[-1].value != site.spec.image


class HistoryByMemory(KeepsHistory):
    """Bug: which image is the newest is only in memory, and each restart adds an entry."""

    def __init__(self, client: Client, recorder: EventRecorder, cloud: Cloud, clock: Clock) -> None:
        super().__init__(client, recorder, cloud, clock)
        self._newest = ""

    def is_new(self, site: Site) -> bool:
        """Compare with the last one of this process."""
        newest, self._newest = self._newest, site.spec.image
        return newest != site.spec.image


class CountsAttempts(BenchReconciler[Bucket], finalizer="bench.example.com/attempts"):
    """Writes the plan outside, and counts in the status how often."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write what differs, then the status."""
        attempts = bucket.status.attempts or 0
        if self.cloud.records.get(bucket.metadata.name) != bucket.spec.plan and self.client.still_exists(bucket):
            self.cloud.records[bucket.metadata.name] = bucket.spec.plan
            attempts += 1
        self.observed(bucket, attempts=attempts)
        return None

    def finalize(self, bucket: Bucket) -> None:
        """Remove the record."""
        self.cloud.records.pop(bucket.metadata.name, None)


class CountsFirst(CountsAttempts):
    """Bug: the attempt is counted before, and what was counted is not tried again."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Trust the observed generation."""
        if bucket.status.observed_generation != bucket.metadata.generation:
            self.observed(bucket, attempts=(bucket.status.attempts or 0) + 1)
            self.cloud.records[bucket.metadata.name] = bucket.spec.plan
        return None


class Accepts(BenchReconciler[Grant], name="accepts"):
    """Adds a condition to those of another controller."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the condition, if it is not there."""
        conditions = set_status_condition(self.others(grant), self.condition(grant), clock=self.clock)
        if conditions != grant.status.conditions:
            self.client.update_status(replace(grant, status=replace(grant.status, conditions=conditions)))
        return None

    def condition(self, _: Grant) -> Condition:
        """Return the condition."""
        return Condition(type="Accepted", status="True", reason="Valid")

    def others(self, grant: Grant) -> tuple[Condition, ...]:
        """Return the conditions that are there."""
        return grant.status.conditions


class Programs(Accepts, name="programs"):
    """Adds the other condition."""

    def condition(self, _: Grant) -> Condition:
        """Return the condition."""
        return Condition(type="Programmed", status="True", reason="Done")


class AcceptsAlone(Accepts, name="accepts"):
    """Bug: the conditions of other controllers are removed, which they write again."""

    def others(self, grant: Grant) -> tuple[Condition, ...]:
        """Return none."""
        return ()


class RunsOnce(BenchReconciler[Task]):
    """Runs a task once, with the size that it has then; later changes have no effect."""

    def reconcile(self, task: Task) -> Result | None:
        """Run it, with a key for each task."""
        if task.status.phase != "Succeeded" and self.client.still_exists(task):
            self.cloud.run(task.metadata.name, self.key(task))
            self.observed(task, phase="Succeeded", done=task.spec.size)
        return None

    def key(self, task: Task) -> str:
        """Return the key by which the provider knows the task."""
        return str(task.metadata.uid)


class RunsWithoutKey(RunsOnce):
    """Bug: the provider cannot know that it is the same task, which is run again after a crash."""

    def key(self, task: Task) -> str:
        """Return none."""
        return ""


class Bills(BenchReconciler[Grant]):
    """Keeps for each grant a record of its user, also when the grant is gone."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Write the record, then the status."""
        if self.client.is_current(grant):
            self.cloud.records[str(grant.metadata.uid)] = grant.spec.user
        self.observed(grant, name=grant.spec.user)
        return None


class BillsOnce(Bills):
    """Bug: a grant with a record is not looked at again, so that another user is not billed."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Trust the status."""
        return None if grant.status.name else super().reconcile(grant)


class Alternates(BenchReconciler[Bucket], owns=[ConfigMap]):
    """Says in a ConfigMap whether the bucket is on duty: every other period of `size` minutes after its creation."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write the duty, and come back at its end."""
        created = bucket.metadata.creation_timestamp
        age = (utc(self.clock) - created).total_seconds() if created else 0.0
        period = 60.0 * max(1, bucket.spec.size)
        duty = {"duty": self.duty(bucket, int(age // period))}
        self.client.apply(config(bucket, bucket.metadata.name, duty), owner=bucket, force=True)
        return Result(requeue_after=period - age % period)

    def duty(self, _: Bucket, number: int) -> str:
        """Return the duty in a period."""
        return "on" if number % 2 else "off"


class AlternatesByCount(Alternates):
    """Bug: the duty changes with each reconciliation."""

    def duty(self, bucket: Bucket, number: int) -> str:
        """Return the other one."""
        existing = self.client.find(ConfigMap, object_name(bucket))
        return "on" if existing is None or existing.data["duty"] == "off" else "off"


class GrowsOnly(BenchReconciler[Bucket], finalizer="bench.example.com/size"):
    """Keeps a record of the largest size, and reports that a bucket cannot shrink."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write the larger size, then the status."""
        size = max(bucket.spec.size, int(self.cloud.records.get(bucket.metadata.name, 0)))
        if self.client.is_current(bucket):
            self.cloud.records[bucket.metadata.name] = str(size)
        self.report(bucket, size)
        return None

    def report(self, bucket: Bucket, size: int) -> None:
        """Say whether the size is that of the spec."""
        self.observed(bucket, phase="Ready" if size == bucket.spec.size else "cannot shrink")

    def finalize(self, bucket: Bucket) -> None:
        """Remove the record."""
        self.cloud.records.pop(bucket.metadata.name, None)


class HidesLargerSize(GrowsOnly):
    """Bug: a bucket that cannot shrink is said to be ready."""

    def report(self, bucket: Bucket, size: int) -> None:
        """Say that all is well."""
        super().report(bucket, bucket.spec.size)
