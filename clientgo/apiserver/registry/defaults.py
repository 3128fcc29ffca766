"""Defaults of the built-in kinds, as tables of fields: the values recorded from a real server.

A table maps a field to its default, or to a function that takes the present value (None if the field is absent) and
returns the new one. Defaulting returns new dicts and never changes the object it is given.
"""

import base64
import ipaddress
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from clientgo.apiserver.apiextensions import crdschema
from clientgo.apiserver.registry.registry import Object, Resource

ValueDefaulter = Callable[[Any], Any]

_SERVICE_NETWORK = ipaddress.ip_network("10.96.0.0/16")
_NODE_PORTS = (30000, 32767)
_FILE_MODE = 420  # 0644


def set_defaults(resource: Resource, obj: Object, old: Object | None) -> Object:
    """Return the object with the defaults of its kind.

    A new object of a kind with a status starts with the status the server gives it, not with the client's.
    """
    if old is None and resource.status and resource.storage not in _KEEPS_STATUS:
        obj = {**obj, "status": _INITIAL_STATUS.get(resource.storage, {})}
    default = _DEFAULTS.get(resource.storage)
    if default is None:
        return obj
    return default(obj) if callable(default) else fill(obj, default)


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


def _struct(**fields: Any) -> ValueDefaulter:
    """Fill in a struct that is created if it is absent."""
    return lambda value: fill(value, fields)


def _pointer(**fields: Any) -> ValueDefaulter:
    """Fill in a struct only if it is present."""
    return lambda value: value if value is None else fill(value, fields)


def _items(**fields: Any) -> ValueDefaulter:
    """Fill in each item of a list."""
    return _each(_struct(**fields))


def _each(default: ValueDefaulter) -> ValueDefaulter:
    return lambda value: [default(item) for item in value] if isinstance(value, list) else value


def pull_policy(image: str) -> str:
    """Return Always for `latest` or no tag at all, IfNotPresent for any other tag or digest."""
    name, at, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "IfNotPresent" if at or tag not in ("", "latest") else "Always"


def volume(obj: Object) -> Object:
    """Return a volume with its defaults; one without a source is an empty directory."""
    return {**obj, "emptyDir": {}} if set(obj) <= {"name"} else fill(obj, _VOLUME)


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
    return fill(obj, {**_CONTAINER, "imagePullPolicy": pull_policy(obj.get("image") or "")})


def _pod_spec(obj: Any) -> Object:
    spec = fill(obj, _POD_SPEC)
    if spec.get("serviceAccountName") and not spec.get("serviceAccount"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount") and not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    return spec


def _template(obj: Any) -> Object:
    given = obj if isinstance(obj, dict) else {}
    meta = {field: value for field, value in (given.get("metadata") or {}).items() if value not in (None, {}, [])}
    return {**given, "metadata": meta, "spec": _pod_spec(given.get("spec"))}


def _pod(obj: Object) -> Object:
    spec = fill(_pod_spec(obj.get("spec")), {**_ADMITTED_POD_SPEC, "containers": _each(_with_requests)})
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
        return (
            fill(strategy, {"rollingUpdate": _struct(**rolling)}) if strategy["type"] == "RollingUpdate" else strategy
        )

    return default


def _replication_controller(obj: Object) -> Object:
    spec = fill(obj.get("spec"), {"replicas": 1, "template": _template})
    labels = spec["template"]["metadata"].get("labels")
    return {**obj, "spec": fill(spec, {"selector": labels}) if labels else spec}


def _job_spec(obj: Any) -> Object:
    spec = fill(obj, _JOB_SPEC)
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
    return {**fill(obj, {"spec": _struct(finalizers=["kubernetes"])}), "metadata": {**meta, "labels": labels}}


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
    rules = _items(ports=_items(protocol="TCP"))
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    return fill(spec, {"policyTypes": types, "ingress": rules, "egress": rules})


def _subject(value: Object) -> Object:
    return fill(value, {"apiGroup": _RBAC}) if value.get("kind") in ("User", "Group") else value


_RBAC = "rbac.authorization.k8s.io"
_PROBE = _pointer(
    timeoutSeconds=1,
    periodSeconds=10,
    successThreshold=1,
    failureThreshold=3,
    httpGet=_pointer(path="/", scheme="HTTP"),
    grpc=_pointer(service=""),
)
_CONTAINER = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "startupProbe": _PROBE,
    "ports": _items(protocol="TCP"),
    "env": _items(valueFrom=_pointer(fieldRef=_pointer(apiVersion="v1"))),
}
_FILES = _pointer(defaultMode=_FILE_MODE)
_VOLUME = {
    "secret": _FILES,
    "configMap": _FILES,
    "downwardAPI": _FILES,
    "projected": _FILES,
    "hostPath": _pointer(type=""),
}
_POD_SPEC = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "containers": _each(_container),
    "initContainers": _each(_container),
    "volumes": _each(volume),
}
_ADMITTED_POD_SPEC = {"enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority", "priority": 0}
_JOB_SPEC = {
    "parallelism": 1,
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "suspend": False,
    "podReplacementPolicy": "TerminatingOrFailed",
    "manualSelector": False,
    "template": _template,
}
_WEBHOOK = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "timeoutSeconds": 10,
    "namespaceSelector": {},
    "objectSelector": {},
    "rules": _items(scope="*"),
    "clientConfig": _pointer(service=_pointer(port=443)),
}
_ROLE_BINDING = {"subjects": _each(_subject), "roleRef": _pointer(apiGroup=_RBAC)}

