"""Controllers of tasks, pools and buckets: mistakes about times, counts, hashes, names, and systems outside."""

import hashlib
from contextlib import suppress
from datetime import timedelta

from clientgo.clock import utc
from clientgo.errors import AlreadyExists, Conflict
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Condition, Result, set_status_condition
from clientgo.meta import ObjectMeta, ObjectName, OwnerReference, is_controlled_by, new_controller_ref, replace, to_dict
from tests.perturb.bench.kinds import BenchReconciler, Bucket, Grant, Pool, Task, config
from tests.perturb.bench.workloads import Drain

HASH = "bench.example.com/hash"


class Expiring(BenchReconciler[Task], owns=[ConfigMap]):
    """Runs a task, and deletes the task itself some time after its creation."""

    def reconcile(self, task: Task) -> Result | None:
        """Write the result; come back when the task expires."""
        assert task.metadata.creation_timestamp is not None
        remaining = task.metadata.creation_timestamp + timedelta(seconds=task.spec.seconds) - utc(self.clock)
        if remaining <= timedelta():
            self.client.delete(task, missing_ok=True)
            return None
        self.client.apply(config(task, task.metadata.name, {"size": str(task.spec.size)}), owner=task, force=True)
        return self.come_back(task, remaining.total_seconds())

    def come_back(self, task: Task, seconds: float) -> Result | None:
        """Record the end of the work, and ask for another turn."""
        self.observed(task, phase="Done")
        return Result(requeue_after=seconds)


class ExpiresOnce(Expiring):
    """Bug: the time is only waited for by the process that did the work; after a crash the task stays."""

    def come_back(self, task: Task, seconds: float) -> Result | None:
        """Skip what is done."""
        return None if task.status.phase == "Done" else super().come_back(task, seconds)


class Copies(BenchReconciler[Task], owns=[ConfigMap]):
    """Keeps the note of a task, unless the status has observed this generation."""

    def reconcile(self, task: Task) -> Result | None:
        """Write the note, then the generation."""
        if task.status.observed_generation == task.metadata.generation:
            return None
        self.client.apply(config(task, task.metadata.name, {"note": task.spec.note}), owner=task, force=True)
        self.record(task)
        return None

    def record(self, task: Task) -> None:
        """Write the generation that was worked on."""
        self.observed(task, phase="Copied")


class RecordsNewest(Copies):
    """Bug: the generation is that of the newest object, and the work that of an older one in the cache."""

    def record(self, task: Task) -> None:
        """Read the object again, against conflicts."""
        newest = self.client.api_reader.find(Task, ObjectName(task.metadata.namespace, task.metadata.name))
        if newest is not None:
            self.observed(newest, phase="Copied")


class CountedSteps(BenchReconciler[Task], owns=[ConfigMap]):
    """Creates a ConfigMap for each step, and counts them in the status."""

    def reconcile(self, task: Task) -> Result | None:
        """Create what is missing, then count what exists."""
        for index in range(task.spec.steps):
            self.create(task, index)
        label = f"task={task.metadata.name}"
        children = self.client.list(ConfigMap, namespace=task.metadata.namespace, label_selector=label)
        self.observed(task, done=len(children))
        return None

    def create(self, task: Task, index: int) -> None:
        """Create the ConfigMap of a step, unless there is one."""
        child = config(task, f"{task.metadata.name}-{index}", {}, {"task": task.metadata.name})
        with suppress(AlreadyExists):
            self.client.create(child, owner=task)


class CountsCreations(CountedSteps):
    """Bug: the count is increased with each creation, and a crash before the status is written loses some."""

    def reconcile(self, task: Task) -> Result | None:
        """Create what the cache does not have, and add it to the count."""
        count = task.status.done or 0
        for index in range(task.spec.steps):
            name = ObjectName(task.metadata.namespace, f"{task.metadata.name}-{index}")
            if self.client.find(ConfigMap, name) is None:
                self.create(task, index)
                count += 1
        self.observed(task, done=count)
        return None


class Conditional(BenchReconciler[Bucket]):
    """Reports in a condition whether the plan is known."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write the condition; its time changes with its status only."""
        status = "True" if bucket.spec.plan == "basic" else "False"
        generation = bucket.metadata.generation
        condition = Condition(type="Known", status=status, reason="Looked", observed_generation=generation)
        changed = replace(bucket, status=replace(bucket.status, conditions=self.merged(bucket, condition)))
        self.observed(bucket, conditions=to_dict(changed)["status"]["conditions"])
        return None

    def merged(self, bucket: Bucket, condition: Condition) -> tuple[Condition, ...]:
        """Return all conditions."""
        return set_status_condition(bucket.status.conditions, condition, clock=self.clock)


