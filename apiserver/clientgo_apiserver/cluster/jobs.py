"""Jobs: pods that run to completion, with retries, indexes, policies and deadlines as in Kubernetes.

Each pod has a finalizer until its outcome is counted in the Job's status, so that none is lost or counted twice. A Job
with another `managedBy` is left to its controller.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from clientgo_apiserver.cluster.podcontrol import (
    BATCH,
    FINISHED,
    PODS,
    WorkloadController,
    phase_of,
    seconds_of,
)
from clientgo_apiserver.cluster.podcontrol import is_ready as is_pod_ready
from clientgo_apiserver.controllers.base import condition_of, conditions_of, is_deleting
from clientgo_apiserver.controllers.jobs import (
    FAILURE,
    JOBS,
    OURS,
    RESUMED,
    SUCCESS,
    SUSPENDED,
    end_of,
    format_indexes,
    job_condition,
    suspension,
)
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import name_of

TRACKED = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
_BACKOFF_SECONDS, _MAX_BACKOFF_SECONDS = 10.0, 600.0


class JobEnd(NamedTuple):
    """Condition that ends a Job: Complete or Failed, its reason and message."""

    kind: str
    reason: str
    message: str


class JobController(WorkloadController):
    """Runs Jobs by their pods."""

    _key = JOBS
    _sources = (JOBS,)
    _kind = "Job"

    def _reconcile(self, obj: Object, children: list[Object]) -> None:
        if obj["spec"].get("managedBy", OURS) != OURS:
            return
        if end_of(obj) is not None:
            for pod in children:
                self._untrack(pod)
            self._expire(obj)
            return
        ended = [pod for pod in children if phase_of(pod) in FINISHED]
        active = [pod for pod in children if pod not in ended and not is_deleting(pod)]
        terminating = len(children) - len(ended) - len(active)
        status = _counted(obj, children)
        outcome = self._outcome(obj, status, children, active)
        if outcome is not None:
            active = self._finish(obj, status, outcome, active)
        elif obj["spec"].get("suspend"):
            active = self._end(active)
            status["startTime"] = None
            if condition_of(obj, "Suspended").get("status") != "True":
                status["conditions"] = suspension(obj, "True", SUSPENDED, self._now())
        else:
            active = self._continue(obj, status, children, active, terminating)
        counts = {"active": len(active) or None, "ready": sum(map(is_pod_ready, active)), "terminating": terminating}
        self._update_status(obj, {**status, **counts})
        for pod in children:
            if pod in ended or is_deleting(pod):
                self._untrack(pod)

    def _finish(self, obj: Object, status: Object, outcome: JobEnd, active: list[Object]) -> list[Object]:
        """Delete the active pods and, once none remains, set the final conditions; return those that remain."""
        remaining = self._end(active)
        if remaining:
            self._schedule(*name_of(obj))
        else:
            present = conditions_of(obj)
            status["conditions"] = [*present, *self._conditions(outcome, present)]
            if outcome.kind == "Complete":
                status["completionTime"] = self._now()
        return remaining

    def _continue(
        self, obj: Object, status: Object, children: list[Object], active: list[Object], terminating: int
    ) -> list[Object]:
        """Run the Job; return its active pods."""
        status["startTime"] = (obj.get("status") or {}).get("startTime") or self._now()
        if condition_of(obj, "Suspended").get("status") == "True":
            status["conditions"] = suspension(obj, "False", RESUMED, self._now())
        self._again_at(self._deadline(obj, status["startTime"]), *name_of(obj))
        return active if is_deleting(obj) else self._run_pods(obj, status, children, active, terminating)

    def _outcome(self, obj: Object, status: Object, pods: list[Object], active: list[Object]) -> JobEnd | None:
        """Return how the Job ends now, or None."""
        spec, started = obj["spec"], (obj.get("status") or {}).get("startTime")
        failed, succeeded = int(status.get("failed") or 0), int(status.get("succeeded") or 0)
        if (reason := _policy_failure(obj, pods)) is not None:
            return JobEnd("Failed", "PodFailurePolicy", reason)
        if spec.get("backoffLimitPerIndex") is None and failed > int(spec.get("backoffLimit", 6)):
            return JobEnd("Failed", *FAILURE)
        limit = spec.get("maxFailedIndexes")
        failed_indexes = _parse_indexes(status.get("failedIndexes"))
        if limit is not None and len(failed_indexes) > int(limit):
            return JobEnd(
                "Failed", "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
            )
        deadline = spec.get("activeDeadlineSeconds")
        if started and deadline is not None and self._state.clock.time() >= seconds_of(started) + float(deadline):
            return JobEnd("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
        if (message := _success_policy(spec, _parse_indexes(status.get("completedIndexes")))) is not None:
            return JobEnd("Complete", "SuccessPolicy", message)
        completions = spec.get("completions")
        if completions is None:
            is_complete = succeeded > 0 and not active
        elif failed_indexes and succeeded + len(failed_indexes) >= int(completions):
            return JobEnd("Failed", "FailedIndexes", "Job has failed indexes")
        else:
            is_complete = succeeded >= int(completions)
        return JobEnd("Complete", *SUCCESS) if is_complete else None

    def _run_pods(
        self, obj: Object, status: Object, children: list[Object], active: list[Object], terminating: int
    ) -> list[Object]:
        """Create or delete pods up to the parallelism; return the active ones."""
        spec = obj["spec"]
        completions, parallelism = spec.get("completions"), int(spec.get("parallelism", 1))
        succeeded = int(status.get("succeeded") or 0)
        if completions is None:
            target = len(active) if succeeded else parallelism
        else:
            target = min(parallelism, int(completions) - succeeded)
        if len(active) > parallelism:
            for pod in sorted(active, key=_age)[parallelism:]:
                self._delete(pod)
            return sorted(active, key=_age)[:parallelism]
        missing = target - len(active)
        if spec.get("podReplacementPolicy") == "Failed":
            missing -= terminating
        if missing <= 0 or self._backs_off(obj, children):
            return active
        if spec.get("completionMode") != "Indexed":
            created = [self._create(obj, None) for _ in range(min(missing, BATCH))]
        else:
            created = [self._create(obj, index) for index in _free_indexes(spec, status, active)[: min(missing, BATCH)]]
        if missing > BATCH:
            self._schedule(*name_of(obj))
        return [*active, *created]

    def _backs_off(self, obj: Object, children: list[Object]) -> bool:
        """Return whether new pods wait after failures; sync again when they may be created."""
        failed = sorted(end for pod in children if phase_of(pod) == "Failed" and (end := _ended_at(pod)))
        last_success = max((_ended_at(pod) for pod in children if phase_of(pod) == "Succeeded"), default=0.0)
        in_row = [end for end in failed if end > last_success]
        if not in_row:
            return False
        due = in_row[-1] + min(_BACKOFF_SECONDS * 2 ** (len(in_row) - 1), _MAX_BACKOFF_SECONDS)
        if self._state.clock.time() >= due:
            return False
        self._again_at(due, *name_of(obj))
        return True

    def _create(self, obj: Object, index: int | None) -> Object:
        meta, template = obj["metadata"], obj["spec"]["template"]
        pod = self._pod(obj, template)
        pod["metadata"]["finalizers"] = [*(pod["metadata"].get("finalizers") or ()), TRACKED]
        if index is not None:
            pod["metadata"]["generateName"] = f"{meta['name']}-{index}-"
            pod["metadata"]["annotations"] = {**pod["metadata"]["annotations"], INDEX: str(index)}
            pod["metadata"]["labels"] |= {INDEX: str(index)}
            source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
            variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
            for field in ("initContainers", "containers"):
                if pod["spec"].get(field):
                    pod["spec"][field] = [
                        {**each, "env": [*(each.get("env") or ()), variable]} for each in pod["spec"][field]
                    ]
            pod["spec"]["hostname"] = f"{meta['name']}-{index}"
        return self._create_pod(pod)

    def _end(self, active: list[Object]) -> list[Object]:
        """Delete the active pods; return those that remain for the next turn."""
        for pod in active[:BATCH]:
            self._delete(pod)
        return active[BATCH:]

    def _untrack(self, pod: Object) -> None:
        finalizers = pod["metadata"].get("finalizers") or []
        if TRACKED in finalizers and self._store.get(PODS, *name_of(pod)) is not None:
            remaining = [name for name in finalizers if name != TRACKED]
            patch = {"metadata": {"uid": pod["metadata"]["uid"], "finalizers": remaining or None}}
            self._internal.patch(PODS, *name_of(pod), patch)

    def _deadline(self, obj: Object, started: str) -> float | None:
        seconds = obj["spec"].get("activeDeadlineSeconds")
        return None if seconds is None else seconds_of(started) + float(seconds)

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

    def _conditions(self, outcome: JobEnd, present: list[Object]) -> Iterable[Object]:
        target = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[outcome.kind]
        for kind in (target, outcome.kind):
            if not any(item.get("type") == kind for item in present):
                yield job_condition(kind, "True", (outcome.reason, outcome.message), self._now())


def _counted(obj: Object, pods: list[Object]) -> Object:
    """Return the counts of the status with the pods that ended and were not counted yet."""
    before, spec = obj.get("status") or {}, obj["spec"]
    uncounted = [
        pod
        for pod in pods
        if TRACKED in (pod["metadata"].get("finalizers") or ()) and (phase_of(pod) in FINISHED or is_deleting(pod))
    ]
    ignored = [pod for pod in uncounted if _matching_action(obj, pod) == "Ignore"]
    ended = {
        "succeeded": [pod for pod in uncounted if phase_of(pod) == "Succeeded"],
        "failed": [pod for pod in uncounted if phase_of(pod) != "Succeeded" and pod not in ignored],
    }
    counts: Object = {name: (int(before.get(name) or 0) + len(items)) or None for name, items in ended.items()}
    if spec.get("completionMode") == "Indexed":
        completed = _parse_indexes(before.get("completedIndexes")) | {index_of(pod) for pod in ended["succeeded"]}
        completed &= {*range(int(spec.get("completions") or 0))}
        counts |= {"completedIndexes": format_indexes(completed) or None, "succeeded": len(completed) or None}
        if spec.get("backoffLimitPerIndex") is not None:
            failed = _parse_indexes(before.get("failedIndexes"))
            for index in {index_of(pod) for pod in ended["failed"]}:
                failures = sum(index_of(pod) == index and phase_of(pod) == "Failed" for pod in pods)
                is_failed = any(_matching_action(obj, pod) == "FailIndex" for pod in pods if index_of(pod) == index)
                if failures > int(spec["backoffLimitPerIndex"]) or is_failed:
                    failed.add(index)
            counts["failedIndexes"] = format_indexes(failed - completed)
    counts["uncountedTerminatedPods"] = {}
    return counts


def index_of(pod: Object) -> int:
    """Return the completion index of a pod; -1 without one."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else -1


