"""Schema of a ClusterServiceVersion: required fields and types, from its published CRD.

    {"displayName!": str, "installModes": [{"type!": ("OwnNamespace", "AllNamespaces")}]}

means that `displayName` is a required string, and `installModes` an optional list of mappings whose `type` is one of
two words. `"*"` matches every name. Other fields are not checked.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Shape = type | tuple[str, ...] | list[Any] | Mapping[str, Any]

MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")

_NAMES: Mapping[type, str] = {str: "a string", bool: "a boolean", int: "an integer", dict: "a mapping"}
_DESCRIPTOR: Shape = {"path!": str, "displayName": str, "description": str, "x-descriptors": [str]}
_KIND: Mapping[str, Any] = {
    "name!": str,
    "version!": str,
    "kind!": str,
    "displayName": str,
    "description": str,
    "resources": [{"kind!": str, "name!": str, "version!": str}],
    "specDescriptors": [_DESCRIPTOR],
    "statusDescriptors": [_DESCRIPTOR],
}
_RULE: Shape = {
    "verbs!": [str],
    "apiGroups": [str],
    "resources": [str],
    "resourceNames": [str],
    "nonResourceURLs": [str],
}
_PERMISSION: Shape = {"serviceAccountName!": str, "rules!": [_RULE]}
_TEXTS: Shape = {"*": str}
_SELECTOR: Shape = {
    "matchLabels": _TEXTS,
    "matchExpressions": [{"key!": str, "operator!": str, "values": [str]}],
}
_LINK: Shape = {"name": str, "url": str}

CLUSTER_SERVICE_VERSION: Shape = {
    "metadata!": {"name!": str, "annotations": dict},
    "spec!": {
        "displayName!": str,
        "description": str,
        "version!": str,
        "maturity": str,
        "minKubeVersion": str,
        "replaces": str,
        "skips": [str],
        "keywords": [str],
        "links": [_LINK],
        "provider": _LINK,
        "maintainers": [{"name": str, "email": str}],
        "icon": [{"base64data!": str, "mediatype!": str}],
        "installModes!": [{"type!": MODES, "supported!": bool}],
        "relatedImages": [{"name!": str, "image!": str}],
        "cleanup": {"enabled!": bool},
        "release": str,
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "selector": _SELECTOR,
        "nativeAPIs": [{"group!": str, "version!": str, "kind!": str}],
        "customresourcedefinitions": {"owned": [_KIND], "required": [_KIND]},
        "apiservicedefinitions": {"owned": [{**_KIND, "group!": str}], "required": [{**_KIND, "group!": str}]},
        "install!": {
            "strategy!": ("deployment",),
            "spec!": {
                "deployments!": [
                    {
                        "name!": str,
                        "spec!": {
                            "selector!": dict,
                            "template!": {"spec!": {"containers!": [{"name!": str, "image": str}]}},
                        },
                    }
                ],
                "permissions": [_PERMISSION],
                "clusterPermissions": [_PERMISSION],
            },
        },
        "webhookdefinitions": [
            {
                "generateName!": str,
                "type!": ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", "ConversionWebhook"),
                "admissionReviewVersions!": [str],
                "sideEffects!": str,
                "containerPort": int,
                "deploymentName": str,
                "webhookPath": str,
                "conversionCRDs": [str],
                "failurePolicy": str,
                "matchPolicy": str,
                "reinvocationPolicy": str,
                "timeoutSeconds": int,
                "objectSelector": _SELECTOR,
                "rules": [
                    {"apiGroups": [str], "apiVersions": [str], "operations": [str], "resources": [str], "scope": str}
                ],
            }
        ],
    },
}


def schema_errors(shape: Shape, value: object, path: str = "") -> Iterator[str]:
    """Yield a message for each missing field and each wrong type."""
    if isinstance(shape, Mapping):
        yield from _mapping(shape, value, path)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{path} must be a list"
            return
        for number, item in enumerate(value):
            yield from schema_errors(shape[0], item, f"{path}[{number}]")
    elif isinstance(shape, tuple):
        if value not in shape:
            yield f"invalid {path} {value!r}: expected {' or '.join(shape)}"
    elif not isinstance(value, shape) or (shape is int and isinstance(value, bool)):
        yield f"{path} must be {_NAMES[shape]}"


def _mapping(shape: Mapping[str, Any], value: object, mapping_path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{mapping_path} must be a mapping"
        return
    if "*" in shape:
        shape = dict.fromkeys(map(str, value), shape["*"])
    for word, inner in shape.items():
        name = word.removesuffix("!")
        path = f"{mapping_path}.{name}" if mapping_path else name
        if value.get(name) is None or (word.endswith("!") and value[name] in ("", [])):
            if word.endswith("!"):
                yield f"{path} is missing"
            continue
        yield from schema_errors(inner, value[name], path)