class AlwaysNow(Conditional):
    """Bug: the condition has the current time at each reconciliation, which leads to the next one."""

    def merged(self, bucket: Bucket, condition: Condition) -> tuple[Condition, ...]:
        """Set the time."""
        return (replace(condition, last_transition_time=utc(self.clock)),)


class SharesOwners(BenchReconciler[Grant], owns=[ConfigMap]):
    """Keeps a ConfigMap, to which others may add owners."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Create it, or replace its data; its own reference is added if it is missing."""
        desired = config(grant, grant.metadata.name, {"user": grant.spec.user})
        existing = self.client.find(ConfigMap, ObjectName(grant.metadata.namespace, grant.metadata.name))
        if existing is None:
            self.client.create(desired, owner=grant)
            return None
        owners = self.owners(grant, existing)
        if existing.data != desired.data or existing.metadata.owner_references != owners:
            metadata = replace(existing.metadata, owner_references=owners)
            self.client.update(replace(existing, metadata=metadata, data=desired.data))
        return None

    def owners(self, grant: Grant, existing: ConfigMap) -> tuple[OwnerReference, ...]:
        """Return the owners that it shall have."""
        references = existing.metadata.owner_references
        return references if is_controlled_by(existing, grant) else (*references, new_controller_ref(grant))


class OnlyOwner(SharesOwners):
    """Bug: owners that others have added are removed."""

    def owners(self, grant: Grant, existing: ConfigMap) -> tuple[OwnerReference, ...]:
        """Return its own reference."""
        return (new_controller_ref(grant),)


class Ports(BenchReconciler[Pool]):
    """Gives each pool a number of its own, which is recorded outside and in the status."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Take the lowest free number, unless the pool has one."""
        if pool.status.done is None:
            self.observed(pool, done=self.number(pool))
        return None

    def number(self, pool: Pool) -> int:
        """Reserve a number outside, by the object's name."""
        records, name = self.cloud.records, str(ObjectName(pool.metadata.namespace, pool.metadata.name))
        reserved = next((number for number, owner in records.items() if owner == name), None)
        number = reserved or next(str(each) for each in range(1, 100) if str(each) not in records)
        records[number] = name
        return int(number)


class PortsByCache(Ports):
    """Bug: a number is free if no pool in the cache has it, and the cache may be old."""

    def number(self, pool: Pool) -> int:
        """Look at the pools."""
        used = {each.status.done for each in self.client.list(Pool, namespace=pool.metadata.namespace)}
        return next(each for each in range(1, 100) if each not in used)


class ShortNames(BenchReconciler[Pool], owns=[ConfigMap]):
    """Keeps a ConfigMap for each member, under a short name."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Write all of them; delete those of former members."""
        names = {self.name(member) for member in pool.spec.members}
        for member in pool.spec.members:
            child = config(pool, self.name(member), {"member": member}, {"pool": pool.metadata.name})
            self.client.apply(child, owner=pool, force=True)
        label = f"pool={pool.metadata.name}"
        for child in self.client.list(ConfigMap, namespace=pool.metadata.namespace, label_selector=label):
            if child.metadata.name not in names:
                if not self.is_current(pool):
                    return Result(requeue_after=1.0)
                self.client.delete(child, missing_ok=True)
        return None

    def name(self, member: str) -> str:
        """Return a name of at most 14 characters, different for each member."""
        return f"{member[:5]}-{hashlib.sha256(member.encode()).hexdigest()[:8]}"


class CutNames(ShortNames):
    """Bug: long names are cut, and two members get the same one."""

    def name(self, member: str) -> str:
        """Cut the name."""
        return member[:14]


class Hashed(BenchReconciler[Bucket], owns=[ConfigMap]):
    """Replaces its ConfigMap when the hash of the spec differs from that in its annotation."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write what has changed."""
        existing = self.client.find(ConfigMap, ObjectName(bucket.metadata.namespace, bucket.metadata.name))
        digest = hashlib.sha256(self.hashed(bucket).encode()).hexdigest()[:8]
        if existing is None or existing.metadata.annotations.get(HASH) != digest:
            child = config(bucket, bucket.metadata.name, {"plan": bucket.spec.plan, "size": str(bucket.spec.size)})
            child = replace(child, metadata=replace(child.metadata, annotations={HASH: digest}))
            self.client.apply(child, owner=bucket, force=True)
        return None

    def hashed(self, bucket: Bucket) -> str:
        """Return all that decides."""
        return f"{bucket.spec.plan} {bucket.spec.size}"


class HashesPlan(Hashed):
    """Bug: the hash leaves out the size."""

    def hashed(self, bucket: Bucket) -> str:
        """Return the plan."""
        return bucket.spec.plan


