"""Formats, defaults, required fields and merge strategies of built-in types, for CRDs that embed them.

The data is from the API's OpenAPI documents. Where a rule replaces a table, the rule is here: an integer is an int32,
unless listed.
"""

from collections.abc import Mapping
from typing import Any

from clientgo.meta.apply.mergerules import ATOMIC_MAPS, ATOMIC_TYPES, TYPE_RULES
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.classes.hints import unwrap
from clientgo.meta.constraints import Quantity
from clientgo.meta.quantities import QUANTITY_FIELDS

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
