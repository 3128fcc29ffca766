"""Permissions on the status of resource claims."""

import pytest

from apiserver.tests.guarded import Guarded, rule, user
from apiserver.tests.inprocess import MERGE, Kube, Object

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
GROUP = "resource.k8s.io"
ALLOCATED: Object = {
    "allocation": {"devices": {"results": [{"request": "r", "driver": "d.example.com", "pool": "p", "device": "a"}]}}
}
REPORTED: Object = {"devices": [{"driver": "d.example.com", "pool": "p", "device": "a", "data": {"k": "v"}}]}


def writer(version: str, *rules: Object) -> Guarded:
    """Return a server with a claim, where eve may write its status, and has further permissions."""
    guarded = Guarded(version=version)
    requests = [{"name": "r", "exactly": {"deviceClassName": "c"}}]
    guarded.ok("POST", CLAIMS, {"metadata": {"name": "x"}, "spec": {"devices": {"requests": requests}}})
    guarded.role("writer", rule("get update patch", "resourceclaims/status", GROUP), *rules, cluster=True)
    guarded.bind("ClusterRole", "writer", user("eve"), cluster=True)
    return guarded


@pytest.mark.parametrize(("version", "code"), [("1.35", 200), ("1.36", 422), ("1.37", 422)])
def test_claim_is_bound_with_a_permission_of_its_own_since_1_36(version: str, code: int) -> None:
    guarded = writer(version)
    guarded.acting = "eve"
    response = guarded.send("PATCH", f"{CLAIMS}/x/status", {"status": ALLOCATED}, MERGE)
    assert response.status == code
    if code == 422:
        [cause] = response.json()["details"]["causes"]
        assert cause["field"] == "status.allocation"
        assert 'requires resource="resourceclaims/binding", verb="patch" permission: ' in cause["message"]


def test_claim_can_be_bound_with_the_permission() -> None:
    guarded = writer("1.37", rule("patch", "resourceclaims/binding", GROUP))
    guarded.acting = "eve"
    guarded.ok("PATCH", f"{CLAIMS}/x/status", {"status": ALLOCATED}, MERGE)


def test_devices_of_a_driver_are_reported_with_its_permission() -> None:
    driver = rule("arbitrary-node:patch", "resourceclaims/driver", GROUP, resourceNames=["d.example.com"])
    guarded = writer("1.37", driver)
    guarded.ok("PATCH", f"{CLAIMS}/x/status", {"status": ALLOCATED}, MERGE)
    guarded.acting = "eve"
    guarded.ok("PATCH", f"{CLAIMS}/x/status", {"status": REPORTED}, MERGE)
    guarded.acting = "bob"
    guarded.refused(403, "PATCH", f"{CLAIMS}/x/status", {"status": {"devices": []}}, MERGE)


def test_devices_of_another_driver_cannot_be_reported() -> None:
    driver = rule("arbitrary-node:patch", "resourceclaims/driver", GROUP, resourceNames=["other.example.com"])
    guarded = writer("1.37", driver)
    guarded.ok("PATCH", f"{CLAIMS}/x/status", {"status": ALLOCATED}, MERGE)
    guarded.acting = "eve"
    status = guarded.refused(422, "PATCH", f"{CLAIMS}/x/status", {"status": REPORTED}, MERGE)
    [cause] = status["details"]["causes"]
    assert cause["field"] == "status.devices"
    assert 'verb="[arbitrary-node:patch]" permission: ' in cause["message"]


@pytest.mark.parametrize("plural", ["resourceclaims", "resourceclaimtemplates"])
def test_administration_of_devices_needs_a_label_of_the_namespace(kube: Kube, plural: str) -> None:
    url = f"/apis/resource.k8s.io/v1/namespaces/default/{plural}"
    spec: Object = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}]}}
    body = {"metadata": {"name": "x"}, "spec": spec if plural == "resourceclaims" else {"spec": spec}}
    [cause] = kube.refused(422, "POST", url, body)["details"]["causes"]
    assert cause["field"] == "spec.devices.requests[0].adminAccess"
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    kube.ok("PATCH", "/api/v1/namespaces/default", label, MERGE)
    kube.ok("POST", url, body)


def test_result_with_administration_needs_a_label_of_the_namespace(kube: Kube) -> None:
    requests = [{"name": "r", "exactly": {"deviceClassName": "c"}}]
    kube.ok("POST", CLAIMS, {"metadata": {"name": "x"}, "spec": {"devices": {"requests": requests}}})
    [result] = ALLOCATED["allocation"]["devices"]["results"]
    status = {"allocation": {"devices": {"results": [{**result, "adminAccess": True}]}}}
    [cause] = kube.refused(422, "PATCH", f"{CLAIMS}/x/status", {"status": status}, MERGE)["details"]["causes"]
    assert cause["field"] == "status.allocation.devices.results[0].adminAccess"
