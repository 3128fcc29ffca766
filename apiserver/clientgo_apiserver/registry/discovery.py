"""Discovery documents: legacy documents one by one, or aggregated discovery.

kubectl and client-go request the aggregated form first and fall back to the legacy documents; both are made from the
same registry. Custom resources list their verbs and subresources in another order than built-in ones, as on a real
server.
"""

import base64
import hashlib
from typing import Any

from clientgo_apiserver.api.resources import ALL_VERBS, Registry, Resource

AGGREGATED_VERSIONS = ("v2",)
"""Supported versions of apidiscovery.k8s.io."""

_CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]


def legacy_root(registry: Registry, address: str = "127.0.0.1") -> dict[str, Any]:
    """Return the document of `/api`: the versions of the core group, and the server's address."""
    return {
        "kind": "APIVersions",
        "versions": registry.groups().get("", []),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(registry: Registry) -> dict[str, Any]:
    """Return the document of `/apis`: every group but core, with its versions."""
    groups = [_group(name, versions) for name, versions in registry.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(registry: Registry, name: str) -> dict[str, Any] | None:
    """Return the document of `/apis/<group>`; None for core and for a group that is not served."""
    versions = registry.groups().get(name, []) if name else []
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None


def resource_list(registry: Registry, group: str, version: str) -> dict[str, Any] | None:
    """Return the document of `/apis/<group>/<version>`, or `/api/v1` for group ""; None if it is not served."""
    resources = _resources(registry, group, version)
    if not resources:
        return None
    head = {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": resources[0].api_version,
    }
    return {**head, "resources": [entry for resource in resources for entry in _legacy_entries(resource)]}


def aggregated(registry: Registry, *, legacy: bool, version: str = "v2") -> dict[str, Any]:
    """Return the APIGroupDiscoveryList of `/api` (`legacy`) or `/apis`.

    Raises:
        ValueError: `version` is not in `AGGREGATED_VERSIONS`.
    """
    if version not in AGGREGATED_VERSIONS:
        raise ValueError(f"invalid version {version!r}: expected one of {', '.join(AGGREGATED_VERSIONS)}")
    items: list[dict[str, Any]] = []
    for name, versions in registry.groups().items():
        if legacy is (name == ""):
            served = [
                {
                    "version": each,
                    "resources": [_aggregated_entry(resource) for resource in _resources(registry, name, each)],
                    "freshness": "Current",
                }
                for each in versions
            ]
            items.append({"metadata": {"name": name} if name else {}, "versions": served})
    head = {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}}
    return {**head, "items": items}


def storage_version_hash(resource: Resource) -> str:
    """Return the hash of the version a resource is stored in: eight bytes of a digest."""
    text = f"{resource.storage[0]}/{resource.storage_version or resource.version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def _group(name: str, versions: list[str]) -> dict[str, Any]:
    named = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": named, "preferredVersion": named[0] if named else {}}


def _resources(registry: Registry, group: str, version: str) -> list[Resource]:
    resources = [item for item in registry.resources() if (item.group, item.version) == (group, version)]
    return sorted(resources, key=lambda item: item.plural)


def _verbs(resource: Resource) -> list[str]:
    return _CUSTOM_VERBS if resource.custom and resource.verbs == ALL_VERBS else list(resource.verbs)


def _legacy_entries(resource: Resource) -> list[dict[str, Any]]:
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(resource),
        **_names(resource),
    }
    if {"get", "create"} <= set(resource.verbs):
        entry["storageVersionHash"] = storage_version_hash(resource)
    subresources = []
    for part in resource.subresources:
        group_version = {"group": part.group, "version": part.version} if part.group else {}
        head = {"name": f"{resource.plural}/{part.name}", "singularName": "", "namespaced": resource.namespaced}
        subresources.append({**head, **group_version, "kind": part.kind, "verbs": list(part.verbs)})
    return [entry, *subresources]


def _names(resource: Resource) -> dict[str, list[str]]:
    named = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
    return {key: value for key, value in named.items() if value}


def _aggregated_entry(resource: Resource) -> dict[str, Any]:
    # A built-in resource leaves group and version empty where they are those of the document.
    group_version = (resource.group, resource.version) if resource.custom else ("", "")
    kind = {"group": group_version[0], "version": group_version[1], "kind": resource.kind}
    entry: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(resource),
        **_names(resource),
    }
    subresources = []
    for part in resource.subresources:
        names = (part.group, part.version) if part.group else group_version
        response_kind = {"group": names[0], "version": names[1], "kind": part.kind}
        subresources.append({"subresource": part.name, "responseKind": response_kind, "verbs": list(part.verbs)})
    return {**entry, "subresources": subresources} if subresources else entry
