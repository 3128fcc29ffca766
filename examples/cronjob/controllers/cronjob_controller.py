"""Reconciler of CronJob: starts Jobs at the times of a schedule, and deletes the oldest ones.

Each Job is named after the time for which it starts. So it starts once, however often it is tried: after a crash, or by
a cache that does not show it yet.
"""

from collections.abc import Sequence
from datetime import datetime

from clientgo.clock import utc
from clientgo.errors import AlreadyExists, Conflict
from clientgo.kubernetes.types.batch_v1 import Job
from clientgo.manager import Condition, Reconciler, Result, set_status_condition
from clientgo.meta import controller_uids, is_controlled_by, meta_for, object_name, replace
from clientgo.meta.declarations import rbac
from clientgo.record import reference_to
from clientgo.typed import DeleteOptions, Preconditions
from prometheus_client import Counter

from api.v1.cronjob_types import CronJob, CronJobStatus
from controllers.schedule import Schedule

GROUP = "batch.example.com"
SCHEDULED_AT = f"{GROUP}/scheduled-at"

STARTED = Counter("cronjob_jobs_started_total", "Jobs that were started.", ["namespace"])


@rbac(groups="batch", resources="jobs", verbs=("create", "delete", "get", "list", "watch"))
@rbac(
    groups=GROUP,
    resources="cronjobs",
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
)
@rbac(groups=GROUP, resources="cronjobs/status", verbs=("get", "patch", "update"))
@rbac(groups=GROUP, resources="cronjobs/finalizers", verbs="update")
class CronJobReconciler(
    Reconciler[CronJob], owns=[Job], indexes={Job: {"owner": controller_uids}}, expected=[Conflict]
):
    """Reconciles CronJob objects: brings the cluster to the state that their specs describe."""

    def reconcile(self, cronjob: CronJob) -> Result | None:
        """Start the Job that is due, write the status, delete old Jobs, and return when the next one is due."""
        jobs = self.jobs_of(cronjob)
        try:
            schedule = Schedule.parse(cronjob.spec.schedule)
        except ValueError as error:
            self.report(cronjob, jobs, condition(cronjob, "False", "InvalidSchedule", str(error)))
            return None  # until its author changes it
        now = utc(self.clock)
        due = None if cronjob.spec.suspend else self.due(cronjob, jobs, schedule, now)
        if due is not None and self.may_start(cronjob, jobs, due):
            jobs = [*jobs, self.start(cronjob, due)]
        self.report(cronjob, jobs, condition(cronjob, "True", "Scheduled", "the schedule is valid"))
        self.delete_old(cronjob, jobs)
        upcoming = None if cronjob.spec.suspend else schedule.next_after(now)
        return None if upcoming is None else Result(requeue_after=(upcoming - now).total_seconds())

    def jobs_of(self, cronjob: CronJob) -> list[Job]:
        """Return the Jobs that the CronJob controls, by the time for which they started."""
        meta = cronjob.metadata
        jobs = self.client.list(Job, namespace=meta.namespace, fields={"owner": meta.uid})
        return sorted(jobs, key=lambda job: job.metadata.name)

    def due(self, cronjob: CronJob, jobs: Sequence[Job], schedule: Schedule, now: datetime) -> datetime | None:
        """Return the time for which a Job should start now; earlier ones that were missed are not made up for."""
        due, last = schedule.last_until(now), last_scheduled(cronjob, jobs)
        if due is None or (last is not None and due <= last):
            return None
        deadline = cronjob.spec.starting_deadline_seconds
        return due if deadline is None or (now - due).total_seconds() <= deadline else None

    def may_start(self, cronjob: CronJob, jobs: Sequence[Job], due: datetime) -> bool:
        """Return whether the policy allows another Job, and the server says that none has started for this time.

        The cache may show an earlier spec or status, and the Job may have been deleted since.
        """
        active = [job for job in jobs if outcome(job) == ""]
        if active and cronjob.spec.concurrency_policy == "Forbid":
            return False  # the end of the active Job leads here again
        stored = self.client.api_reader.find(CronJob, object_name(cronjob))
        if stored is None or stored.metadata.uid != cronjob.metadata.uid or stored.spec != cronjob.spec:
            return False  # the change leads here again
        last = stored.status.last_schedule_time
        if last is not None and last >= due:
            return False
        if cronjob.spec.concurrency_policy == "Replace":
            for job in active:
                self.delete(job)
        return True

    def start(self, cronjob: CronJob, due: datetime) -> Job:
        """Create the Job for a time, or return the one that an earlier attempt created.

        Raises:
            AlreadyExists: the name belongs to a Job of others.
        """
        template = cronjob.spec.job_template
        meta = meta_for(
            cronjob,
            f"{cronjob.metadata.name}-{int(due.timestamp()) // 60}",
            labels=template.metadata.labels,
            annotations={**template.metadata.annotations, SCHEDULED_AT: due.isoformat()},
        )
        try:
            job = self.client.create(Job(metadata=meta, spec=template.spec), owner=cronjob)
        except AlreadyExists:
            job = self.client.api_reader.get(Job, object_name(Job(metadata=meta)))
            if not is_controlled_by(job, cronjob):
                raise
            return job
        STARTED.labels(meta.namespace).inc()
        self.recorder.event(cronjob, "Normal", "Started", f"started Job {meta.name}")
        return job

    def report(self, cronjob: CronJob, jobs: Sequence[Job], ready: Condition) -> None:
        """Write the status if it changed."""
        status = CronJobStatus(
            observed_generation=cronjob.metadata.generation,
            active=tuple(reference_to(job) for job in jobs if outcome(job) == ""),
            last_schedule_time=last_started(cronjob, jobs),
            conditions=set_status_condition(cronjob.status.conditions, ready),
        )
        if status != cronjob.status:
            self.client.update_status(replace(cronjob, status=status))

    def delete_old(self, cronjob: CronJob, jobs: Sequence[Job]) -> None:
        """Delete the oldest of the ended Jobs; after the status, which then remembers when they started."""
        limits = {
            "Complete": cronjob.spec.successful_jobs_history_limit,
            "Failed": cronjob.spec.failed_jobs_history_limit,
        }
        for ending, limit in limits.items():
            ended = [job for job in jobs if outcome(job) == ending]
            for job in ended[: max(0, len(ended) - limit)]:
                self.delete(job)

    def delete(self, job: Job) -> None:
        """Delete a Job with its pods, unless another one has its name by now."""
        options = DeleteOptions(propagation_policy="Background", preconditions=Preconditions(uid=job.metadata.uid))
        self.client.delete(job, options, missing_ok=True)


