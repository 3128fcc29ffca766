"""CronJobs: a Job at each time of the schedule."""

from clientgo_apiserver.cluster.cronschedule import times_after
from clientgo_apiserver.cluster.podcontrol import WorkloadController, seconds_of
from clientgo_apiserver.controllers.base import controller_reference, is_deleting
from clientgo_apiserver.controllers.jobs import JOBS, end_of
from clientgo_apiserver.registry.metadata import rfc3339
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import Key, name_of

CRON_JOBS: Key = ("batch", "cronjobs")
_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class CronJobController(WorkloadController):
    """Creates the Jobs of CronJobs and removes the old ones."""

    _key = CRON_JOBS
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
        status = self._status(obj, children, active)
        self._clean_up(obj, [job for job in children if end_of(job) is not None])
        if obj["spec"].get("suspend"):
            self._update_status(obj, status)
            return
        due, following = self._due_times(obj)
        if due is not None and self._may_start(obj, active, due):
            job = self._create(obj, due)
            active.append(job)
            status |= {"lastScheduleTime": rfc3339(int(due)), "active": [_reference_to(each) for each in active]}
        self._update_status(obj, status)
        self._again_at(following, *name_of(obj))

    def _due_times(self, obj: Object) -> tuple[float | None, float | None]:
        """Return the last time of the schedule that has passed and has no Job yet, and the next one."""
        spec, now = obj["spec"], self._state.clock.time()
        last = (obj.get("status") or {}).get("lastScheduleTime")
        since = seconds_of(last or obj["metadata"]["creationTimestamp"])
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None:
            since = max(since, now - float(deadline))
        due = None
        for time in times_after(spec["schedule"], spec.get("timeZone") or "", since):
            if time > now:
                return due, time
            due = time
        return due, None

    def _may_start(self, obj: Object, active: list[Object], due: float) -> bool:
        name = _job_name(obj, due)
        if self._store.get(JOBS, obj["metadata"]["namespace"], name) is not None:
            return False
        policy = obj["spec"].get("concurrencyPolicy", "Allow")
        if policy == "Replace":
            for job in active:
                self._delete(job)
            active.clear()
        return policy != "Forbid" or not active

    def _create(self, obj: Object, due: float) -> Object:
        template, meta = obj["spec"]["jobTemplate"], obj["metadata"]
        described = template.get("metadata") or {}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": _job_name(obj, due),
                "namespace": meta["namespace"],
                "labels": described.get("labels") or {},
                "annotations": {**(described.get("annotations") or {}), _SCHEDULED: rfc3339(int(due))},
                "ownerReferences": [controller_reference(obj)],
            },
            "spec": template["spec"],
        }
        return self._internal.create(JOBS, meta["namespace"], job)

    def _status(self, obj: Object, jobs: list[Object], active: list[Object]) -> Object:
        ended = [job["status"]["completionTime"] for job in jobs if (job.get("status") or {}).get("completionTime")]
        before = (obj.get("status") or {}).get("lastSuccessfulTime", "")
        return {
            "active": [_reference_to(job) for job in active] or None,
            "lastSuccessfulTime": max([*ended, before]) or None,
        }

    def _clean_up(self, obj: Object, finished: list[Object]) -> None:
        spec = obj["spec"]
        for failed, limit in (
            (False, spec.get("successfulJobsHistoryLimit", 3)),
            (True, spec.get("failedJobsHistoryLimit", 1)),
        ):
            jobs = [job for job in finished if _has_failed(job) is failed and not is_deleting(job)]
            jobs.sort(key=lambda job: ((job.get("status") or {}).get("startTime") or "", job["metadata"]["name"]))
            for job in jobs[: max(0, len(jobs) - int(limit))]:
                self._delete(job)


def _job_name(obj: Object, due: float) -> str:
    return f"{obj['metadata']['name']}-{int(due) // 60}"


def _has_failed(job: Object) -> bool:
    return (end_of(job) or {}).get("type") == "Failed"


def _reference_to(job: Object) -> Object:
    meta = job["metadata"]
    fields = {"kind": "Job", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    return {**fields, "apiVersion": "batch/v1", "resourceVersion": meta["resourceVersion"]}
