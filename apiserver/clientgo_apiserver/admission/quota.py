"""Resource quotas: the usage of a namespace, and admission of objects within its quotas.

Objects are counted (`pods`, `services`, ..., `count/<plural>.<group>` for any kind), and the requests and limits of
pods (`requests.cpu`, `limits.memory`, ...), the storage of claims and the devices of a class are summed. The usage of a
quota is counted once and then follows each change of the store, so a creation costs the same in a full namespace.
Updates are checked where they can change the usage: of Services, claims and pods.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from clientgo.meta.quantities import ParsedQuantity, total
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import forbidden
from clientgo_apiserver.registry.defaults.pods import amounts, pod_amounts
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import CLAIMS, DEVICE_CLAIMS, PODS, QUOTAS, SERVICES
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Key

Usage = dict[str, ParsedQuantity]

CHANGEABLE = (PODS, SERVICES, CLAIMS)
"""Keys of the objects whose usage an update can change."""

_COUNTED = frozenset(
    ["configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas", "secrets", "services"]
)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_REQUIRED = frozenset(f"{kind}{name}" for kind in ("", "requests.", "limits.") for name in ("cpu", "memory"))
_STORAGE = "requests.storage"
_BY_CLASS = ".storageclass.storage.k8s.io/"
_DEVICES = ".deviceclass.resource.k8s.io/devices"
_MAX_DEVICES = 32  # of a request for all devices (AllocationResultsMaxSize)
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_FINISHED = ("Succeeded", "Failed")


def check_quota(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check an object against the quotas of its namespace (403)."""
    if not state.store.count(QUOTAS) or not write.namespace or write.subresource not in ("", "resize"):
        return
    key = write.resource.storage
    if old is not None and key not in CHANGEABLE:
        return
    for quota in state.store.list(QUOTAS, write.namespace):
        if not _matches(quota, key, new):
            continue
        hard, name = _hard(quota), quota["metadata"]["name"]
        if key == PODS and old is None and (missing := _unspecified(hard, new)):
            raise forbidden(write.resource, new["metadata"]["name"], f"failed quota: {name}: must specify {missing}")
        before = _usage_of(key, old) if old is not None and _matches(quota, key, old) else {}
        more = _increase(_usage_of(key, new), before, hard)
        used = usage(state.store, quota)
        beyond = [
            resource for resource in sorted(more) if used[resource].value + more[resource].value > hard[resource].value
        ]
        if beyond:
            listings = (("requested", more), ("used", used), ("limited", hard))
            texts = (
                (word, ",".join(f"{resource}={listed[resource]}" for resource in beyond)) for word, listed in listings
            )
            reason = ", ".join(f"{word}: {text}" for word, text in texts)
            raise forbidden(write.resource, new["metadata"]["name"], f"exceeded quota: {name}, {reason}")


def _increase(usage_after: Usage, before: Usage, hard: Usage) -> Usage:
    """Return how much more of what is limited is used."""
    increases = {}
    for name in usage_after.keys() & hard.keys():
        amount = usage_after[name].plus(before[name], -1) if name in before else usage_after[name]
        if amount.value > 0:
            increases[name] = amount
    return increases


class _CountedQuota:
    """Usage of one quota with this spec."""

    def __init__(self, quota: Object) -> None:
        self.spec = quota.get("spec")
        self.used: Usage = {name: ParsedQuantity("0") for name in _hard(quota)}
        self._keys = {_counted_key(name) for name in self.used}

    def add(self, key: Key, obj: Object | None, sign: int = 1) -> None:
        """Add the usage of an object, or with -1 subtract it."""
        if obj is None or key not in self._keys or not _matches({"spec": self.spec}, key, obj):
            return
        for name, amount in _usage_of(key, obj).items():
            if name in self.used:
                self.used[name] = self.used[name].plus(amount, sign)


class QuotaUsage:
    """Usage of the quotas of a store, from their first use on.

    It refers to no store, which would keep the store alive: that is the key under which it is found.
    """

    def __init__(self) -> None:
        self._counted: dict[str, dict[str, _CountedQuota]] = {}  # by namespace and name

    def of(self, store: Store, quota: Object) -> Usage:
        """Return the usage of everything that the quota limits."""
        namespace, name = quota["metadata"]["namespace"], quota["metadata"]["name"]
        counted = self._counted.setdefault(namespace, {})
        if name not in counted or counted[name].spec != quota.get("spec"):
            counted[name] = _CountedQuota(quota)
            for key in {_counted_key(resource) for resource in counted[name].used}:
                for obj in store.list(key, namespace):
                    counted[name].add(key, obj)
        return counted[name].used

    def changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        """Follow a change of the store."""
        meta = (new or old or {})["metadata"]
        quotas = self._counted.get(meta.get("namespace", ""))
        if quotas is None:
            return
        if key == QUOTAS and new is None:
            quotas.pop(meta["name"], None)
        if old is not None and new is not None and key not in CHANGEABLE:
            return
        for counted in quotas.values():
            counted.add(key, old, -1)
            counted.add(key, new)


_USAGE: WeakKeyDictionary[Store, QuotaUsage] = WeakKeyDictionary()


def usage(store: Store, quota: Object) -> Usage:
    """Return the usage of everything the quota limits; it must not be modified."""
    counters = _USAGE.get(store)
    if counters is None:
        counters = _USAGE[store] = QuotaUsage()
        store.subscribe(counters.changed)
    return counters.of(store, quota)


def _hard(quota: Object) -> Usage:
    return amounts((quota.get("spec") or {}).get("hard"))


