"""Formats, defaults, required fields, merge strategies and descriptions of built-in types, for CRDs that embed them.

The data is from the API's OpenAPI documents, and descriptions are from the installed `kubernetes` package. Where a rule
replaces a table, the rule is here: an integer is an int32, unless listed.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from clientgo.codegen.render.source import first_sentence
from clientgo.meta.apply.mergerules import ATOMIC_MAPS, ATOMIC_TYPES, TYPE_RULES
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.classes.hints import unwrap
from clientgo.meta.constraints import Quantity
from clientgo.meta.quantities import QUANTITY_FIELDS
from clientgo.meta.schema.descriptions import Descriptions, descriptions_of

Schema = dict[str, Any]

_INT64 = frozenset((
    "activeDeadlineSeconds", "deletionGracePeriodSeconds", "expirationSeconds", "fsGroup", "generation", "gid",
    "gracePeriodSeconds", "maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties",
    "observedGeneration", "remainingItemCount", "revision", "runAsGroup", "runAsUser", "seconds", "sizeBytes",
    "startingDeadlineSeconds", "supplementalGroups", "terminationGracePeriodSeconds", "tolerationSeconds", "uid",
))  # fmt: skip
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "AzureDiskVolumeSource": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": False},
    "ContainerPort": {"protocol": "TCP"},
    "FileKeySelector": {"optional": False},
    "GRPCAction": {"service": ""},
    "ISCSIPersistentVolumeSource": {"iscsiInterface": "default"},
    "ISCSIVolumeSource": {"iscsiInterface": "default"},
    "RBDPersistentVolumeSource": {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"},
    "RBDVolumeSource": {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"},
    "ScaleIOPersistentVolumeSource": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
    "ScaleIOVolumeSource": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
    "ServicePort": {"protocol": "TCP"},
}
_NAME_IS_EMPTY = frozenset((
    "ConfigMapEnvSource", "ConfigMapKeySelector", "ConfigMapProjection", "ConfigMapVolumeSource",
    "LocalObjectReference", "SecretEnvSource", "SecretKeySelector", "SecretProjection",
))  # fmt: skip
_REQUIRED: Mapping[str, str] = {
    "CSINodeSpec": "drivers", "CephFSPersistentVolumeSource": "monitors", "CephFSVolumeSource": "monitors",
    "ContainerResourceMetricSource": "target", "CronJobSpec": "jobTemplate",
    "CustomResourceDefinitionSpec": "names versions", "DaemonSetSpec": "selector template",
    "DeploymentSpec": "selector template", "Endpoint": "addresses", "ExternalMetricSource": "metric target",
    "HTTPIngressPath": "backend", "HTTPIngressRuleValue": "paths", "HorizontalPodAutoscalerSpec": "scaleTargetRef",
    "IPAddressSpec": "parentRef", "JobSpec": "template", "LimitRangeSpec": "limits",
    "MutatingWebhook": "admissionReviewVersions clientConfig", "NodeSelector": "nodeSelectorTerms",
    "NonResourceRule": "verbs", "ObjectMetricSource": "describedObject metric target",
    "PersistentVolumeClaimTemplate": "spec", "PodFailurePolicy": "rules",
    "PodFailurePolicyOnExitCodesRequirement": "values", "PodSpec": "containers", "PodsMetricSource": "metric target",
    "PolicyRule": "verbs", "PreferredSchedulingTerm": "preference", "RBDPersistentVolumeSource": "monitors",
    "RBDVolumeSource": "monitors", "ReplicaSetSpec": "selector", "ResourceMetricSource": "target",
    "ResourceRule": "verbs", "ScaleIOPersistentVolumeSource": "secretRef", "ScaleIOVolumeSource": "secretRef",
    "StatefulSetSpec": "selector template", "SuccessPolicy": "rules", "TopologySelectorLabelRequirement": "values",
    "ValidatingAdmissionPolicyBindingSpec": "validationActions",
    "ValidatingWebhook": "admissionReviewVersions clientConfig", "VolumeAttachmentSpec": "source",
    "WebhookConversion": "conversionReviewVersions", "WeightedPodAffinityTerm": "podAffinityTerm",
}  # fmt: skip
"""Required lists and structs, which have zero values in the classes."""

_QUANTITY: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": unwrap(Quantity)[1][0].pattern,
    "x-kubernetes-int-or-string": True,
}

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_PACKAGES: Mapping[str, str] = {
    META: "Condition DeleteOptions FieldSelectorRequirement LabelSelector LabelSelectorRequirement Preconditions",
    "io.k8s.api.authentication.v1": "BoundObjectReference TokenRequest TokenRequestSpec TokenRequestStatus",
    "io.k8s.api.core.v1": "TopologySelectorLabelRequirement TopologySelectorTerm",
    "io.k8s.api.scheduling.v1alpha3": "TopologyConstraint WorkloadPodGroupDisruptionMode"
    " WorkloadPodGroupGangSchedulingPolicy WorkloadPodGroupResourceClaim WorkloadPodGroupSchedulingConstraints"
    " WorkloadPodGroupSchedulingPolicy",
}
"""Types that other groups use, by the OpenAPI package that defines them."""
_PACKAGE_OF = {name: package for package, names in _PACKAGES.items() for name in names.split()}
_BUILT_IN = "clientgo.kubernetes.types."
_CORE = ("pods", "volumes", "core_events", "shared")
"""Modules whose types belong to the core group."""


def borrowed_name(cls: type[Any]) -> str:
    """Return the name of a built-in type; empty for other classes."""
    if cls.__module__ == "clientgo.meta.objects":
        return f"{META}.{cls.__name__}"
    return definition_name(cls.__module__.removeprefix(_BUILT_IN), cls.__name__) if is_generated(cls) else ""


def definition_name(module: str, name: str) -> str:
    """Return the name in Kubernetes' OpenAPI of the type that a module of `clientgo.kubernetes.types` defines."""
    group, _, version = ("core_v1" if module in _CORE else module).rpartition("_")
    prefix = "io.k8s.apiextensions-apiserver.pkg.apis" if group == "apiextensions" else "io.k8s.api"
    return f"{_PACKAGE_OF.get(name, f'{prefix}.{group}.{version}')}.{name}"


