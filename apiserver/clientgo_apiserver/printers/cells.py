"""Cells that are more than the value at a path, as a real server prints them for each kind."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from clientgo_apiserver.printers import podcells
from clientgo_apiserver.printers.clustercells import CLUSTER_CELLS
from clientgo_apiserver.printers.values import (
    NONE,
    UNKNOWN,
    UNSET,
    Obj,
    dig,
    human_duration,
    items,
    joined,
    label_text,
    moment_of,
    selector_text,
    since,
    true_conditions,
)
from clientgo_apiserver.releases.release import current

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _named(key: str) -> Callable[[Any], str]:
    return lambda containers: joined([dig(container, key, default="") for container in containers or ()])


def _load_balancer(obj: Obj) -> list[Any]:
    return [point.get("ip") or point.get("hostname") for point in items(obj, "status", "loadBalancer", "ingress")]


def _external_ip(obj: Obj) -> str:
    spec = dig(obj, "spec", default={})
    fixed = items(spec, "externalIPs")
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") == "LoadBalancer":
        return joined(_load_balancer(obj) + fixed) or "<pending>"
    return joined(fixed) or NONE


def _service_ports(ports: Any) -> str:
    nodes = [f":{port['nodePort']}" if port.get("nodePort") else "" for port in ports or ()]
    pairs = zip(ports or (), nodes, strict=True)
    return ",".join(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}" for port, node in pairs) or NONE


def _node_status(obj: Obj) -> str:
    ready = [item.get("status") for item in items(obj, "status", "conditions") if item.get("type") == "Ready"]
    state = ("Ready" if ready[-1] == "True" else "NotReady") if ready else "Unknown"
    return f"{state},SchedulingDisabled" if dig(obj, "spec", "unschedulable", default=False) else state


def _kernel(info: Any) -> str:
    version, architecture = (dig(info, field, default="") for field in ("kernelVersion", "architecture"))
    return f"{version or UNKNOWN} ({architecture})" if architecture else version or UNKNOWN


def _node_roles(labels: Any) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels or () if key.startswith(prefix)}
    return ",".join(sorted((roles | {(labels or {}).get("kubernetes.io/role", "")}) - {""})) or NONE


def _node_address(kind: str) -> Callable[[Any], Any]:
    return lambda listed: next(
        (address.get("address") for address in listed or () if address.get("type") == kind), NONE
    )


def _endpoints(subsets: Any) -> str:
    texts: list[str] = []
    for subset in subsets or ():
        addresses = [item.get("ip") for item in items(subset, "addresses")]
        ports = [item.get("port") for item in items(subset, "ports")]
        texts += [f"{address}:{port}" for port in ports for address in addresses] if ports else addresses
    return joined(texts, 3) or NONE


def _event_about(obj: Obj) -> Obj:
    about: Obj = dig(obj, "involvedObject") or dig(obj, "regarding", default={})
    return about


def _event_sources(obj: Obj) -> tuple[Any, Any]:
    source = dig(obj, "source") or dig(obj, "deprecatedSource", default={})
    component = source.get("component") or dig(obj, "reportingComponent") or dig(obj, "reportingController")
    return component, source.get("host") or dig(obj, "reportingInstance")


def _first_seen(obj: Obj, now: datetime) -> str:
    return since(dig(obj, "firstTimestamp") or dig(obj, "deprecatedFirstTimestamp") or dig(obj, "eventTime"), now)


def _last_seen(obj: Obj, now: datetime) -> str:
    if series := dig(obj, "series"):
        return since(series.get("lastObservedTime"), now)
    last = dig(obj, "lastTimestamp") or dig(obj, "deprecatedLastTimestamp")
    return since(last, now) if last else _first_seen(obj, now)


def _modes(modes: Any) -> str:
    return joined([text for mode, text in _MODES.items() if mode in (modes or ())])


def _of_bound(cell: Callable[[Obj], str]) -> Callable[[Obj], str]:
    """Return a cell of a claim that is empty until the claim has a volume."""
    return lambda obj: cell(obj) if dig(obj, "spec", "volumeName") else ""


def _quota(*, limits: bool) -> Callable[[Any], str]:
    return lambda status: ", ".join(
        f"{key}: {dig(status, 'used', key, default='0')}/{hard}"
        for key, hard in sorted(dig(status, "hard", default={}).items())
        if key.startswith("limits") is limits
    )


def _controller(owners: Any) -> str:
    for owner in owners or ():
        if owner.get("controller"):
            group = str(owner.get("apiVersion", "")).rpartition("/")[0]
            kind = str(owner.get("kind", "")).lower()
            return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"
    return NONE


def _job_status(obj: Obj) -> str:
    held = true_conditions(obj)
    deleted = ("Terminating",) if dig(obj, "metadata", "deletionTimestamp") else ()
    ended = [kind for kind in ("Complete", "Failed") if kind in held]
    further = [kind for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if kind in held]
    return next(iter((*ended, *deleted, *further)), "Running")


def _completions(obj: Obj) -> str:
    done, completions = dig(obj, "status", "succeeded", default=0), dig(obj, "spec", "completions")
    if completions is not None:
        return f"{done}/{completions}"
    parallel = dig(obj, "spec", "parallelism", default=0)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(status: Any, now: datetime) -> str:
    start, end = (moment_of(dig(status, key)) for key in ("startTime", "completionTime"))
    return "" if start is None else human_duration(((end or now) - start).total_seconds())


def _scaling_metrics(obj: Obj) -> str:
    target = dig(obj, "spec", "targetCPUUtilizationPercentage")
    if target is not None:
        return f"cpu: {_percent(dig(obj, 'status', 'currentCPUUtilizationPercentage'))}/{target}%"
    specs, current = items(obj, "spec", "metrics"), items(obj, "status", "currentMetrics")
    texts = [_metric(spec, current[index] if index < len(current) else {}) for index, spec in enumerate(specs)]
    first_two = ", ".join(texts[:2])
    return f"{first_two} + {len(texts) - 2} more..." if len(texts) > 2 else first_two or NONE


def _metric(spec: Obj, status: Obj) -> str:
    kind = str(spec.get("type", ""))
    member = f"{kind[:1].lower()}{kind[1:]}"
    target, now = dig(spec, member, "target", default={}), dig(status, member, "current", default={})
    per_pod = target.get("averageValue")
    have = now.get("averageValue" if per_pod else "value", UNKNOWN)
    if kind in ("Resource", "ContainerResource"):
        percent = target.get("averageUtilization")
        goal = per_pod or (f"{percent}%" if percent is not None else "<auto>")
        return f"{dig(spec, member, 'name')}: {have if per_pod else _percent(now.get('averageUtilization'))}/{goal}"
    average = " (avg)" if per_pod and kind in ("External", "Object") else ""
    return f"{have}/{per_pod or target.get('value')}{average}"


def _percent(value: Any) -> str:
    return UNKNOWN if value is None else f"{value}%"


def _subjects(kind: str) -> Callable[[Any], str]:
    def listed(subjects: Any) -> str:
        matching = [subject for subject in subjects or () if subject.get("kind") == kind]
        prefixes = [f"{subject.get('namespace', '')}/" if kind == "ServiceAccount" else "" for subject in matching]
        return ", ".join(prefix + subject.get("name", "") for prefix, subject in zip(prefixes, matching, strict=True))

    return listed


def _ingress_parameters(parameters: Any) -> str:
    if not parameters:
        return NONE
    kind = parameters.get("kind", "")
    group = f".{parameters['apiGroup']}" if kind and parameters.get("apiGroup") else ""
    return f"{kind}{group}/{parameters.get('name')}"


_DEFAULT_STORAGE_CLASS = "storageclass.kubernetes.io/is-default-class"


def _is_default(meta: Obj, annotation: str = _DEFAULT_STORAGE_CLASS) -> bool:
    return bool(dig(meta, "annotations", annotation) == "true")


def _with_default(annotation: str) -> Callable[[Obj], str]:
    """Return a cell of the name of a class, which says whether it is the default."""
    return lambda meta: f"{meta['name']}{' (default)' if _is_default(meta, annotation) else ''}"


def with_effective_default(classes: Sequence[Obj]) -> Sequence[Obj]:
    """Return the storage classes of a list with one default since 1.37: the newest, as claims get it."""
    marked = [meta for each in classes if _is_default(meta := each["metadata"])]
    if len(marked) < 2 or not current().at_least("1.37"):
        return classes
    newest = max(meta["creationTimestamp"] for meta in marked)
    default = min(meta["name"] for meta in marked if meta["creationTimestamp"] == newest)
    return [
        each if each["metadata"]["name"] == default else {**each, "metadata": {**each["metadata"], "annotations": {}}}
        for each in classes
    ]


def _pair(*members: str) -> Callable[[Any], str]:
    return lambda value: "/".join(str(dig(value, member, default="")) for member in members) if value else ""


_FUNCTIONS: tuple[Callable[[Any], Any], ...] = (  # named as their cells
    _completions, _controller, _endpoints, _external_ip,
    _ingress_parameters, _job_status, _kernel, _modes, _node_roles, _node_status, _scaling_metrics, _service_ports,
)  # fmt: skip
_TIMELESS: Mapping[str, Callable[[Any], Any]] = {
    **podcells.TIMELESS,
    **CLUSTER_CELLS,
    **{function.__name__.removeprefix("_"): function for function in _FUNCTIONS},
    "claim_capacity": _of_bound(lambda obj: dig(obj, "status", "capacity", "storage", default="0")),
    "claim_modes": _of_bound(lambda obj: _modes(dig(obj, "status", "accessModes"))),
    "claim_ref": _pair("namespace", "name"),
    "cluster_ip": lambda spec: dig(spec, "clusterIPs", 0) or dig(spec, "clusterIP") or NONE,
    "count": lambda value: len(value or ()),
    "event_count": lambda obj: int(
        dig(obj, "series", "count") or dig(obj, "count") or dig(obj, "deprecatedCount") or 1
    ),
    "event_object": lambda obj: "/".join(
        filter(None, (_event_about(obj).get("kind", "").lower(), _event_about(obj).get("name")))
    ),
    "event_source": lambda obj: ", ".join(filter(None, _event_sources(obj))),
    "data_count": lambda obj: sum(len(dig(obj, field, default={})) for field in ("data", "binaryData")),
    "event_field": lambda obj: _event_about(obj).get("fieldPath", ""),
    "event_message": lambda obj: str(dig(obj, "message") or dig(obj, "note", default="")).strip(),
    "external_node_ip": _node_address("ExternalIP"),
    "groups": _subjects("Group"),
    "images": _named("image"),
    "ingress_hosts": lambda rules: joined([rule["host"] for rule in rules or () if rule.get("host")], 3) or "*",
    "ingress_ports": lambda tls: "80, 443" if tls else "80",
    "internal_ip": _node_address("InternalIP"),
    "labels": label_text,
    "load_balancer": lambda obj: joined(_load_balancer(obj)),
    "names": _named("name"),
    "quota_limits": _quota(limits=True),
    "quota_requests": _quota(limits=False),
    "role_ref": _pair("kind", "name"),
    "scale_target": _pair("kind", "name"),
    "selector": selector_text,
    "service_accounts": _subjects("ServiceAccount"),
    "ready_replicas": lambda obj: "/".join(
        str(dig(obj, *path, default=0)) for path in (("status", "readyReplicas"), ("spec", "replicas"))
    ),
    "volume_status": lambda obj: (
        "Terminating" if dig(obj, "metadata", "deletionTimestamp") else dig(obj, "status", "phase", default="")
    ),
    "slice_addresses": lambda points: (
        joined([address for each in points or () for address in items(each, "addresses")], 3) or UNSET
    ),
    "slice_ports": lambda ports: joined([port.get("port") or "*" for port in ports or ()], 3) or UNSET,
    "text": str,
    "ingress_class": _with_default("ingressclass.kubernetes.io/is-default-class"),
    "storage_class": _with_default(_DEFAULT_STORAGE_CLASS),
    "truth": lambda value: str(bool(value)),
    "users": _subjects("User"),
}
_TIMED: Mapping[str, Callable[[Any, datetime], Any]] = {
    **podcells.TIMED,
    **{function.__name__.removeprefix("_"): function for function in (_first_seen, _job_duration, _last_seen)},
    "last_schedule": lambda last, now: since(last, now) if last else NONE,
}
CELLS: dict[str, Callable[[Any, datetime], Any]] = {**_TIMED}
CELLS |= {name: lambda value, _, cell=cell: cell(value) for name, cell in _TIMELESS.items()}  # type: ignore[misc]