def _counted_key(name: str) -> Key:
    """Return the resource that one of a quota's names counts; pods for requests and limits."""
    if name.startswith("count/"):
        plural, _, group = name.removeprefix("count/").partition(".")
        return (group, plural)
    if name.startswith("services"):
        return SERVICES
    if name == _STORAGE or _BY_CLASS in name:
        return CLAIMS
    if name.endswith(_DEVICES):
        return DEVICE_CLAIMS
    return ("", name) if name in _COUNTED else PODS


def _usage_of(key: Key, obj: Object) -> Usage:
    """Return the usage of one object, under every name that a quota may have for it."""
    count = ParsedQuantity("1")
    used = {f"count/{key[1]}.{key[0]}" if key[0] else f"count/{key[1]}": count}
    if key == PODS:
        return {**used, **_pod_usage(obj)}
    if not key[0] and key[1] in _COUNTED:
        used[key[1]] = count
    spec = obj.get("spec") or {}
    if key == CLAIMS:
        used |= _claim_usage(obj, spec)
    elif key == DEVICE_CLAIMS:
        used |= _device_usage(spec)
    elif key == SERVICES and spec.get("type") in ("NodePort", "LoadBalancer"):
        ports = spec.get("ports") or ()
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if port.get("nodePort")]
        used["services.nodeports"] = total([count] * len(ports))
        if spec["type"] == "LoadBalancer":
            used["services.loadbalancers"] = count
    return used


def _claim_usage(claim: Object, spec: Object) -> Usage:
    used = {"persistentvolumeclaims": ParsedQuantity("1")}
    requests = amounts((spec.get("resources") or {}).get("requests"))
    if "storage" in requests:
        used[_STORAGE] = requests["storage"]
    name = (claim["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION) or spec.get("storageClassName")
    return {**used, **{f"{name}{_BY_CLASS}{kind}": amount for kind, amount in used.items() if name}}


def _device_usage(spec: Object) -> Usage:
    """Return the devices by their class; of requests with alternatives the most that each class may have to give."""
    devices: Counter[str] = Counter()
    for request in (spec.get("devices") or {}).get("requests") or ():
        most: Counter[str] = Counter()
        for choice in request.get("firstAvailable") or [request.get("exactly") or {}]:
            count = _MAX_DEVICES if choice.get("allocationMode") == "All" else choice.get("count", 0)
            most |= Counter({choice.get("deviceClassName", ""): count})
        devices += most
    return {f"{name}{_DEVICES}": ParsedQuantity(str(count)) for name, count in devices.items()}


def _pod_usage(pod: Object) -> Usage:
    if (pod.get("status") or {}).get("phase") in _FINISHED:
        return {}
    requests, limits = (pod_amounts(pod, kind) for kind in ("requests", "limits"))
    return {"pods": ParsedQuantity("1"), **_computed(requests, limits)}


def _computed(requests: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return requests and limits by the names that a quota has for them."""
    computed = {f"limits.{name}": amount for name, amount in limits.items() if name in _COMPUTE}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            computed[name] = amount
        if name in _COMPUTE or name.startswith("hugepages-") or "/" in name:
            computed[f"requests.{name}"] = amount
    return computed


def _unspecified(hard: Usage, pod: Object) -> str:
    """Return the limited resources that containers do not specify: `cpu for: a,b; limits.memory for: a`."""
    if (pod["spec"].get("resources") or {}).keys() & {"requests", "limits"}:
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*(pod["spec"].get("initContainers") or ()), *(pod["spec"].get("containers") or ())):
        resources = container.get("resources") or {}
        specified = _computed(resources.get("requests") or {}, resources.get("limits") or {})
        for name in _REQUIRED & hard.keys() - specified.keys():
            missing.setdefault(name, set()).add(container["name"])
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _matches(quota: Object, key: Key, obj: Object) -> bool:
    """Return whether an object is in all scopes of a quota; only pods and claims of volumes are in any."""
    spec = quota.get("spec") or {}
    selectors = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    in_scope = {PODS: _in_scope, CLAIMS: _has_attributes}.get(key)
    return not selectors or (in_scope is not None and all(in_scope(selector, obj) for selector in selectors))


def _has_attributes(selector: Object, claim: Object) -> bool:
    """Return whether a claim has, had or will have a class of volume attributes that a scope selects."""
    if selector.get("scopeName") != "VolumeAttributesClass":
        return False
    status = claim.get("status") or {}
    names = (
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return _selects(selector, {name for name in names if name})


def _selects(selector: Object, names: Collection[str]) -> bool:
    """Return whether a scope selects an object by the names of its classes."""
    operator, values = selector.get("operator"), selector.get("values") or ()
    if operator in ("Exists", "DoesNotExist"):
        return bool(names) is (operator == "Exists")
    if operator == "In":
        return any(name in values for name in names)
    return not names or any(name not in values for name in names)


def _in_scope(selector: Object, pod: Object) -> bool:
    spec = pod.get("spec") or {}
    best_effort = (pod.get("status") or {}).get("qosClass") == "BestEffort"
    terminating = spec.get("activeDeadlineSeconds") is not None
    name = selector.get("scopeName")
    if name == "PriorityClass":
        return _selects(selector, [*filter(None, [spec.get("priorityClassName")])])
    holds = {
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "Terminating": terminating,
        "NotTerminating": not terminating,
        "CrossNamespacePodAffinity": any(_crosses(term) for term in _affinity_terms(spec)),
    }
    return holds.get(str(name), False)


def _affinity_terms(spec: Object) -> Iterable[Object]:
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        yield from affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for preferred in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield preferred.get("podAffinityTerm") or {}


def _crosses(term: Object) -> bool:
    return bool(term.get("namespaces")) or term.get("namespaceSelector") is not None
