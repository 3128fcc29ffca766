"""PodDisruptionBudgets by the pods that they select, as the disruption controller counts them."""

from clientgo_apiserver.cluster.owned import workload_of
from clientgo_apiserver.cluster.podcontrol import FINISHED, PODS, is_ready, phase_of, seconds_of
from clientgo_apiserver.controllers.base import InternalController, is_deleting
from clientgo_apiserver.controllers.namespaced import BUDGETS, disruption_status
from clientgo_apiserver.controllers.rollout import resolve, wanted_replicas
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.storage.stored import Key, name_of

_SCALED: dict[str, Key] = {
    "ReplicaSet": ("apps", "replicasets"),
    "StatefulSet": ("apps", "statefulsets"),
    "Deployment": ("apps", "deployments"),
}
_DISRUPTED_SECONDS = 120  # an eviction that was not followed by a deletion is forgotten


class DisruptionController(InternalController):
    """Keeps the status of every PodDisruptionBudget."""

    _sources = (BUDGETS,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        namespace = (new or old or {})["metadata"].get("namespace", "")
        if key == BUDGETS:
            self._schedule(*name_of(new or old or {}))
        elif key == PODS or key in _SCALED.values():
            for budget in self._store.list(BUDGETS, namespace) if self._store.count(BUDGETS) else ():
                if key != PODS or any(pod is not None and _selects(budget, pod) for pod in (old, new)):
                    self._schedule(*name_of(budget))

    def _sync(self, *names: str) -> None:
        budget = self._store.get(BUDGETS, *names)
        if budget is None:
            return
        spec, now = budget.get("spec") or {}, self._state.clock.time()
        pods = [
            pod for pod in self._store.list(PODS, names[0]) if _selects(budget, pod) and phase_of(pod) not in FINISHED
        ]
        disrupted = {
            name: time
            for name, time in ((budget.get("status") or {}).get("disruptedPods") or {}).items()
            if seconds_of(time) + _DISRUPTED_SECONDS > now
            and any(pod["metadata"]["name"] == name and not is_deleting(pod) for pod in pods)
        }
        healthy = sum(
            is_ready(pod) and not is_deleting(pod) and pod["metadata"]["name"] not in disrupted for pod in pods
        )
        expected, desired = self._expected(spec, pods)
        self._write(budget, disruption_status(budget, expected, healthy, desired, self._now()), disrupted)
        if disrupted:
            due = min(map(seconds_of, disrupted.values())) + _DISRUPTED_SECONDS
            self._later(max(0.0, due - now), self._schedule, *names)

    def _expected(self, spec: Object, pods: list[Object]) -> tuple[int, int]:
        """Return the pods that should exist, and how many must be healthy."""
        if spec.get("maxUnavailable") is not None:
            expected = self._scale(pods)
            return expected, max(0, expected - resolve(spec["maxUnavailable"], expected, up=True))
        minimum = spec.get("minAvailable", 1)
        if isinstance(minimum, int):
            return len(pods), minimum
        expected = self._scale(pods)
        return expected, resolve(minimum, expected, up=True)

    def _scale(self, pods: list[Object]) -> int:
        """Return the sum of the replicas of the pods' workloads."""
        workloads = [workload_of(self._store, pod, _SCALED) for pod in pods]
        replicas = {each["metadata"]["uid"]: wanted_replicas(each) for each in workloads if each is not None}
        return sum(replicas.values())

    def _write(self, budget: Object, status: Object, disrupted: dict[str, str]) -> None:
        before = budget.get("status") or {}
        changed = {field: value for field, value in status.items() if before.get(field) != value}
        if (before.get("disruptedPods") or {}) != disrupted:
            gone = {name: None for name in before.get("disruptedPods") or () if name not in disrupted}
            changed["disruptedPods"] = {**disrupted, **gone} if disrupted else None
        if changed:
            self._write_status(BUDGETS, budget, changed)


def _selects(budget: Object, pod: Object) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    # Unlike elsewhere, an absent selector selects nothing; an empty one selects everything.
    return selector is not None and selects(selector, pod["metadata"].get("labels") or {})
