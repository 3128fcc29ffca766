"""Printers of workloads: pods, apps, batch and autoscaling."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clientgo.apiserver.printers.base import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Obj,
    Printer,
    col,
    containers,
    dig,
    human_duration,
    items,
    label_text,
    moment_of,
    selector_text,
    since,
    timed,
    true_conditions,
)


def _ready_containers(obj: Obj) -> str:
    ready = sum(1 for status in items(obj, "status", "containerStatuses") if status.get("ready"))
    return f"{ready}/{len(items(obj, 'spec', 'containers'))}"


def _restarts(obj: Obj, now: datetime) -> str:
    statuses = items(obj, "status", "containerStatuses")
    count = sum(int(status.get("restartCount", 0)) for status in statuses)
    ends = [dig(status, "lastState", "terminated", "finishedAt") for status in statuses]
    latest = max((end for end in ends if end), default="")
    return f"{count} ({since(latest, now)} ago)" if count and latest else str(count)


def _readiness_gates(obj: Obj) -> str:
    gates = [gate.get("conditionType") for gate in items(obj, "spec", "readinessGates")]
    return f"{len([gate for gate in gates if gate in true_conditions(obj)])}/{len(gates)}" if gates else NONE


def _pod_status(obj: Obj) -> str:
    """Return what kubectl's STATUS shows: the phase, unless a container, a gate or a deletion replaces it."""
    phase = dig(obj, "status", "phase", default="")
    reason = dig(obj, "status", "reason", default="") or phase
    for condition in items(obj, "status", "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    reason = _init_reason(obj) or _container_reason(obj, reason)
    if dig(obj, "metadata", "deletionTimestamp") and phase not in {"Succeeded", "Failed"}:
        return "Unknown" if dig(obj, "status", "reason") == "NodeLost" else "Terminating"
    return str(reason)


def _init_reason(obj: Obj) -> str:
    statuses = items(obj, "status", "initContainerStatuses")
    for index, status in enumerate(statuses):
        ended = dig(status, "state", "terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if _is_sidecar(obj, status) and status.get("started"):
            continue
        waiting = dig(status, "state", "waiting", "reason", default="")
        if ended is not None:
            return f"Init:{_termination_reason(ended)}"
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{index}/{len(statuses)}"
    return ""


def _is_sidecar(obj: Obj, status: Obj) -> bool:
    return any(
        item.get("name") == status.get("name") and item.get("restartPolicy") == "Always"
        for item in items(obj, "spec", "initContainers")
    )


def _container_reason(obj: Obj, reason: str) -> str:
    running = False
    for status in reversed(items(obj, "status", "containerStatuses")):
        waiting, ended = dig(status, "state", "waiting", "reason"), dig(status, "state", "terminated")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = _termination_reason(ended)
        elif status.get("ready") and dig(status, "state", "running") is not None:
            running = True
    if reason == "Completed" and running:
        return "Running" if "Ready" in true_conditions(obj) else "NotReady"
    return reason


def _termination_reason(ended: Obj) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _ready_replicas(obj: Obj) -> str:
    return f"{dig(obj, 'status', 'readyReplicas', default=0)}/{dig(obj, 'spec', 'replicas', default=0)}"


def _controller(obj: Obj) -> str:
    for owner in items(obj, "metadata", "ownerReferences"):
        if owner.get("controller"):
            group = str(owner.get("apiVersion", "")).rpartition("/")[0]
            kind = str(owner.get("kind", "")).lower()
            return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"
    return NONE


def _job_status(obj: Obj) -> str:
    held = true_conditions(obj)
    deleted = "Terminating" if dig(obj, "metadata", "deletionTimestamp") else ""
    ended = next((kind for kind in ("Complete", "Failed") if kind in held), deleted)
    return ended or next(
        (kind for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if kind in held), "Running"
    )


def _completions(obj: Obj) -> str:
    done, wanted = dig(obj, "status", "succeeded", default=0), dig(obj, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = dig(obj, "spec", "parallelism", default=0)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(obj: Obj, now: datetime) -> str:
    start, end = (moment_of(dig(obj, "status", key)) for key in ("startTime", "completionTime"))
    return "" if start is None else human_duration(((end or now) - start).total_seconds())


def _last_schedule(obj: Obj, now: datetime) -> str:
    last = dig(obj, "status", "lastScheduleTime")
    return since(last, now) if last else NONE


def _scale_target(obj: Obj) -> str:
    target = dig(obj, "spec", "scaleTargetRef", default={})
    return f"{target.get('kind')}/{target.get('name')}"


def _scaling_metrics(obj: Obj) -> str:
    wanted = dig(obj, "spec", "targetCPUUtilizationPercentage")
    if wanted is not None:
        return f"cpu: {_percent(dig(obj, 'status', 'currentCPUUtilizationPercentage'))}/{wanted}%"
    current = {_metric_name(item): item for item in items(obj, "status", "currentMetrics")}
    texts = [_metric(metric, current.get(_metric_name(metric), {})) for metric in items(obj, "spec", "metrics")]
    shown = ", ".join(texts[:2])
    return f"{shown} + {len(texts) - 2} more..." if len(texts) > 2 else shown or NONE


def _metric_name(metric: Obj) -> str:
    source = next((value for key, value in metric.items() if key != "type" and isinstance(value, dict)), {})
    return str(source.get("name") or dig(source, "metric", "name", default=""))


def _metric_part(metric: Obj, key: str) -> Obj:
    return next((dict(value[key]) for value in metric.values() if isinstance(value, dict) and key in value), {})


def _metric(metric: Obj, current: Obj) -> str:
    wanted, now = _metric_part(metric, "target"), _metric_part(current, "current")
    if (percent := wanted.get("averageUtilization")) is not None:
        return f"{_metric_name(metric)}: {_percent(now.get('averageUtilization'))}/{percent}%"
    per_pod = wanted.get("averageValue")
    have = now.get("averageValue" if per_pod else "value", UNKNOWN)
    return f"{have}/{per_pod} (avg)" if per_pod else f"{have}/{wanted.get('value')}"


def _percent(value: Any) -> str:
    return UNKNOWN if value is None else f"{value}%"


_SELECTOR = col("Selector", lambda obj: selector_text(dig(obj, "spec", "selector")), wide=True)
_TEMPLATE = containers("spec", "template", "spec")
_REPLICA_COUNTS: Printer = (
    col("Desired", "spec.replicas", "integer", default=0),
    col("Current", "status.replicas", "integer", default=0),
    col("Ready", "status.readyReplicas", "integer", default=0),
)
_DAEMON_COUNTS = {
    "Desired": "desiredNumberScheduled",
    "Current": "currentNumberScheduled",
    "Ready": "numberReady",
    "Up-to-date": "updatedNumberScheduled",
    "Available": "numberAvailable",
}

PRINTERS: Mapping[tuple[str, str], Printer] = {
    ("", "Pod"): (
        NAME,
        col("Ready", _ready_containers),
        col("Status", _pod_status),
        timed("Restarts", _restarts),
        AGE,
        col("IP", "status.podIPs.0.ip", default=NONE, wide=True),
        col("Node", lambda obj: dig(obj, "spec", "nodeName") or NONE, wide=True),
        col("Nominated Node", lambda obj: dig(obj, "status", "nominatedNodeName") or NONE, wide=True),
        col("Readiness Gates", _readiness_gates, wide=True),
    ),
    ("apps", "Deployment"): (
        NAME,
        col("Ready", _ready_replicas),
        col("Up-to-date", "status.updatedReplicas", default=0),
        col("Available", "status.availableReplicas", default=0),
        AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    ("apps", "ReplicaSet"): (NAME, *_REPLICA_COUNTS, AGE, *_TEMPLATE, _SELECTOR),
    ("", "ReplicationController"): (
        NAME,
        *_REPLICA_COUNTS,
        AGE,
        *_TEMPLATE,
        col("Selector", lambda obj: label_text(dig(obj, "spec", "selector")), wide=True),
    ),
    ("apps", "StatefulSet"): (NAME, col("Ready", _ready_replicas), AGE, *_TEMPLATE),
    ("apps", "DaemonSet"): (
        NAME,
        *(col(title, f"status.{field}", "integer", default=0) for title, field in _DAEMON_COUNTS.items()),
        col("Node Selector", lambda obj: label_text(dig(obj, "spec", "template", "spec", "nodeSelector"))),
        AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    ("apps", "ControllerRevision"): (NAME, col("Controller", _controller), col("Revision", "revision", default=0), AGE),
    ("batch", "Job"): (
        NAME,
        col("Status", _job_status),
        col("Completions", _completions),
        timed("Duration", _job_duration),
        AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    ("batch", "CronJob"): (
        NAME,
        col("Schedule", "spec.schedule"),
        col("Timezone", "spec.timeZone", default=NONE),
        col("Suspend", lambda obj: str(bool(dig(obj, "spec", "suspend"))), "boolean"),
        col("Active", lambda obj: len(items(obj, "status", "active")), "integer"),
        timed("Last Schedule", _last_schedule),
        AGE,
        *containers("spec", "jobTemplate", "spec", "template", "spec"),
        col("Selector", lambda obj: selector_text(dig(obj, "spec", "jobTemplate", "spec", "selector")), wide=True),
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        NAME,
        col("Reference", _scale_target),
        col("Targets", _scaling_metrics),
        col("MinPods", lambda obj: str(dig(obj, "spec", "minReplicas", default=UNSET))),
        col("MaxPods", "spec.maxReplicas", default=0),
        col("Replicas", "status.currentReplicas", default=0),
        AGE,
    ),
}
"""Printers by group and kind."""