def _free_indexes(spec: Object, status: Object, active: list[Object]) -> list[int]:
    used = {index_of(pod) for pod in active}
    used |= _parse_indexes(status.get("completedIndexes")) | _parse_indexes(status.get("failedIndexes"))
    return [index for index in range(int(spec.get("completions") or 0)) if index not in used]


def _matching_action(obj: Object, pod: Object) -> str:
    """Return the action of the first rule of the pod failure policy that a failed pod matches; Count by default."""
    for rule in (obj["spec"].get("podFailurePolicy") or {}).get("rules") or ():
        if phase_of(pod) == "Failed" and _rule_matches(rule, pod):
            return str(rule["action"])
    return "Count"


def _rule_matches(rule: Object, pod: Object) -> bool:
    for pattern in rule.get("onPodConditions") or ():
        if condition_of(pod, pattern["type"]).get("status") == pattern.get("status", "True"):
            return True
    codes = rule.get("onExitCodes")
    if not codes:
        return False
    is_in = codes["operator"] == "In"
    return any(
        code != 0 and (code in codes["values"]) is is_in
        for name, code in _exit_codes(pod)
        if codes.get("containerName") in (None, name)
    )


def _exit_codes(pod: Object) -> Iterable[tuple[str, int]]:
    status = pod.get("status") or {}
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        terminated = (container.get("state") or {}).get("terminated")
        if terminated is not None:
            yield container["name"], int(terminated.get("exitCode") or 0)


