"""Cells of pods: ready containers, status and restarts, as a real server prints them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from clientgo_apiserver.printers.values import NONE, Obj, dig, items, since, true_conditions


class _Progress(NamedTuple):
    """Progress of some containers: `reason` replaces the phase if it is not empty."""

    reason: str
    ready: int
    restarts: int
    last_end: str

    def restarted(self, status: Obj) -> "_Progress":
        """Add a container's restarts."""
        end = dig(status, "lastState", "terminated", "finishedAt", default="")
        return self._replace(
            restarts=self.restarts + int(status.get("restartCount", 0)), last_end=max(self.last_end, end)
        )


_START = _Progress("", 0, 0, "")


def pod_status(obj: Obj) -> str:
    """Return what kubectl's STATUS shows: the phase, unless a container, a gate or a deletion replaces it."""
    phase = dig(obj, "status", "phase", default="")
    reason = _progress(obj).reason or _given_reason(obj)
    if dig(obj, "metadata", "deletionTimestamp"):
        if dig(obj, "status", "reason") == "NodeLost":
            return "Unknown"
        if phase not in {"Succeeded", "Failed"}:
            return "Terminating"
    return reason


def _given_reason(obj: Obj) -> str:
    gated = any(
        condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated"
        for condition in items(obj, "status", "conditions")
    )
    status: Obj = dig(obj, "status", default={})
    return "SchedulingGated" if gated else str(status.get("reason") or status.get("phase") or "")


def ready_containers(obj: Obj) -> str:
    """Return how many containers are ready, and how many run beside each other."""
    expected = len(items(obj, "spec", "containers")) + len(_sidecars(obj))
    return f"{_progress(obj).ready}/{expected}"


def restarts(obj: Obj, now: datetime) -> str:
    """Return the number of restarts, and when the last was."""
    progress = _progress(obj)
    return (
        f"{progress.restarts} ({since(progress.last_end, now)} ago)"
        if progress.restarts and progress.last_end
        else str(progress.restarts)
    )


def readiness_gates(obj: Obj) -> str:
    """Return how many readiness gates are open."""
    gates = [gate.get("conditionType") for gate in items(obj, "spec", "readinessGates")]
    return f"{len([gate for gate in gates if gate in true_conditions(obj)])}/{len(gates)}" if gates else NONE


def _sidecars(obj: Obj) -> set[Any]:
    return {
        container.get("name")
        for container in items(obj, "spec", "initContainers")
        if container.get("restartPolicy") == "Always"
    }


def _progress(obj: Obj) -> _Progress:
    starting, beside = _starting(obj)
    if starting.reason and "Initialized" not in true_conditions(obj):
        return starting
    return _running(obj, beside._replace(reason=starting.reason, ready=starting.ready))


def _starting(obj: Obj) -> tuple[_Progress, _Progress]:
    """Return the progress of the init containers, and of those that stay beside the others."""
    progress = beside = _START
    sidecars = _sidecars(obj)
    for index, status in enumerate(items(obj, "status", "initContainerStatuses")):
        progress = progress.restarted(status)
        sidecar = status.get("name") in sidecars
        beside = beside.restarted(status) if sidecar else beside
        ended = dig(status, "state", "terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if sidecar and status.get("started"):
            progress = progress._replace(ready=progress.ready + bool(status.get("ready")))
            continue
        waiting = dig(status, "state", "waiting", "reason", default="")
        if ended is not None:
            return progress._replace(reason=f"Init:{_termination(ended)}"), beside
        if waiting and waiting != "PodInitializing":
            return progress._replace(reason=f"Init:{waiting}"), beside
        return progress._replace(reason=f"Init:{index}/{len(items(obj, 'spec', 'initContainers'))}"), beside
    return progress, beside


def _running(obj: Obj, progress: _Progress) -> _Progress:
    reason, error, running = progress.reason or _given_reason(obj), "", False
    for status in reversed(items(obj, "status", "containerStatuses")):
        progress = progress.restarted(status)
        waiting, ended = dig(status, "state", "waiting", "reason"), dig(status, "state", "terminated")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = _termination(ended)
            error = reason if ended.get("exitCode") else error
        elif status.get("ready") and dig(status, "state", "running") is not None:
            running = True
            progress = progress._replace(ready=progress.ready + 1)
    if reason == "Completed":
        if running and "Ready" in true_conditions(obj):
            reason = "Running"
        else:
            reason = error or ("NotReady" if running else reason)
    return progress._replace(reason=reason)


def _termination(ended: Obj) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


TIMELESS: Mapping[str, Callable[[Any], Any]] = {
    "pod_status": pod_status,
    "readiness_gates": readiness_gates,
    "ready_containers": ready_containers,
}
TIMED: Mapping[str, Callable[[Any, datetime], Any]] = {"restarts": restarts}
