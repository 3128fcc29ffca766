"""Printers of what configures a cluster: leases, RBAC, networking, policy, admission, scheduling, storage classes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clientgo.apiserver.printers.base import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Printer,
    age,
    column,
    dig,
    items,
    joined,
    name,
    printer,
    selector_text,
)

Obj = dict[str, Any]


def _lease(obj: Obj, now: datetime) -> list[Any]:
    return [name(obj), dig(obj, "spec", "holderIdentity", default=""), age(obj, now)]


def _binding(obj: Obj, now: datetime) -> list[Any]:
    role = f"{dig(obj, 'roleRef', 'kind', default='')}/{dig(obj, 'roleRef', 'name', default='')}"
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in items(obj, "subjects"):
        kind, who = subject.get("kind"), subject.get("name", "")
        named = f"{subject.get('namespace', '')}/{who}" if kind == "ServiceAccount" else who
        subjects.setdefault(str(kind), []).append(named)
    shown = [", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [name(obj), role, age(obj, now), *shown]


def _disruption_budget(obj: Obj, now: datetime) -> list[Any]:
    bounds = [str(dig(obj, "spec", key, default="N/A")) for key in ("minAvailable", "maxUnavailable")]
    return [name(obj), *bounds, dig(obj, "status", "disruptionsAllowed", default=0), age(obj, now)]


def _ingress(obj: Obj, now: datetime) -> list[Any]:
    hosts = [rule["host"] for rule in items(obj, "spec", "rules") if rule.get("host")]
    points = items(obj, "status", "loadBalancer", "ingress")
    return [
        name(obj),
        dig(obj, "spec", "ingressClassName", default=NONE),
        joined(hosts, 3) or "*",
        joined([point.get("ip") or point.get("hostname") for point in points]),
        "80, 443" if items(obj, "spec", "tls") else "80",
        age(obj, now),
    ]


def _ingress_class(obj: Obj, now: datetime) -> list[Any]:
    parameters = dig(obj, "spec", "parameters", default={})
    kind = parameters.get("kind", "")
    if kind and parameters.get("apiGroup"):
        kind = f"{kind}.{parameters['apiGroup']}"
    text = f"{kind}/{parameters.get('name')}" if parameters else NONE
    return [name(obj), dig(obj, "spec", "controller", default=""), text, age(obj, now)]


def _network_policy(obj: Obj, now: datetime) -> list[Any]:
    return [name(obj), selector_text(dig(obj, "spec", "podSelector")), age(obj, now)]


def _endpoint_slice(obj: Obj, now: datetime) -> list[Any]:
    ports = joined([port.get("port") or "*" for port in items(obj, "ports")], 3) or UNSET
    addresses = [address for point in items(obj, "endpoints") for address in items(point, "addresses")]
    return [name(obj), obj.get("addressType", ""), ports, joined(addresses, 3) or UNSET, age(obj, now)]


def _webhooks(obj: Obj, now: datetime) -> list[Any]:
    return [name(obj), len(items(obj, "webhooks")), age(obj, now)]


def _admission_policy(obj: Obj, now: datetime) -> list[Any]:
    kind = dig(obj, "spec", "paramKind", default={})
    text = f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else UNSET
    return [name(obj), len(items(obj, "spec", "validations")), text, age(obj, now)]


def _policy_binding(obj: Obj, now: datetime) -> list[Any]:
    parameter = dig(obj, "spec", "paramRef", default={})
    who = parameter.get("name", "")
    text = f"{parameter['namespace']}/{who}" if parameter.get("namespace") else who or UNSET
    return [name(obj), dig(obj, "spec", "policyName", default=""), text, age(obj, now)]


def _priority_class(obj: Obj, now: datetime) -> list[Any]:
    policy = dig(obj, "preemptionPolicy", default="")
    return [name(obj), dig(obj, "value", default=0), dig(obj, "globalDefault", default=False), age(obj, now), policy]


def _storage_class(obj: Obj, now: datetime) -> list[Any]:
    default = dig(obj, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true"
    return [
        f"{name(obj)} (default)" if default else name(obj),
        dig(obj, "provisioner", default=""),
        dig(obj, "reclaimPolicy", default="Delete"),
        dig(obj, "volumeBindingMode", default="Immediate"),
        dig(obj, "allowVolumeExpansion", default=False),
        age(obj, now),
    ]


def _created(obj: Obj, _: datetime) -> list[Any]:
    return [name(obj), dig(obj, "metadata", "creationTimestamp", default="")]


DEFAULT = printer(NAME, column("Created At", "date"), cells=_created)
"""What a real server prints for built-in kinds without a printer of their own, such as CustomResourceDefinitions."""

_RBAC, _ADMISSION, _NETWORK = "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "networking.k8s.io"
_BINDING = printer(
    NAME,
    "Role",
    AGE,
    *(column(title, wide=True) for title in ("Users", "Groups", "ServiceAccounts")),
    cells=_binding,
)
_WEBHOOKS = printer(NAME, column("Webhooks", "integer"), AGE, cells=_webhooks)

PRINTERS: Mapping[tuple[str, str], Printer] = {
    ("coordination.k8s.io", "Lease"): printer(NAME, "Holder", AGE, cells=_lease),
    (_RBAC, "RoleBinding"): _BINDING,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    ("policy", "PodDisruptionBudget"): printer(
        NAME,
        "Min Available",
        "Max Unavailable",
        column("Allowed Disruptions", "integer"),
        AGE,
        cells=_disruption_budget,
    ),
    (_NETWORK, "Ingress"): printer(NAME, "Class", "Hosts", "Address", "Ports", AGE, cells=_ingress),
    (_NETWORK, "IngressClass"): printer(NAME, "Controller", "Parameters", AGE, cells=_ingress_class),
    (_NETWORK, "NetworkPolicy"): printer(NAME, "Pod-Selector", AGE, cells=_network_policy),
    ("discovery.k8s.io", "EndpointSlice"): printer(
        NAME, "AddressType", "Ports", "Endpoints", AGE, cells=_endpoint_slice
    ),
    (_ADMISSION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingAdmissionPolicy"): printer(
        NAME, column("Validations", "integer"), "ParamKind", AGE, cells=_admission_policy
    ),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): printer(
        NAME, "PolicyName", "ParamRef", AGE, cells=_policy_binding
    ),
    ("scheduling.k8s.io", "PriorityClass"): printer(
        NAME, "Value", "Global-Default", AGE, column("PreemptionPolicy"), cells=_priority_class
    ),
    ("storage.k8s.io", "StorageClass"): printer(
        NAME,
        "Provisioner",
        "ReclaimPolicy",
        "VolumeBindingMode",
        "AllowVolumeExpansion",
        AGE,
        cells=_storage_class,
    ),
}
"""(group, kind) → printer."""
