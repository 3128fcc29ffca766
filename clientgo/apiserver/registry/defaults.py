"""Defaults of the built-in kinds: the values in `defaults.yaml`, and functions for what depends on other fields.

Defaulting returns new dicts and never changes the object it is given.
"""

import base64
import ipaddress
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from clientgo.apiserver.apiextensions import crdschema
from clientgo.apiserver.datafiles import read_data
from clientgo.apiserver.registry.registry import Object, Resource

ValueDefaulter = Callable[[Any], Any]

_RBAC = "rbac.authorization.k8s.io"
_SERVICE_NETWORK = ipaddress.ip_network("10.96.0.0/16")
_NODE_PORTS = (30000, 32767)


def set_defaults(resource: Resource, obj: Object, old: Object | None) -> Object:
    """Return the object with the defaults of its kind.

    A new object of a kind with a status starts with the status the server gives it, not with the client's.
    """
    name = _name(resource.storage)
    if old is None and resource.status and name not in _KEEPS_STATUS:
        obj = {**obj, "status": read_data(__package__, "defaults.yaml")["status"].get(name, {})}
    default = _WHOLE.get(name)
    return default(obj) if default is not None else fill(obj, _of_kind(name))


def fill(value: Any, fields: Mapping[str, Any]) -> Object:
    """Return the value with defaults for the fields that are absent or null; anything but a dict counts as empty."""
    filled = {**value} if isinstance(value, dict) else {}
    for field, default in fields.items():
        known = filled.get(field)
        if callable(default):
            new = default(known)
            if new is not known:
                filled[field] = new
        elif known is None:
            filled[field] = default
    return filled


@cache
def _name(storage: tuple[str, str]) -> str:
    return ".".join(filter(None, reversed(storage)))


@cache
def _fields(name: str) -> Mapping[str, Any]:
    """Return the defaults of a part that several kinds have."""
    return _compiled(read_data(__package__, "defaults.yaml")[name])


@cache
def _of_kind(name: str) -> Mapping[str, Any]:
    return _compiled(read_data(__package__, "defaults.yaml")["kinds"].get(name, {}))


