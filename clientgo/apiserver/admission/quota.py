"""Resource quotas: nothing is created in a namespace beyond what its quotas allow, and their status tells what is used.

Objects are counted (`pods`, `services`, ..., `count/<plural>.<group>` for any kind), and what pods ask for is added up
(`requests.cpu`, `limits.memory`, ...). What is used is counted anew from what is stored, so nothing can drift. Only
creations are judged: of what quotas count, little else can be changed.
"""

from collections.abc import Callable
from typing import Any

from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import ApiFailure, forbidden
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Key
from clientgo.meta.quantities import Quantity, total

Object = dict[str, Any]
Usage = dict[str, Quantity]

KEY: Key = ("", "resourcequotas")
_PODS: Key = ("", "pods")
_SERVICES: Key = ("", "services")
_COUNTED = frozenset(
    ["configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas", "secrets", "services"]
)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_FINISHED = ("Succeeded", "Failed")


def check_quota(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Refuse to create what goes beyond a quota of its namespace.

    Raises:
        ApiFailure: 403.
    """
    if old is not None or not write.namespace or not state.store.count(KEY):
        return
    for quota in state.store.list(KEY, write.namespace):
        hard = _hard(quota)
        key = write.resource.storage
        if key == _PODS and not _in_scopes(quota, new):
            continue
        more = {name: amount for name, amount in _usage_of(key, new).items() if name in hard}
        name = quota["metadata"]["name"]
        if key == _PODS and (missing := _unsaid(hard, new)):
            raise forbidden(write.resource, new["metadata"]["name"], f"failed quota: {name}: must specify {missing}")
        used = usage(state, quota, more)
        beyond = [one for one in sorted(more) if used[one].value + more[one].value > hard[one].value]
        if beyond:
            told = (("requested", more), ("used", used), ("limited", hard))
            why = ", ".join(f"{word}: {_shown(amounts, beyond)}" for word, amounts in told)
            raise forbidden(write.resource, new["metadata"]["name"], f"exceeded quota: {name}, {why}")


def usage(state: State, quota: Object, names: Any = None) -> Usage:
    """What is used of what the quota limits (or of these `names`), as stored now."""
    wanted = set(_hard(quota)) if names is None else set(names)
    parts: dict[str, list[Quantity]] = {name: [] for name in wanted}
    for key in {_counted_key(name) for name in wanted}:
        for obj in state.store.list(key, quota["metadata"]["namespace"]):
            if key == _PODS and not _in_scopes(quota, obj):
                continue
            for name, amount in _usage_of(key, obj).items():
                if name in parts:
                    parts[name].append(amount)
    return {name: total(amounts) for name, amounts in parts.items()}


class QuotaController:
    """Keeps the status of every quota: what it allows, and what is used."""

    def __init__(self, state: State, write_status: Callable[[str, str, Object], object]) -> None:
        """`write_status(namespace, name, status)` stores it."""
        self._state = state
        self._write_status = write_status
        self._due: set[str] = set()

    def __repr__(self) -> str:
        return f"<QuotaController {len(self._due)} namespaces due>"

    def start(self) -> None:
        """Bring every status up to date, and follow every change from now on."""
        self._state.store.subscribe(self._changed)
        for quota in self._state.store.list(KEY):
            self._later(quota["metadata"]["namespace"])

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        # The count of quotas is looked at first: hardly any server has one.
        if obj is None or not self._state.store.count(KEY):
            return
        if kind != "MODIFIED" or key in (KEY, _PODS):
            self._later(obj["metadata"].get("namespace", ""))

    def _later(self, namespace: str) -> None:
        if namespace and namespace not in self._due:
            self._due.add(namespace)
            self._state.soon(self._sync, namespace)

    def _sync(self, namespace: str) -> None:
        self._due.discard(namespace)
        for quota in self._state.store.list(KEY, namespace):
            hard = (quota.get("spec") or {}).get("hard") or {}
            used = {name: str(amount) for name, amount in sorted(usage(self._state, quota).items())}
            status = {"hard": hard, "used": used}
            if (quota.get("status") or {}) != status:
                self._write_status(namespace, quota["metadata"]["name"], status)


def status_writer(patch: Callable[..., object]) -> Callable[[str, str, Object], object]:
    """Writes a quota's status by `Internal.patch`; a quota that is gone meanwhile needs none."""

    def write(namespace: str, name: str, status: Object) -> None:
        try:
            # A JSON patch takes the place of the whole status: names that are no longer limited vanish.
            whole = [{"op": "add", "path": "/status", "value": status}]
            patch(KEY, namespace, name, whole, subresource="status", kind="json")
        except ApiFailure as failure:
            if failure.code not in (404, 409):
                raise

    return write


def _hard(quota: Object) -> Usage:
    found: Usage = {}
    for name, text in ((quota.get("spec") or {}).get("hard") or {}).items():
        try:
            found[name] = Quantity(text)
        except ValueError:
            continue  # limits nothing
    return found


def _counted_key(name: str) -> Key:
    """What has to be looked at for one of a quota's names; pods for whatever is added up."""
    if name.startswith("count/"):
        plural, _, group = name.removeprefix("count/").partition(".")
        return (group, plural)
    if name.startswith("services"):
        return _SERVICES
    return ("", name) if name in _COUNTED else _PODS


def _usage_of(key: Key, obj: Object) -> Usage:
    """What one object uses, under every name that a quota may have for it."""
    one = Quantity("1")
    counted = f"count/{key[1]}.{key[0]}" if key[0] else f"count/{key[1]}"
    found = {counted: one}
    if key == _PODS:
        return {**found, **_pod_usage(obj)}
    if not key[0] and key[1] in _COUNTED:
        found[key[1]] = one
    if key == _SERVICES:
        kind = (obj.get("spec") or {}).get("type")
        if kind in ("NodePort", "LoadBalancer"):
            found["services.nodeports"] = total([one] * len(obj["spec"].get("ports") or ()))
        if kind == "LoadBalancer":
            found["services.loadbalancers"] = one
    return found


def _pod_usage(pod: Object) -> Usage:
    if (pod.get("status") or {}).get("phase") in _FINISHED:
        return {}
    found = {"pods": Quantity("1")}
    for kind in ("requests", "limits"):
        for resource in _COMPUTE:
            amount = _asked(pod, kind, resource)
            found[f"{kind}.{resource}"] = amount
            if kind == "requests":
                found[resource] = amount
    return found


def _asked(pod: Object, kind: str, resource: str) -> Quantity:
    """What a pod asks for: all its containers, or one of those that run before them if that asks for more."""
    spec = pod.get("spec") or {}
    together = total(_of(one, kind, resource) for one in spec.get("containers") or ())
    first = [_of(one, kind, resource) for one in spec.get("initContainers") or ()]
    return max([together, *first], key=lambda amount: amount.value)


def _of(container: Object, kind: str, resource: str) -> Quantity:
    try:
        return Quantity(((container.get("resources") or {}).get(kind) or {}).get(resource, "0"))
    except ValueError:
        return Quantity("0")


def _unsaid(hard: Usage, pod: Object) -> str:
    """What the quota limits and containers don't tell: `cpu for: a,b; limits.memory for: a`."""
    found = []
    containers = [*(pod["spec"].get("initContainers") or ()), *(pod["spec"].get("containers") or ())]
    for name in sorted(hard):
        kind, _, resource = name.rpartition(".")
        if resource not in ("cpu", "memory") or kind not in ("", "requests", "limits"):
            continue
        silent = sorted(
            one["name"]
            for one in containers
            if resource not in ((one.get("resources") or {}).get(kind or "requests") or {})
        )
        if silent:
            found.append(f"{name} for: {','.join(silent)}")
    return "; ".join(found)


def _in_scopes(quota: Object, pod: Object) -> bool:
    spec, own = quota.get("spec") or {}, pod.get("spec") or {}
    best_effort = (pod.get("status") or {}).get("qosClass") == "BestEffort"
    holds = {
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "Terminating": own.get("activeDeadlineSeconds") is not None,
        "NotTerminating": own.get("activeDeadlineSeconds") is None,
    }
    return all(holds.get(scope, False) for scope in spec.get("scopes") or ()) and not spec.get("scopeSelector")


def _shown(amounts: Usage, names: list[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names)
