import base64

import pytest

from apiserver.tests.certificates import AUTHORITY, SIGNING_REQUEST
from apiserver.tests.guarded import Guarded, rule, user
from apiserver.tests.inprocess import MERGE, Kube, Object

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def pem(content: str) -> str:
    text = f"-----BEGIN CERTIFICATE REQUEST-----\n{content}\n-----END CERTIFICATE REQUEST-----\n"
    return base64.b64encode(text.encode()).decode()


PEM = pem(SIGNING_REQUEST)
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
        pytest.param({"request": pem("MAA=")}, "spec.request", id="unreadable request"),
        pytest.param({"request": pem(SIGNING_REQUEST.replace("ZfAP", "ZfAQ"))}, "spec.request", id="wrong signature"),
        pytest.param({"usages": []}, "spec.usages", id="no usages"),
        pytest.param({"usages": ["flying"]}, "spec.usages[0]", id="unknown usage"),
        pytest.param({"signerName": "plain"}, "spec.signerName", id="signer without a path"),
        pytest.param({"signerName": "kubernetes.io/legacy-unknown"}, "spec.signerName", id="signer of older versions"),
        pytest.param({"signerName": "plain/x"}, "spec.signerName", id="signer without a domain"),
        pytest.param({"expirationSeconds": 60}, "spec.expirationSeconds", id="too short"),
    ],
)
def test_invalid_certificate_request_is_rejected(kube: Kube, spec: Object, field: str) -> None:
    causes = kube.refused(422, "POST", REQUESTS, request(**spec))["details"]["causes"]
    assert [cause["field"] for cause in causes] == [field]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"certificate": "eA=="}, "must contain at least one CERTIFICATE PEM block"),
        ({"certificate": PEM}, 'only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"'),
        ({"conditions": [{"type": "x"}]}, "status.conditions[0].status: Required value"),
        ({"conditions": [{"status": "True"}]}, "status.conditions[0].type: Required value"),
        ({"conditions": [{"type": "x", "status": "no"}]}, 'Unsupported value: "no"'),
        ({"conditions": [APPROVED] * 2}, 'status.conditions[1].type: Duplicate value: "Approved"'),
    ],
)
def test_invalid_status_of_a_certificate_request_is_rejected(kube: Kube, status: Object, message: str) -> None:
    kube.ok("POST", REQUESTS, request())
    subresource = "status" if "certificate" in status else "approval"
    assert message in kube.refused(422, "PATCH", f"{REQUESTS}/a/{subresource}", {"status": status}, MERGE)["message"]


def test_issued_certificate_stays(kube: Kube) -> None:
    kube.ok("POST", REQUESTS, request())
    issued = base64.b64encode(AUTHORITY.encode()).decode()
    kube.ok("PATCH", f"{REQUESTS}/a/status", {"status": {"certificate": issued}}, MERGE)
    gone = kube.refused(422, "PATCH", f"{REQUESTS}/a/status", {"status": {"certificate": None}}, MERGE)
    assert "updates may not modify existing certificate content" in gone["message"]


def allow(guarded: Guarded, name: str, *rules: Object) -> None:
    """Give eve these permissions, as the administrator, and act as eve."""
    guarded.acting = "admin"
    guarded.role(name, *rules, cluster=True)
    guarded.bind("ClusterRole", name, user("eve"), cluster=True)
    guarded.acting = "eve"


def test_certificate_is_signed_with_permission_for_the_signer(guarded: Guarded) -> None:
    guarded.ok("POST", REQUESTS, request())
    allow(guarded, "writer", rule("get update patch", "certificatesigningrequests/status", "certificates.k8s.io"))
    failed = {"status": {"conditions": [{**APPROVED, "type": "Failed"}]}}
    refused = guarded.refused(403, "PATCH", f"{REQUESTS}/a/status", failed, MERGE)
    assert refused["message"].endswith('user not permitted to sign requests with signerName "example.com/signer"')
    guarded.ok("PATCH", f"{REQUESTS}/a/status", {"status": {"conditions": None}}, MERGE)
    allow(guarded, "signer", rule("sign", "signers", "certificates.k8s.io", resourceNames=["example.com/signer"]))
    guarded.ok("PATCH", f"{REQUESTS}/a/status", failed, MERGE)


BUNDLES = "/apis/certificates.k8s.io/v1/clustertrustbundles"


def test_trusted_authorities_of_a_signer_need_permission_to_attest(guarded: Guarded) -> None:
    bundle: Object = {"metadata": {"name": "example.com:signer:a"}, "spec": {"trustBundle": AUTHORITY}}
    signed: Object = {**bundle, "spec": {**bundle["spec"], "signerName": "example.com/signer"}}
    allow(guarded, "writer", rule("create get update patch", "clustertrustbundles", "certificates.k8s.io"))
    refused = guarded.refused(403, "POST", BUNDLES, signed)
    assert refused["message"].endswith('user not permitted to attest for signerName "example.com/signer"')
    guarded.ok("POST", BUNDLES, {**bundle, "metadata": {"name": "a"}})
    allow(guarded, "attester", rule("attest", "signers", "certificates.k8s.io", resourceNames=["example.com/*"]))
    guarded.ok("POST", BUNDLES, signed)


def test_owners_of_trusted_authorities_change_without_permission_to_attest(guarded: Guarded) -> None:
    spec = {"signerName": "example.com/signer", "trustBundle": AUTHORITY}
    guarded.ok("POST", BUNDLES, {"metadata": {"name": "example.com:signer:a"}, "spec": spec})
    allow(guarded, "writer", rule("create get update patch", "clustertrustbundles", "certificates.k8s.io"))
    path = f"{BUNDLES}/example.com:signer:a"
    guarded.ok("PATCH", path, {"metadata": {"finalizers": ["a.io/f"]}}, MERGE)
    guarded.refused(403, "PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE)


def test_pod_certificate_is_signed_with_permission_for_the_signer(guarded: Guarded) -> None:
    path = "/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests"
    ids = dict.fromkeys(("podUID", "serviceAccountUID", "nodeUID"), "1")
    names = {"podName": "p", "serviceAccountName": "s", "nodeName": "n", "signerName": "example.com/signer"}
    spec = {**ids, **names, "stubPKCS10Request": SIGNING_REQUEST}
    guarded.ok("POST", path, {"metadata": {"name": "a"}, "spec": spec})
    allow(guarded, "writer", rule("get update patch", "podcertificaterequests/status", "certificates.k8s.io"))
    denied = {"type": "Denied", "status": "True", "reason": "Test", "lastTransitionTime": "2023-11-14T22:13:20Z"}
    patch = {"status": {"conditions": [{**denied, "message": ""}]}}
    refused = guarded.refused(422, "PATCH", f"{path}/a/status", patch, MERGE)
    [cause] = refused["details"]["causes"]
    assert cause["message"] == 'Forbidden: User "eve" is not permitted to "sign" for signer "example.com/signer"'
    allow(guarded, "signer", rule("sign", "signers", "certificates.k8s.io", resourceNames=["example.com/*"]))
    guarded.ok("PATCH", f"{path}/a/status", patch, MERGE)
