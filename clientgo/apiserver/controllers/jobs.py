"""Simulated Jobs: they run and finish as if a cluster ran their pods, but no pods are created.

A Job is active for as long as replicas take to become available, and completes. One annotated
`simulation.clientgo.dev/job: failed` fails instead; with `running` it continues until the annotation is removed. A
suspended Job waits, and one with `ttlSecondsAfterFinished` is deleted that long after it finished.
"""

from clientgo.apiserver.controllers.base import InternalController, place
from clientgo.apiserver.internal import Internal
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.state import Handle
from clientgo.apiserver.storage.stored import Key

JOBS: Key = ("batch", "jobs")
OUTCOME = "simulation.clientgo.dev/job"
_SUCCESS = ("CompletionsReached", "Reached expected number of succeeded pods")
_FAILURE = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")


class JobSimulation(InternalController):
    """Runs and finishes every Job, each after `ready_seconds`."""

    def __init__(self, internal: Internal, *, ready_seconds: float = 0.0) -> None:
        super().__init__(internal)
        self._seconds = ready_seconds
        self._timers: dict[str, Handle] = {}

    def __repr__(self) -> str:
        return f"<JobSimulation {len(self._timers)} running>"

    def stop(self) -> None:
        """Stop writing, and cancel what is scheduled."""
        super().stop()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _resync(self) -> None:
        for job in self._internal.list(JOBS):
            self._internal.call_soon(self._sync, *place(job))

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key != JOBS:
            return
        if new is None:
            self._cancel(old)
        elif old is None or _desired(old) != _desired(new):
            react = self._internal.call_soon if self._seconds else self._internal.call_promptly
            react(self._sync, *place(new))

    def _cancel(self, job: Object | None) -> None:
        timer = self._timers.pop(job["metadata"]["uid"], None) if job is not None else None
        if timer is not None:
            timer.cancel()

    def _sync(self, namespace: str, name: str) -> None:
        job = self._internal.get(JOBS, namespace, name)
        if not self._running or job is None:
            return
        self._cancel(job)
        uid = job["metadata"]["uid"]
        if _finished(job):
            self._expire(job)
        elif job["spec"].get("suspend"):
            self._write_status(JOBS, job, {"active": 0, "startTime": None, **_suspended(job, self._now())})
        elif self._seconds or _outcome(job) == "running":
            self._write_status(JOBS, job, self._active(job))
            if _outcome(job) != "running":
                self._timers[uid] = self._internal.call_later(self._seconds, self._finish, namespace, name, uid)
        else:
            self._finish(namespace, name, uid)

    def _active(self, job: Object) -> Object:
        spec = job["spec"]
        wanted = int(spec.get("parallelism", 1))
        completions = spec.get("completions")
        active = wanted if completions is None else min(wanted, int(completions))
        started = (job.get("status") or {}).get("startTime") or self._now()
        return {"active": active, "ready": active, "terminating": 0, "startTime": started, **_resumed(job, self._now())}

    def _finish(self, namespace: str, name: str, uid: str) -> None:
        job = self._internal.get(JOBS, namespace, name)
        if not self._running or job is None or job["metadata"]["uid"] != uid:
            return
        self._timers.pop(uid, None)
        now, spec = self._now(), job["spec"]
        before = (job.get("status") or {}).get("conditions") or []
        status: Object = {"active": None, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}
        status["startTime"] = (job.get("status") or {}).get("startTime") or now
        if _outcome(job) == "failed":
            ends = [_condition(kind, "True", _FAILURE, now) for kind in ("FailureTarget", "Failed")]
            status["failed"] = int(spec.get("backoffLimit", 6)) + 1
        else:
            ends = [_condition(kind, "True", _SUCCESS, now) for kind in ("SuccessCriteriaMet", "Complete")]
            completions = spec.get("completions")
            status |= {"succeeded": int(spec.get("parallelism", 1) if completions is None else completions)}
            status["completionTime"] = now
        self._write_status(JOBS, job, {**status, "conditions": [*before, *ends]})
        self._expire(job)

    def _expire(self, job: Object) -> None:
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is not None:
            uid = job["metadata"]["uid"]
            self._timers[uid] = self._internal.call_later(float(seconds), self._delete, *place(job), uid)

    def _delete(self, namespace: str, name: str, uid: str) -> None:
        self._timers.pop(uid, None)

        def delete() -> object:
            return self._internal.delete(JOBS, namespace, name, uid=uid, propagation="Foreground")

        self._attempt("delete the job", (namespace, name), delete)


def _desired(job: Object) -> tuple[object, str]:
    """Return what the simulation acts on; the status is written by the simulation itself."""
    return job["metadata"].get("generation"), _outcome(job)


def _outcome(job: Object) -> str:
    return str((job["metadata"].get("annotations") or {}).get(OUTCOME, ""))


def _finished(job: Object) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions)


def _suspended(job: Object, now: str) -> Object:
    others = [one for one in (job.get("status") or {}).get("conditions") or () if one["type"] != "Suspended"]
    return {"conditions": [*others, _condition("Suspended", "True", ("JobSuspended", "Job suspended"), now)]}


def _resumed(job: Object, now: str) -> Object:
    """Return the conditions of a Job that continues, if it was suspended."""
    conditions = (job.get("status") or {}).get("conditions") or []
    if not any(one["type"] == "Suspended" and one["status"] == "True" for one in conditions):
        return {}
    others = [one for one in conditions if one["type"] != "Suspended"]
    return {"conditions": [*others, _condition("Suspended", "False", ("JobResumed", "Job resumed"), now)]}


def _condition(kind: str, status: str, why: tuple[str, str], now: str) -> Object:
    times = {"lastProbeTime": now, "lastTransitionTime": now}
    return {"type": kind, "status": status, **times, "reason": why[0], "message": why[1]}
