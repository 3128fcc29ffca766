"""Deployments, ReplicaSets, StatefulSets and DaemonSets become available, as if a cluster ran their pods.

Nothing is created for them: no ReplicaSets, no Pods, so that counting a namespace's objects stays simple. Each change
of a spec is answered by one write of the status (two where a delay or `minReadySeconds` keeps replicas from being
available at once), made inside the server: it is no client's write and counts as none.

An object annotated `simulation.clientgo.dev/available: "false"` gets no further replicas, as if its image could not be
pulled: a Deployment misses its progress deadline, until the annotation goes. A DaemonSet wants one replica for each
Node that its `nodeSelector` takes, so none where there are no Nodes.

Without a delay the status is written before the client's own write is answered, so the answer shows it, as a real
cluster's never would. A delay, however short, plays the real order: answered first, available later.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from clientgo.apiserver.controllers.cluster import Cluster, Key, Object, Timer
from clientgo.apiserver.controllers.rollout import (
    Stage,
    deployment_status,
    progress_deadline,
    replica_set_status,
    template_hash,
    wanted_replicas,
)
from clientgo.apiserver.controllers.sets import daemon_set_status, runs_on, stateful_set_status
from clientgo.apiserver.http.status import ApiFailure
from clientgo.clock import utc

DEPLOYMENTS: Key = ("apps", "deployments")
REPLICA_SETS: Key = ("apps", "replicasets")
STATEFUL_SETS: Key = ("apps", "statefulsets")
DAEMON_SETS: Key = ("apps", "daemonsets")
NODES: Key = ("", "nodes")
AVAILABLE = "simulation.clientgo.dev/available"

_FOLLOWED = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS)
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Rollout:
    """What is known of one object: the template that runs, how many are ready, if it is held up, what is due."""

    template: str = ""
    ready: int = 0
    observed: int = 0
    held: bool = False
    timer: Timer | None = None


class DeploymentSimulation:
    """Answers every change of the spec of what runs replicas, from `start` to `stop`.

    Replicas take `ready_seconds`, and `minReadySeconds` of the object on top, to become available.
    """

    def __init__(self, cluster: Cluster, *, ready_seconds: float = 0.0) -> None:
        self._cluster = cluster
        self._ready_seconds = ready_seconds
        self._rollouts: dict[str, _Rollout] = {}
        self._unsubscribe: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<DeploymentSimulation {len(self._rollouts)} followed>"

    def start(self) -> None:
        """Bring what is stored up to date, and follow every change from now on."""
        self._unsubscribe = self._cluster.subscribe(self._changed)
        for key in _FOLLOWED:
            for obj in self._cluster.list(key):
                self._follow(key, obj, self._cluster.call_soon)

    def stop(self) -> None:
        """Write no further status."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        for rollout in self._rollouts.values():
            if rollout.timer is not None:
                rollout.timer.cancel()
        self._rollouts.clear()

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        if key == NODES and kind != "MODIFIED":
            self._count_again()
        if key not in _FOLLOWED or obj is None:
            return
        if kind == "DELETED":
            gone = self._rollouts.pop(obj["metadata"]["uid"], None)
            if gone is not None and gone.timer is not None:
                gone.timer.cancel()
            return
        self._follow(key, obj, self._cluster.call_soon if self._ready_seconds else self._cluster.call_promptly)

    def _follow(self, key: Key, obj: Object, react: Callable[..., object]) -> None:
        uid, generation = obj["metadata"]["uid"], obj["metadata"].get("generation", 1)
        rollout = self._rollouts.setdefault(uid, _known(obj))
        if (generation, _held(obj)) != (rollout.observed, rollout.held):
            rollout.observed, rollout.held = generation, _held(obj)
            react(self._begin, key, _place(obj), uid)

    def _begin(self, key: Key, place: tuple[str, str], uid: str) -> None:
        found = self._current(key, place, uid)
        if found is None:
            return
        obj, rollout = found
        if rollout.timer is not None:
            rollout.timer.cancel()
            rollout.timer = None
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
                rollout.timer = self._cluster.call_later(progress_deadline(obj), self._give_up, key, place, uid)
        elif wait and (changed or wanted > rollout.ready):
            ready = min(rollout.ready, wanted)
            self._write(key, obj, Stage(ready, 0 if changed else wanted, template_changed=changed))
            rollout.timer = self._cluster.call_later(wait, self._finish, key, place, uid)
        else:
            self._finish(key, place, uid)

    def _finish(self, key: Key, place: tuple[str, str], uid: str) -> None:
        found = self._current(key, place, uid)
        if found is None:
            return
        obj, rollout = found
        rollout.timer = None
        rollout.template = template_hash(obj)
        rollout.ready = self._wanted(obj)
        self._write(key, obj, Stage(rollout.ready, rollout.ready, template_changed=False))

    def _give_up(self, key: Key, place: tuple[str, str], uid: str) -> None:
        found = self._current(key, place, uid)
        if found is None:
            return
        obj, rollout = found
        rollout.timer = None
        updated = wanted_replicas(obj) if template_hash(obj) == rollout.template else 0
        self._write(key, obj, Stage(rollout.ready, updated, template_changed=True, late=True))

    def _current(self, key: Key, place: tuple[str, str], uid: str) -> tuple[Object, _Rollout] | None:
        """Give the object and what is known of it, unless it is gone or was made again meanwhile."""
        rollout = self._rollouts.get(uid)
        obj = self._cluster.get(key, *place)
        if self._unsubscribe is None or rollout is None or obj is None or obj["metadata"]["uid"] != uid:
            return None
        return obj, rollout

    def _write(self, key: Key, obj: Object, stage: Stage) -> None:
        now = utc(self._cluster.clock).strftime("%Y-%m-%dT%H:%M:%SZ")
        made = self._status(key, obj, stage, now)
        try:
            self._cluster.patch(key, *_place(obj), {"status": made}, subresource="status")
        except ApiFailure as failure:
            if failure.code >= 500:
                raise  # to be tried again
            # Only a client's broken object can be refused; it stays as it is until its spec changes again.
            _log.warning("status not written", extra={"object": _place(obj), "reason": failure.message})

    def _status(self, key: Key, obj: Object, stage: Stage, now: str) -> Object:
        if key == DEPLOYMENTS:
            return deployment_status(obj, stage, now)
        if key == STATEFUL_SETS:
            return stateful_set_status(obj, stage)
        return (
            daemon_set_status(obj, stage, self._wanted(obj))
            if key == DAEMON_SETS
            else replica_set_status(obj, stage.ready)
        )

    def _wanted(self, obj: Object) -> int:
        if obj["kind"] != "DaemonSet":
            return wanted_replicas(obj)
        return sum(runs_on(obj, node) for node in self._cluster.list(NODES))

    def _count_again(self) -> None:
        for obj in self._cluster.list(DAEMON_SETS):
            self._cluster.call_soon(self._begin, DAEMON_SETS, _place(obj), obj["metadata"]["uid"])


def _held(obj: Object) -> bool:
    """Whether the object asks for replicas that never become available."""
    return (obj["metadata"].get("annotations") or {}).get(AVAILABLE) == "false"


def _place(obj: Object) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _known(obj: Object) -> _Rollout:
    """Take up an object where its status says it stands, so that a restarted server rolls nothing out again."""
    status = obj.get("status") or {}
    ready = status.get("readyReplicas", status.get("numberReady", 0))
    if status.get("observedGeneration") != obj["metadata"].get("generation", 1):
        return _Rollout(ready=ready)
    done = ready == status.get("desiredNumberScheduled", wanted_replicas(obj))
    return _Rollout(template_hash(obj) if done else "", ready, status["observedGeneration"] if done else 0)
