"""Defaults within pods and of a few other types that depend on more than one field."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.quantities import ParsedQuantity, total
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.http.messages import cached

CONTAINERS = ("containers", "initContainers")
_DOMAIN = lazy_pattern(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9][A-Za-z0-9-]*(\.[A-Za-z0-9][A-Za-z0-9-]*)*)(:[0-9]+)?")
_COMPONENT = lazy_pattern(r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*")
_TAG = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = lazy_pattern(r"[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}")
_IDENTIFIER = lazy_pattern(r"[0-9a-f]{64}")
_OVERCOMMITTED = ("cpu", "memory")


@cached(size=256, longest=256)
def pull_policy(image: str) -> str:
    """Return Always for an image with the tag `latest`, or without tag and digest, else IfNotPresent."""
    return "Always" if _tag(image) == "latest" else "IfNotPresent"


def _tag(image: str) -> str:
    """Return the tag of an image, "" if it has only a digest or is invalid (Kubernetes' parsers.ParseImageName)."""
    name, at, digest = image.partition("@")
    head, slash, below = name.partition("/")
    is_domain = slash and (head == "localhost" or head.lower() != head or "." in head or ":" in head)
    domain, path = (head, below) if is_domain else ("", name)
    path, colon, tag = path.partition(":")
    is_valid = (
        (not domain or _DOMAIN.fullmatch(domain))
        and all(map(_COMPONENT.fullmatch, path.split("/")))
        and (not colon or _TAG.fullmatch(tag))
        and (not at or _DIGEST.fullmatch(digest))
        and not _IDENTIFIER.fullmatch(image)
    )
    return tag or ("" if at else "latest") if is_valid else ""


def container(spec: Object) -> Object:
    """Set the pull policy of a container."""
    if not spec.get("imagePullPolicy"):
        spec["imagePullPolicy"] = pull_policy(spec.get("image") or "")
    return spec


def volume(source: Object) -> Object:
    """Return a volume with a source: one without is an empty directory."""
    if set(source) <= {"name"}:
        return {**source, "emptyDir": {}}
    image = source.get("image")
    if image and not image.get("pullPolicy"):
        source["image"] = {**image, "pullPolicy": pull_policy(image.get("reference") or "")}
    return source


def pod_spec(spec: Object) -> Object:
    """Set both names of the service account, of which one is deprecated."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    return spec


def pod_status(status: Object) -> Object:
    """Keep podIP and podIPs alike: the first of the list, or a list of the one."""
    address, listed = status.get("podIP"), status.get("podIPs") or []
    if listed and not address:
        status["podIP"] = listed[0].get("ip")
    elif address and (not listed or listed[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    return status


def pod(obj: Object) -> Object:
    """Return a pod with the defaults that its template does not have."""
    spec = {"enableServiceLinks": True, **(obj.get("spec") or {})}
    for field in CONTAINERS:
        if spec.get(field):
            spec[field] = [_with_ports(_with_requests(container_spec), spec) for container_spec in spec[field]]
    if (spec.get("resources") or {}).get("limits"):
        spec["resources"] = _pod_resources(spec)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    return {**obj, "spec": spec}


def _with_requests(container_spec: Object) -> Object:
    resources = container_spec.get("resources") or {}
    if not resources.get("limits"):
        return container_spec
    return {
        **container_spec,
        "resources": {**resources, "requests": {**resources["limits"], **(resources.get("requests") or {})}},
    }


def _with_ports(container_spec: Object, spec: Object) -> Object:
    if not spec.get("hostNetwork") or not container_spec.get("ports"):
        return container_spec
    return {
        **container_spec,
        "ports": [{"hostPort": port.get("containerPort"), **port} for port in container_spec["ports"]],
    }


def _pod_resources(spec: Object) -> Object:
    """Return the resources of the whole pod; requests are those of its containers, or else its limits."""
    resources: Object = spec["resources"]
    declared = {"spec": {field: spec.get(field) for field in CONTAINERS}}
    requests = {
        name: str(amount) for name, amount in pod_amounts(declared, "requests").items() if name in _OVERCOMMITTED
    }
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
    for container_spec in spec.get("initContainers") or ():
        restarted = container_spec.get("restartPolicy") == "Always"
        for name, amount in amounts((container_spec.get("resources") or {}).get(field)).items():
            if restarted:
                beside.setdefault(name, []).append(amount)
            peaks.setdefault(name, []).append(total([*beside.get(name, ()), *(() if restarted else (amount,))]))
    for container_spec in spec.get("containers") or ():
        for name, amount in amounts((container_spec.get("resources") or {}).get(field)).items():
            sums.setdefault(name, []).append(amount)
    amounts_by_name = {}
    for name in sums | peaks:
        together = total([*sums.get(name, ()), *beside.get(name, ())])
        amounts_by_name[name] = max([together, *peaks.get(name, ())], key=lambda amount: amount.value)
    amounts_by_name |= amounts((spec.get("resources") or {}).get(field))
    overhead = amounts(spec.get("overhead"))
    return {
        name: total([amount, overhead[name]]) if name in overhead else amount
        for name, amount in amounts_by_name.items()
    }


def quality_of_service(spec: Object) -> str:
    """Return Guaranteed, Burstable or BestEffort, by the requests and limits of a pod or its containers."""
    owners = (
        [spec]
        if spec.get("resources") is not None
        else [container_spec for field in CONTAINERS for container_spec in spec.get(field) or ()]
    )
    guaranteed, any_given = True, False
    for owner in owners:
        resources = owner.get("resources") or {}
        limits, requested = (_computed(resources.get(field)) for field in ("limits", "requests"))
        any_given = any_given or any(limits.values()) or any(requested.values())
        for name in _OVERCOMMITTED:
            limit = limits.get(name, 0)
            guaranteed = guaranteed and limit > 0 and requested.get(name, limit) == limit
    if not any_given:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _computed(listed: Any) -> dict[str, Fraction]:
    return {name: _value(text) for name, text in (listed or {}).items() if name in _OVERCOMMITTED}


@lru_cache(maxsize=1024)
def _value(text: str) -> Fraction:
    return ParsedQuantity(text).value


def limit_range_item(limit: Object) -> Object:
    """Set the defaults of a limit: the maximum limits and the minimum is requested."""
    if limit.get("type") == "Container":
        limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
        limit |= {field: named for field, named in (("default", limits), ("defaultRequest", requests)) if named}
    return limit


def policy_types(spec: Object) -> Object:
    """Set the types of a network policy by its rules."""
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    return spec
