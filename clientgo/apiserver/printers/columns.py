"""Columns of the built-in kinds, as a table; kubectl shows the cells unchanged.

A row is a kind with its columns, separated by `;`: `Title=path|default:type`, or `Title=function(path|default):type`
with a function of `cells`, which gets the whole object if there is no path. `+` before the title marks a column that
only `kubectl get -o wide` shows; `Name` and `Age` stand for themselves.
"""

import json
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from clientgo.apiserver.printers.cells import CELLS
from clientgo.apiserver.printers.values import NONE, UNKNOWN, UNSET, Obj, dig, since
from clientgo.meta.scheme import Column

_NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a"
    " client to request the generation of an appropriate name automatically. Name is primarily intended for creation"
    " idempotence and configuration definition. Cannot be updated. More info:"
    " https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
CREATED_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed"
    " to be set in happens-before order across separate operations. Clients may not set this value. It is represented"
    " in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


class Printed(NamedTuple):
    """A column definition, and the function that computes an object's cell at a given time."""

    column: Column
    cell: Callable[[Obj, datetime], Any]


Printer = tuple[Printed, ...]

_WORKLOAD = "+Containers=names(spec.template.spec.containers); +Images=images(spec.template.spec.containers)"
_SELECTED = f"{_WORKLOAD}; +Selector=selector(spec.selector)"
_COUNTS = "Desired=spec.replicas|0:integer; Current=status.replicas|0:integer; Ready=status.readyReplicas|0:integer"
_BINDING = (
    "Name; Role=role_ref(roleRef); Age; +Users=users(subjects); +Groups=groups(subjects);"
    " +ServiceAccounts=service_accounts(subjects)"
)
_EVENT = (
    "Last Seen=last_seen(); Type=type; Reason=reason; Object=event_object(); +Subobject=event_field();"
    " +Source=event_source(); Message=event_message(); +First Seen=first_seen(); +Count=event_count();"
    " +Name=metadata.name"
)
_CLASSES = f"StorageClass=spec.storageClassName; VolumeAttributesClass=spec.volumeAttributesClassName|{UNSET}"
_VOLUME_MODE = f"+VolumeMode=spec.volumeMode|{UNSET}"
_AUTOSCALER = (
    "Name; Reference=scale_target(spec.scaleTargetRef); Targets=scaling_metrics();"
    f" MinPods=text(spec.minReplicas|{UNSET}); MaxPods=spec.maxReplicas|0; Replicas=status.currentReplicas|0; Age"
)
_TABLE: dict[str, str] = {
    "/ConfigMap": "Name; Data=data_count(); Age",
    "/Endpoints": "Name; Endpoints=endpoints(subsets); Age",
    "/Event": _EVENT,
    "/Namespace": "Name; Status=status.phase; Age",
    "/Node": "Name; Status=node_status(); Roles=node_roles(metadata.labels); Age;"
    " Version=status.nodeInfo.kubeletVersion; +Internal-IP=internal_ip(status.addresses);"
    " +External-IP=external_node_ip(status.addresses);"
    f" +OS-Image=status.nodeInfo.osImage|{UNKNOWN}; +Kernel-Version=status.nodeInfo.kernelVersion|{UNKNOWN};"
    f" +Container-Runtime=status.nodeInfo.containerRuntimeVersion|{UNKNOWN}",
    "/PersistentVolume": "Name; Capacity=spec.capacity.storage; Access Modes=modes(spec.accessModes);"
    " Reclaim Policy=spec.persistentVolumeReclaimPolicy; Status=volume_status(); Claim=claim_ref(spec.claimRef);"
    f" {_CLASSES}; Reason=status.reason; Age; {_VOLUME_MODE}",
    "/PersistentVolumeClaim": "Name; Status=volume_status(); Volume=spec.volumeName; Capacity=claim_capacity();"
    f" Access Modes=claim_modes(); {_CLASSES}; Age; {_VOLUME_MODE}",
    "/Pod": "Name; Ready=ready_containers(); Status=pod_status(); Restarts=restarts(status.containerStatuses); Age;"
    f" +IP=status.podIPs.0.ip|{NONE}; +Node=spec.nodeName|{NONE}; +Nominated Node=status.nominatedNodeName|{NONE};"
    " +Readiness Gates=readiness_gates()",
    "/PodTemplate": "Name; Containers=names(template.spec.containers); Images=images(template.spec.containers);"
    " Pod Labels=labels(template.metadata.labels)",
    "/ReplicationController": f"Name; {_COUNTS}; Age; {_WORKLOAD}; +Selector=labels(spec.selector)",
    "/ResourceQuota": "Name; Request=quota_requests(status); Limit=quota_limits(status); Age",
    "/Secret": "Name; Type=type; Data=count(data); Age",
    "/Service": f"Name; Type=spec.type|{NONE}; Cluster-IP=cluster_ip(spec); External-IP=external_ip();"
    " Port(s)=service_ports(spec.ports); Age; +Selector=labels(spec.selector)",
    "/ServiceAccount": "Name; Secrets=count(secrets); Age",
    "admissionregistration.k8s.io/MutatingWebhookConfiguration": "Name; Webhooks=count(webhooks):integer; Age",
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration": "Name; Webhooks=count(webhooks):integer; Age",
    "apps/ControllerRevision": "Name; Controller=controller(metadata.ownerReferences); Revision=revision|0; Age",
    "apps/DaemonSet": "Name; Desired=status.desiredNumberScheduled|0:integer;"
    " Current=status.currentNumberScheduled|0:integer; Ready=status.numberReady|0:integer;"
    " Up-to-date=status.updatedNumberScheduled|0:integer; Available=status.numberAvailable|0:integer;"
    f" Node Selector=labels(spec.template.spec.nodeSelector); Age; {_SELECTED}",
    "apps/Deployment": "Name; Ready=ready_replicas(); Up-to-date=status.updatedReplicas|0;"
    f" Available=status.availableReplicas|0; Age; {_SELECTED}",
    "apps/ReplicaSet": f"Name; {_COUNTS}; Age; {_SELECTED}",
    "apps/StatefulSet": f"Name; Ready=ready_replicas(); Age; {_WORKLOAD}",
    "autoscaling/HorizontalPodAutoscaler": _AUTOSCALER,
    "batch/CronJob": f"Name; Schedule=spec.schedule; Timezone=spec.timeZone|{NONE};"
    " Suspend=truth(spec.suspend):boolean; Active=count(status.active):integer;"
    " Last Schedule=last_schedule(status.lastScheduleTime); Age; "
    + _SELECTED.replace("(spec.", "(spec.jobTemplate.spec."),
    "batch/Job": "Name; Status=job_status(); Completions=completions(); Duration=job_duration(status); Age;"
    f" {_SELECTED}",
    "coordination.k8s.io/Lease": "Name; Holder=spec.holderIdentity; Age",
    "discovery.k8s.io/EndpointSlice": "Name; AddressType=addressType; Ports=slice_ports(ports);"
    " Endpoints=slice_addresses(endpoints); Age",
    "events.k8s.io/Event": _EVENT,
    "networking.k8s.io/Ingress": f"Name; Class=spec.ingressClassName|{NONE}; Hosts=ingress_hosts(spec.rules);"
    " Address=load_balancer(); Ports=ingress_ports(spec.tls); Age",
    "networking.k8s.io/IngressClass": "Name; Controller=spec.controller;"
    " Parameters=ingress_parameters(spec.parameters); Age",
    "networking.k8s.io/NetworkPolicy": "Name; Pod-Selector=selector(spec.podSelector); Age",
    "policy/PodDisruptionBudget": "Name; Min Available=text(spec.minAvailable|N/A); Max Unavailable=text("
    "spec.maxUnavailable|N/A); Allowed Disruptions=status.disruptionsAllowed|0:integer; Age",
    "rbac.authorization.k8s.io/ClusterRoleBinding": _BINDING,
    "rbac.authorization.k8s.io/RoleBinding": _BINDING,
    "scheduling.k8s.io/PriorityClass": "Name; Value=value|0; Global-Default=globalDefault|false; Age;"
    " PreemptionPolicy=preemptionPolicy",
    "storage.k8s.io/StorageClass": "Name=storage_class(); Provisioner=provisioner; ReclaimPolicy=reclaimPolicy|Delete;"
    " VolumeBindingMode=volumeBindingMode|Immediate; AllowVolumeExpansion=allowVolumeExpansion|false; Age",
}
# What a real server prints for built-in kinds without a printer of their own, such as CustomResourceDefinitions.
_DEFAULT = "Name; Created At=metadata.creationTimestamp:date"


