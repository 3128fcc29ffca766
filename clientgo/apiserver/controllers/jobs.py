"""Jobs run and finish, as if a cluster ran their pods; none are created.

A Job is active for as long as replicas take to become available, and completes. One annotated
`simulation.clientgo.dev/job: failed` fails in the end, as if its pods had; with `running` it goes on until the
annotation goes. A suspended one waits, and one with `ttlSecondsAfterFinished` is deleted so long after it finished.
"""

import logging
from collections.abc import Callable

from clientgo.apiserver.controllers.cluster import Cluster, Key, Object, Timer
from clientgo.apiserver.http.status import ApiFailure
from clientgo.clock import utc

JOBS: Key = ("batch", "jobs")
OUTCOME = "simulation.clientgo.dev/job"
_SUCCESS = ("CompletionsReached", "Reached expected number of succeeded pods")
_FAILURE = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")

_log = logging.getLogger(__name__)


class JobSimulation:
    """Lets every Job run and finish, from `start` to `stop`; each takes `ready_seconds`."""

    def __init__(self, cluster: Cluster, *, ready_seconds: float = 0.0) -> None:
        self._cluster = cluster
        self._seconds = ready_seconds
        self._timers: dict[str, Timer] = {}
        self._unsubscribe: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<JobSimulation {len(self._timers)} under way>"

    def start(self) -> None:
        """Take up the Jobs that are stored, and follow every change from now on."""
        self._unsubscribe = self._cluster.subscribe(self._changed)
        for job in self._cluster.list(JOBS):
            self._cluster.call_soon(self._sync, *_place(job))

    def stop(self) -> None:
        """Write nothing more."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key != JOBS:
            return
        if new is None:
            self._forget(old)
        elif old is None or _asked(old) != _asked(new):
            react = self._cluster.call_soon if self._seconds else self._cluster.call_promptly
            react(self._sync, *_place(new))

    def _forget(self, job: Object | None) -> None:
        timer = self._timers.pop(job["metadata"]["uid"], None) if job is not None else None
        if timer is not None:
            timer.cancel()

    def _sync(self, namespace: str, name: str) -> None:
        job = self._cluster.get(JOBS, namespace, name)
        if self._unsubscribe is None or job is None:
            return
        self._forget(job)
        if _finished(job):
            self._expire(job)
        elif job["spec"].get("suspend"):
            self._write(job, {"active": 0, "startTime": None, **_suspended(job, self._now())})
        elif self._seconds or _outcome(job) == "running":
            self._write(job, self._running(job))
            if _outcome(job) != "running":
                later = self._cluster.call_later(self._seconds, self._finish, namespace, name, job["metadata"]["uid"])
                self._timers[job["metadata"]["uid"]] = later
        else:
            self._finish(namespace, name, job["metadata"]["uid"])

    def _running(self, job: Object) -> Object:
        spec = job["spec"]
        wanted = int(spec.get("parallelism", 1))
        completions = spec.get("completions")
        active = wanted if completions is None else min(wanted, int(completions))
        started = (job.get("status") or {}).get("startTime") or self._now()
        known = _resumed(job, self._now())
        return {"active": active, "ready": active, "terminating": 0, "startTime": started, **known}

    def _finish(self, namespace: str, name: str, uid: str) -> None:
        job = self._cluster.get(JOBS, namespace, name)
        if self._unsubscribe is None or job is None or job["metadata"]["uid"] != uid:
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
        self._write(job, {**status, "conditions": [*before, *ends]})
        self._expire(job)

    def _expire(self, job: Object) -> None:
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is not None:
            uid = job["metadata"]["uid"]
            self._timers[uid] = self._cluster.call_later(float(seconds), self._delete, *_place(job), uid)

    def _delete(self, namespace: str, name: str, uid: str) -> None:
        self._timers.pop(uid, None)
        try:
            self._cluster.delete(JOBS, namespace, name, uid=uid, propagation="Foreground")
        except ApiFailure as failure:
            if failure.code >= 500:
                raise  # to be tried again
            _log.warning("job not deleted", extra={"object": (namespace, name), "reason": failure.message})

    def _write(self, job: Object, status: Object) -> None:
        try:
            self._cluster.patch(JOBS, *_place(job), {"status": status}, subresource="status")
        except ApiFailure as failure:
            if failure.code >= 500:
                raise  # to be tried again
            # Only a client's broken object can be refused; it stays as it is until it changes again.
            _log.warning("status not written", extra={"object": _place(job), "reason": failure.message})

    def _now(self) -> str:
        return utc(self._cluster.clock).strftime("%Y-%m-%dT%H:%M:%SZ")


def _asked(job: Object) -> tuple[object, str]:
    """What the simulation acts on; a status is its own doing."""
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
    """The conditions of a Job that goes on, if it was suspended."""
    conditions = (job.get("status") or {}).get("conditions") or []
    if not any(one["type"] == "Suspended" and one["status"] == "True" for one in conditions):
        return {}
    others = [one for one in conditions if one["type"] != "Suspended"]
    return {"conditions": [*others, _condition("Suspended", "False", ("JobResumed", "Job resumed"), now)]}


def _condition(kind: str, status: str, why: tuple[str, str], now: str) -> Object:
    times = {"lastProbeTime": now, "lastTransitionTime": now}
    return {"type": kind, "status": status, **times, "reason": why[0], "message": why[1]}


def _place(job: Object) -> tuple[str, str]:
    return job["metadata"]["namespace"], job["metadata"]["name"]