class Records(BenchReconciler[Bucket], finalizer="bench.example.com/records"):
    """Keeps a record outside under the plan's name, and removes that of the plan before."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write the record; the status has the plan whose record exists."""
        if not self.is_current(bucket):
            return Result(requeue_after=1.0)
        before = bucket.status.name
        self.cloud.records[self.key(bucket, bucket.spec.plan)] = bucket.metadata.name
        if before is not None and before != bucket.spec.plan:
            self.forget(bucket, before)
        self.observed(bucket, name=bucket.spec.plan)
        return None

    def key(self, bucket: Bucket, plan: str) -> str:
        """Return the record's name."""
        return f"{plan}/{bucket.metadata.name}"

    def forget(self, bucket: Bucket, plan: str) -> None:
        """Remove a record."""
        self.cloud.records.pop(self.key(bucket, plan), None)

    def finalize(self, bucket: Bucket) -> Result | None:
        """Remove all records."""
        for plan in (bucket.status.name, bucket.spec.plan):
            if plan is not None:
                self.forget(bucket, plan)
        return None


class RecordStays(Records):
    """Bug: the record of the plan before stays."""

    def forget(self, bucket: Bucket, plan: str) -> None:
        """Remove the record of the current plan only."""
        if plan == bucket.spec.plan:
            super().forget(bucket, plan)


class Rotates(BenchReconciler[Task]):
    """Rotates a key outside every ten minutes after the last rotation, which the status has."""

    def reconcile(self, task: Task) -> Result | None:
        """Rotate if it is time; come back for the next one."""
        now, last = int(self.clock.time()), task.status.done
        if last is not None and now < last + 600:
            return Result(requeue_after=self.pause(last + 600 - now))
        self.observed(task, done=now)
        return Result(requeue_after=600.0)

    def pause(self, seconds: float) -> float:
        """Return the seconds until the next rotation."""
        return seconds


class RotatesLate(Rotates):
    """Bug: the whole interval begins again at each restart."""

    def pause(self, seconds: float) -> float:
        """Wait a whole interval."""
        return 600.0


class Marks(BenchReconciler[Grant], owns=[ConfigMap]):
    """Replaces the data of its ConfigMap if the user changes, which the status records; a conflict is retried."""

    def reconcile(self, grant: Grant) -> Result | None:
        """Replace the data, unless the status has the user."""
        existing = self.client.find(ConfigMap, ObjectName(grant.metadata.namespace, grant.metadata.name))
        if existing is None:
            self.client.create(config(grant, grant.metadata.name, {"user": grant.spec.user}), owner=grant)
        elif grant.status.name != grant.spec.user:
            self.update(replace(existing, data={**existing.data, "user": grant.spec.user}))
        self.observed(grant, phase="Marked", name=grant.spec.user)
        return None

    def update(self, changed: ConfigMap) -> None:
        """Replace it, or fail."""
        self.client.update(changed)


class SkipsConflict(Marks):
    """Bug: after a conflict the status is written all the same, and nothing is retried."""

    def update(self, changed: ConfigMap) -> None:
        """Ignore a conflict."""
        with suppress(Conflict):
            super().update(changed)


class OneGenerated(BenchReconciler[Pool], owns=[ConfigMap]):
    """Keeps one ConfigMap of a generated name, which the server is asked for before another one is created."""

    def reconcile(self, pool: Pool) -> Result | None:
        """Create it, or write the tier of the existing one."""
        child = next((each for each in self.children(pool) if is_controlled_by(each, pool)), None)
        if child is None:
            meta = ObjectMeta(generate_name=f"{pool.metadata.name}-", namespace=pool.metadata.namespace)
            self.client.create(ConfigMap(metadata=meta, data={"tier": pool.spec.tier}), owner=pool)
        elif child.data.get("tier") != pool.spec.tier:
            self.client.patch(child, {"data": {"tier": pool.spec.tier}})
        self.observed(pool, phase="Ready")
        return None

    def children(self, pool: Pool) -> list[ConfigMap]:
        """Ask the server."""
        return list(self.client.api_reader.list(ConfigMap, namespace=pool.metadata.namespace))


class GeneratesByCache(OneGenerated):
    """Bug: an old cache does not have the child yet, and another one is created."""

    def children(self, pool: Pool) -> list[ConfigMap]:
        """Ask the cache."""
        return list(self.client.list(ConfigMap, namespace=pool.metadata.namespace))


class StaysCordoned(Drain):
    """Bug: the node stays cordoned when the bucket is deleted."""

    def finalize(self, bucket: Bucket) -> Result | None:
        """Do nothing."""
        return None