def _policy_failure(obj: Object, pods: list[Object]) -> str | None:
    """Return the message of the first pod that fails the Job by its pod failure policy, or None."""
    for pod in pods:
        if _matching_action(obj, pod) != "FailJob":
            continue
        rules = obj["spec"]["podFailurePolicy"]["rules"]
        number = next(n for n, rule in enumerate(rules) if _rule_matches(rule, pod))
        container, code = next(((name, code) for name, code in _exit_codes(pod) if code), ("", 0))
        meta = pod["metadata"]
        return (
            f"Container {container} for pod {meta['namespace']}/{meta['name']} failed with exit code {code} matching"
            f" FailJob rule at index {number}"
        )
    return None


def _success_policy(spec: Object, completed: set[int]) -> str | None:
    """Return the message of the first rule of the success policy that holds, or None."""
    for number, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or ()):
        required = _parse_indexes(rule["succeededIndexes"]) if rule.get("succeededIndexes") else None
        matched = completed if required is None else completed & required
        count = rule.get("succeededCount")
        if len(matched) >= (int(count) if count is not None else len(required or ())):
            return f"Matched rules at index {number}"
    return None


def _parse_indexes(text: str | None) -> set[int]:
    indexes: set[int] = set()
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        indexes.update(range(int(first), int(last or first) + 1))
    return indexes


def _age(pod: Object) -> tuple[Any, ...]:
    return not is_pod_ready(pod), pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]


def _ended_at(pod: Object) -> float:
    """Return when the last container of a pod ended; its creation if none did."""
    containers = (pod.get("status") or {}).get("containerStatuses") or ()
    times = [
        seconds_of(terminated["finishedAt"])
        for container in containers
        if (terminated := (container.get("state") or {}).get("terminated")) and terminated.get("finishedAt")
    ]
    return max(times, default=seconds_of(pod["metadata"]["creationTimestamp"]))
