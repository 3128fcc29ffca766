"""Kubelets: pods on nodes start, become ready, finish, fail, restart and end.

A pod becomes ready `ready_seconds` after it was assigned to a node. A pod of a Job finishes as long after that. The
annotation `simulation.clientgo.dev/pod` of a pod says what becomes of it, and may be changed at any time:

| value | |
| --- | --- |
| `running` | runs and is ready (the default, except for pods of Jobs) |
| `unready` | runs and is not ready |
| `pending` | its image cannot be pulled |
| `succeeded` | its containers end with exit code 0 (the default for pods of Jobs) |
| `failed`, `failed:3` | its containers end with exit code 1, or 3 |
| `crashing` | its containers end again and again; with restart policy Never the pod fails |

Containers that end are restarted according to the pod's restart policy, after 10 s, 20 s, ... 300 s. The annotation
`simulation.clientgo.dev/available: "false"` of a workload means `pending` for its pods that do not run yet, and
`simulation.clientgo.dev/job` of a Job is the value for its pods.
"""

from functools import partial

import msgspec

from clientgo_apiserver.api.conditions import condition_of, conditions_of, is_true
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController, annotation, is_deleting
from clientgo_apiserver.cluster.events import ComponentEvents
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.nodes import readiness
from clientgo_apiserver.cluster.owned import controller_of, workload_of
from clientgo_apiserver.cluster.podcontrol import FINISHED, phase_of
from clientgo_apiserver.state import Handle
from clientgo_apiserver.storage.keys import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from clientgo_apiserver.storage.stored import Key, name_of

POD = "simulation.clientgo.dev/pod"
_AVAILABLE = "simulation.clientgo.dev/available"
_OUTCOME = "simulation.clientgo.dev/job"
_BACKOFF_SECONDS, _MAX_BACKOFF_SECONDS = 10.0, 300.0  # the kubelet's
_WORKLOADS: dict[str, Key] = {
    "ReplicaSet": REPLICA_SETS,
    "Deployment": DEPLOYMENTS,
    "ReplicationController": REPLICATION_CONTROLLERS,
    "StatefulSet": STATEFUL_SETS,
    "DaemonSet": DAEMON_SETS,
    "Job": JOBS,
}


_STARTED = (
    ("Pulled", 'Container image "{image}" already present on machine'),
    ("Created", "Created container: {name}"),
    ("Started", "Started container {name}"),
)


class _Run(msgspec.Struct):
    """Behavior of one pod, and the timer of its next step."""

    behavior: str
    timer: Handle | None = None


