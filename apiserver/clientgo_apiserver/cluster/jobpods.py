"""Pods of Jobs: which have ended, what a pod failure policy says about them, and the completion indexes they have."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from clientgo_apiserver.api.conditions import condition_of
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import is_deleting
from clientgo_apiserver.cluster.podcontrol import FINISHED, deletion_rank, phase_of, seconds_of
from clientgo_apiserver.registry.jobindexes import IndexSet

TRACKED = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"


class JobTally(NamedTuple):
    """A Job's pods that have ended and are not counted yet, and its status with all of them but the failed ones."""

    status: Object
    failures: int
    """Failures of the Job with those that its status does not have yet."""
    succeeded: list[Object]
    failed: list[Object]
    counting: set[str]
    """Uids of the failed pods that count as failures."""
    replaceable: dict[int, Object]
    """Failed pods by their index, which stay tracked until their replacements continue their numbers of failures."""


def uid_of(pod: Object) -> str:
    """Return the uid of a pod."""
    return str(pod["metadata"]["uid"])


def is_tracked(pod: Object) -> bool:
    """Return whether the outcome of a pod is not in the status of its Job yet."""
    return TRACKED in (pod["metadata"].get("finalizers") or ())


def replaces_failed_only(spec: Object) -> bool:
    """Return whether a pod is replaced once it has failed, not when it begins to terminate."""
    return spec.get("podReplacementPolicy") == "Failed" or bool(spec.get("podFailurePolicy"))


def is_failed(spec: Object, pod: Object) -> bool:
    """Return whether a pod counts as failed: also while it terminates, unless only failed pods are replaced."""
    if phase_of(pod) in FINISHED:
        return phase_of(pod) == "Failed"
    return is_deleting(pod) and not replaces_failed_only(spec)


def tally(obj: Object, pods: list[Object], active: list[Object]) -> JobTally:
    """Count the pods that have ended."""
    before, spec = obj.get("status") or {}, obj["spec"]
    tracked = [pod for pod in pods if is_tracked(pod)]
    succeeded = [pod for pod in tracked if phase_of(pod) == "Succeeded"]
    failed = [pod for pod in tracked if is_failed(spec, pod)]
    counted = [pod for pod in failed if matching_action(spec, pod) != "Ignore"]
    replaceable: dict[int, Object] = {}
    status: Object = {"uncountedTerminatedPods": {}}
    if spec.get("completionMode") == "Indexed":
        numbers = range(int(spec.get("completions") or 0))
        counted = [pod for pod in counted if index_of(pod) in numbers]
        completed = IndexSet.parse(before.get("completedIndexes")) | IndexSet.of(map(index_of, succeeded))
        completed &= IndexSet([numbers])
        status |= {"completedIndexes": str(completed) or None, "succeeded": completed.size or None}
        if spec.get("backoffLimitPerIndex") is not None:
            failing = (index_of(pod) for pod in failed if _fails_index(spec, pod))
            failed_indexes = IndexSet.of(index for index in failing if index not in completed)
            failed_indexes |= IndexSet.parse(before.get("failedIndexes"))
            status["failedIndexes"] = str(failed_indexes)
            latest = {index_of(pod): pod for pod in sorted(failed, key=_failures_and_end)}
            settled = completed | failed_indexes | IndexSet.of(map(index_of, active))
            replaceable = {index: pod for index, pod in latest.items() if index in numbers and index not in settled}
    else:
        status["succeeded"] = (int(before.get("succeeded") or 0) + len(succeeded)) or None
    failures = int(before.get("failed") or 0) + len(counted)
    return JobTally(status, failures, succeeded, failed, set(map(uid_of, counted)), replaceable)


def _fails_index(spec: Object, pod: Object) -> bool:
    action = matching_action(spec, pod)
    return action == "FailIndex" or (action != "Ignore" and failures_of(pod) >= int(spec["backoffLimitPerIndex"]))


def failures_of(pod: Object, name: str = FAILURES) -> int:
    """Return how many pods failed before in the index of a pod."""
    text = (pod["metadata"].get("annotations") or {}).get(name, "")
    return int(text) if text.isdecimal() else 0


