"""Merge rules of the built-in kinds: strategic merge keys and list types.

Kubernetes declares both beside each field of its Go types (`patchStrategy`, `patchMergeKey`, `listType`, `listMapKey`)
and publishes them in OpenAPI as `x-kubernetes-*`. The generated types do not carry them, hence this table. A row is
named by the Go type that has the field, and by the JSON fields under which an object of that type stands, so that both
readers of a type (OpenAPI) and walkers of a document (patches) find it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class MergeRule:
    """The merge rule of a field, for strategic merge patches and server-side apply."""

    patch_key: str = ""
    """Strategic merge: the key of items; empty if items are not objects or the list is replaced."""
    merge: bool = False
    """Strategic merge: merge a list with the existing one, or replace it."""
    replace: bool = False
    """Strategic merge: replace an object, or merge it with the existing one."""
    retain_keys: bool = False
    """Strategic merge: remove fields that the patch's `$retainKeys` does not list (unions such as volumes)."""
    list_type: str = ""
    """Server-side apply: `map`, `set` or `atomic`; an empty type means atomic for a list."""
    map_keys: tuple[str, ...] = ()
    """Server-side apply: the keys that identify the items of a `map` list."""
    atomic_items: bool = False
    """Server-side apply: an item is one field, whose members have no owners of their own."""
    key_defaults: tuple[tuple[str, object], ...] = ()
    """Server-side apply: defaults of keys that items may omit."""
    declared: frozenset[str] | None = None
    """Server-side apply: the fields of a map with further entries; of the items, if it is the rule of a list."""

    def extensions(self) -> dict[str, object]:
        """Return the rule as the `x-kubernetes-*` members of an OpenAPI schema."""
        out: dict[str, object] = {}
        if self.map_keys:
            out["x-kubernetes-list-map-keys"] = list(self.map_keys)
        if self.list_type:
            out["x-kubernetes-list-type"] = self.list_type
        if self.patch_key:
            out["x-kubernetes-patch-merge-key"] = self.patch_key
        strategies = (("merge", self.merge), ("replace", self.replace), ("retainKeys", self.retain_keys))
        strategy = ",".join(name for name, on in strategies if on)
        if strategy:
            out["x-kubernetes-patch-strategy"] = strategy
        return out


ENTRIES = MergeRule(declared=frozenset())
"""Rule of a map without declared fields."""


def is_atomic(rule: MergeRule | None) -> bool:
    """Report whether a map is one field."""
    return rule is not None and rule.list_type == "atomic"


def is_merged(rule: MergeRule | None) -> bool:
    """Report whether the items of a list are fields."""
    return rule is not None and rule.list_type in ("map", "set")


def has_leaf_items(rule: MergeRule | None) -> bool:
    """Report whether an item is one field, whose members have no owners."""
    return rule is not None and (rule.list_type == "set" or rule.atomic_items)


def is_entry(field: str, rule: MergeRule | None) -> bool:
    """Report whether a member of a map is an entry, not a declared field."""
    return rule is not None and rule.declared is not None and field not in rule.declared


def _by(key: str, *more: str, retain_keys: bool = False) -> MergeRule:
    defaults = (("protocol", "TCP"),) if "protocol" in more else ()
    return MergeRule(
        patch_key=key,
        merge=True,
        retain_keys=retain_keys,
        list_type="map",
        map_keys=(key, *more),
        key_defaults=defaults,
    )


_NAME = _by("name")
_REFERENCE = replace(_NAME, key_defaults=(("name", ""),))
_TYPE = _by("type")
_IP = _by("ip")
_MAP_TYPE = MergeRule(list_type="map", map_keys=("type",))
_SET = MergeRule(merge=True, list_type="set")
_ONE_OF = MergeRule(list_type="set")
_ATOMIC = MergeRule(list_type="atomic")
_UNION = MergeRule(retain_keys=True)

