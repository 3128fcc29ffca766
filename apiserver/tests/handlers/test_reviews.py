"""Validation of access reviews, patches of a known version, and schedules."""

from typing import Any

import pytest

from apiserver.tests.inprocess import DEPLOYMENTS, MERGE, Kube, deployment

RESOURCE, OTHER = {"verb": "get", "resource": "pods", "namespace": "default"}, {"namespace": "other"}
PATH = {"path": "/", "verb": "get"}
ONE = "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be"
BOTH = 'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: cannot be specified in combination with'
USER = 'spec.user: Invalid value: "": at least one of user or group must be specified'
LOCAL = 'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace'
NO_PATH = 'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: disallowed on this kind of request'


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({"user": "u", "resourceAttributes": RESOURCE}, []),
        ({"user": "u", "resourceAttributes": OTHER}, [LOCAL]),
        ({"user": "u"}, [ONE]),
        ({}, [ONE, USER]),
        ({"user": "u", "nonResourceAttributes": PATH}, [NO_PATH]),
        ({"resourceAttributes": OTHER, "nonResourceAttributes": PATH}, [BOTH, USER, LOCAL, NO_PATH]),
    ],
)
def test_local_access_review_names_all_its_errors(kube: Kube, spec: Any, causes: list[str]) -> None:
    url = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"
    response = kube.send("POST", url, {"spec": spec})
    assert response.status == (422 if causes else 201)
    for cause in causes:
        assert cause in response.json()["message"]
    assert len(response.json().get("details", {}).get("causes", [])) == len(causes)


def test_access_review_of_the_user_needs_one_kind_of_attributes(kube: Kube) -> None:
    url = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert ONE in kube.refused(422, "POST", url, {"spec": {}})["message"]
    both = {"resourceAttributes": RESOURCE, "nonResourceAttributes": PATH}
    assert BOTH in kube.refused(422, "POST", url, {"spec": both})["message"]
    assert kube.ok("POST", url, {"spec": {"resourceAttributes": {}}})["status"]["allowed"] is True


@pytest.mark.parametrize(
    ("version", "status"), [("apps/v1beta1", 200), ("extensions/v1beta1", 200), ("apps/v9", 422), ("batch/v1", 422)]
)
def test_patch_to_a_version_that_is_known_but_not_served_keeps_the_version(
    kube: Kube, version: str, status: int
) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment())
    response = kube.send(
        "PATCH", f"{DEPLOYMENTS}/d", {"apiVersion": version, "metadata": {"labels": {"a": "b"}}}, MERGE
    )
    assert response.status == status
    stored = kube.ok("GET", f"{DEPLOYMENTS}/d")
    assert stored["apiVersion"] == "apps/v1"
    assert stored["metadata"].get("labels") == ({"a": "b"} if status == 200 else None)


@pytest.mark.parametrize(
    ("schedule", "zone", "status"),
    [
        ("0 0 * * *", "posix/UTC", 201),
        ("0 0 * * *", "Europe/Berlin", 201),
        ("0 0 * * *", "Europe", 422),
        ("0 0 * * *", "Europe/Nowhere", 422),
        ("0 \uff15 * * *", "UTC", 422),
        ("*/\uff15 0 * * *", "UTC", 422),
    ],
)
def test_cron_job_has_ascii_digits_and_any_zone_of_the_database(
    kube: Kube, schedule: str, zone: str, status: int
) -> None:
    containers = [{"name": "c", "image": "i"}]
    template = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": containers}}}}
    spec = {"schedule": schedule, "timeZone": zone, "jobTemplate": template}
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": spec}
    assert kube.send("POST", "/apis/batch/v1/namespaces/default/cronjobs", body).status == status


SELECTOR = "spec.resourceAttributes."


@pytest.mark.parametrize(
    ("selector", "cause"),
    [
        ({"labelSelector": {}}, f"{SELECTOR}labelSelector.requirements: Required value: when"),
        ({"labelSelector": {"rawSelector": "x", "requirements": [{"key": "a", "operator": "New"}]}},
         f'{SELECTOR}labelSelector.rawSelector: Invalid value: "x": may not specified'),
        ({"labelSelector": {"requirements": [{"key": "a b", "operator": "Exists"}]}},
         f'{SELECTOR}labelSelector.requirements[0].key: Invalid value: "a b"'),
        ({"fieldSelector": {"requirements": [None]}},
         f"{SELECTOR}fieldSelector.requirements[0].key: Required value: must be specified"),
        ({"fieldSelector": {"requirements": [{"operator": "Exists"}]}},
         f"{SELECTOR}fieldSelector.requirements[0].key: Required value: must be specified"),
        ({"fieldSelector": {"requirements": [{"key": "a", "operator": "In"}]}},
         f"{SELECTOR}fieldSelector.requirements[0].values: Required value"),
        ({"fieldSelector": {"requirements": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
         f"{SELECTOR}fieldSelector.requirements[0].values: Forbidden"),
    ],
)  # fmt: skip
def test_selector_of_an_access_review_is_validated(kube: Kube, selector: Any, cause: str) -> None:
    url, spec = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"resourceAttributes": {"verb": "list"}}
    kube.ok("POST", url, {"spec": spec})
    status = kube.refused(422, "POST", url, {"spec": {"resourceAttributes": {"verb": "list", **selector}}})
    assert cause in status["message"]


def test_token_is_requested_for_the_account_of_the_path(kube: Kube) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    uid = kube.ok("POST", accounts, {"metadata": {"name": "s"}})["metadata"]["uid"]
    status = kube.refused(422, "POST", f"{accounts}/s/token", {"metadata": {"name": "other"}})
    assert 'metadata.name: Invalid value: "other": must match the service account name' in status["message"]
    status = kube.refused(409, "POST", f"{accounts}/s/token", {"metadata": {"uid": "u"}})
    assert "the UID in the token request (u) does not match" in status["message"]
    assert kube.ok("POST", f"{accounts}/s/token", {"metadata": {"uid": uid}})["metadata"]["uid"] == uid


@pytest.mark.parametrize(
    ("binding", "code", "message"),
    [
        ({}, 500, "target.name: Required value"),
        ({"target": {"kind": "Pod", "name": "n"}}, 500, 'target.kind: Unsupported value: "Pod"'),
        ({"target": {"name": "n"}}, 400, "Name parameter required."),
    ],
)
def test_binding_names_its_pod_and_its_node(kube: Kube, binding: Any, code: int, message: str) -> None:
    assert message in kube.refused(code, "POST", "/api/v1/namespaces/default/bindings", binding)["message"]