def outcome(job: Job) -> str:
    """Return `Complete` or `Failed` for a Job that has ended, otherwise an empty string."""
    ended = (each.type for each in job.status.conditions if each.status == "True")
    return next((kind for kind in ended if kind in ("Complete", "Failed")), "")


def last_started(cronjob: CronJob, jobs: Sequence[Job]) -> datetime | None:
    """Return the last time for which a Job started, by the status and the Jobs; None if there is none."""
    marks = (job.metadata.annotations.get(SCHEDULED_AT) for job in jobs)
    times = [datetime.fromisoformat(mark) for mark in marks if mark]
    if cronjob.status.last_schedule_time is not None:
        times.append(cronjob.status.last_schedule_time)
    return max(times, default=None)


def last_scheduled(cronjob: CronJob, jobs: Sequence[Job]) -> datetime | None:
    """Return the time after which Jobs may start: that of the last one, or the creation of the CronJob."""
    return last_started(cronjob, jobs) or cronjob.metadata.creation_timestamp


def condition(cronjob: CronJob, status: str, reason: str, message: str) -> Condition:
    """Return the condition Ready of the current generation."""
    return Condition(
        type="Ready",
        status=status,
        reason=reason,
        message=message,
        observed_generation=cronjob.metadata.generation,
    )
