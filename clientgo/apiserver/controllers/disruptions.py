"""PodDisruptionBudgets tell how many of the pods they select may go, counted from what would run them.

There are no pods here, so a budget counts the replicas of Deployments, StatefulSets and ReplicaSets of nobody's whose
template has the labels it selects.
"""

import logging
import math
from collections.abc import Callable
from typing import Any

from clientgo.apiserver.admission.labelselectors import selects
from clientgo.apiserver.controllers.cluster import Cluster, Key, Object
from clientgo.apiserver.controllers.deployments import DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS
from clientgo.apiserver.controllers.rollout import wanted_replicas
from clientgo.apiserver.http.status import ApiFailure
from clientgo.clock import utc

BUDGETS: Key = ("policy", "poddisruptionbudgets")
_RUNNERS = (DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS)

_log = logging.getLogger(__name__)


class DisruptionSimulation:
    """Keeps the status of every PodDisruptionBudget, from `start` to `stop`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._due: set[str] = set()
        self._unsubscribe: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<DisruptionSimulation {len(self._due)} namespaces due>"

    def start(self) -> None:
        """Bring every status up to date, and follow every change from now on."""
        self._unsubscribe = self._cluster.subscribe(self._changed)
        for budget in self._cluster.list(BUDGETS):
            self._later(budget["metadata"]["namespace"])

    def stop(self) -> None:
        """Write nothing more."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _changed(self, _: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        if obj is not None and (key == BUDGETS or key in _RUNNERS):
            self._later(obj["metadata"]["namespace"])

    def _later(self, namespace: str) -> None:
        if namespace not in self._due and self._cluster.list(BUDGETS, namespace):
            self._due.add(namespace)
            self._cluster.call_soon(self._sync, namespace)

    def _sync(self, namespace: str) -> None:
        self._due.discard(namespace)
        if self._unsubscribe is None:
            return
        runners = [one for key in _RUNNERS for one in self._cluster.list(key, namespace) if not _owned(one)]
        now = utc(self._cluster.clock).strftime("%Y-%m-%dT%H:%M:%SZ")
        for budget in self._cluster.list(BUDGETS, namespace):
            status = budget_status(budget, runners, now)
            before = budget.get("status") or {}
            if all(before.get(member) == value for member, value in status.items()):
                continue
            try:
                name = budget["metadata"]["name"]
                self._cluster.patch(BUDGETS, namespace, name, {"status": status}, subresource="status")
            except ApiFailure as failure:
                if failure.code >= 500:
                    raise  # to be tried again
                _log.warning("status not written", extra={"object": (namespace, name), "reason": failure.message})


def budget_status(budget: Object, runners: list[Object], now: str) -> Object:
    """Give a merge patch of a budget's status, by what runs the pods it selects. `now` is an RFC 3339 time."""
    spec = budget.get("spec") or {}
    # Unlike elsewhere, a selector that is absent selects nothing; an empty one everything.
    mine = [one for one in runners if spec.get("selector") is not None and selects(spec["selector"], _labels(one))]
    expected = sum(wanted_replicas(one) for one in mine)
    healthy = sum(int((one.get("status") or {}).get("readyReplicas", 0)) for one in mine)
    if spec.get("maxUnavailable") is not None:
        desired = max(0, expected - _count(spec["maxUnavailable"], expected))
    else:
        desired = _count(spec.get("minAvailable", 1), expected)
    allowed = max(0, healthy - desired) if expected else 0
    condition = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
        "observedGeneration": budget["metadata"].get("generation", 1),
    }
    before: Object = next(iter((budget.get("status") or {}).get("conditions") or ()), {})
    same = before.get("status") == condition["status"]
    return {
        "observedGeneration": budget["metadata"].get("generation", 1),
        "expectedPods": expected,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "conditions": [{**condition, "lastTransitionTime": before["lastTransitionTime"] if same else now}],
    }


def _count(value: Any, total: int) -> int:
    """A number, or a share of all: rounded up."""
    if isinstance(value, int):
        return value
    return math.ceil(float(str(value).removesuffix("%") or 0) * total / 100)


def _labels(runner: Object) -> dict[str, str]:
    found: dict[str, str] = (runner["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return found


def _owned(obj: Object) -> bool:
    return bool(obj["metadata"].get("ownerReferences"))