_ROWS: dict[str, dict[str, MergeRule]] = {
    "ObjectMeta": {"finalizers": _SET, "ownerReferences": _by("uid"), "managedFields": _ATOMIC},
    "Container": {
        "env": _NAME, "ports": _by("containerPort", "protocol"), "volumeDevices": _by("devicePath"),
        "volumeMounts": _by("mountPath"), **dict.fromkeys(("args", "command", "envFrom", "resizePolicy"), _ATOMIC),
    },
    "PodSpec": {
        **dict.fromkeys(("containers", "ephemeralContainers", "initContainers"), _NAME),
        "imagePullSecrets": _REFERENCE, "schedulingGates": _NAME, "hostAliases": _IP,
        **dict.fromkeys(("resourceClaims", "volumes"), _by("name", retain_keys=True)),
        "topologySpreadConstraints": _by("topologyKey", "whenUnsatisfiable"),
        "readinessGates": _ATOMIC, "tolerations": _ATOMIC,
    },
    "PodStatus": {
        "conditions": _TYPE, "podIPs": _IP, "resourceClaimStatuses": _by("name", retain_keys=True),
        "hostIPs": MergeRule(patch_key="ip", merge=True, list_type="atomic"),
        **dict.fromkeys(("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"), _ATOMIC),
    },
    "ContainerRestartRuleOnExitCodes": {"values": _ONE_OF},
    "ContainerStatus": {"allocatedResourcesStatus": _NAME, "volumeMounts": _by("mountPath")},
    "ResourceStatus": {"resources": MergeRule(list_type="map", map_keys=("resourceID",))},
    "ResourceRequirements": {"claims": MergeRule(list_type="map", map_keys=("name",))},
    "ServiceSpec": {
        "ports": _by("port", "protocol"),
        **dict.fromkeys(("clusterIPs", "externalIPs", "ipFamilies", "loadBalancerSourceRanges"), _ATOMIC),
    },
    "ServiceAccount": {"secrets": _NAME, "imagePullSecrets": _ATOMIC},
    "NodeSpec": {"podCIDRs": _SET, "taints": _ATOMIC},
    "NodeStatus": {"addresses": _TYPE, "conditions": _TYPE, "images": _ATOMIC},
    "NamespaceSpec": {"finalizers": _ATOMIC},
    "DeploymentSpec": {"strategy": _UNION},
    "StatefulSetSpec": {"volumeClaimTemplates": _ATOMIC},
    "LabelSelector": {"matchExpressions": _ATOMIC},
    "LabelSelectorRequirement": {"values": _ATOMIC},
    "CustomResourceDefinitionSpec": {"versions": _ATOMIC},
    "CustomResourceDefinitionStatus": {"conditions": _MAP_TYPE, "storedVersions": _ATOMIC},
    "CertificateSigningRequestStatus": {"conditions": _MAP_TYPE},
    "JSONSchemaProps": {"x-kubernetes-validations": _by("rule")},
    **{f"{name}Configuration": {"webhooks": _NAME} for name in ("MutatingWebhook", "ValidatingWebhook")},
    **{name: {"matchConditions": _NAME} for name in ("MutatingWebhook", "ValidatingWebhook")},
    "ValidatingAdmissionPolicySpec": {"matchConditions": _NAME, "variables": _NAME},
    "MutatingAdmissionPolicySpec": {"matchConditions": _NAME},
    "ValidatingAdmissionPolicyBindingSpec": {"validationActions": _ONE_OF},
    "UncountedTerminatedPods": {"failed": _ONE_OF, "succeeded": _ONE_OF},
    "PodFailurePolicyOnExitCodesRequirement": {"values": _ONE_OF},
    "Endpoint": {"addresses": _ONE_OF},
    "CSIDriverSpec": {"volumeLifecycleModes": _ONE_OF},
    "NonResourcePolicyRule": dict.fromkeys(("nonResourceURLs", "verbs"), _ONE_OF),
    "ResourcePolicyRule": dict.fromkeys(("apiGroups", "namespaces", "resources", "verbs"), _ONE_OF),
    "ComponentStatus": {"conditions": _TYPE},
    "ResourceClaimStatus": {
        "devices": MergeRule(list_type="map", map_keys=("driver", "device", "pool", "shareID")),
        "reservedFor": _by("uid"),
    },
    "AllocatedDeviceStatus": {"conditions": _MAP_TYPE},
    **{f"{kind}Status": {"conditions": _MAP_TYPE} for kind in (
        "ValidatingAdmissionPolicy", "PriorityLevelConfiguration", "ServiceCIDR",
    )},
    "CSINodeSpec": {"drivers": _NAME},
    "PodDisruptionBudgetSpec": {"selector": MergeRule(replace=True, list_type="atomic")},
    "JobStatus": {"conditions": MergeRule(patch_key="type", merge=True, list_type="atomic")},
    **{f"{kind}Status": {"conditions": _TYPE} for kind in (
        "DaemonSet", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Namespace", "Service",
        "PersistentVolumeClaim", "HorizontalPodAutoscaler", "PodDisruptionBudget", "APIService", "FlowSchema",
    )},
}  # fmt: skip
_ROWS["EphemeralContainer"] = _ROWS["Container"]
TYPE_RULES: Mapping[str, Mapping[str, MergeRule]] = MappingProxyType(_ROWS)
"""Go type → JSON field → rule."""