def _compiled(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return {field.rstrip("?[]"): _default(field, value) for field, value in fields.items()}


def _default(field: str, value: Any) -> Any:
    default = value
    if isinstance(value, str) and value.startswith("="):
        default = _FUNCTIONS[value[1:]]
    elif isinstance(value, dict) and value:
        inner = _compiled(value)
        default = lambda known: fill(known, inner)  # noqa: E731  # one of three
    if field.endswith("[]"):
        return _each(default)
    return (lambda known: None if known is None else default(known)) if field.endswith("?") else default


def _each(default: ValueDefaulter) -> ValueDefaulter:
    return lambda value: [default(item) for item in value] if isinstance(value, list) else value


def pull_policy(image: str) -> str:
    """Return Always for `latest` or no tag at all, IfNotPresent for any other tag or digest."""
    name, at, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "IfNotPresent" if at or tag not in ("", "latest") else "Always"


def volume(obj: Object) -> Object:
    """Return a volume with its defaults; one without a source is an empty directory."""
    return {**obj, "emptyDir": {}} if set(obj) <= {"name"} else fill(obj, _fields("volume"))


def quality_of_service(spec: Object) -> str:
    """Return Guaranteed, Burstable or BestEffort, by the requests and limits of a pod's containers."""
    guaranteed, any_given = True, False
    for one in spec.get("containers") or ():
        resources = one.get("resources") or {}
        limits, requested = resources.get("limits") or {}, resources.get("requests") or {}
        any_given = any_given or bool(limits or requested)
        for name in ("cpu", "memory"):
            guaranteed = guaranteed and name in limits and requested.get(name, limits[name]) == limits[name]
    if not any_given:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def job_identity(obj: Object) -> Object:
    """Return a Job that selects its pods by its own uid, unless it has `manualSelector`."""
    spec, meta = obj["spec"], obj["metadata"]
    if spec.get("manualSelector") or spec.get("selector"):
        return obj
    uid, name = meta["uid"], meta.get("name", "")
    prefix = "batch.kubernetes.io/"
    labels = {f"{prefix}controller-uid": uid, f"{prefix}job-name": name, "controller-uid": uid, "job-name": name}
    pods = spec["template"]
    pod_meta = {**pods["metadata"], "labels": {**pods["metadata"].get("labels", {}), **labels}}
    selector = {"matchLabels": {f"{prefix}controller-uid": uid}}
    return {**obj, "spec": {**spec, "selector": selector, "template": {**pods, "metadata": pod_meta}}}


def _container(obj: Object) -> Object:
    return fill(obj, {**_fields("container"), "imagePullPolicy": pull_policy(obj.get("image") or "")})


def _pod_spec(obj: Any) -> Object:
    spec = fill(obj, _fields("pod"))
    if spec.get("serviceAccountName") and not spec.get("serviceAccount"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount") and not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    return spec


def _template(obj: Any) -> Object:
    given = obj if isinstance(obj, dict) else {}
    meta = {field: value for field, value in (given.get("metadata") or {}).items() if value not in (None, {}, [])}
    return {**given, "metadata": meta, "spec": _pod_spec(given.get("spec"))}


_ADMITTED = {"enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority", "priority": 0}


def _pod(obj: Object) -> Object:
    spec = fill(_pod_spec(obj.get("spec")), {**_ADMITTED, "containers": _each(_with_requests)})
    obj = {**obj, "spec": spec}
    if isinstance(obj.get("status"), dict):
        obj["status"] = fill(obj["status"], {"qosClass": quality_of_service(spec)})
    return obj


def _with_requests(container: Object) -> Object:
    resources = container.get("resources") or {}
    if not resources.get("limits"):
        return container
    requests = {**resources["limits"], **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "requests": requests}}


def _strategy(**rolling: Any) -> ValueDefaulter:
    def default(value: Any) -> Object:
        strategy = fill(value, {"type": "RollingUpdate"})
        fields = {"rollingUpdate": lambda known: fill(known, rolling)} if strategy["type"] == "RollingUpdate" else {}
        return fill(strategy, fields)

    return default


def _replication_controller(obj: Object) -> Object:
    spec = fill(obj.get("spec"), {"replicas": 1, "template": _template})
    labels = spec["template"]["metadata"].get("labels")
    return {**obj, "spec": fill(spec, {"selector": labels}) if labels else spec}


def _job_spec(obj: Any) -> Object:
    spec = fill(obj, _fields("job"))
    if spec["completionMode"] == "NonIndexed" and "parallelism" not in (obj or {}):
        spec = fill(spec, {"completions": 1})
    if not spec["manualSelector"]:
        del spec["manualSelector"]
    return spec


def _namespace(obj: Object) -> Object:
    meta = obj["metadata"]
    if "deletionTimestamp" in meta or "name" not in meta:
        return obj
    labels = {**meta.get("labels", {}), "kubernetes.io/metadata.name": meta["name"]}
    spec = fill(obj.get("spec"), {"finalizers": ["kubernetes"]})
    return {**obj, "spec": spec, "metadata": {**meta, "labels": labels}}


def _event(obj: Object) -> Object:
    # Go's type always writes the times, even if they are null.
    filled = fill(obj, {"source": {}, "reportingComponent": "", "reportingInstance": "", "involvedObject": {}})
    return {"firstTimestamp": None, "lastTimestamp": None, "eventTime": None, **filled}


def _service(obj: Object) -> Object:
    spec = fill(obj.get("spec"), {"sessionAffinity": "None", "type": "ClusterIP", "internalTrafficPolicy": "Cluster"})
    spec = fill(spec, {"ports": _each(lambda port: _service_port(spec["type"], port, obj))})
    if spec["type"] == "ExternalName":
        return {**obj, "spec": spec}
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec = fill(spec, {"externalTrafficPolicy": "Cluster"})
    if spec["type"] == "LoadBalancer":
        spec = fill(spec, {"allocateLoadBalancerNodePorts": True})
    address = spec.get("clusterIP") or str(
        _SERVICE_NETWORK[1 + _name_hash(obj, "") % (_SERVICE_NETWORK.num_addresses - 2)]
    )
    addresses = {"clusterIP": address, "clusterIPs": [address], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
    return {**obj, "spec": fill(spec, addresses)}


def _service_port(kind: str, port: Object, obj: Object) -> Object:
    port = fill(port, {"protocol": "TCP", "targetPort": port.get("port")})
    if kind in ("NodePort", "LoadBalancer"):
        low, high = _NODE_PORTS
        port = fill(port, {"nodePort": low + _name_hash(obj, str(port.get("port"))) % (high - low + 1)})
    return port


def _name_hash(obj: Object, suffix: str) -> int:
    """Hash the object's name: addresses need not be allocated, only be plausible and stay the same."""
    meta = obj["metadata"]
    return zlib.crc32(f"{meta.get('namespace')}/{meta.get('name')}/{suffix}".encode())


def _limit(item: Object) -> Object:
    if item.get("type") != "Container":
        return item
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    given = {"default": limits, "defaultRequest": requests}
    return {**item, **{field: amounts for field, amounts in given.items() if amounts}}


def _secret(obj: Object) -> Object:
    new = fill(obj, {"type": "Opaque"})
    texts = new.pop("stringData", None) or {}
    if texts:
        encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in texts.items()}
        new["data"] = {**(new.get("data") or {}), **encoded}
    return new


def _autoscaler_spec(value: Any) -> Object:
    spec = fill(value, {"minReplicas": 1})
    # In autoscaling/v1 the CPU target is a field, which becomes a metric when the object is stored.
    if not spec.get("metrics") and spec.get("targetCPUUtilizationPercentage") is None:
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    return spec


def _network_policy_spec(value: Any) -> Object:
    spec = fill(value, {"podSelector": {}})
    rules = _each(lambda rule: fill(rule, {"ports": _each(lambda port: fill(port, {"protocol": "TCP"}))}))
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    return fill(spec, {"policyTypes": types, "ingress": rules, "egress": rules})


def _subject(value: Object) -> Object:
    return fill(value, {"apiGroup": _RBAC}) if value.get("kind") in ("User", "Group") else value


_FUNCTIONS: Mapping[str, ValueDefaulter] = {
    "autoscaler_spec": _autoscaler_spec,
    "container": _container,
    "daemon_set_strategy": _strategy(maxUnavailable=1, maxSurge=0),
    "deployment_strategy": _strategy(maxUnavailable="25%", maxSurge="25%"),
    "job_spec": _job_spec,
    "limit": _limit,
    "network_policy_spec": _network_policy_spec,
    "stateful_set_strategy": _strategy(partition=0),
    "subject": _subject,
    "template": _template,
    "volume": volume,
}
_WHOLE: Mapping[str, ValueDefaulter] = {
    "namespaces": _namespace,
    "events": _event,
    "services": _service,
    "secrets": _secret,
    "pods": _pod,
    "replicationcontrollers": _replication_controller,
    "customresourcedefinitions.apiextensions.k8s.io": crdschema.with_defaults,
}
# The kubelet registers its node with a status.
_KEEPS_STATUS = frozenset({"nodes"})
