"""Secrets with tokens of service accounts."""

import base64

from apiserver.tests.inprocess import MERGE, Kube, Object

CORE = "/api/v1/namespaces/default"
TYPE = "kubernetes.io/service-account-token"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


def secret(account: str) -> Object:
    return {"metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": account}}, "type": TYPE}


def account() -> tuple[Kube, str]:
    """Return a server, and the uid of its account s, which has the Secret t."""
    kube = Kube(simulate=True)
    uid: str = kube.ok("POST", f"{CORE}/serviceaccounts", {"metadata": {"name": "s"}})["metadata"]["uid"]
    kube.ok("POST", f"{CORE}/secrets", secret("s"))
    return kube, uid


def token(kube: Kube) -> str:
    return base64.b64decode(kube.ok("GET", f"{CORE}/secrets/t")["data"]["token"]).decode()


def test_secret_is_filled_with_a_token_of_its_account() -> None:
    kube, uid = account()
    stored = kube.ok("GET", f"{CORE}/secrets/t")
    assert base64.b64decode(stored["data"]["namespace"]) == b"default"
    assert stored["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == uid
    status = kube.ok("POST", REVIEWS, {"spec": {"token": token(kube)}})["status"]
    assert status["user"]["username"] == "system:serviceaccount:default:s"
    other = kube.ok("POST", REVIEWS, {"spec": {"token": token(kube), "audiences": ["other"]}})["status"]
    assert "authenticated" not in other


def test_token_that_is_removed_from_its_secret_is_invalid_and_replaced() -> None:
    kube, _ = account()
    earlier = token(kube)
    kube.ok("PATCH", f"{CORE}/secrets/t", {"data": {"token": None}}, MERGE)
    assert token(kube) != earlier
    assert "authenticated" not in kube.ok("POST", REVIEWS, {"spec": {"token": earlier}})["status"]


def test_secret_goes_with_its_account() -> None:
    kube, _ = account()
    kube.ok("DELETE", f"{CORE}/serviceaccounts/s")
    kube.refused(404, "GET", f"{CORE}/secrets/t")


def test_secret_of_no_account_is_removed() -> None:
    kube = Kube(simulate=True)
    kube.ok("POST", f"{CORE}/secrets", secret("absent"))
    kube.refused(404, "GET", f"{CORE}/secrets/t")