ATOMIC_TYPES = frozenset((
    "ConfigMapKeySelector", "EndpointAddress", "EndpointPort", "FileKeySelector",
    "LabelSelector", "LocalObjectReference", "MatchResources", "NamedRuleWithOperations", "NodeSelector",
    "NodeSelectorTerm", "ObjectFieldSelector", "ObjectReference", "OwnerReference", "ParamKind", "ParamRef",
    "ResourceFieldSelector", "RoleRef", "ScopeSelector", "SecretKeySelector", "SecretReference", "ServiceBackendPort",
    "Subject", "TopologySelectorTerm", "TypedLocalObjectReference", "Variable",
))  # fmt: skip
"""Go types that are one field, wherever they occur."""
ATOMIC_MAPS = frozenset((
    ("PodSpec", "nodeSelector"), ("ReplicationControllerSpec", "selector"), ("Scheduling", "nodeSelector"),
    ("ServiceSpec", "selector"),
))  # fmt: skip
"""Maps that are one field, by Go type and JSON field."""


@cache
def field_rule(owner: str, field: str, target: str) -> MergeRule | None:
    """Return the rule of a field of the Go type `owner`, whose type or type of items is the Go type `target`."""
    rule = TYPE_RULES.get(owner, {}).get(field)
    if (owner, field) in ATOMIC_MAPS:
        return _ATOMIC
    if target not in ATOMIC_TYPES:
        return rule
    return _ATOMIC if rule is None else replace(rule, atomic_items=True)


_LOCATIONS: Mapping[str, tuple[str, ...]] = {
    "ObjectMeta": ("metadata",),
    "Container": ("containers", "initContainers"),
    "EphemeralContainer": ("ephemeralContainers",),
    "ContainerStatus": ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"),
    "ResourceRequirements": ("resources",),
    "LabelSelector": ("selector", "labelSelector", "namespaceSelector", "objectSelector", "podSelector"),
    "LabelSelectorRequirement": ("matchExpressions",),
    "MutatingWebhook": ("webhooks",),
    "ValidatingWebhook": ("webhooks",),
    "PodSpec": ("template.spec",),
}
_ROOTS = {"ServiceAccount", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
_BY_PATH = {
    f"{location}.{field}": rule
    for name, locations in _LOCATIONS.items()
    for location in locations
    for field, rule in TYPE_RULES[name].items()
}


def merge_rule(kind: str, path: Sequence[str]) -> MergeRule | None:
    """Find how the field at a path of JSON names merges in a built-in kind; None where Kubernetes says nothing of it.

    List positions are no part of the path: the ports of a Deployment's containers are
    `merge_rule("Deployment", ("spec", "template", "spec", "containers", "ports"))`.
    A list without a rule is replaced by a strategic merge patch; an object without one is merged.
    """
    if not path:
        return None
    field = path[-1]
    if field == "x-kubernetes-validations":
        return TYPE_RULES["JSONSchemaProps"][field]
    if len(path) == 1:
        return TYPE_RULES[kind].get(field) if kind in _ROOTS else None
    if len(path) == 2 and path[0] in {"spec", "status"}:
        return TYPE_RULES.get(f"{kind}{path[0].capitalize()}", {}).get(field)
    return _BY_PATH.get(".".join(path[-3:])) or _BY_PATH.get(".".join(path[-2:]))
