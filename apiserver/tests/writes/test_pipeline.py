"""The order of the write pipeline, as webhooks, managedFields and errors show it."""

from typing import Any

import msgspec

from apiserver.tests.inprocess import APPLY, MERGE, NAMESPACES, Kube

Object = dict[str, Any]

ADMISSION = "/apis/admissionregistration.k8s.io/v1"


class Webhooks:
    """Webhook client that keeps the objects it is shown, by path, and allows everything but what `denied` names."""

    def __init__(self, kube: Kube) -> None:
        self.shown: dict[str, Object] = {}
        self.denied = ""
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}
        kube.api.state.webhooks = self  # type: ignore[assignment]
        for kind in ("mutating", "validating"):
            webhook: Object = {"name": f"{kind}.example.com", "clientConfig": {"url": f"https://example.com/{kind}"}}
            webhook |= {"rules": [rule], "sideEffects": "None", "admissionReviewVersions": ["v1"]}
            body = {"metadata": {"name": kind}, "webhooks": [webhook]}
            kube.ok("POST", f"{ADMISSION}/{kind}webhookconfigurations", body)

    async def post(self, endpoint: Any, review: Any, _: float, reply: type[Any]) -> Any:
        path = endpoint.url.rpartition("/")[2]
        self.shown[path] = review["request"]["object"]
        response = {"uid": review["request"]["uid"], "allowed": path != self.denied}
        return msgspec.convert({"response": response}, reply)

    def close_idle(self) -> None:
        pass


def test_new_object_is_defaulted_then_mutated_then_prepared_then_validated_then_stored(kube: Kube) -> None:
    webhooks = Webhooks(kube)
    created = kube.ok("POST", f"{NAMESPACES}?fieldManager=m", {"metadata": {"name": "n"}})
    mutated, validated = webhooks.shown["mutating"], webhooks.shown["validating"]
    assert mutated["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}  # a default
    assert "uid" not in mutated["metadata"]
    assert "finalizers" not in mutated["spec"]  # set by the strategy
    assert validated["spec"] == {"finalizers": ["kubernetes"]}
    assert validated["metadata"]["uid"] == created["metadata"]["uid"]
    (entry,) = created["metadata"]["managedFields"]
    assert "f:spec" not in entry["fieldsV1"]  # fields are owned as they were sent


def test_updated_object_is_reset_then_mutated_then_counted_then_validated(kube: Kube) -> None:
    url = f"{NAMESPACES}/default/replicationcontrollers"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    kube.ok("POST", url, {"metadata": {"name": "r"}, "spec": {"template": template}})
    webhooks = Webhooks(kube)
    changed = kube.ok("PATCH", f"{url}/r", {"spec": {"replicas": 2}, "status": {"replicas": 9}}, MERGE)
    mutated, validated = webhooks.shown["mutating"], webhooks.shown["validating"]
    assert mutated["status"] == {"replicas": 0}
    assert [item["metadata"]["generation"] for item in (mutated, validated, changed)] == [1, 2, 2]


def test_invalid_object_is_mutated_and_not_shown_to_validating_webhooks(kube: Kube) -> None:
    webhooks = Webhooks(kube)
    kube.refused(422, "POST", NAMESPACES, {"metadata": {"name": "-"}})
    assert list(webhooks.shown) == ["mutating"]


def test_undecodable_object_is_shown_to_no_webhook(kube: Kube) -> None:
    webhooks = Webhooks(kube)
    kube.refused(400, "POST", NAMESPACES, {"metadata": {"name": "n"}, "spec": {"finalizers": 1}})
    assert webhooks.shown == {}


def test_denied_object_is_not_stored_whatever_creates_it(kube: Kube) -> None:
    webhooks = Webhooks(kube)
    for webhooks.denied in ("mutating", "validating"):
        kube.refused(400, "POST", NAMESPACES, {"metadata": {"name": "n"}})
        config = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
        kube.refused(400, "PATCH", f"{NAMESPACES}/n?fieldManager=m", config, APPLY)
    kube.refused(404, "GET", f"{NAMESPACES}/n")