@cache
def printer_of(group: str, kind: str) -> Printer:
    """Return the columns of a built-in kind."""
    return tuple(map(_printed, _TABLE.get(f"{group}/{kind}", _DEFAULT).split("; ")))


def _printed(text: str) -> Printed:
    if text in _FIXED:
        return _FIXED[text]
    title, _, source = text.partition("=")
    wide, title = title.startswith("+"), title.removeprefix("+")
    source, _, kind = source.partition(":")
    function, parenthesis, path = source.rstrip(")").partition("(")
    path, _, default = (path if parenthesis else source).partition("|")
    keys = [int(key) if key.isdigit() else key for key in path.split(".") if key]
    other = json.loads(default) if default in ("0", "false") else default or ("" if not parenthesis else None)
    compute = CELLS[function] if parenthesis else lambda value, _: value
    column = Column(title, kind or "string", "", f"{title} of the object.", "", int(wide))
    if title == "Name" and not wide:
        column = _FIXED["Name"].column
    return Printed(column, lambda obj, now: compute(dig(obj, *keys, default=other), now))


_FIXED = {
    "Name": Printed(
        Column("Name", "string", ".metadata.name", _NAME_DESCRIPTION, "name"),
        lambda obj, _: dig(obj, "metadata", "name", default=""),
    ),
    "Age": Printed(
        Column("Age", "string", ".metadata.creationTimestamp", CREATED_DESCRIPTION),
        lambda obj, now: since(dig(obj, "metadata", "creationTimestamp"), now),
    ),
}
NAME = _FIXED["Name"]
