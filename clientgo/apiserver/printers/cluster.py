"""Printers of cluster configuration: leases, RBAC, networking, policy, admission, scheduling and storage classes."""

from collections.abc import Mapping

from clientgo.apiserver.printers.base import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Obj,
    Printed,
    Printer,
    col,
    dig,
    items,
    joined,
    load_balancer_points,
    name,
    selector_text,
)


def _subjects(obj: Obj, kind: str) -> str:
    found = [one for one in items(obj, "subjects") if one.get("kind") == kind]
    prefixes = [f"{one.get('namespace', '')}/" if kind == "ServiceAccount" else "" for one in found]
    return ", ".join(prefix + one.get("name", "") for prefix, one in zip(prefixes, found, strict=True))


def _ingress_parameters(obj: Obj) -> str:
    parameters = dig(obj, "spec", "parameters", default={})
    kind = parameters.get("kind", "")
    if kind and parameters.get("apiGroup"):
        kind = f"{kind}.{parameters['apiGroup']}"
    return f"{kind}/{parameters.get('name')}" if parameters else NONE


def _slice_addresses(obj: Obj) -> str:
    found = [address for point in items(obj, "endpoints") for address in items(point, "addresses")]
    return joined(found, 3) or UNSET


def _param_kind(obj: Obj) -> str:
    kind = dig(obj, "spec", "paramKind", default={})
    return f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else UNSET


def _param_ref(obj: Obj) -> str:
    parameter = dig(obj, "spec", "paramRef", default={})
    who = parameter.get("name", "")
    return f"{parameter['namespace']}/{who}" if parameter.get("namespace") else who or UNSET


def _storage_class_name(obj: Obj) -> str:
    default = dig(obj, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true"
    return f"{name(obj)} (default)" if default else name(obj)


DEFAULT: Printer = (NAME, col("Created At", "metadata.creationTimestamp", "date"))
"""What a real server prints for built-in kinds without a printer of their own, such as CustomResourceDefinitions."""

_RBAC, _ADMISSION, _NETWORK = "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "networking.k8s.io"
_BINDING: Printer = (
    NAME,
    col("Role", lambda obj: "/".join(dig(obj, "roleRef", key, default="") for key in ("kind", "name"))),
    AGE,
    col("Users", lambda obj: _subjects(obj, "User"), wide=True),
    col("Groups", lambda obj: _subjects(obj, "Group"), wide=True),
    col("ServiceAccounts", lambda obj: _subjects(obj, "ServiceAccount"), wide=True),
)
_WEBHOOKS: Printer = (NAME, col("Webhooks", lambda obj: len(items(obj, "webhooks")), "integer"), AGE)

PRINTERS: Mapping[tuple[str, str], Printer] = {
    ("coordination.k8s.io", "Lease"): (NAME, col("Holder", "spec.holderIdentity"), AGE),
    (_RBAC, "RoleBinding"): _BINDING,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    ("policy", "PodDisruptionBudget"): (
        NAME,
        col("Min Available", lambda obj: str(dig(obj, "spec", "minAvailable", default="N/A"))),
        col("Max Unavailable", lambda obj: str(dig(obj, "spec", "maxUnavailable", default="N/A"))),
        col("Allowed Disruptions", "status.disruptionsAllowed", "integer", default=0),
        AGE,
    ),
    (_NETWORK, "Ingress"): (
        NAME,
        col("Class", "spec.ingressClassName", default=NONE),
        col("Hosts", lambda o: joined([r["host"] for r in items(o, "spec", "rules") if r.get("host")], 3) or "*"),
        col("Address", lambda obj: joined(load_balancer_points(obj))),
        col("Ports", lambda obj: "80, 443" if items(obj, "spec", "tls") else "80"),
        AGE,
    ),
    (_NETWORK, "IngressClass"): (
        NAME,
        col("Controller", "spec.controller"),
        col("Parameters", _ingress_parameters),
        AGE,
    ),
    (_NETWORK, "NetworkPolicy"): (
        NAME,
        col("Pod-Selector", lambda o: selector_text(dig(o, "spec", "podSelector"))),
        AGE,
    ),
    ("discovery.k8s.io", "EndpointSlice"): (
        NAME,
        col("AddressType", lambda obj: obj.get("addressType", "")),
        col("Ports", lambda obj: joined([port.get("port") or "*" for port in items(obj, "ports")], 3) or UNSET),
        col("Endpoints", _slice_addresses),
        AGE,
    ),
    (_ADMISSION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingAdmissionPolicy"): (
        NAME,
        col("Validations", lambda obj: len(items(obj, "spec", "validations")), "integer"),
        col("ParamKind", _param_kind),
        AGE,
    ),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): (
        NAME,
        col("PolicyName", "spec.policyName"),
        col("ParamRef", _param_ref),
        AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        col("Value", "value", default=0),
        col("Global-Default", "globalDefault", default=False),
        AGE,
        col("PreemptionPolicy", "preemptionPolicy"),
    ),
    ("storage.k8s.io", "StorageClass"): (
        Printed(NAME.column, lambda obj, _: _storage_class_name(obj)),
        col("Provisioner", "provisioner"),
        col("ReclaimPolicy", "reclaimPolicy", default="Delete"),
        col("VolumeBindingMode", "volumeBindingMode", default="Immediate"),
        col("AllowVolumeExpansion", "allowVolumeExpansion", default=False),
        AGE,
    ),
}
"""Printers by group and kind."""
