"""Definitions of custom resources that an API server accepts."""

from typing import Any

Object = dict[str, Any]
OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def custom_kind(kind: str, group: str, *versions: str, schema: Object = OPEN, **spec: Any) -> Object:
    """Return the definition of a kind; its versions have one schema, and the first is stored."""
    plural = f"{kind.lower()}s"
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    served = [
        {"name": name, "served": True, "storage": name == versions[0], "schema": {"openAPIV3Schema": schema}}
        for name in versions
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": served, **spec},
    }
