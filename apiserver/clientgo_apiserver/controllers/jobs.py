"""Simulated Jobs: they run and finish as if a cluster ran their pods, but no pods are created.

A Job is active for as long as replicas take to become available, and completes. One annotated
`simulation.clientgo.dev/job: failed` fails instead; with `running` it continues until the annotation is removed. A
suspended Job waits, and one with `ttlSecondsAfterFinished` is deleted that long after it finished.
"""

from clientgo_apiserver.controllers.base import (
    InternalController,
    annotation,
    condition_of,
    conditions_of,
    other_conditions,
)
from clientgo_apiserver.internal import Internal
from clientgo_apiserver.registry.jobindexes import IndexSet
from clientgo_apiserver.resources import Object
from clientgo_apiserver.state import Handle
from clientgo_apiserver.storage.stored import Key, name_of

JOBS: Key = ("batch", "jobs")
OUTCOME = "simulation.clientgo.dev/job"
OURS = "kubernetes.io/job-controller"
"""Value of `managedBy` of Jobs that are not left to another controller."""

SUSPENDED = ("JobSuspended", "Job suspended")
RESUMED = ("JobResumed", "Job resumed")
SUCCESS = ("CompletionsReached", "Reached expected number of succeeded pods")
FAILURE = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")


class JobSimulation(InternalController):
    """Runs and finishes every Job, each after `ready_seconds`."""

    _sources = (JOBS,)

    def __init__(self, internal: Internal, *, ready_seconds: float = 0.0) -> None:
        super().__init__(internal)
        self._seconds = ready_seconds
        self._timers: dict[str, Handle] = {}

    def __repr__(self) -> str:
        return f"<JobSimulation {len(self._timers)} running>"

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key != JOBS:
            return
        if new is None:
            self._cancel((old or {})["metadata"]["uid"])
        elif old is None or _desired(old) != _desired(new):
            self._schedule(*name_of(new), promptly=not self._seconds)

    def _cancel(self, uid: str) -> None:
        timer = self._timers.pop(uid, None)
        if timer is not None:
            timer.cancel()

    def _sync(self, *names: str) -> None:
        namespace, name = names
        job = self._store.get(JOBS, namespace, name)
        if job is None or job["spec"].get("managedBy", OURS) != OURS:
            return
        uid = job["metadata"]["uid"]
        self._cancel(uid)
        running = annotation(job, OUTCOME) == "running"
        if end_of(job) is not None:
            self._expire(job)
        elif job["spec"].get("suspend"):
            conditions = suspension(job, "True", SUSPENDED, self._now())
            self._write_status(JOBS, job, {"active": 0, "startTime": None, "conditions": conditions})
        elif self._seconds or running or job["spec"].get("parallelism") == 0:
            self._write_status(JOBS, job, self._active(job))
            if not running and job["spec"].get("parallelism") != 0:  # without pods it never completes
                self._timers[uid] = self._later(self._seconds, self._finish, namespace, name, uid)
        else:
            self._finish(namespace, name, uid)

    def _active(self, job: Object) -> Object:
        spec, now = job["spec"], self._now()
        parallelism, completions = int(spec.get("parallelism", 1)), spec.get("completions")
        active = parallelism if completions is None else min(parallelism, int(completions))
        started = (job.get("status") or {}).get("startTime") or now
        status = {"active": active, "ready": active, "terminating": 0, "startTime": started}
        if condition_of(job, "Suspended").get("status") == "True":
            status["conditions"] = suspension(job, "False", RESUMED, now)
        return status

    def _finish(self, namespace: str, name: str, uid: str) -> None:
        job = self._store.get(JOBS, namespace, name)
        if job is None or job["metadata"]["uid"] != uid:
            return
        self._timers.pop(uid, None)
        now, spec = self._now(), job["spec"]
        status: Object = {"active": None, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}
        status["startTime"] = (job.get("status") or {}).get("startTime") or now
        if annotation(job, OUTCOME) == "failed":
            ends = [job_condition(kind, "True", FAILURE, now) for kind in ("FailureTarget", "Failed")]
            status["failed"] = int(spec.get("backoffLimit", 6)) + 1
        else:
            ends = [job_condition(kind, "True", SUCCESS, now) for kind in ("SuccessCriteriaMet", "Complete")]
            completions = spec.get("completions")
            status |= {"succeeded": int(spec.get("parallelism", 1) if completions is None else completions)}
            status["completionTime"] = now
            if spec.get("completionMode") == "Indexed":
                status["completedIndexes"] = str(IndexSet([range(status["succeeded"])]))
        self._write_status(JOBS, job, {**status, "conditions": [*conditions_of(job), *ends]})
        self._expire(job)

    def _expire(self, job: Object) -> None:
        seconds, uid, target = job["spec"].get("ttlSecondsAfterFinished"), job["metadata"]["uid"], name_of(job)

        def delete() -> None:
            self._timers.pop(uid, None)
            remove = self._internal.delete
            self._attempt("delete the job", target, lambda: remove(JOBS, *target, uid=uid, propagation="Foreground"))

        if seconds is not None:
            self._timers[uid] = self._later(float(seconds), delete)


def _desired(job: Object) -> tuple[object, str]:
    """Return what the simulation acts on; the status is written by the simulation itself."""
    return job["metadata"].get("generation"), annotation(job, OUTCOME)


def end_of(job: Object) -> Object | None:
    """Return the condition with which a Job has ended, Complete or Failed, or None."""
    for condition in conditions_of(job):
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return condition
    return None


def suspension(job: Object, status: str, reason: tuple[str, str], now: str) -> list[Object]:
    """Return the conditions of a Job that was suspended or resumed; `reason` has the message too."""
    return [*other_conditions(job, "Suspended"), job_condition("Suspended", status, reason, now)]


def job_condition(kind: str, status: str, reason: tuple[str, str], now: str) -> Object:
    """Return a condition of a Job; `reason` has the message too."""
    times = {"lastProbeTime": now, "lastTransitionTime": now}
    return {"type": kind, "status": status, **times, "reason": reason[0], "message": reason[1]}
