"""Jobs: pods that run to completion, with retries, indexes, policies and deadlines as in Kubernetes.

Each pod has a finalizer until its outcome is counted in the Job's status, so that none is lost or counted twice. A Job
whose outcome is known has the condition SuccessCriteriaMet or FailureTarget, and Complete or Failed once its last pod
has ended. One with another `managedBy` is left to its controller.
"""

from collections.abc import Iterable
from functools import partial
from itertools import islice

import msgspec

from clientgo_apiserver.api.conditions import condition_of, conditions_of, is_true
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import is_deleting
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.jobconditions import (
    FAILURE,
    RESUMED,
    SUCCESS,
    SUSPENDED,
    JobEnd,
    end_of,
    job_condition,
    suspension,
)
from clientgo_apiserver.cluster.jobpods import (
    INDEX,
    TRACKED,
    JobTally,
    absolute_failures_of,
    ended_at,
    failure_annotations,
    free_indexes,
    is_tracked,
    misplaced,
    policy_failure,
    replaces_failed_only,
    restarts_exceed,
    success_policy,
    tally,
    uid_of,
)
from clientgo_apiserver.cluster.owned import Owned, controller_of
from clientgo_apiserver.cluster.podcontrol import (
    BURST,
    FINISHED,
    SLICE,
    WorkloadController,
    deletion_rank,
    phase_of,
    seconds_of,
)
from clientgo_apiserver.cluster.podcontrol import is_ready as is_pod_ready
from clientgo_apiserver.registry.jobindexes import IndexSet
from clientgo_apiserver.storage.keys import JOBS, PODS
from clientgo_apiserver.storage.stored import Key, name_of

_SETTLED = 20  # pods that one sync counts: each is written
_BACKOFF_SECONDS, _MAX_BACKOFF_SECONDS = 10.0, 600.0
_UNLIMITED = 2**31 - 1
_OURS = "kubernetes.io/job-controller"
"""Value of `managedBy` of Jobs that are not left to another controller."""
_TARGETS = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}
"""Conditions of a Job whose pods have not all ended yet."""


class _Backoff(msgspec.Struct):
    """Failures of a Job since its last success, and when the last one was."""

    failures: int = 0
    last: float = 0.0

    def note(self, succeeded: Iterable[float], failed: Iterable[float]) -> None:
        """Count failures, by the times at which pods ended."""
        last_success = max(succeeded, default=None)
        if last_success is not None:
            self.failures = 0
        recent = [time for time in failed if last_success is None or time > last_success]
        self.failures += len(recent)
        self.last = max(recent, default=self.last)

    @property
    def due(self) -> float:
        """Time from which the next pod may be created."""
        return self.last + _delay(self.failures)


