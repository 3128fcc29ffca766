"""Tasks that run in steps: mistakes about what is only in memory."""

from contextlib import suppress
from datetime import datetime, timedelta

from clientgo.clock import utc
from clientgo.errors import AlreadyExists
from clientgo.kubernetes.types.batch_v1 import Job, JobSpec
from clientgo.kubernetes.types.core_v1 import ConfigMap, Container, PodSpec, PodTemplateSpec
from clientgo.manager import Result
from clientgo.meta import ObjectName, meta_for, object_name
from clientgo.typed.options import DeleteOptions, Preconditions
from tests.perturb.bench.kinds import BenchReconciler, Task, config

JOB = JobSpec(
    template=PodTemplateSpec(
        spec=PodSpec(containers=(Container(name="task", image="busybox"),), restart_policy="Never")
    )
)


class TaskReconciler(BenchReconciler[Task], owns=[ConfigMap]):
    """Runs the steps one after the other; each leaves a ConfigMap."""

    def reconcile(self, task: Task) -> Result | None:
        """Run the next step."""
        step = self.next_step(task)
        if step < task.spec.steps:
            self.create(task, step)
            return Result(requeue_after=1.0)
        self.observed(task, phase="Done")
        return None

    def create(self, task: Task, step: int) -> None:
        """Create the ConfigMap of a step."""
        self.client.create(config(task, f"{task.metadata.name}-{step}", {"step": str(step)}), owner=task)

    def next_step(self, task: Task) -> int:
        """Return the first step without a ConfigMap."""
        namespace, name = task.metadata.namespace, task.metadata.name
        steps = range(task.spec.steps)
        return next((s for s in steps if not self.client.find(ConfigMap, ObjectName(namespace, f"{name}-{s}"))), 9)


class ProgressInMemory(TaskReconciler):
    """Bug: the next step is only in memory; after a crash the first one is run again, and exists."""

    def next_step(self, task: Task) -> int:
        """Count."""
        progress: dict[str, int] = self.__dict__.setdefault("progress", {})
        return progress.get(task.metadata.uid, 0)

    def create(self, task: Task, step: int) -> None:
        """Count what was created."""
        super().create(task, step)
        self.__dict__["progress"][task.metadata.uid] = step + 1


class Deadline(BenchReconciler[Task]):
    """Marks a task as expired after its time, which begins with its creation."""

    def reconcile(self, task: Task) -> Result | None:
        """Come back when the time is over."""
        remaining = self.began(task) + timedelta(seconds=task.spec.seconds) - utc(self.clock)
        if remaining > timedelta():
            self.observed(task, phase=f"Running {task.spec.note}")
            return Result(requeue_after=remaining.total_seconds())
        self.observed(task, phase="Expired")
        return None

    def began(self, task: Task) -> datetime:
        """Return the time of creation."""
        assert task.metadata.creation_timestamp is not None
        return task.metadata.creation_timestamp


class DeadlineInMemory(Deadline):
    """Bug: the time begins when this process first saw the task."""

    def began(self, task: Task) -> datetime:
        """Remember the first time."""
        seen: dict[str, datetime] = self.__dict__.setdefault("seen", {})
        return seen.setdefault(task.metadata.uid, utc(self.clock))


class Once(BenchReconciler[Task], owns=[ConfigMap]):
    """Runs a task once, and deletes the ConfigMap of the run."""

    def reconcile(self, task: Task) -> Result | None:
        """Run, record, clean up."""
        run = config(task, task.metadata.name, {"size": str(task.spec.size)})
        exists = self.client.find(ConfigMap, ObjectName(run.metadata.namespace, run.metadata.name)) is not None
        if task.status.phase is None and self.is_current(task):
            if not exists:
                with suppress(AlreadyExists):
                    self.client.create(run, owner=task)
            self.cloud.run(task.metadata.name, task.metadata.uid)
            exists = True
        self.finish(task, run, exists=exists)
        return None

    def finish(self, task: Task, run: ConfigMap, *, exists: bool) -> None:
        """Record the end before the ConfigMap is deleted."""
        self.observed(task, phase="Done")
        if exists:
            self.client.delete(run, missing_ok=True)


