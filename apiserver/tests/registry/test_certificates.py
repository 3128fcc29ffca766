import base64

import pytest

from apiserver.tests.guarded import Guarded, rule, user
from apiserver.tests.inprocess import MERGE, Kube, Object

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
PEM = base64.b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n").decode()
APPROVED: Object = {"type": "Approved", "status": "True", "reason": "Test"}


def request(**spec: object) -> Object:
    fields = {"request": PEM, "signerName": "example.com/signer", "usages": ["client auth"], **spec}
    return {"metadata": {"name": "a"}, "spec": fields}


def test_certificate_request_names_its_user_and_its_spec_stays(guarded: Guarded) -> None:
    built = guarded.ok("POST", REQUESTS, request(username="someone"))
    assert (built["spec"]["username"], built["spec"]["uid"]) == ("kubernetes-admin", "kubernetes-admin")
    changed = guarded.ok("PATCH", f"{REQUESTS}/a", {"spec": {"signerName": "other.com/x"}}, MERGE)
    assert changed["spec"]["signerName"] == "example.com/signer"


def test_approval_changes_conditions_only_and_cannot_be_withdrawn(kube: Kube) -> None:
    kube.ok("POST", REQUESTS, request())
    expected = {"status": {"conditions": [APPROVED], "certificate": PEM}, "spec": {"usages": ["any"]}}
    approved = kube.ok("PATCH", f"{REQUESTS}/a/approval", expected, MERGE)
    assert approved["status"]["conditions"][0]["lastTransitionTime"] == "2023-11-14T22:13:20Z"
    assert ("certificate" in approved["status"], approved["spec"]["usages"]) == (False, ["client auth"])
    denied = {"status": {"conditions": [APPROVED, {**APPROVED, "type": "Denied"}]}}
    both = kube.refused(422, "PATCH", f"{REQUESTS}/a/approval", denied, MERGE)
    assert "mutually exclusive" in both["message"]
    gone = kube.refused(422, "PATCH", f"{REQUESTS}/a/approval", {"status": {"conditions": None}}, MERGE)
    assert "may not remove" in gone["message"]


def test_approval_needs_permission_for_the_signer(guarded: Guarded) -> None:
    guarded.ok("POST", REQUESTS, request())
    rules = [rule("get update patch", "certificatesigningrequests/approval", "certificates.k8s.io")]
    guarded.role("approver", *rules, cluster=True)
    guarded.bind("ClusterRole", "approver", user("eve"), cluster=True)
    guarded.acting = "eve"
    patch = {"status": {"conditions": [APPROVED]}}
    refused = guarded.refused(403, "PATCH", f"{REQUESTS}/a/approval", patch, MERGE)
    assert refused["message"].endswith('user not permitted to approve requests with signerName "example.com/signer"')
    guarded.acting = "admin"
    signers = rule("approve", "signers", "certificates.k8s.io", resourceNames=["example.com/*"])
    guarded.role("signer", signers, cluster=True)
    guarded.bind("ClusterRole", "signer", user("eve"), cluster=True)
    guarded.acting = "eve"
    guarded.ok("PATCH", f"{REQUESTS}/a/approval", patch, MERGE)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"request": "aGk="}, "spec.request", id="no PEM"),
        pytest.param({"usages": []}, "spec.usages", id="no usages"),
        pytest.param({"usages": ["flying"]}, "spec.usages[0]", id="unknown usage"),
        pytest.param({"signerName": "plain"}, "spec.signerName", id="signer without a path"),
        pytest.param({"signerName": "plain/x"}, "spec.signerName", id="signer without a domain"),
        pytest.param({"expirationSeconds": 60}, "spec.expirationSeconds", id="too short"),
    ],
)
def test_invalid_certificate_request_is_rejected(kube: Kube, spec: Object, field: str) -> None:
    causes = kube.refused(422, "POST", REQUESTS, request(**spec))["details"]["causes"]
    assert [cause["field"] for cause in causes] == [field]
