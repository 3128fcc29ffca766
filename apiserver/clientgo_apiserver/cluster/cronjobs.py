"""CronJobs: a Job at each time of the schedule."""

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.cluster.base import controller_reference, is_deleting
from clientgo_apiserver.cluster.cronschedule import latest_time, local_time, times_after
from clientgo_apiserver.cluster.internal import InReview
from clientgo_apiserver.cluster.jobconditions import end_of
from clientgo_apiserver.cluster.podcontrol import WorkloadController, seconds_of
from clientgo_apiserver.gotypes.metadata import rfc3339
from clientgo_apiserver.storage.keys import JOBS
from clientgo_apiserver.storage.stored import Key, name_of

CRON_JOBS: Key = ("batch", "cronjobs")
_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_ACTIVE = "Not starting job because prior execution is running and concurrency policy is Forbid"
_NEVER = "invalid schedule: {} : time difference between two schedules is less than 1 second"
_MANY = 100  # missed times
_TOO_MANY = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"


class CronJobController(WorkloadController):
    """Creates the Jobs of CronJobs and removes the old ones."""

    _service_account = "cronjob-controller"
    _sources = (CRON_JOBS,)
    _kind = "CronJob"
    _child = JOBS

    def _selects(self, workload: Object, child: Object) -> bool:
        return any(
            owner.get("uid") == workload["metadata"]["uid"] for owner in child["metadata"].get("ownerReferences") or ()
        )

    def _reconcile(self, obj: Object, children: list[Object]) -> None:
        if is_deleting(obj):
            return
        active = [job for job in children if end_of(job) is None]
        self._note_completed(obj, children)
        status = self._status(obj, children, active)
        self._clean_up(obj, [job for job in children if end_of(job) is not None])
        if obj["spec"].get("suspend"):
            self._update_status(obj, status)
            return
        due, following = self._due_times(obj)
        if due is not None and self._may_start(obj, active, due):
            job = self._create(obj, due)
            self._events.record(obj, "SuccessfulCreate", f"Created job {job['metadata']['name']}")
            active.append(job)
            status |= {"lastScheduleTime": rfc3339(int(due)), "active": _references(obj, active)}
        self._update_status(obj, status)
        self._again_at(following, *name_of(obj))

    def _due_times(self, obj: Object) -> tuple[float | None, float | None]:
        """Return the last time of the schedule that has passed and has no Job yet, and the next one."""
        spec, now = obj["spec"], self._state.clock.time()
        schedule, zone = spec["schedule"], spec.get("timeZone") or ""
        last = (obj.get("status") or {}).get("lastScheduleTime")
        since = seconds_of(last or obj["metadata"]["creationTimestamp"])
        latest, missed = latest_time(schedule, zone, since, now)
        following = next(times_after(schedule, zone, latest or (now if missed else since)), None)
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None:
            latest, missed = latest_time(schedule, zone, max(since, now - float(deadline)), now)
        if following is None:  # such as 31 February
            self._events.record(obj, "InvalidSchedule", _NEVER.format(schedule), kind="Warning")
        if missed > _MANY:
            self._events.record(obj, "TooManyMissedTimes", _TOO_MANY, kind="Warning")
        return latest, following

    def _may_start(self, obj: Object, active: list[Object], due: float) -> bool:
        name = _job_name(obj, due)
        if self._store.get(JOBS, obj["metadata"]["namespace"], name) is not None:
            return False
        policy = obj["spec"].get("concurrencyPolicy", "Allow")
        if policy == "Replace":
            for job in active:
                self._delete_job(obj, job)
            active.clear()
        if policy == "Forbid" and active:
            self._events.record(obj, "JobAlreadyActive", _ACTIVE)
        return policy != "Forbid" or not active

    def _delete_job(self, obj: Object, job: Object) -> None:
        self._delete(job)
        self._events.record(obj, "SuccessfulDelete", f"Deleted job {job['metadata']['name']}")

    def _note_completed(self, obj: Object, jobs: list[Object]) -> None:
        """Record the Jobs that have ended since the last sync."""
        before = {each["uid"] for each in (obj.get("status") or {}).get("active") or ()}
        for job in jobs:
            if (end := end_of(job)) is not None and job["metadata"]["uid"] in before:
                text = f"Saw completed job: {job['metadata']['name']}, condition: {end['type']}"
                self._events.record(obj, "SawCompletedJob", text)

    def _create(self, obj: Object, due: float) -> Object:
        template, meta, zone = obj["spec"]["jobTemplate"], obj["metadata"], obj["spec"].get("timeZone") or ""
        described = template.get("metadata") or {}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": _job_name(obj, due),
                "namespace": meta["namespace"],
                "labels": described.get("labels") or {},
                "annotations": {**(described.get("annotations") or {}), _SCHEDULED: local_time(due, zone)},
                "ownerReferences": [controller_reference(obj)],
            },
            "spec": template["spec"],
        }
        try:
            return self._internal.create(JOBS, meta["namespace"], job)
        except InReview:
            raise
        except ApiFailure as failure:
            self._events.record(obj, "FailedCreate", f"Error creating job: {failure.message}", kind="Warning")
            raise

    def _status(self, obj: Object, jobs: list[Object], active: list[Object]) -> Object:
        ended = [job["status"]["completionTime"] for job in jobs if (job.get("status") or {}).get("completionTime")]
        before = (obj.get("status") or {}).get("lastSuccessfulTime", "")
        return {"active": _references(obj, active) or None, "lastSuccessfulTime": max([*ended, before]) or None}

    def _clean_up(self, obj: Object, finished: list[Object]) -> None:
        spec = obj["spec"]
        for failed, limit in (
            (False, spec.get("successfulJobsHistoryLimit", 3)),
            (True, spec.get("failedJobsHistoryLimit", 1)),
        ):
            jobs = [job for job in finished if _has_failed(job) is failed and not is_deleting(job)]
            jobs.sort(key=lambda job: ((job.get("status") or {}).get("startTime") or "", job["metadata"]["name"]))
            for job in jobs[: max(0, len(jobs) - int(limit))]:
                self._delete_job(obj, job)


def _job_name(obj: Object, due: float) -> str:
    return f"{obj['metadata']['name']}-{int(due) // 60}"


def _has_failed(job: Object) -> bool:
    return (end_of(job) or {}).get("type") == "Failed"


def _references(obj: Object, active: list[Object]) -> list[Object]:
    """Return the references to active Jobs; those in the status stay, although the versions of their Jobs change."""
    before = {each["uid"]: each for each in (obj.get("status") or {}).get("active") or ()}
    return [before.get(job["metadata"]["uid"]) or _reference_to(job) for job in active]


def _reference_to(job: Object) -> Object:
    meta = job["metadata"]
    fields = {"kind": "Job", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    return {**fields, "apiVersion": "batch/v1", "resourceVersion": meta["resourceVersion"]}