class CleansUpFirst(Once):
    """Bug: the ConfigMap is deleted before the end is recorded; a crash in between runs the task again."""

    def finish(self, task: Task, run: ConfigMap, *, exists: bool) -> None:
        """Delete, then record."""
        if exists:
            self.cloud.run(f"{task.metadata.name}-cleanup")
            self.client.delete(run, missing_ok=True)
        self.observed(task, phase="Done")


class RunsJob(BenchReconciler[Task], owns=[Job]):
    """Runs a Job once, and deletes it after that is recorded."""

    def reconcile(self, task: Task) -> Result | None:
        """Run, record, delete."""
        job = Job(metadata=meta_for(task), spec=JOB)
        if task.status.phase is None and self.may_run(task):
            with suppress(AlreadyExists):
                self.client.create(job, owner=task)
        self.observed(task, phase="Done")
        self.client.delete(job, DeleteOptions(propagation_policy="Background"), missing_ok=True)
        return None

    def may_run(self, task: Task) -> bool:
        """Return whether the server has recorded no run of this very task."""
        stored = self.client.api_reader.find(Task, object_name(task))
        return stored is not None and stored.metadata.uid == task.metadata.uid and stored.status.phase is None


class RunsJobAgain(RunsJob):
    """Bug: an old status in the cache leads to a second run, of which nothing is left in the end."""

    def may_run(self, task: Task) -> bool:
        """Trust the cache."""
        return True


class Recreates(BenchReconciler[Task], owns=[ConfigMap]):
    """Replaces its ConfigMap when the size changes."""

    def reconcile(self, task: Task) -> Result | None:
        """Delete what is old, and create what is missing."""
        existing = self.client.find(ConfigMap, ObjectName(task.metadata.namespace, task.metadata.name))
        if existing is not None and existing.data["size"] != str(task.spec.size):
            if not self.is_current(task):
                return Result(requeue_after=1.0)
            self.delete(task, existing)
            existing = None
        if existing is None and self.may_create(task):
            self.client.create(config(task, task.metadata.name, {"size": str(task.spec.size)}), owner=task)
        self.observed(task, phase="Ready")
        return None

    def delete(self, task: Task, existing: ConfigMap) -> None:
        """Delete this very ConfigMap; another one of the name is a conflict."""
        self.client.delete(existing, DeleteOptions(preconditions=Preconditions(uid=existing.metadata.uid)))

    def may_create(self, task: Task) -> bool:
        """Return whether a missing ConfigMap is created."""
        return True


class RemembersToCreate(Recreates):
    """Bug: that a deleted ConfigMap must be created again is only in memory."""

    def delete(self, task: Task, existing: ConfigMap) -> None:
        """Remember it."""
        super().delete(task, existing)
        self.__dict__.setdefault("again", set()).add(task.metadata.uid)

    def may_create(self, task: Task) -> bool:
        """Create at first, and what was deleted here."""
        return task.status.phase is None or task.metadata.uid in self.__dict__.get("again", ())


class Sum(BenchReconciler[Task]):
    """Keeps the size of a task in a ConfigMap of the namespace."""

    def reconcile(self, task: Task) -> Result | None:
        """Write the size."""
        self.write(task, task.spec.size)
        self.observed(task)
        return None

    def write(self, task: Task, size: int) -> None:
        """Write an absolute number."""
        self.client.apply(config(task, task.metadata.name, {"size": str(size)}), owner=task, force=True)


class AddsDifferences(Sum):
    """Bug: the difference to the size seen before is added; after a crash nothing was seen before."""

    def reconcile(self, task: Task) -> Result | None:
        """Add."""
        seen: dict[str, int] = self.__dict__.setdefault("seen", {})
        existing = self.client.find(ConfigMap, ObjectName(task.metadata.namespace, task.metadata.name))
        before = int(existing.data["size"]) if existing else 0
        self.write(task, before + task.spec.size - seen.get(task.metadata.uid, 0))
        seen[task.metadata.uid] = task.spec.size
        self.observed(task)
        return None
