"""Metadata that clients write: names and their prefixes, finalizers, owners, and what an update keeps."""

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS, MERGE, Kube, Object

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


def metadata(kube: Kube, url: str, **fields: object) -> Object:
    created: Object = kube.ok("POST", url, {"metadata": {"name": "a", **fields}, "spec": {}})["metadata"]
    return created


@pytest.mark.parametrize("url", [LEASES, BUDGETS])
def test_finalizer_without_a_domain_is_valid_where_the_kind_does_not_forbid_it(kube: Kube, url: str) -> None:
    assert metadata(kube, url, finalizers=["a"])["finalizers"] == ["a"]


def test_finalizer_of_core_kinds_needs_a_domain(kube: Kube) -> None:
    kube.refused(422, "POST", CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["a"]}})


@pytest.mark.parametrize("version", ["/", "a/", "a/b/c", ""])
def test_owner_without_a_version_is_invalid(kube: Kube, version: str) -> None:
    owner = {"apiVersion": version, "kind": "Pod", "name": "p", "uid": "u"}
    status = kube.refused(422, "POST", CONFIG_MAPS, {"metadata": {"name": "a", "ownerReferences": [owner]}})
    assert [cause["field"] for cause in status["details"]["causes"]] == ["metadata.ownerReferences.apiVersion"]


def test_negative_generation_is_invalid(kube: Kube) -> None:
    status = kube.refused(422, "POST", CONFIG_MAPS, {"metadata": {"name": "a", "generation": -1}})
    assert "must be greater than or equal to 0" in status["message"]


@pytest.mark.parametrize(("url", "prefix"), [(CLASSES, "A_b"), (BUDGETS, "..")])
def test_prefix_of_a_name_is_valid_if_the_kind_checks_only_names(kube: Kube, url: str, prefix: str) -> None:
    assert metadata(kube, url, generateName=prefix)["generateName"] == prefix


def test_prefix_of_an_api_service_is_its_name(kube: Kube) -> None:
    meta = {"name": "v1.x.y", "generateName": "a"}
    spec = {"group": "x.y", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    status = kube.refused(422, "POST", SERVICES, {"metadata": meta, "spec": spec})
    assert [cause["field"] for cause in status["details"]["causes"]] == ["metadata.generateName"]


def test_update_changes_the_prefix_of_a_name(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a", "generateName": "b"}})
    kube.ok("PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"generateName": "c"}}, MERGE)
    assert kube.ok("GET", f"{CONFIG_MAPS}/a")["metadata"]["generateName"] == "c"
    kube.ok("PUT", f"{CONFIG_MAPS}/a", {"metadata": {"name": "a"}})
    assert "generateName" not in kube.ok("GET", f"{CONFIG_MAPS}/a")["metadata"]


def test_update_cannot_change_the_grace_period_of_a_deletion(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["a/b"]}})
    kube.ok("DELETE", f"{CONFIG_MAPS}/a")
    patch = {"metadata": {"deletionGracePeriodSeconds": 5}}
    status = kube.refused(422, "PATCH", f"{CONFIG_MAPS}/a", patch, MERGE)
    assert {cause["field"] for cause in status["details"]["causes"]} == {"metadata.deletionGracePeriodSeconds"}
    kube.ok("PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"deletionGracePeriodSeconds": None}}, MERGE)
