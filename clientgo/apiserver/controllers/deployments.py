"""Simulated workloads: Deployments, ReplicaSets, StatefulSets and DaemonSets become available without any pods.

No ReplicaSets or Pods are created, so that counting a namespace's objects stays simple. Each change of a spec is
followed by one write of the status (two if a delay or `minReadySeconds` keeps replicas from being available at once).
The server itself makes these writes; they do not count as requests.

An object annotated `simulation.clientgo.dev/available: "false"` gets no further replicas, as if its image could not be
pulled: a Deployment exceeds its progress deadline, until the annotation is removed. A DaemonSet wants one replica for
each Node that its `nodeSelector` selects, so none without Nodes.

Without a delay the status is written before the client's own write is answered, so the response contains it, unlike on
a real cluster. With a delay, however short, the order is the real one: the response first, availability later.
"""

from collections.abc import Callable
from dataclasses import dataclass

from clientgo.apiserver.controllers.base import InternalController, place
from clientgo.apiserver.controllers.rollout import (
    Stage,
    daemon_set_status,
    deployment_status,
    progress_deadline,
    replica_set_status,
    runs_on,
    stateful_set_status,
    template_hash,
    wanted_replicas,
)
from clientgo.apiserver.internal import Internal
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.state import Handle
from clientgo.apiserver.storage.stored import Key, Name

DEPLOYMENTS: Key = ("apps", "deployments")
REPLICA_SETS: Key = ("apps", "replicasets")
STATEFUL_SETS: Key = ("apps", "statefulsets")
DAEMON_SETS: Key = ("apps", "daemonsets")
NODES: Key = ("", "nodes")
AVAILABLE = "simulation.clientgo.dev/available"

_SIMULATED = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS)


@dataclass(slots=True)
class _Rollout:
    """State of one object: its running template, ready replicas, observed generation, whether it is held, its timer."""

    template: str = ""
    ready: int = 0
    observed: int = 0
    held: bool = False
    timer: Handle | None = None

    def cancel(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class DeploymentSimulation(InternalController):
    """Makes the replicas of workloads available, `ready_seconds` plus the object's `minReadySeconds` after a change."""

    def __init__(self, internal: Internal, *, ready_seconds: float = 0.0) -> None:
        super().__init__(internal)
        self._ready_seconds = ready_seconds
        self._rollouts: dict[str, _Rollout] = {}

    def __repr__(self) -> str:
        return f"<DeploymentSimulation of {len(self._rollouts)} objects>"

    def stop(self) -> None:
        """Stop writing, and cancel what is scheduled."""
        super().stop()
        for rollout in self._rollouts.values():
            rollout.cancel()
        self._rollouts.clear()

    def _resync(self) -> None:
        for key in _SIMULATED:
            for obj in self._internal.list(key):
                self._observe(key, obj, self._internal.call_soon)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        if key == NODES and kind != "MODIFIED":
            self._recount_nodes()
        if key not in _SIMULATED or obj is None:
            return
        if kind == "DELETED":
            deleted = self._rollouts.pop(obj["metadata"]["uid"], None)
            if deleted is not None:
                deleted.cancel()
            return
        self._observe(key, obj, self._internal.call_soon if self._ready_seconds else self._internal.call_promptly)

    def _observe(self, key: Key, obj: Object, react: Callable[..., object]) -> None:
        uid, generation = obj["metadata"]["uid"], obj["metadata"].get("generation", 1)
        rollout = self._rollouts.setdefault(uid, _from_status(obj))
        if (generation, _held(obj)) != (rollout.observed, rollout.held):
            rollout.observed, rollout.held = generation, _held(obj)
            react(self._begin, key, place(obj), uid)

    def _begin(self, key: Key, where: Name, uid: str) -> None:
        found = self._current(key, where, uid)
        if found is None:
            return
        obj, rollout = found
        rollout.cancel()
        wanted = self._wanted(obj)
        template = template_hash(obj)
        changed = template != rollout.template
        wait = self._ready_seconds + float(obj.get("spec", {}).get("minReadySeconds") or 0)
        paused = bool(obj.get("spec", {}).get("paused"))
        stuck = rollout.held and (changed or wanted > rollout.ready)
        if paused and changed:
            self._write(key, obj, Stage(min(rollout.ready, wanted), 0, template_changed=False))
        elif stuck:
            self._write(key, obj, Stage(min(rollout.ready, wanted), 0 if changed else wanted, template_changed=changed))
            if key == DEPLOYMENTS:
                rollout.timer = self._internal.call_later(progress_deadline(obj), self._give_up, key, where, uid)
        elif wait and (changed or wanted > rollout.ready):
            ready = min(rollout.ready, wanted)
            self._write(key, obj, Stage(ready, 0 if changed else wanted, template_changed=changed))
            rollout.timer = self._internal.call_later(wait, self._finish, key, where, uid)
        else:
            self._finish(key, where, uid)

    def _finish(self, key: Key, where: Name, uid: str) -> None:
        found = self._current(key, where, uid)
        if found is None:
            return
        obj, rollout = found
        rollout.timer = None
        rollout.template = template_hash(obj)
        rollout.ready = self._wanted(obj)
        self._write(key, obj, Stage(rollout.ready, rollout.ready, template_changed=False))

    def _give_up(self, key: Key, where: Name, uid: str) -> None:
        found = self._current(key, where, uid)
        if found is None:
            return
        obj, rollout = found
        rollout.timer = None
        updated = wanted_replicas(obj) if template_hash(obj) == rollout.template else 0
        self._write(key, obj, Stage(rollout.ready, updated, template_changed=True, late=True))

    def _current(self, key: Key, where: Name, uid: str) -> tuple[Object, _Rollout] | None:
        """Return the object and its rollout, or None if it was deleted or recreated meanwhile."""
        rollout = self._rollouts.get(uid)
        obj = self._internal.get(key, *where)
        if not self._running or rollout is None or obj is None or obj["metadata"]["uid"] != uid:
            return None
        return obj, rollout

    def _write(self, key: Key, obj: Object, stage: Stage) -> None:
        if key == DEPLOYMENTS:
            status = deployment_status(obj, stage, self._now())
        elif key == STATEFUL_SETS:
            status = stateful_set_status(obj, stage)
        elif key == DAEMON_SETS:
            status = daemon_set_status(obj, stage, self._wanted(obj))
        else:
            status = replica_set_status(obj, stage.ready)
        self._write_status(key, obj, status)

    def _wanted(self, obj: Object) -> int:
        if obj["kind"] != "DaemonSet":
            return wanted_replicas(obj)
        return sum(runs_on(obj, node) for node in self._internal.list(NODES))

    def _recount_nodes(self) -> None:
        for obj in self._internal.list(DAEMON_SETS):
            self._internal.call_soon(self._begin, DAEMON_SETS, place(obj), obj["metadata"]["uid"])


def _held(obj: Object) -> bool:
    """Return whether the annotation keeps further replicas from becoming available."""
    return (obj["metadata"].get("annotations") or {}).get(AVAILABLE) == "false"


def _from_status(obj: Object) -> _Rollout:
    """Resume from the object's status, so that a restarted server repeats no rollout."""
    status = obj.get("status") or {}
    ready = status.get("readyReplicas", status.get("numberReady", 0))
    if status.get("observedGeneration") != obj["metadata"].get("generation", 1):
        return _Rollout(ready=ready)
    done = ready == status.get("desiredNumberScheduled", wanted_replicas(obj))
    return _Rollout(template_hash(obj) if done else "", ready, status["observedGeneration"] if done else 0)
