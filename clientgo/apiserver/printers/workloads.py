"""Printers of what runs: apps, batch, pods."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clientgo.apiserver.printers.base import (
    AGE,
    CONTAINERS,
    NAME,
    NONE,
    SELECTOR,
    UNKNOWN,
    Printer,
    age,
    column,
    containers,
    dig,
    human_duration,
    items,
    label_text,
    moment_of,
    name,
    printer,
    selector_text,
    since,
)
from clientgo.apiserver.printers.pods import POD

Obj = dict[str, Any]


def _count(obj: Obj, *keys: str) -> int:
    return int(dig(obj, *keys, default=0))


def _template(obj: Obj) -> list[str]:
    return containers(dig(obj, "spec", "template", "spec"))


def _selector(obj: Obj) -> str:
    return selector_text(dig(obj, "spec", "selector"))


def _deployment(obj: Obj, now: datetime) -> list[Any]:
    ready = f"{_count(obj, 'status', 'readyReplicas')}/{_count(obj, 'spec', 'replicas')}"
    counts = [_count(obj, "status", key) for key in ("updatedReplicas", "availableReplicas")]
    return [name(obj), ready, *counts, age(obj, now), *_template(obj), _selector(obj)]


def _replica_set(obj: Obj, now: datetime) -> list[Any]:
    counts = [
        _count(obj, "spec", "replicas"),
        _count(obj, "status", "replicas"),
        _count(obj, "status", "readyReplicas"),
    ]
    return [name(obj), *counts, age(obj, now), *_template(obj), _selector(obj)]


def _replication_controller(obj: Obj, now: datetime) -> list[Any]:
    return [*_replica_set(obj, now)[:-1], label_text(dig(obj, "spec", "selector"))]


def _stateful_set(obj: Obj, now: datetime) -> list[Any]:
    ready = f"{_count(obj, 'status', 'readyReplicas')}/{_count(obj, 'spec', 'replicas')}"
    return [name(obj), ready, age(obj, now), *_template(obj)]


_DAEMON_COUNTS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def _daemon_set(obj: Obj, now: datetime) -> list[Any]:
    counts = [_count(obj, "status", key) for key in _DAEMON_COUNTS]
    nodes = label_text(dig(obj, "spec", "template", "spec", "nodeSelector"))
    return [name(obj), *counts, nodes, age(obj, now), *_template(obj), _selector(obj)]


def _controller_revision(obj: Obj, now: datetime) -> list[Any]:
    return [name(obj), _controller(obj), _count(obj, "revision"), age(obj, now)]


def _controller(obj: Obj) -> str:
    for owner in items(obj, "metadata", "ownerReferences"):
        if owner.get("controller"):
            group = str(owner.get("apiVersion", "")).rpartition("/")[0]
            kind = str(owner.get("kind", "")).lower()
            return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"
    return NONE


def _job(obj: Obj, now: datetime) -> list[Any]:
    return [
        name(obj),
        _job_status(obj),
        _completions(obj),
        _duration(obj, now),
        age(obj, now),
        *_template(obj),
        _selector(obj),
    ]


def _job_status(obj: Obj) -> str:
    held = {item.get("type") for item in items(obj, "status", "conditions") if item.get("status") == "True"}
    if "Complete" in held:
        return "Complete"
    if "Failed" in held:
        return "Failed"
    if dig(obj, "metadata", "deletionTimestamp"):
        return "Terminating"
    return next((word for word in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if word in held), "Running")


def _completions(obj: Obj) -> str:
    done, wanted = _count(obj, "status", "succeeded"), dig(obj, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = _count(obj, "spec", "parallelism")
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _duration(obj: Obj, now: datetime) -> str:
    start, end = (moment_of(dig(obj, "status", key)) for key in ("startTime", "completionTime"))
    if start is None:
        return ""
    return human_duration(((end or now) - start).total_seconds())


def _cron_job(obj: Obj, now: datetime) -> list[Any]:
    last = dig(obj, "status", "lastScheduleTime")
    return [
        name(obj),
        dig(obj, "spec", "schedule", default=""),
        dig(obj, "spec", "timeZone", default=NONE),
        "True" if dig(obj, "spec", "suspend", default=False) else "False",
        len(items(obj, "status", "active")),
        since(last, now) if last else NONE,
        age(obj, now),
        *containers(dig(obj, "spec", "jobTemplate", "spec", "template", "spec")),
        selector_text(dig(obj, "spec", "jobTemplate", "spec", "selector")),
    ]


def _autoscaler(obj: Obj, now: datetime) -> list[Any]:
    target = dig(obj, "spec", "scaleTargetRef", default={})
    least = dig(obj, "spec", "minReplicas", default="<unset>")
    return [
        name(obj),
        f"{target.get('kind')}/{target.get('name')}",
        _targets(obj),
        str(least),
        _count(obj, "spec", "maxReplicas"),
        _count(obj, "status", "currentReplicas"),
        age(obj, now),
    ]


def _targets(obj: Obj) -> str:
    wanted = dig(obj, "spec", "targetCPUUtilizationPercentage")
    if wanted is not None:
        now = dig(obj, "status", "currentCPUUtilizationPercentage")
        return f"cpu: {UNKNOWN if now is None else f'{now}%'}/{wanted}%"
    current = {_metric_name(item): item for item in items(obj, "status", "currentMetrics")}
    texts = [_target(metric, current.get(_metric_name(metric), {})) for metric in items(obj, "spec", "metrics")]
    shown = ", ".join(texts[:2])
    return f"{shown} + {len(texts) - 2} more..." if len(texts) > 2 else shown or NONE


def _metric_name(metric: Obj) -> str:
    source = next((value for key, value in metric.items() if key != "type" and isinstance(value, dict)), {})
    return str(source.get("name") or dig(source, "metric", "name", default=""))


def _part(metric: Obj, key: str) -> Obj:
    return next((dict(value[key]) for value in metric.values() if isinstance(value, dict) and key in value), {})


def _target(metric: Obj, current: Obj) -> str:
    wanted, now = _part(metric, "target"), _part(current, "current")
    percent = wanted.get("averageUtilization")
    if percent is not None:
        have = now.get("averageUtilization")
        return f"{_metric_name(metric)}: {UNKNOWN if have is None else f'{have}%'}/{percent}%"
    per_pod = wanted.get("averageValue")
    have = now.get("averageValue" if per_pod else "value", UNKNOWN)
    return f"{have}/{per_pod} (avg)" if per_pod else f"{have}/{wanted.get('value')}"


_JOB_COLUMNS = (NAME, "Status", "Completions", "Duration", AGE, *CONTAINERS, SELECTOR)

PRINTERS: Mapping[tuple[str, str], Printer] = {
    ("apps", "Deployment"): printer(
        NAME,
        "Ready",
        column("Up-to-date"),
        column("Available"),
        AGE,
        *CONTAINERS,
        SELECTOR,
        cells=_deployment,
    ),
    ("apps", "ReplicaSet"): printer(
        NAME,
        column("Desired", "integer"),
        column("Current", "integer"),
        column("Ready", "integer"),
        AGE,
        *CONTAINERS,
        SELECTOR,
        cells=_replica_set,
    ),
    ("", "ReplicationController"): printer(
        NAME,
        column("Desired", "integer"),
        column("Current", "integer"),
        column("Ready", "integer"),
        AGE,
        *CONTAINERS,
        SELECTOR,
        cells=_replication_controller,
    ),
    ("apps", "StatefulSet"): printer(NAME, "Ready", AGE, *CONTAINERS, cells=_stateful_set),
    ("apps", "DaemonSet"): printer(
        NAME,
        *(column(title, "integer") for title in ("Desired", "Current", "Ready", "Up-to-date", "Available")),
        "Node Selector",
        AGE,
        *CONTAINERS,
        SELECTOR,
        cells=_daemon_set,
    ),
    ("apps", "ControllerRevision"): printer(NAME, "Controller", column("Revision"), AGE, cells=_controller_revision),
    ("", "Pod"): POD,
    ("batch", "Job"): printer(*_JOB_COLUMNS, cells=_job),
    ("batch", "CronJob"): printer(
        NAME,
        "Schedule",
        "Timezone",
        column("Suspend", "boolean"),
        column("Active", "integer"),
        "Last Schedule",
        AGE,
        *CONTAINERS,
        SELECTOR,
        cells=_cron_job,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): printer(
        NAME, "Reference", "Targets", "MinPods", column("MaxPods"), column("Replicas"), AGE, cells=_autoscaler
    ),
}
"""(group, kind) → printer."""