class KubeletSimulation(InternalController):
    """Runs the pods that are assigned to nodes."""

    _sources = (PODS,)
    _further = (NODES, *_WORKLOADS.values())

    def __init__(self, internal: Internal, *, ready_seconds: float) -> None:
        super().__init__(internal)
        self._events = ComponentEvents(internal.state, "kubelet")
        self._ready_seconds = ready_seconds
        self._runs: dict[str, _Run] = {}
        self._addresses = 0

    def __repr__(self) -> str:
        return f"<KubeletSimulation {len(self._runs)} pods>"

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if (
            key in _WORKLOADS.values()
            and old is not None
            and new is not None
            and _instructions(old) != _instructions(new)
        ):
            for pod in self._store.list(PODS, new["metadata"]["namespace"]):
                self._schedule(*name_of(pod))
        if key == NODES and old is not None and new is not None and _is_lost(old) != _is_lost(new):
            for pod in self._store.list(PODS):
                if pod["spec"].get("nodeName") == new["metadata"]["name"]:
                    self._schedule(*name_of(pod))
        if key != PODS:
            return
        if new is None:
            self._cancel((old or {})["metadata"]["uid"])
        elif new["spec"].get("nodeName") and (old is None or _acted_on(old) != _acted_on(new)):
            self._schedule(*name_of(new))

    def _sync(self, *names: str) -> None:
        pod = self._store.get(PODS, *names)
        if pod is None or not pod["spec"].get("nodeName"):
            return
        uid = pod["metadata"]["uid"]
        if _is_lost(self._store.get(NODES, "", pod["spec"]["nodeName"])):
            self._cancel(uid)
            return
        if is_deleting(pod):
            self._cancel(uid)
            if phase_of(pod) == "Running":
                self._record(pod, ("Killing", "Stopping container {name}"))
            confirm = partial(self._end, names[0], names[1], uid)
            self._runs[uid] = _Run("ending", self._later(self._ready_seconds, confirm))
            return
        behavior = self._behavior(pod)
        run = self._runs.get(uid)
        if phase_of(pod) in FINISHED or (run is not None and run.behavior == behavior):
            return
        self._cancel(uid)
        self._runs[uid] = _Run(
            behavior, self._later(self._ready_seconds, partial(self._begin, names[0], names[1], uid))
        )

    def _cancel(self, uid: str) -> None:
        run = self._runs.pop(uid, None)
        if run is not None and run.timer is not None:
            run.timer.cancel()

    def _end(self, namespace: str, name: str, uid: str) -> None:
        pod = self._current(namespace, name, uid)
        if pod is None:
            return
        if phase_of(pod) not in FINISHED and pod["metadata"].get("finalizers"):
            # The pod stays, but its containers have ended.
            self._put(pod, self._terminated(pod, 0 if pod["spec"].get("restartPolicy") == "Always" else 137))
        confirm = partial(self._internal.delete, PODS, namespace, name, uid=uid, grace=0)
        self._attempt("end the pod", (namespace, name), confirm)

    def _begin(self, namespace: str, name: str, uid: str) -> None:
        """Bring a pod from any state to that of its behavior."""
        pod, run = self._current(namespace, name, uid), self._runs.get(uid)
        if pod is None or run is None or is_deleting(pod):
            return
        run.timer = None
        behavior, _, code = run.behavior.partition(":")
        if behavior == "pending":
            waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{_image(pod)}"'}
            self._put(pod, self._status(pod, "Pending", {"waiting": waiting}, ready=False))
            return
        if behavior in ("running", "unready"):
            self._run_pod(pod, ready=behavior == "running")
            return
        if phase_of(pod) == "Pending":
            self._run_for_a_while(pod, run)
            return
        self._finish(pod, run, 0 if behavior == "succeeded" else int(code or 1))

    def _record(self, pod: Object, *events: tuple[str, str]) -> None:
        for container in pod["spec"]["containers"]:
            for reason, message in events:
                self._events.record(pod, reason, message.format(**container), host=pod["spec"]["nodeName"])

    def _run_pod(self, pod: Object, *, ready: bool) -> None:
        if phase_of(pod) == "Pending":
            self._record(pod, *_STARTED)
        self._put(pod, self._status(pod, "Running", {"running": {"startedAt": self._now()}}, ready=ready))

    def _run_for_a_while(self, pod: Object, run: _Run) -> None:
        self._run_pod(pod, ready=True)
        run.timer = self._later(self._ready_seconds, partial(self._begin, *name_of(pod), pod["metadata"]["uid"]))

    def _finish(self, pod: Object, run: _Run, code: int) -> None:
        policy = pod["spec"].get("restartPolicy", "Always")
        if policy == "Never" or (policy == "OnFailure" and code == 0):
            self._put(pod, self._terminated(pod, code))
            return
        restarts = _restarts(pod) + 1
        delay = min(_BACKOFF_SECONDS * 2 ** (restarts - 1), _MAX_BACKOFF_SECONDS)
        container = pod["spec"]["containers"][0]["name"]
        message = f"back-off {int(delay)}s restarting failed container={container} pod={pod['metadata']['name']}"
        waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
        last = {"terminated": self._exit(pod, code)}
        self._put(pod, self._status(pod, "Running", waiting, ready=False, last=last, restarts=restarts))
        target = (*name_of(pod), pod["metadata"]["uid"])
        run.timer = self._later(delay, partial(self._restart, *target))

    def _restart(self, namespace: str, name: str, uid: str) -> None:
        pod, run = self._current(namespace, name, uid), self._runs.get(uid)
        if pod is None or run is None or is_deleting(pod):
            return
        self._run_for_a_while(pod, run)

    def _current(self, namespace: str, name: str, uid: str) -> Object | None:
        pod = self._store.get(PODS, namespace, name)
        return pod if pod is not None and pod["metadata"]["uid"] == uid else None

    def _behavior(self, pod: Object) -> str:
        """Return the annotation of the pod, or what the annotations of its workload mean."""
        outcome = annotation(pod, POD)
        workload = workload_of(self._store, pod, _WORKLOADS) or pod
        if outcome:
            return outcome
        if annotation(workload, _AVAILABLE) == "false" or annotation(pod, _AVAILABLE) == "false":
            return "running" if phase_of(pod) == "Running" else "pending"
        if (controller_of(pod) or {}).get("kind") == "Job":
            return annotation(workload, _OUTCOME) or annotation(pod, _OUTCOME) or "succeeded"
        return "running"

    def _put(self, pod: Object, status: Object) -> None:
        if status != pod.get("status"):
            self._store.put(PODS, {**pod, "status": status})

    def _terminated(self, pod: Object, code: int) -> Object:
        phase = "Failed" if code else "Succeeded"
        return self._status(pod, phase, {"terminated": self._exit(pod, code)}, ready=False)

    def _exit(self, pod: Object, code: int) -> Object:
        containers = (pod.get("status") or {}).get("containerStatuses") or [{}]
        started = ((containers[0].get("state") or {}).get("running") or {}).get("startedAt") or self._now()
        reason = "Error" if code else "Completed"
        return {"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": self._now()}

    def _status(
        self, pod: Object, phase: str, state: Object, *, ready: bool, last: Object | None = None, restarts: int = -1
    ) -> Object:
        before, now = pod.get("status") or {}, self._now()
        restarts = _restarts(pod) if restarts < 0 else restarts
        previous = {each["name"]: each for each in before.get("containerStatuses") or ()}
        status: Object = {
            **before,
            "phase": phase,
            "observedGeneration": pod["metadata"].get("generation", 1),
            "conditions": self._conditions(pod, phase, ready=ready),
            "startTime": before.get("startTime") or now,
            "containerStatuses": [
                {
                    "name": each["name"],
                    "state": _kept(state, (previous.get(each["name"]) or {}).get("state") or {}),
                    "lastState": last or (previous.get(each["name"]) or {}).get("lastState") or {},
                    "ready": ready,
                    "started": "running" in state,
                    "restartCount": restarts,
                    "image": each["image"],
                    "imageID": "" if phase == "Pending" else f"docker.io/simulated/{each['image']}",
                    **(
                        {}
                        if phase == "Pending"
                        else {"containerID": f"simulated://{pod['metadata']['uid']}/{each['name']}"}
                    ),
                }
                for each in pod["spec"]["containers"]
            ],
        }
        if pod["spec"].get("initContainers"):
            ended = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
            fields = {"lastState": {}, "ready": True, "restartCount": 0, "imageID": ""}
            status.setdefault("initContainerStatuses", [
                {"name": each["name"], "image": each["image"], "state": {"terminated": ended}, **fields}
                for each in pod["spec"]["initContainers"]
            ])  # fmt: skip
        host = self._host(pod)
        status |= {"hostIP": host, "hostIPs": [{"ip": host}]}
        if phase != "Pending" and "podIP" not in before:
            address = host if pod["spec"].get("hostNetwork") else self._next_address()
            status |= {"podIP": address, "podIPs": [{"ip": address}]}
        return status

    def _host(self, pod: Object) -> str:
        node = self._store.get(NODES, "", pod["spec"]["nodeName"]) or {}
        addresses = (node.get("status") or {}).get("addresses") or ()
        return next((each["address"] for each in addresses if each.get("type") == "InternalIP"), "10.0.0.1")

    def _next_address(self) -> str:
        self._addresses = (self._addresses + 1) % (1 << 16)
        return f"10.244.{self._addresses >> 8}.{self._addresses & 255}"

    def _conditions(self, pod: Object, phase: str, *, ready: bool) -> list[Object]:
        gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
        opened = all(is_true(pod, kind) for kind in gates)
        done = {"reason": "PodCompleted"} if phase == "Succeeded" else {"reason": "PodFailed"}
        unready = done if phase in FINISHED else {"reason": "ContainersNotReady", "message": _unready_text(pod)}
        closed = {"reason": "ReadinessGatesNotReady"} if ready else unready
        values = {
            "PodReadyToStartContainers": (phase not in FINISHED, {}),
            "Initialized": (True, done if phase == "Succeeded" else {}),
            "Ready": (ready and opened, closed),
            "ContainersReady": (ready, unready),
        }
        now = self._now()
        conditions = []
        for kind, (holds, reason) in values.items():
            before = condition_of(pod, kind)
            since = before["lastTransitionTime"] if before.get("status") == str(holds) else now
            condition = {"type": kind, "status": str(holds), "lastProbeTime": None, "lastTransitionTime": since}
            conditions.append({**condition, **({} if holds and kind != "Initialized" else reason)})
        other_conditions = [item for item in conditions_of(pod) if item.get("type") not in values]
        return [*conditions, *other_conditions]


def _acted_on(pod: Object) -> tuple[object, ...]:
    """Return what a kubelet reacts to; the status it writes itself is not part of it."""
    meta = pod["metadata"]
    gates = tuple(
        condition_of(pod, gate["conditionType"]).get("status") for gate in pod["spec"].get("readinessGates") or ()
    )
    return pod["spec"].get("nodeName"), is_deleting(pod), meta.get("annotations"), gates


def _is_lost(node: Object | None) -> bool:
    """Return whether the kubelet of a node does nothing."""
    return node is not None and readiness(node) == "Unknown"


def _instructions(workload: Object) -> tuple[str, str]:
    return annotation(workload, _AVAILABLE), annotation(workload, _OUTCOME)


def _restarts(pod: Object) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or [{}]
    return int(statuses[0].get("restartCount") or 0)


def _image(pod: Object) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def _unready_text(pod: Object) -> str:
    return f"containers with unready status: [{' '.join(each['name'] for each in pod['spec']['containers'])}]"


def _kept(state: Object, before: Object) -> Object:
    """Return the state before if it is of the same kind: a container that runs on keeps its start."""
    return before if "running" in state and "running" in before else state