class JobController(WorkloadController):
    """Runs Jobs by their pods."""

    _service_account = "job-controller"
    _sources = (JOBS,)
    _further = (PODS,)
    _kind = "Job"

    def __init__(self, internal: Internal, owned: Owned) -> None:
        super().__init__(internal, owned)
        self._backoffs: dict[str, _Backoff] = {}

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        super()._changed(kind, key, old, new)
        if key == JOBS and new is None and old is not None:
            self._backoffs.pop(old["metadata"]["uid"], None)
            for pod in self._owned.by(old, PODS):
                self._schedule(*name_of(pod), "pod")
        elif key == PODS and new is not None and is_tracked(new) and self._is_orphan(new):
            self._schedule(*name_of(new), "pod")

    def _sync(self, *names: str) -> None:
        if len(names) == 2:
            super()._sync(*names)
            return
        pod = self._store.get(PODS, *names[:2])
        if pod is not None and self._is_orphan(pod):
            self._untrack(pod)

    def _set_owners(self, child: Object, references: list[Object]) -> Object:
        """Change the owners of a pod, which is tracked while a Job controls it."""
        stored = super()._set_owners(child, references)
        if not any(owner.get("controller") for owner in references):
            self._untrack(stored)
            return stored
        meta = {
            "uid": stored["metadata"]["uid"],
            "finalizers": [*(stored["metadata"].get("finalizers") or ()), TRACKED],
        }
        return self._internal.patch(PODS, *name_of(stored), {"metadata": meta})

    def _is_orphan(self, pod: Object) -> bool:
        """Return whether no Job will count the pod."""
        owner = controller_of(pod)
        if owner is None or owner["kind"] != "Job":
            return owner is None
        job = self._store.get(JOBS, pod["metadata"]["namespace"], owner["name"])
        return job is None or job["metadata"]["uid"] != owner["uid"]

    def _reconcile(self, obj: Object, children: list[Object]) -> None:
        if obj["spec"].get("managedBy", _OURS) != _OURS:
            return
        if end_of(obj) is not None:
            self._run_steps(obj, [partial(self._untrack, pod) for pod in children if is_tracked(pod)])
            self._expire(obj)
            return
        active = _active(children)
        counted = tally(obj, children, active)
        status = dict(counted.status)
        outcome = self._outcome(obj, counted, children, active)
        replaceable = set(map(uid_of, counted.replaceable.values()))
        ended = [pod for pod in (*counted.succeeded, *counted.failed) if uid_of(pod) not in replaceable]
        settled, later = ended[:_SETTLED], ended[_SETTLED:]
        backoff = self._backoffs.setdefault(obj["metadata"]["uid"], _Backoff())
        if obj["spec"].get("backoffLimitPerIndex") is None:  # else the pods of each index have their own delay
            backoff.note(*(map(ended_at, pods) for pods in _by_outcome(settled)))
        try:
            if outcome is not None:
                if not obj["spec"].get("suspend"):
                    status["startTime"] = status.get("startTime") or self._now()
                settled, later = self._stop(obj, outcome, counted, children)
            elif obj["spec"].get("suspend"):
                self._suspend(obj, status, active)
            else:
                self._continue(obj, status, counted, children)
        finally:  # a pod may be rejected
            self._count(obj, status, counted, settled)
            self._write(obj, status, outcome, is_counted=not later)
            for pod in settled:
                self._untrack(pod)
            if is_deleting(obj):
                self._run_steps(obj, [partial(self._untrack, pod) for pod in children if is_tracked(pod)])
            elif later:
                self._schedule(*name_of(obj))

    def _outcome(self, obj: Object, counted: JobTally, pods: list[Object], active: list[Object]) -> JobEnd | None:
        """Return how the Job ends, or None. An outcome that was decided before stays."""
        for kind, target in _TARGETS.items():
            if (condition := condition_of(obj, target)).get("status") == "True":
                return JobEnd(kind, condition["reason"], condition["message"])
        spec, status = obj["spec"], counted.status
        if (reason := policy_failure(obj, pods)) is not None:
            return JobEnd("Failed", "PodFailurePolicy", reason)
        limit = int(spec.get("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else _UNLIMITED))
        if counted.failures > limit or restarts_exceed(spec, pods, limit):
            return JobEnd("Failed", *FAILURE)
        started, deadline = (obj.get("status") or {}).get("startTime"), self._deadline(obj)
        if started and not _is_suspended(obj) and deadline is not None and self._state.clock.time() >= deadline:
            return JobEnd("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
        if (failure := _index_failure(spec, status)) is not None:
            return failure
        if (message := success_policy(spec, IndexSet.parse(status.get("completedIndexes")))) is not None:
            return JobEnd("Complete", "SuccessPolicy", message)
        completions, succeeded = spec.get("completions"), int(status.get("succeeded") or 0)
        is_complete = succeeded > 0 and not active if completions is None else succeeded >= int(completions)
        return JobEnd("Complete", *SUCCESS) if is_complete else None

    def _stop(
        self, obj: Object, outcome: JobEnd, counted: JobTally, children: list[Object]
    ) -> tuple[list[Object], list[Object]]:
        """Delete active pods, and count those of a Job that fails; return the pods to count now, and the others."""
        active = _active(children)
        self._run_steps(obj, [partial(self._delete_stored, pod) for pod in active[:BURST]])
        running = set(map(uid_of, active[SLICE:]))
        settled = [pod for pod in children if is_tracked(pod) and uid_of(pod) not in running]
        if outcome.kind == "Failed":
            ended = {*map(uid_of, counted.failed)}
            counted.counting.update(
                uid_of(pod) for pod in settled if phase_of(pod) not in FINISHED and uid_of(pod) not in ended
            )
        return settled[:_SETTLED], settled[_SETTLED:]

    def _count(self, obj: Object, status: Object, counted: JobTally, settled: list[Object]) -> None:
        """Set the counts in the status to those before and the pods that are counted now.

        As in Kubernetes, many pods that end together are counted one portion after the other.
        """
        before = obj.get("status") or {}
        failed = sum(uid_of(pod) in counted.counting for pod in settled)
        status["failed"] = (int(before.get("failed") or 0) + failed) or None
        if obj["spec"].get("completionMode") != "Indexed":  # else they are those of the completed indexes
            succeeded = sum(phase_of(pod) == "Succeeded" for pod in settled)
            status["succeeded"] = (int(before.get("succeeded") or 0) + succeeded) or None

    def _suspend(self, obj: Object, status: Object, active: list[Object]) -> None:
        self._remove(obj, active)
        status["startTime"] = None
        if not _is_suspended(obj):
            status["conditions"] = suspension(obj, "True", SUSPENDED, self._now())
            self._events.record(obj, "Suspended", "Job suspended")

    def _continue(self, obj: Object, status: Object, counted: JobTally, children: list[Object]) -> None:
        """Run the Job."""
        status["startTime"] = (obj.get("status") or {}).get("startTime") or self._now()
        if _is_suspended(obj):
            status["startTime"] = self._now()
            status["conditions"] = suspension(obj, "False", RESUMED, self._now())
            self._events.record(obj, "Resumed", "Job resumed")
        self._again_at(self._deadline({**obj, "status": status}), *name_of(obj))
        if not is_deleting(obj):
            self._run_pods(obj, status, counted, children)

    def _run_pods(self, obj: Object, status: Object, counted: JobTally, children: list[Object]) -> None:
        """Create or delete pods up to the parallelism and the remaining completions."""
        spec, active = obj["spec"], _active(children)
        completions, parallelism = spec.get("completions"), int(spec.get("parallelism", 1))
        succeeded = int(status.get("succeeded") or 0)
        if completions is None:
            target = len(active) if succeeded else parallelism
        else:
            target = min(parallelism, int(completions) - succeeded)
        surplus = misplaced(spec, active)
        superfluous = {*map(id, surplus)}
        remaining = [pod for pod in active if id(pod) not in superfluous]
        if len(remaining) > target:
            surplus += sorted(remaining, key=deletion_rank)[: len(remaining) - max(0, target)]
        if surplus:
            self._remove(obj, surplus)
            return
        occupied = [*active, *(_terminating(children) if replaces_failed_only(spec) else ())]
        missing = target - len(occupied)
        if missing <= 0:
            return
        # Only the pods of the next burst matter, of up to 2**31, unless indexes have delays of their own.
        creatable = self._creatable(obj)
        needed = missing if counted.replaceable else min(missing, creatable)
        indexes: list[int | None] = [None] * needed
        if spec.get("completionMode") == "Indexed":
            indexes = [*islice(free_indexes(spec, status, occupied), needed)]
        now, dues = self._state.clock.time(), {index: self._creatable_at(obj, counted, index) for index in indexes}
        self._again_at(min((due for due in dues.values() if due > now), default=None), *name_of(obj))
        replaced = counted.replaceable
        due = [index for index in indexes if dues[index] <= now][:creatable]
        self._run_steps(
            obj, [partial(self._create, obj, index, replaced.get(-1 if index is None else index)) for index in due]
        )

    def _creatable_at(self, obj: Object, counted: JobTally, index: int | None) -> float:
        """Return the time from which a pod may be created, which is delayed after failures."""
        if obj["spec"].get("backoffLimitPerIndex") is None:
            return self._backoffs[obj["metadata"]["uid"]].due
        replaced = counted.replaceable.get(-1 if index is None else index)
        return 0.0 if replaced is None else ended_at(replaced) + _delay(absolute_failures_of(replaced) + 1)

    def _create(self, obj: Object, index: int | None, replaced: Object | None) -> None:
        meta, template = obj["metadata"], obj["spec"]["template"]
        pod = self._pod(obj, template)
        pod["metadata"]["finalizers"] = [*(pod["metadata"].get("finalizers") or ()), TRACKED]
        if index is not None:
            pod["metadata"]["generateName"] = f"{meta['name']}-{index}-"
            annotations = {**pod["metadata"].get("annotations", {}), INDEX: str(index)}
            if obj["spec"].get("backoffLimitPerIndex") is not None:
                annotations |= failure_annotations(obj["spec"], replaced)
            pod["metadata"]["annotations"] = annotations
            pod["metadata"]["labels"] |= {INDEX: str(index)}
            source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
            variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
            for field in ("initContainers", "containers"):
                if pod["spec"].get(field):
                    pod["spec"][field] = [
                        {**each, "env": [*(each.get("env") or ()), variable]} for each in pod["spec"][field]
                    ]
            pod["spec"]["hostname"] = f"{meta['name']}-{index}"
        self._create_pod(pod)

    def _remove(self, obj: Object, pods: list[Object]) -> None:
        """Delete pods that are not counted as failures."""
        self._run_steps(
            obj,
            [step for pod in pods[:BURST] for step in (partial(self._untrack, pod), partial(self._delete_stored, pod))],
        )

    def _untrack(self, pod: Object) -> None:
        stored = self._store.get(PODS, *name_of(pod))
        if stored is not None and stored["metadata"]["uid"] == pod["metadata"]["uid"] and is_tracked(stored):
            remaining = [name for name in stored["metadata"]["finalizers"] if name != TRACKED]
            patch = {"metadata": {"uid": pod["metadata"]["uid"], "finalizers": remaining or None}}
            self._internal.patch(PODS, *name_of(pod), patch)

    def _deadline(self, obj: Object) -> float | None:
        seconds, started = obj["spec"].get("activeDeadlineSeconds"), (obj.get("status") or {}).get("startTime")
        return None if seconds is None or not started else seconds_of(started) + float(seconds)

    def _write(self, obj: Object, status: Object, outcome: JobEnd | None, *, is_counted: bool) -> None:
        """Write the status with the pods that remain; a Job ends once there are none, and all have been counted."""
        pods = self._owned.by(obj, PODS)
        active, terminating = _active(pods), _terminating(pods)
        counts = {"active": len(active) or None, "ready": sum(map(is_pod_ready, active))}
        if outcome is not None:
            is_over = is_counted and not active and not terminating
            kinds = [_TARGETS[outcome.kind], *((outcome.kind,) if is_over else ())]
            new = [kind for kind in kinds if not condition_of(obj, kind)]
            reason = outcome.reason, outcome.message
            status["conditions"] = [
                *conditions_of(obj),
                *(job_condition(kind, "True", reason, self._now()) for kind in new),
            ]
            if "Complete" in new:
                status["completionTime"] = self._now()
                self._events.record(obj, "Completed", "Job completed")
            elif "Failed" in new:
                self._events.record(obj, *reason, kind="Warning")
            if outcome.kind in new:
                self._schedule(*name_of(obj))  # its time to live begins
        self._update_status(obj, {**status, **counts, "terminating": len(terminating)})

    def _expire(self, obj: Object) -> None:
        seconds, end = obj["spec"].get("ttlSecondsAfterFinished"), end_of(obj)
        assert end is not None, "it has ended"
        ended = seconds_of(end["lastTransitionTime"])
        if seconds is None or is_deleting(obj):
            return
        if self._state.clock.time() < ended + float(seconds):
            self._again_at(ended + float(seconds), *name_of(obj))
            return
        self._internal.delete(JOBS, *name_of(obj), uid=obj["metadata"]["uid"], propagation="Foreground")


def _by_outcome(pods: Iterable[Object]) -> tuple[list[Object], list[Object]]:
    """Return the pods that succeeded, and the others."""
    succeeded: list[Object] = []
    failed: list[Object] = []
    for pod in pods:
        (succeeded if phase_of(pod) == "Succeeded" else failed).append(pod)
    return succeeded, failed


def _active(pods: Iterable[Object]) -> list[Object]:
    return [pod for pod in pods if phase_of(pod) not in FINISHED and not is_deleting(pod)]


def _terminating(pods: Iterable[Object]) -> list[Object]:
    return [pod for pod in pods if phase_of(pod) not in FINISHED and is_deleting(pod)]


def _is_suspended(obj: Object) -> bool:
    return is_true(obj, "Suspended")


def _delay(failures: int) -> float:
    """Return the seconds before the next pod after so many failures in a row."""
    return min(_BACKOFF_SECONDS * 2 ** (failures - 1), _MAX_BACKOFF_SECONDS) if failures else 0.0


def _index_failure(spec: Object, status: Object) -> JobEnd | None:
    """Return how a Job ends because of the indexes that have failed, or None."""
    failed, limit = IndexSet.parse(status.get("failedIndexes")).size, spec.get("maxFailedIndexes")
    if limit is not None and failed > int(limit):
        message = "Job has exceeded the specified maximal number of failed indexes"
        return JobEnd("Failed", "MaxFailedIndexesExceeded", message)
    if failed and failed + int(status.get("succeeded") or 0) >= int(spec.get("completions") or 0):
        return JobEnd("Failed", "FailedIndexes", "Job has failed indexes")
    return None
