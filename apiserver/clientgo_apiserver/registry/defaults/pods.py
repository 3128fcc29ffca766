"""Defaults within pods and of a few other types that depend on more than one field."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

from clientgo.meta.quantities import ParsedQuantity, total
from clientgo_apiserver.registry.registry import Object

CONTAINERS = ("containers", "initContainers")
_OVERCOMMITTED = ("cpu", "memory")


def pull_policy(image: str) -> str:
    """Return Always for `latest` or no tag at all, IfNotPresent for any other tag or digest."""
    name, at, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "IfNotPresent" if at or tag not in ("", "latest") else "Always"


def container(found: Object) -> Object:
    """Set the pull policy of a container."""
    if not found.get("imagePullPolicy"):
        found["imagePullPolicy"] = pull_policy(found.get("image") or "")
    return found


def volume(found: Object) -> Object:
    """Return a volume with a source: one without is an empty directory."""
    if set(found) <= {"name"}:
        return {**found, "emptyDir": {}}
    image = found.get("image")
    if image and not image.get("pullPolicy"):
        found["image"] = {**image, "pullPolicy": pull_policy(image.get("reference") or "")}
    return found


def pod_spec(found: Object) -> Object:
    """Set both names of the service account, of which one is deprecated."""
    account = found.get("serviceAccountName") or found.get("serviceAccount")
    if account:
        found["serviceAccountName"] = found["serviceAccount"] = account
    return found


def pod_status(found: Object) -> Object:
    """Keep podIP and podIPs alike: the first of the list, or a list of the one."""
    address, listed = found.get("podIP"), found.get("podIPs") or []
    if listed and not address:
        found["podIP"] = listed[0].get("ip")
    elif address and (not listed or listed[0].get("ip") != address):
        found["podIPs"] = [{"ip": address}]
    return found


def pod(obj: Object) -> Object:
    """Return a pod with the defaults that its template does not have."""
    spec = {"enableServiceLinks": True, **(obj.get("spec") or {})}
    for field in CONTAINERS:
        if spec.get(field):
            spec[field] = [_with_ports(_with_requests(one), spec) for one in spec[field]]
    if (spec.get("resources") or {}).get("limits"):
        spec["resources"] = _pod_resources(spec)
    return {**obj, "spec": spec}


def _with_requests(one: Object) -> Object:
    resources = one.get("resources") or {}
    if not resources.get("limits"):
        return one
    return {**one, "resources": {**resources, "requests": {**resources["limits"], **(resources.get("requests") or {})}}}


def _with_ports(one: Object, spec: Object) -> Object:
    if not spec.get("hostNetwork") or not one.get("ports"):
        return one
    return {**one, "ports": [{"hostPort": port.get("containerPort"), **port} for port in one["ports"]]}


def _pod_resources(spec: Object) -> Object:
    """Return the resources of the whole pod; requests are those of its containers, or else its limits."""
    resources: Object = spec["resources"]
    given = {"spec": {field: spec.get(field) for field in CONTAINERS}}
    requests = {name: str(amount) for name, amount in pod_amounts(given, "requests").items() if name in _OVERCOMMITTED}
    limits = {
        name: amount
        for name, amount in resources["limits"].items()
        if name in _OVERCOMMITTED or name.startswith("hugepages-")
    }
    return {**resources, "requests": {**limits, **requests, **(resources.get("requests") or {})}}


def amounts(listed: Any) -> dict[str, ParsedQuantity]:
    """Parse resource amounts by name."""
    return {name: ParsedQuantity(text) for name, text in (listed or {}).items()}


def pod_amounts(obj: Object, field: str) -> dict[str, ParsedQuantity]:
    """Return a pod's requests or limits: of the pod itself, or those of its containers.

    Containers run together, after the init containers, which run one by one; restarted ones stay beside the others.
    """
    spec = obj.get("spec") or {}
    sums: dict[str, list[ParsedQuantity]] = {}
    peaks: dict[str, list[ParsedQuantity]] = {}
    beside: dict[str, list[ParsedQuantity]] = {}
    for one in spec.get("initContainers") or ():
        restarted = one.get("restartPolicy") == "Always"
        for name, amount in amounts((one.get("resources") or {}).get(field)).items():
            if restarted:
                beside.setdefault(name, []).append(amount)
            peaks.setdefault(name, []).append(total([*beside.get(name, ()), *(() if restarted else (amount,))]))
    for one in spec.get("containers") or ():
        for name, amount in amounts((one.get("resources") or {}).get(field)).items():
            sums.setdefault(name, []).append(amount)
    found = {}
    for name in {*sums, *peaks}:
        together = total([*sums.get(name, ()), *beside.get(name, ())])
        found[name] = max([together, *peaks.get(name, ())], key=lambda amount: amount.value)
    found |= amounts((spec.get("resources") or {}).get(field))
    overhead = amounts(spec.get("overhead"))
    return {name: total([amount, overhead[name]]) if name in overhead else amount for name, amount in found.items()}


def quality_of_service(spec: Object) -> str:
    """Return Guaranteed, Burstable or BestEffort, by the requests and limits of a pod or its containers."""
    parts = [spec] if spec.get("resources") else [one for field in CONTAINERS for one in spec.get(field) or ()]
    guaranteed, any_given = True, False
    for one in parts:
        resources = one.get("resources") or {}
        limits, requested = (_computed(resources.get(field)) for field in ("limits", "requests"))
        any_given = any_given or bool(limits or requested)
        for name in _OVERCOMMITTED:
            guaranteed = guaranteed and name in limits and requested.get(name, limits[name]) == limits[name]
    if not any_given:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _computed(listed: Any) -> dict[str, Fraction]:
    return {name: _value(text) for name, text in (listed or {}).items() if name in _OVERCOMMITTED}


@lru_cache(maxsize=1024)
def _value(text: str) -> Fraction:
    return ParsedQuantity(text).value


def limit_range_item(found: Object) -> Object:
    """Set the defaults of a limit: the maximum limits and the minimum is requested."""
    if found.get("type") == "Container":
        limits = {**(found.get("max") or {}), **(found.get("default") or {})}
        requests = {**(found.get("min") or {}), **limits, **(found.get("defaultRequest") or {})}
        found |= {field: named for field, named in (("default", limits), ("defaultRequest", requests)) if named}
    return found


def policy_types(found: Object) -> Object:
    """Set the types of a network policy by its rules."""
    if not found.get("policyTypes"):
        found["policyTypes"] = ["Ingress", "Egress"] if found.get("egress") else ["Ingress"]
    return found
