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

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clientgo_apiserver.controllers.base import InternalController, annotation
from clientgo_apiserver.controllers.rollout import (
    RolloutProgress,
    daemon_set_status,
    deployment_status,
    replica_set_status,
    stateful_set_status,
    template_hash,
    wanted_replicas,
)
from clientgo_apiserver.internal import Internal
from clientgo_apiserver.resources import Object
from clientgo_apiserver.state import Handle
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.storage.stored import Key, name_of

DEPLOYMENTS: Key = ("apps", "deployments")
REPLICA_SETS: Key = ("apps", "replicasets")
STATEFUL_SETS: Key = ("apps", "statefulsets")
DAEMON_SETS: Key = ("apps", "daemonsets")
NODES: Key = ("", "nodes")
AVAILABLE = "simulation.clientgo.dev/available"


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

    _sources = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS)

    def __init__(self, internal: Internal, *, ready_seconds: float = 0.0) -> None:
        super().__init__(internal)
        self._ready_seconds = ready_seconds
        self._rollouts: dict[str, _Rollout] = {}

    def __repr__(self) -> str:
        return f"<DeploymentSimulation of {len(self._rollouts)} objects>"

    def _watched(self) -> Iterable[Key] | None:
        return (*self._sources, NODES)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == NODES and kind != "MODIFIED":
            for obj in self._store.list(DAEMON_SETS):
                self._schedule(*DAEMON_SETS, *name_of(obj))
        if key not in self._sources:
            return
        if new is None:
            deleted = self._rollouts.pop(old["metadata"]["uid"], None) if old is not None else None
            if deleted is not None:
                deleted.cancel()
            return
        meta = new["metadata"]
        generation, held = meta.get("generation", 1), annotation(new, AVAILABLE) == "false"
        rollout = self._rollouts.setdefault(meta["uid"], _from_status(new))
        if (generation, held) != (rollout.observed, rollout.held):
            rollout.observed, rollout.held = generation, held
            self._schedule(*key, *name_of(new), promptly=not self._ready_seconds)

    def _sync(self, *names: str) -> None:
        group, plural, namespace, name = names
        key = (group, plural)
        obj = self._store.get(key, namespace, name)
        rollout = self._rollouts.get(obj["metadata"]["uid"]) if obj is not None else None
        if obj is None or rollout is None:
            return
        rollout.cancel()
        uid, spec = obj["metadata"]["uid"], obj.get("spec", {})
        replicas = self._wanted(obj)
        changed = template_hash(obj) != rollout.template
        wait = self._ready_seconds + float(spec.get("minReadySeconds") or 0)
        waiting = changed or replicas > rollout.ready
        progress = RolloutProgress(min(rollout.ready, replicas), 0 if changed else replicas, template_changed=changed)
        if spec.get("paused") and changed:
            self._write(key, obj, RolloutProgress(min(rollout.ready, replicas), 0, template_changed=False))
        elif waiting and rollout.held:
            self._write(key, obj, progress)
            if key == DEPLOYMENTS:
                deadline = spec.get("progressDeadlineSeconds")
                rollout.timer = self._later(600.0 if deadline is None else float(deadline), self._give_up, *names, uid)
        elif waiting and wait:
            self._write(key, obj, progress)
            rollout.timer = self._later(wait, self._finish, *names, uid)
        else:
            self._finish(group, plural, namespace, name, uid)

    def _finish(self, group: str, plural: str, namespace: str, name: str, uid: str) -> None:
        current = self._current((group, plural), namespace, name, uid)
        if current is not None:
            obj, rollout = current
            rollout.template = template_hash(obj)
            rollout.ready = self._wanted(obj)
            self._write((group, plural), obj, RolloutProgress(rollout.ready, rollout.ready, template_changed=False))

    def _give_up(self, group: str, plural: str, namespace: str, name: str, uid: str) -> None:
        current = self._current((group, plural), namespace, name, uid)
        if current is not None:
            obj, rollout = current
            updated = wanted_replicas(obj) if template_hash(obj) == rollout.template else 0
            self._write((group, plural), obj, RolloutProgress(rollout.ready, updated, template_changed=True, late=True))

    def _current(self, key: Key, namespace: str, name: str, uid: str) -> tuple[Object, _Rollout] | None:
        """Return the object and its rollout, or None if it was deleted or recreated meanwhile."""
        rollout, obj = self._rollouts.get(uid), self._store.get(key, namespace, name)
        if rollout is None or obj is None or obj["metadata"]["uid"] != uid:
            return None
        rollout.timer = None
        return obj, rollout

    def _write(self, key: Key, obj: Object, stage: RolloutProgress) -> None:
        statuses: dict[Key, Callable[[], Object]] = {
            DEPLOYMENTS: lambda: deployment_status(obj, stage, self._now()),
            STATEFUL_SETS: lambda: stateful_set_status(obj, stage),
            DAEMON_SETS: lambda: daemon_set_status(obj, stage, self._wanted(obj)),
            REPLICA_SETS: lambda: replica_set_status(obj, stage.ready),
        }
        self._write_status(key, obj, statuses[key]())

    def _wanted(self, obj: Object) -> int:
        if obj["kind"] != "DaemonSet":
            return wanted_replicas(obj)
        selector = {"matchLabels": (obj["spec"]["template"].get("spec") or {}).get("nodeSelector")}
        return sum(selects(selector, node["metadata"].get("labels") or {}) for node in self._store.list(NODES))


def _from_status(obj: Object) -> _Rollout:
    """Resume from the object's status, so that a restarted server repeats no rollout."""
    status = obj.get("status") or {}
    ready = status.get("readyReplicas", status.get("numberReady", 0))
    if status.get("observedGeneration") != obj["metadata"].get("generation", 1):
        return _Rollout(ready=ready)
    done = ready == status.get("desiredNumberScheduled", wanted_replicas(obj))
    return _Rollout(template_hash(obj) if done else "", ready, status["observedGeneration"] if done else 0)
