"""The printer of pods: their status line says more than any field of the pod does."""

from datetime import datetime
from typing import Any

from clientgo.apiserver.printers.base import AGE, NAME, NONE, age, column, dig, items, name, printer, since

Obj = dict[str, Any]


def _pod(obj: Obj, now: datetime) -> list[Any]:
    statuses = items(obj, "status", "containerStatuses")
    ready = sum(1 for status in statuses if status.get("ready"))
    return [
        name(obj),
        f"{ready}/{len(items(obj, 'spec', 'containers'))}",
        _reason(obj),
        _restarts(obj, now),
        age(obj, now),
        dig(obj, "status", "podIPs", 0, "ip", default=NONE),
        dig(obj, "spec", "nodeName", default="") or NONE,
        dig(obj, "status", "nominatedNodeName", default="") or NONE,
        _gates(obj),
    ]


def _restarts(obj: Obj, now: datetime) -> str:
    statuses = items(obj, "status", "containerStatuses")
    count = sum(int(status.get("restartCount", 0)) for status in statuses)
    ends = [dig(status, "lastState", "terminated", "finishedAt") for status in statuses]
    latest = max((end for end in ends if end), default="")
    return f"{count} ({since(latest, now)} ago)" if count and latest else str(count)


def _gates(obj: Obj) -> str:
    gates = [gate.get("conditionType") for gate in items(obj, "spec", "readinessGates")]
    if not gates:
        return NONE
    held = {item.get("type") for item in items(obj, "status", "conditions") if item.get("status") == "True"}
    return f"{sum(1 for gate in gates if gate in held)}/{len(gates)}"


def _reason(obj: Obj) -> str:
    """Give what kubectl's STATUS shows: the phase, unless a container, a gate or a deletion has more to say."""
    phase = dig(obj, "status", "phase", default="")
    reason = dig(obj, "status", "reason", default="") or phase
    for condition in items(obj, "status", "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    starting = _init_reason(obj)
    reason = starting or _container_reason(obj, reason)
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
            return f"Init:{_ended(ended)}"
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
            reason = _ended(ended)
        elif status.get("ready") and dig(status, "state", "running") is not None:
            running = True
    if reason == "Completed" and running:
        ready = any(
            item.get("type") == "Ready" and item.get("status") == "True" for item in items(obj, "status", "conditions")
        )
        return "Running" if ready else "NotReady"
    return reason


def _ended(ended: Obj) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


POD = printer(
    NAME,
    "Ready",
    "Status",
    "Restarts",
    AGE,
    column("IP", wide=True),
    column("Node", wide=True),
    column("Nominated Node", wide=True),
    column("Readiness Gates", wide=True),
    cells=_pod,
)
"""Name, Ready, Status, Restarts, Age; wide: IP, Node, Nominated Node, Readiness Gates."""
