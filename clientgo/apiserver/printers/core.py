"""Printers of the core group, and of events in both groups that show them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clientgo.apiserver.printers.base import (
    AGE,
    CONTAINERS,
    NAME,
    NONE,
    UNSET,
    Printer,
    age,
    column,
    containers,
    dig,
    items,
    joined,
    label_text,
    name,
    printer,
    since,
)
from clientgo.meta.scheme import Column

Obj = dict[str, Any]


def _config_map(obj: Obj, now: datetime) -> list[Any]:
    size = len(dig(obj, "data", default={})) + len(dig(obj, "binaryData", default={}))
    return [name(obj), size, age(obj, now)]


def _secret(obj: Obj, now: datetime) -> list[Any]:
    return [name(obj), dig(obj, "type", default=""), len(dig(obj, "data", default={})), age(obj, now)]


def _service(obj: Obj, now: datetime) -> list[Any]:
    spec = dig(obj, "spec", default={})
    address = dig(spec, "clusterIPs", 0) or spec.get("clusterIP") or NONE
    selector = label_text(spec.get("selector"))
    kind = spec.get("type") or NONE
    return [name(obj), kind, address, _external(obj), _ports(spec), age(obj, now), selector]


def _external(obj: Obj) -> str:
    spec = dig(obj, "spec", default={})
    fixed = items(spec, "externalIPs")
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") == "LoadBalancer":
        points = items(obj, "status", "loadBalancer", "ingress")
        return joined([point.get("ip") or point.get("hostname") for point in points] + fixed) or "<pending>"
    return joined(fixed) or NONE


def _ports(spec: Obj) -> str:
    texts = []
    for port in items(spec, "ports"):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or NONE


def _namespace(obj: Obj, now: datetime) -> list[Any]:
    return [name(obj), dig(obj, "status", "phase", default=""), age(obj, now)]


def _node(obj: Obj, now: datetime) -> list[Any]:
    info = dig(obj, "status", "nodeInfo", default={})
    addresses = {item.get("type"): item.get("address") for item in reversed(items(obj, "status", "addresses"))}
    return [
        name(obj),
        _node_status(obj),
        _roles(obj),
        age(obj, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", NONE),
        addresses.get("ExternalIP", NONE),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _node_status(obj: Obj) -> str:
    ready = [item.get("status") for item in items(obj, "status", "conditions") if item.get("type") == "Ready"]
    state = ("Ready" if ready[-1] == "True" else "NotReady") if ready else "Unknown"
    return f"{state},SchedulingDisabled" if dig(obj, "spec", "unschedulable", default=False) else state


def _roles(obj: Obj) -> str:
    roles = set()
    for key, value in dig(obj, "metadata", "labels", default={}).items():
        if key.startswith("node-role.kubernetes.io/") and key != "node-role.kubernetes.io/":
            roles.add(key.removeprefix("node-role.kubernetes.io/"))
        elif key == "kubernetes.io/role" and value:
            roles.add(value)
    return ",".join(sorted(roles)) or NONE


def _service_account(obj: Obj, now: datetime) -> list[Any]:
    return [name(obj), len(items(obj, "secrets")), age(obj, now)]


def _endpoints(obj: Obj, now: datetime) -> list[Any]:
    found: list[Any] = []
    for subset in items(obj, "subsets"):
        addresses = [item.get("ip") for item in items(subset, "addresses")]
        ports = [item.get("port") for item in items(subset, "ports")]
        found += [f"{address}:{port}" for port in ports for address in addresses] if ports else addresses
    return [name(obj), joined(found, 3) or NONE, age(obj, now)]


def _event(obj: Obj, now: datetime) -> list[Any]:
    about = dig(obj, "involvedObject") or dig(obj, "regarding", default={})
    kind = str(about.get("kind", "")).lower()
    first, last, count = _event_times(obj, now)
    return [
        last,
        dig(obj, "type", default=""),
        dig(obj, "reason", default=""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        _event_source(obj),
        str(dig(obj, "message") or dig(obj, "note", default="")).strip(),
        first,
        count,
        name(obj),
    ]


def _event_times(obj: Obj, now: datetime) -> tuple[str, str, int]:
    begun = dig(obj, "firstTimestamp") or dig(obj, "deprecatedFirstTimestamp") or dig(obj, "eventTime")
    latest = dig(obj, "lastTimestamp") or dig(obj, "deprecatedLastTimestamp") or begun
    count = dig(obj, "count") or dig(obj, "deprecatedCount") or 1
    series = dig(obj, "series")
    if series:
        latest, count = series.get("lastObservedTime"), series.get("count", count)
    return since(begun, now), since(latest, now), count


def _event_source(obj: Obj) -> str:
    source = dig(obj, "source") or dig(obj, "deprecatedSource", default={})
    component = source.get("component") or dig(obj, "reportingComponent") or dig(obj, "reportingController", default="")
    instance = source.get("host") or dig(obj, "reportingInstance", default="")
    return f"{component}, {instance}" if instance else str(component)


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _modes(obj: Obj, *keys: str) -> str:
    return joined([_MODES.get(mode, mode) for mode in items(obj, *keys)])


def _volume(obj: Obj, now: datetime) -> list[Any]:
    claim = dig(obj, "spec", "claimRef", default={})
    phase = dig(obj, "status", "phase", default="")
    return [
        name(obj),
        dig(obj, "spec", "capacity", "storage", default=""),
        _modes(obj, "spec", "accessModes"),
        dig(obj, "spec", "persistentVolumeReclaimPolicy", default=""),
        "Terminating" if dig(obj, "metadata", "deletionTimestamp") else phase,
        f"{claim.get('namespace')}/{claim.get('name')}" if claim else "",
        dig(obj, "spec", "storageClassName", default=""),
        dig(obj, "spec", "volumeAttributesClassName", default=UNSET),
        dig(obj, "status", "reason", default=""),
        age(obj, now),
        dig(obj, "spec", "volumeMode", default=UNSET),
    ]


def _claim(obj: Obj, now: datetime) -> list[Any]:
    phase = dig(obj, "status", "phase", default="")
    bound = bool(dig(obj, "spec", "volumeName"))
    return [
        name(obj),
        "Terminating" if dig(obj, "metadata", "deletionTimestamp") else phase,
        dig(obj, "spec", "volumeName", default=""),
        dig(obj, "status", "capacity", "storage", default="") if bound else "",
        _modes(obj, "status", "accessModes") if bound else "",
        dig(obj, "spec", "storageClassName", default=""),
        dig(obj, "spec", "volumeAttributesClassName", default=UNSET),
        age(obj, now),
        dig(obj, "spec", "volumeMode", default=UNSET),
    ]


def _quota(obj: Obj, now: datetime) -> list[Any]:
    shown: dict[bool, list[str]] = {True: [], False: []}
    for key, hard in sorted(dig(obj, "status", "hard", default={}).items()):
        used = dig(obj, "status", "used", key, default="0")
        shown[key.startswith("limits")].append(f"{key}: {used}/{hard}")
    return [name(obj), ", ".join(shown[False]), ", ".join(shown[True]), age(obj, now)]


def _pod_template(obj: Obj, _: datetime) -> list[Any]:
    labels = label_text(dig(obj, "template", "metadata", "labels"))
    return [name(obj), *containers(dig(obj, "template", "spec")), labels]


def _wide(*titles: str) -> tuple[Column, ...]:
    return tuple(column(title, wide=True) for title in titles)


_EVENT = printer(
    *("Last Seen", "Type", "Reason", "Object"),
    *_wide("Subobject", "Source"),
    "Message",
    *_wide("First Seen"),
    column("Count", wide=True),
    *_wide("Name"),
    cells=_event,
)
_STORAGE = ("StorageClass", "VolumeAttributesClass")

PRINTERS: Mapping[tuple[str, str], Printer] = {
    ("", "ConfigMap"): printer(NAME, "Data", AGE, cells=_config_map),
    ("", "Secret"): printer(NAME, "Type", "Data", AGE, cells=_secret),
    ("", "Service"): printer(
        NAME, "Type", "Cluster-IP", "External-IP", "Port(s)", AGE, *_wide("Selector"), cells=_service
    ),
    ("", "Namespace"): printer(NAME, "Status", AGE, cells=_namespace),
    ("", "Node"): printer(
        NAME,
        *("Status", "Roles"),
        AGE,
        "Version",
        *_wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        cells=_node,
    ),
    ("", "ServiceAccount"): printer(NAME, "Secrets", AGE, cells=_service_account),
    ("", "Endpoints"): printer(NAME, "Endpoints", AGE, cells=_endpoints),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "PersistentVolume"): printer(
        NAME,
        *("Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", *_STORAGE, "Reason"),
        AGE,
        *_wide("VolumeMode"),
        cells=_volume,
    ),
    ("", "PersistentVolumeClaim"): printer(
        NAME, "Status", "Volume", "Capacity", "Access Modes", *_STORAGE, AGE, *_wide("VolumeMode"), cells=_claim
    ),
    ("", "ResourceQuota"): printer(NAME, "Request", "Limit", AGE, cells=_quota),
    ("", "PodTemplate"): printer(NAME, *(column(item.name) for item in CONTAINERS), "Pod Labels", cells=_pod_template),
}
"""(group, kind) → printer."""
