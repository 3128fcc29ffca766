"""Resource quotas: the usage of a namespace, and admission of new objects within its quotas.

Objects are counted (`pods`, `services`, ..., `count/<plural>.<group>` for any kind), and the requests and limits of
pods are summed (`requests.cpu`, `limits.memory`, ...). Usage is always computed from the stored objects, so it cannot
drift. Only creations are checked: little else that quotas count can change.
"""

from typing import Any

from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import forbidden
from clientgo.apiserver.registry.defaults.pods import amounts, pod_amounts
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.store import Store
from clientgo.apiserver.storage.stored import Key
from clientgo.meta.quantities import ParsedQuantity, total

Usage = dict[str, ParsedQuantity]

KEY: Key = ("", "resourcequotas")
PODS: Key = ("", "pods")
_SERVICES: Key = ("", "services")
_COUNTED = frozenset(
    ["configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas", "secrets", "services"]
)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_FINISHED = ("Succeeded", "Failed")


def check_quota(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check a new object against the quotas of its namespace (403)."""
    if old is not None or not write.namespace or not state.store.count(KEY):
        return
    for quota in state.store.list(KEY, write.namespace):
        hard = _hard(quota)
        key = write.resource.storage
        if key == PODS and not _in_scopes(quota, new):
            continue
        more = {name: amount for name, amount in _usage_of(key, new).items() if name in hard}
        name = quota["metadata"]["name"]
        if key == PODS and (missing := _unspecified(hard, new)):
            raise forbidden(write.resource, new["metadata"]["name"], f"failed quota: {name}: must specify {missing}")
        used = usage(state.store, quota, more)
        beyond = [one for one in sorted(more) if used[one].value + more[one].value > hard[one].value]
        if beyond:
            told = (("requested", more), ("used", used), ("limited", hard))
            texts = ((word, ",".join(f"{one}={listed[one]}" for one in beyond)) for word, listed in told)
            why = ", ".join(f"{word}: {text}" for word, text in texts)
            raise forbidden(write.resource, new["metadata"]["name"], f"exceeded quota: {name}, {why}")


def usage(store: Store, quota: Object, names: Any = None) -> Usage:
    """Return the usage of everything the quota limits (or of these `names`)."""
    wanted = set(_hard(quota)) if names is None else set(names)
    parts: dict[str, list[ParsedQuantity]] = {name: [] for name in wanted}
    for key in {_counted_key(name) for name in wanted}:
        for obj in store.list(key, quota["metadata"]["namespace"]):
            if key == PODS and not _in_scopes(quota, obj):
                continue
            for name, amount in _usage_of(key, obj).items():
                if name in parts:
                    parts[name].append(amount)
    return {name: total(amounts) for name, amounts in parts.items()}


def _hard(quota: Object) -> Usage:
    return amounts((quota.get("spec") or {}).get("hard"))


def _counted_key(name: str) -> Key:
    """Return the resource that one of a quota's names counts; pods for requests and limits."""
    if name.startswith("count/"):
        plural, _, group = name.removeprefix("count/").partition(".")
        return (group, plural)
    if name.startswith("services"):
        return _SERVICES
    return ("", name) if name in _COUNTED else PODS


def _usage_of(key: Key, obj: Object) -> Usage:
    """Return the usage of one object, under every name that a quota may have for it."""
    one = ParsedQuantity("1")
    counted = f"count/{key[1]}.{key[0]}" if key[0] else f"count/{key[1]}"
    found = {counted: one}
    if key == PODS:
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
    found = {"pods": ParsedQuantity("1")}
    for kind in ("requests", "limits"):
        listed = pod_amounts(pod, kind)
        for resource in _COMPUTE:
            amount = found[f"{kind}.{resource}"] = listed.get(resource, ParsedQuantity("0"))
            if kind == "requests":
                found[resource] = amount
    return found


def _unspecified(hard: Usage, pod: Object) -> str:
    """Return the limited resources that containers do not specify: `cpu for: a,b; limits.memory for: a`."""
    found = []
    containers = [*(pod["spec"].get("initContainers") or ()), *(pod["spec"].get("containers") or ())]
    named = [(one["name"], one.get("resources") or {}) for one in containers]
    for name in sorted(hard):
        kind, _, resource = name.rpartition(".")
        silent = sorted(who for who, given in named if resource not in (given.get(kind or "requests") or {}))
        if silent and resource in ("cpu", "memory") and kind in ("", "requests", "limits"):
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
