import pytest

from apiserver.tests.inprocess import Kube, Object

STORAGE, FLOW = "/apis/storage.k8s.io/v1", "/apis/flowcontrol.apiserver.k8s.io/v1"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
LIMITED = {"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}}}


@pytest.mark.parametrize(
    ("url", "name", "fields", "invalid"),
    [
        ("/apis/node.k8s.io/v1/runtimeclasses", "a", {"handler": "Bad_Handler"}, ["handler"]),
        (f"{STORAGE}/volumeattachments", "a", {"spec": {"attacher": "", "nodeName": "", "source": {}}},
         ["spec.attacher", "spec.source", "spec.nodeName"]),
        (f"{STORAGE}/volumeattributesclasses", "a", {"driverName": ""}, ["driverName", "parameters"]),
        (f"{FLOW}/prioritylevelconfigurations", "a", {"spec": LIMITED}, ["spec.limited.limitResponse.queuing"]),
        (SERVICES, "wrong", {"spec": {"group": "x.y", "version": "v1"}},
         ["metadata.name", "spec.groupPriorityMinimum", "spec.versionPriority"]),
    ],
)  # fmt: skip
def test_invalid_object_of_the_cluster_is_rejected(
    kube: Kube, url: str, name: str, fields: Object, invalid: list[str]
) -> None:
    causes = kube.refused(422, "POST", url, {"metadata": {"name": name}, **fields})["details"]["causes"]
    assert [cause["field"] for cause in causes] == invalid


def test_volume_attachment_cannot_be_changed(kube: Kube) -> None:
    spec = {"attacher": "a.b", "nodeName": "n", "source": {"persistentVolumeName": "p"}}
    built = kube.ok("POST", f"{STORAGE}/volumeattachments", {"metadata": {"name": "a"}, "spec": spec})
    changed = {**built, "spec": {**spec, "nodeName": "m"}}
    kube.refused(422, "PUT", f"{STORAGE}/volumeattachments/a", changed)


def test_api_service_of_a_service_is_at_the_port_of_https(kube: Kube) -> None:
    spec = {"group": "x.y", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    body = {"metadata": {"name": "v1.x.y"}, "spec": {**spec, "service": {"name": "s", "namespace": "default"}}}
    assert kube.ok("POST", SERVICES, body)["spec"]["service"]["port"] == 443


def test_condition_of_an_api_service_has_one_of_three_statuses(kube: Kube) -> None:
    spec = {"group": "x.y", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    built = kube.ok("POST", SERVICES, {"metadata": {"name": "v1.x.y"}, "spec": spec})
    wrong = {**built, "status": {"conditions": [{"type": "Available", "status": "Bad"}]}}
    causes = kube.refused(422, "PUT", f"{SERVICES}/v1.x.y/status", wrong)["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["status.conditions[0].status"]


@pytest.mark.parametrize(("name", "message"), [
    ("a%b", """Name parameter invalid: "a%b": may not contain '%'"""),
    ("..", """Name parameter invalid: "..": may not be '..'"""),
])  # fmt: skip
def test_name_that_no_object_can_have_is_a_bad_request(kube: Kube, name: str, message: str) -> None:
    assert kube.refused(400, "GET", f"/api/v1/nodes/{name}")["message"] == message
