"""Printers of the core group, and of events in both groups that serve them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clientgo.apiserver.printers.base import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Obj,
    Printer,
    col,
    containers,
    dig,
    items,
    joined,
    label_text,
    load_balancer_points,
    name,
    since,
    timed,
)

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _external_ip(obj: Obj) -> str:
    spec = dig(obj, "spec", default={})
    fixed = items(spec, "externalIPs")
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") == "LoadBalancer":
        return joined(load_balancer_points(obj) + fixed) or "<pending>"
    return joined(fixed) or NONE


def _service_ports(obj: Obj) -> str:
    texts = []
    for port in items(obj, "spec", "ports"):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or NONE


def _node_status(obj: Obj) -> str:
    ready = [item.get("status") for item in items(obj, "status", "conditions") if item.get("type") == "Ready"]
    state = ("Ready" if ready[-1] == "True" else "NotReady") if ready else "Unknown"
    return f"{state},SchedulingDisabled" if dig(obj, "spec", "unschedulable", default=False) else state


def _node_roles(obj: Obj) -> str:
    roles = set()
    for key, value in dig(obj, "metadata", "labels", default={}).items():
        if key.startswith("node-role.kubernetes.io/") and key != "node-role.kubernetes.io/":
            roles.add(key.removeprefix("node-role.kubernetes.io/"))
        elif key == "kubernetes.io/role" and value:
            roles.add(value)
    return ",".join(sorted(roles)) or NONE


def _node_address(obj: Obj, kind: str) -> Any:
    addresses = {item.get("type"): item.get("address") for item in reversed(items(obj, "status", "addresses"))}
    return addresses.get(kind, NONE)


def _node_info(obj: Obj, field: str) -> str:
    return str(dig(obj, "status", "nodeInfo", field) or UNKNOWN)


def _endpoints(obj: Obj) -> str:
    found: list[str] = []
    for subset in items(obj, "subsets"):
        addresses = [item.get("ip") for item in items(subset, "addresses")]
        ports = [item.get("port") for item in items(subset, "ports")]
        found += [f"{address}:{port}" for port in ports for address in addresses] if ports else addresses
    return joined(found, 3) or NONE


def _event_object(obj: Obj) -> Obj:
    found: Obj = dig(obj, "involvedObject") or dig(obj, "regarding", default={})
    return found


def _event_object_text(obj: Obj) -> str:
    about = _event_object(obj)
    kind = str(about.get("kind", "")).lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _event_source(obj: Obj) -> str:
    source = dig(obj, "source") or dig(obj, "deprecatedSource", default={})
    component = source.get("component") or dig(obj, "reportingComponent") or dig(obj, "reportingController", default="")
    instance = source.get("host") or dig(obj, "reportingInstance", default="")
    return f"{component}, {instance}" if instance else str(component)


def _first_seen(obj: Obj, now: datetime) -> str:
    return since(dig(obj, "firstTimestamp") or dig(obj, "deprecatedFirstTimestamp") or dig(obj, "eventTime"), now)


def _last_seen(obj: Obj, now: datetime) -> str:
    if series := dig(obj, "series"):
        return since(series.get("lastObservedTime"), now)
    last = dig(obj, "lastTimestamp") or dig(obj, "deprecatedLastTimestamp")
    return since(last, now) if last else _first_seen(obj, now)


def _event_count(obj: Obj) -> int:
    count: int = dig(obj, "count") or dig(obj, "deprecatedCount") or 1
    return int((dig(obj, "series") or {}).get("count", count))


def _modes(obj: Obj, part: str) -> str:
    return joined([_MODES.get(mode, mode) for mode in items(obj, part, "accessModes")])


def _volume_status(obj: Obj) -> str:
    return "Terminating" if dig(obj, "metadata", "deletionTimestamp") else dig(obj, "status", "phase", default="")


def _claim_ref(obj: Obj) -> str:
    claim = dig(obj, "spec", "claimRef", default={})
    return f"{claim.get('namespace')}/{claim.get('name')}" if claim else ""


def _is_bound(claim: Obj) -> bool:
    return bool(dig(claim, "spec", "volumeName"))


def _quota(obj: Obj, *, limits: bool) -> str:
    return ", ".join(
        f"{key}: {dig(obj, 'status', 'used', key, default='0')}/{hard}"
        for key, hard in sorted(dig(obj, "status", "hard", default={}).items())
        if key.startswith("limits") is limits
    )


_EVENT: Printer = (
    timed("Last Seen", _last_seen),
    col("Type", "type"),
    col("Reason", "reason"),
    col("Object", _event_object_text),
    col("Subobject", lambda obj: _event_object(obj).get("fieldPath", ""), wide=True),
    col("Source", _event_source, wide=True),
    col("Message", lambda obj: str(dig(obj, "message") or dig(obj, "note", default="")).strip()),
    timed("First Seen", _first_seen, wide=True),
    col("Count", _event_count, wide=True),
    col("Name", name, wide=True),
)
_STORAGE: Printer = (
    col("StorageClass", "spec.storageClassName"),
    col("VolumeAttributesClass", "spec.volumeAttributesClassName", default=UNSET),
)
_VOLUME_MODE = col("VolumeMode", "spec.volumeMode", default=UNSET, wide=True)

PRINTERS: Mapping[tuple[str, str], Printer] = {
    ("", "ConfigMap"): (
        NAME,
        col("Data", lambda obj: sum(len(dig(obj, field, default={})) for field in ("data", "binaryData"))),
        AGE,
    ),
    ("", "Secret"): (NAME, col("Type", "type"), col("Data", lambda obj: len(dig(obj, "data", default={}))), AGE),
    ("", "Service"): (
        NAME,
        col("Type", lambda obj: dig(obj, "spec", "type") or NONE),
        col("Cluster-IP", lambda obj: dig(obj, "spec", "clusterIPs", 0) or dig(obj, "spec", "clusterIP") or NONE),
        col("External-IP", _external_ip),
        col("Port(s)", _service_ports),
        AGE,
        col("Selector", lambda obj: label_text(dig(obj, "spec", "selector")), wide=True),
    ),
    ("", "Namespace"): (NAME, col("Status", "status.phase"), AGE),
    ("", "Node"): (
        NAME,
        col("Status", _node_status),
        col("Roles", _node_roles),
        AGE,
        col("Version", "status.nodeInfo.kubeletVersion"),
        col("Internal-IP", lambda obj: _node_address(obj, "InternalIP"), wide=True),
        col("External-IP", lambda obj: _node_address(obj, "ExternalIP"), wide=True),
        col("OS-Image", lambda obj: _node_info(obj, "osImage"), wide=True),
        col("Kernel-Version", lambda obj: _node_info(obj, "kernelVersion"), wide=True),
        col("Container-Runtime", lambda obj: _node_info(obj, "containerRuntimeVersion"), wide=True),
    ),
    ("", "ServiceAccount"): (NAME, col("Secrets", lambda obj: len(items(obj, "secrets"))), AGE),
    ("", "Endpoints"): (NAME, col("Endpoints", _endpoints), AGE),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "PersistentVolume"): (
        NAME,
        col("Capacity", "spec.capacity.storage"),
        col("Access Modes", lambda obj: _modes(obj, "spec")),
        col("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        col("Status", _volume_status),
        col("Claim", _claim_ref),
        *_STORAGE,
        col("Reason", "status.reason"),
        AGE,
        _VOLUME_MODE,
    ),
    ("", "PersistentVolumeClaim"): (
        NAME,
        col("Status", _volume_status),
        col("Volume", "spec.volumeName"),
        col("Capacity", lambda obj: dig(obj, "status", "capacity", "storage", default="") if _is_bound(obj) else ""),
        col("Access Modes", lambda obj: _modes(obj, "status") if _is_bound(obj) else ""),
        *_STORAGE,
        AGE,
        _VOLUME_MODE,
    ),
    ("", "ResourceQuota"): (
        NAME,
        col("Request", lambda obj: _quota(obj, limits=False)),
        col("Limit", lambda obj: _quota(obj, limits=True)),
        AGE,
    ),
    ("", "PodTemplate"): (
        NAME,
        *containers("template", "spec", wide=False),
        col("Pod Labels", lambda obj: label_text(dig(obj, "template", "metadata", "labels"))),
    ),
}
"""Printers by group and kind."""