def is_generated(cls: type[Any]) -> bool:
    """Report whether the class is generated from a model of the official client, without its descriptions."""
    return cls.__module__.startswith(_BUILT_IN)


def short_descriptions(cls: type[Any]) -> Descriptions:
    """Return the first sentence of each description of a generated type."""
    return _first_sentences(borrowed_name(cls))


@cache
def _first_sentences(definition: str) -> Descriptions:
    described = descriptions_of(definition)
    fields = {name: first_sentence(text) for name, text in described.fields.items()}
    return Descriptions(first_sentence(described.type), fields)


def add_type_facts(cls: type[Any], schema: Schema) -> None:
    """Add the data about a built-in type to its schema."""
    if not is_built_in(cls):
        return
    if cls.__name__ in ATOMIC_TYPES:
        schema["x-kubernetes-map-type"] = "atomic"
    needed = {*schema.get("required", ()), *_REQUIRED.get(cls.__name__, "").split()}
    if needed:
        schema["required"] = [name for name in schema["properties"] if name in needed]


def add_field_facts(cls: type[Any], field: str, schema: Schema) -> None:
    """Add the data about a field, by its JSON name, to its schema."""
    if not is_built_in(cls):
        return
    bare = schema.get("items") or schema.get("additionalProperties") or schema
    if bare == {"type": "integer"}:
        bare["format"] = "int64" if field in _INT64 else "int32"
    if field in QUANTITY_FIELDS.get(cls.__name__, ()) and bare.get("type") == "string":
        bare.clear()
        bare.update(_QUANTITY)
    if field in _DEFAULTS.get(cls.__name__, {}):
        schema["default"] = _DEFAULTS[cls.__name__][field]
    elif field == "name" and cls.__name__ in _NAME_IS_EMPTY:
        schema["default"] = ""
    if (cls.__name__, field) in ATOMIC_MAPS:
        schema["x-kubernetes-map-type"] = "atomic"
    rule = TYPE_RULES.get(cls.__name__, {}).get(field)
    if rule is not None and schema.get("type") == "array" and rule.list_type:
        schema["x-kubernetes-list-type"] = rule.list_type
        if rule.map_keys:
            schema["x-kubernetes-list-map-keys"] = list(rule.map_keys)
    if is_generated(cls) and (description := short_descriptions(cls).fields.get(field)):
        schema.setdefault("description", description)