_DEFAULTS: dict[tuple[str, str], Mapping[str, Any] | ValueDefaulter] = {
    ("", "namespaces"): _namespace,
    ("", "events"): _event,
    ("", "services"): _service,
    ("", "limitranges"): {"spec": _pointer(limits=_each(_limit))},
    ("", "secrets"): _secret,
    ("", "persistentvolumeclaims"): {"spec": _struct(volumeMode="Filesystem")},
    ("", "persistentvolumes"): {"spec": _struct(persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")},
    ("", "pods"): _pod,
    ("", "podtemplates"): {"template": _template},
    ("", "replicationcontrollers"): _replication_controller,
    ("apps", "deployments"): {
        "spec": _struct(
            replicas=1,
            strategy=_strategy(maxUnavailable="25%", maxSurge="25%"),
            revisionHistoryLimit=10,
            progressDeadlineSeconds=600,
            template=_template,
        )
    },
    ("apps", "replicasets"): {"spec": _struct(replicas=1, template=_template)},
    ("apps", "statefulsets"): {
        "spec": _struct(
            replicas=1,
            podManagementPolicy="OrderedReady",
            revisionHistoryLimit=10,
            updateStrategy=_strategy(partition=0),
            persistentVolumeClaimRetentionPolicy=_struct(whenDeleted="Retain", whenScaled="Retain"),
            template=_template,
        )
    },
    ("apps", "daemonsets"): {
        "spec": _struct(
            revisionHistoryLimit=10, updateStrategy=_strategy(maxUnavailable=1, maxSurge=0), template=_template
        )
    },
    ("batch", "jobs"): {"spec": _job_spec},
    ("batch", "cronjobs"): {
        "spec": _struct(
            concurrencyPolicy="Allow",
            suspend=False,
            successfulJobsHistoryLimit=3,
            failedJobsHistoryLimit=1,
            # A job template has the defaults of its pods only; a Job created from it gets those of Jobs.
            jobTemplate=_pointer(metadata={}, spec=_struct(template=_template)),
        )
    },
    ("apiextensions.k8s.io", "customresourcedefinitions"): crdschema.with_defaults,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): {
        "webhooks": _items(**_WEBHOOK, reinvocationPolicy="Never")
    },
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): {"webhooks": _items(**_WEBHOOK)},
    ("autoscaling", "horizontalpodautoscalers"): {"spec": _autoscaler_spec},
    ("networking.k8s.io", "networkpolicies"): {"spec": _network_policy_spec},
    ("storage.k8s.io", "storageclasses"): {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    ("scheduling.k8s.io", "priorityclasses"): {"preemptionPolicy": "PreemptLowerPriority"},
    (_RBAC, "rolebindings"): _ROLE_BINDING,
    (_RBAC, "clusterrolebindings"): _ROLE_BINDING,
}
# The kubelet registers its node with a status; the status of a definition is written by its controller.
_KEEPS_STATUS = frozenset({("", "nodes"), ("apiextensions.k8s.io", "customresourcedefinitions")})
_INITIAL_STATUS: dict[tuple[str, str], Object] = {
    ("", "namespaces"): {"phase": "Active"},
    ("", "pods"): {"phase": "Pending"},
    ("", "services"): {"loadBalancer": {}},
    ("", "persistentvolumes"): {"phase": "Pending"},
    ("", "persistentvolumeclaims"): {"phase": "Pending"},
    ("", "replicationcontrollers"): {"replicas": 0},
    ("apps", "replicasets"): {"replicas": 0},
    ("apps", "statefulsets"): {"replicas": 0, "availableReplicas": 0},
    ("apps", "daemonsets"): dict.fromkeys(
        ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"), 0
    ),
    ("networking.k8s.io", "ingresses"): {"loadBalancer": {}},
    ("policy", "poddisruptionbudgets"): dict.fromkeys(
        ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0
    ),
    ("autoscaling", "horizontalpodautoscalers"): {"desiredReplicas": 0, "currentMetrics": None},
}