def absolute_failures_of(pod: Object) -> int:
    """Return how many pods failed before in the index of a pod, also those that a policy ignores."""
    return failures_of(pod) + failures_of(pod, IGNORED_FAILURES)


def failure_annotations(spec: Object, replaced: Object | None) -> dict[str, str]:
    """Return the annotations of a pod by which the failures of its index are counted."""
    if replaced is None:
        return {FAILURES: "0"}
    is_ignored = matching_action(spec, replaced) == "Ignore"
    ignored = failures_of(replaced, IGNORED_FAILURES) + is_ignored
    counts = {FAILURES: str(failures_of(replaced) + (not is_ignored))}
    return {**counts, **({IGNORED_FAILURES: str(ignored)} if ignored else {})}


def _failures_and_end(pod: Object) -> tuple[int, float]:
    return absolute_failures_of(pod), ended_at(pod)


def index_of(pod: Object) -> int:
    """Return the completion index of a pod; -1 without one."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else -1


def misplaced(spec: Object, pods: Sequence[Object]) -> list[Object]:
    """Return the pods of an indexed Job whose index is out of range or has another pod."""
    if spec.get("completionMode") != "Indexed":
        return []
    numbers, used, surplus = range(int(spec.get("completions") or 0)), set(), []
    indexes = {index_of(pod) for pod in pods}
    if len(indexes) == len(pods) and all(index in numbers for index in indexes):
        return []  # sorting the pods of a large Job takes long
    for pod in sorted(pods, key=deletion_rank, reverse=True):
        index = index_of(pod)
        if index not in numbers or index in used:
            surplus.append(pod)
        used.add(index)
    return surplus


def free_indexes(spec: Object, status: Object, pods: Iterable[Object]) -> Iterator[int]:
    """Yield the indexes that need a pod: not those of `pods`, nor those that have succeeded or failed."""
    used = IndexSet.of(map(index_of, pods))
    for field in ("completedIndexes", "failedIndexes"):
        used |= IndexSet.parse(status.get(field))
    return used.missing(int(spec.get("completions") or 0))


def matching_action(spec: Object, pod: Object) -> str:
    """Return the action of the first rule of the pod failure policy that a failed pod matches; Count by default."""
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
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
    for container in _container_statuses(pod):
        terminated = (container.get("state") or {}).get("terminated")
        if terminated is not None:
            yield container["name"], int(terminated.get("exitCode") or 0)


def _container_statuses(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def policy_failure(obj: Object, pods: list[Object]) -> str | None:
    """Return the message of the first pod that fails the Job by its pod failure policy, or None."""
    for pod in pods:
        if matching_action(obj["spec"], pod) != "FailJob":
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


def success_policy(spec: Object, completed: IndexSet) -> str | None:
    """Return the message of the first rule of the success policy that holds, or None."""
    for number, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or ()):
        required = IndexSet.parse(rule.get("succeededIndexes"))
        matched = completed & required if required else completed
        count = rule.get("succeededCount")
        if matched.size >= (int(count) if count is not None else required.size):
            return f"Matched rules at index {number}"
    return None


def restarts_exceed(spec: Object, pods: Iterable[Object], limit: int) -> bool:
    """Return whether containers that restart in place have failed more often than the backoff limit allows."""
    if spec["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    running = [pod for pod in pods if phase_of(pod) not in FINISHED]
    restarts = sum(int(each.get("restartCount") or 0) for pod in running for each in _container_statuses(pod))
    return restarts >= max(limit, 1)


def ended_at(pod: Object) -> float:
    """Return when the containers of a pod ended, or it became unready, or its deletion began."""
    times: list[Any] = [
        ((each.get("state") or {}).get("terminated") or {}).get("finishedAt") for each in _container_statuses(pod)
    ]
    if times and all(times):
        return max(map(seconds_of, times))
    ready, meta = condition_of(pod, "Ready"), pod["metadata"]
    if ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return seconds_of(ready["lastTransitionTime"])
    if is_deleting(pod):
        return seconds_of(meta["deletionTimestamp"]) - float(meta.get("deletionGracePeriodSeconds") or 0)
    return seconds_of(meta["creationTimestamp"])
