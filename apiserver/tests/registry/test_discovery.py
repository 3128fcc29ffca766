from typing import Any

import pytest

from clientgo.meta.scheme import ScaleSubresource
from clientgo_apiserver.api.resources import Registry, Resource
from clientgo_apiserver.registry import discovery
from clientgo_apiserver.registry.builtin import builtin_registry

GROUP = "samplecontroller.k8s.io"


@pytest.fixture
def registry() -> Registry:
    result = builtin_registry()
    paths = ScaleSubresource(".spec.replicas", ".status.availableReplicas")
    for version in ("v1alpha1", "v1"):
        result.add(
            Resource(
                *(GROUP, version, "foos", "Foo", "foo", "FooList", True), short_names=("fo",), status=True,
                scale=paths, custom=True,
            )
        )  # fmt: skip
    return result


def entry(listed: list[dict[str, Any]], name: str, key: str = "name") -> dict[str, Any]:
    return next(item for item in listed if item[key] == name)


def test_versions_of_a_storage_key_follow_changes(registry: Registry) -> None:
    first, second = registry.of_storage((GROUP, "foos"))
    registry.remove(second)
    assert registry.of_storage((GROUP, "foos")) == [first]
    registry.add(second)
    assert registry.of_storage((GROUP, "foos")) == [first, second]


def test_root_names_the_core_versions_and_the_servers_address(registry: Registry) -> None:
    root = discovery.legacy_root(registry)
    assert (root["kind"], root["versions"]) == ("APIVersions", ["v1"])
    assert root["serverAddressByClientCIDRs"] == [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]


def test_group_prefers_its_most_stable_version(registry: Registry) -> None:
    result = discovery.group(registry, GROUP)
    assert result is not None
    assert (result["kind"], result["apiVersion"], result["name"]) == ("APIGroup", "v1", GROUP)
    assert [item["version"] for item in result["versions"]] == ["v1", "v1alpha1"]
    assert result["preferredVersion"] == {"groupVersion": f"{GROUP}/v1", "version": "v1"}
    assert discovery.group(registry, "absent.example.com") is None
    assert discovery.group(registry, "") is None


def test_group_list_leaves_core_out(registry: Registry) -> None:
    names = [group["name"] for group in discovery.group_list(registry)["groups"]]
    assert "" not in names
    assert {"apps", "coordination.k8s.io", GROUP} <= set(names)


def test_built_in_resources_are_sorted_with_their_subresources(registry: Registry) -> None:
    result = discovery.resource_list(registry, "apps", "v1")
    assert result is not None
    assert result["groupVersion"] == "apps/v1"
    names = [item["name"] for item in result["resources"]]
    assert names == sorted(names)
    assert {"deployments", "deployments/scale", "deployments/status"} <= set(names)
    assert entry(result["resources"], "deployments") == {
        "name": "deployments",
        "singularName": "deployment",
        "namespaced": True,
        "kind": "Deployment",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["deploy"],
        "categories": ["all"],
        "storageVersionHash": "8aSe+NMegvE=",
    }
    assert entry(result["resources"], "deployments/scale") == {
        "name": "deployments/scale", "singularName": "", "namespaced": True, "group": "autoscaling", "version": "v1",
        "kind": "Scale", "verbs": ["get", "patch", "update"],
    }  # fmt: skip


def test_custom_resources_list_verbs_and_subresources_in_their_own_order(registry: Registry) -> None:
    result = discovery.resource_list(registry, GROUP, "v1alpha1")
    assert result is not None
    assert [item["name"] for item in result["resources"]] == ["foos", "foos/status", "foos/scale"]
    assert result["resources"][0]["verbs"] == [
        *("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
    ]


def test_core_document_has_no_api_version_of_its_own(registry: Registry) -> None:
    result = discovery.resource_list(registry, "", "v1")
    assert result is not None
    assert (result["groupVersion"], "apiVersion" in result) == ("v1", False)
    assert entry(result["resources"], "pods")["storageVersionHash"] == "xPOwRZ+Yhw8="
    assert entry(result["resources"], "bindings") == {
        "name": "bindings", "singularName": "binding", "namespaced": True, "kind": "Binding", "verbs": ["create"],
    }  # fmt: skip


def test_what_is_not_served_has_no_document(registry: Registry) -> None:
    assert discovery.resource_list(registry, "apps", "v1beta1") is None
    assert discovery.resource_list(registry, "absent.example.com", "v1") is None


@pytest.mark.parametrize("version", discovery.AGGREGATED_VERSIONS)
def test_aggregated_discovery_says_the_same_as_the_legacy_documents(registry: Registry, version: str) -> None:
    for legacy in (True, False):
        result = discovery.aggregated(registry, legacy=legacy, version=version)
        assert result["apiVersion"] == f"apidiscovery.k8s.io/{version}"
        for item in result["items"]:
            group = item["metadata"].get("name", "")
            assert (group == "") is legacy
            for each in item["versions"]:
                listed = discovery.resource_list(registry, group, each["version"])
                assert listed is not None
                names = []
                for resource in each["resources"]:
                    names.append(resource["resource"])
                    stored = resource.get("subresources", [])
                    names += [f"{resource['resource']}/{part['subresource']}" for part in stored]
                assert names == [entry["name"] for entry in listed["resources"]]


def test_aggregated_entry_names_kind_scope_and_subresources(registry: Registry) -> None:
    groups = discovery.aggregated(registry, legacy=False)["items"]
    versions = next(item for item in groups if item["metadata"]["name"] == GROUP)["versions"]
    assert [(item["version"], item["freshness"]) for item in versions] == [("v1", "Current"), ("v1alpha1", "Current")]
    foos = versions[1]["resources"][0]
    kind = {"group": GROUP, "version": "v1alpha1", "kind": "Foo"}
    assert (foos["responseKind"], foos["scope"], foos["singularResource"]) == (kind, "Namespaced", "foo")
    assert foos["subresources"][0] == {
        "subresource": "status",
        "responseKind": kind,
        "verbs": ["get", "patch", "update"],
    }
    assert foos["subresources"][1]["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}


def test_unknown_version_of_aggregated_discovery_is_refused(registry: Registry) -> None:
    with pytest.raises(ValueError, match="expected one of v2"):
        discovery.aggregated(registry, legacy=True, version="v3")
