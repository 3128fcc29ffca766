"""Policies and webhooks see the writes of the cluster's own controllers, which act under their own names."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
import urllib3

from apiserver.tests.admission.test_admission import configuration
from apiserver.tests.inprocess import CONFIG_MAPS, Kube, deployment
from apiserver.tests.webhookserver import WebhookServer, allow, deny, patch, serving
from clientgo.testing.eventually import eventually
from clientgo_apiserver.server import ApiServer

pytestmark = pytest.mark.integration

Object = dict[str, Any]

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
ON_PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
KEEP = "request.operation != 'DELETE' || !has(oldObject.data) || !('keep' in oldObject.data)"
WHO = "'kept from ' + request.userInfo.username + ' of ' + request.userInfo.groups.join(', ')"
DENIED = "is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: kept from"
MEMBER = "of system:serviceaccounts, system:serviceaccounts:kube-system, system:authenticated"


class Cluster:
    """A server in process, whose controllers' webhooks are called between two turns."""

    def __init__(self) -> None:
        self.kube = Kube(simulate=True)
        self.tasks: deque[Coroutine[Any, Any, None]] = deque()
        self.kube.api.state.start_task = self.tasks.append

    def settle(self, seconds: float = 0.0) -> None:
        self.kube.clock.step(seconds)
        self.kube.scheduler.run()
        while self.tasks:
            asyncio.run(self._ended(self.tasks.popleft()))
            self.kube.scheduler.run()

    async def _ended(self, task: Coroutine[Any, Any, None]) -> None:
        await task
        self.kube.api.state.webhooks.close_idle()

    def register(self, hook: WebhookServer, kind: str, **more: Any) -> None:
        webhooks = configuration(hook, kind, "/x", **{"rules": [ON_PODS], **more})
        self.kube.ok(
            "POST",
            f"{ADMISSION}/{kind.lower()}webhookconfigurations",
            {"apiVersion": "admissionregistration.k8s.io/v1", **webhooks},
        )

    def events(self, reason: str) -> list[str]:
        events = self.kube.ok("GET", "/api/v1/namespaces/default/events")["items"]
        return [event["message"] for event in events if event["reason"] == reason]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def hook() -> Iterator[WebhookServer]:
    with serving() as running:
        yield running


def keep_some(kube: Kube) -> None:
    """Deny the deletion of ConfigMaps with the key `keep`."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    policy = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": KEEP, "messageExpression": WHO}],
    }
    kube.ok("POST", f"{ADMISSION}/validatingadmissionpolicies", {"metadata": {"name": "keep"}, "spec": policy})
    binding = {"policyName": "keep", "validationActions": ["Deny"]}
    kube.ok("POST", f"{ADMISSION}/validatingadmissionpolicybindings", {"metadata": {"name": "keep"}, "spec": binding})


def test_namespace_stays_while_a_policy_denies_the_deletion_of_its_content(cluster: Cluster) -> None:
    keep_some(cluster.kube)
    cluster.kube.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    maps = "/api/v1/namespaces/team/configmaps"
    cluster.kube.ok("POST", maps, {"metadata": {"name": "a"}, "data": {"keep": "1"}})
    cluster.kube.ok("DELETE", "/api/v1/namespaces/team")
    conditions = cluster.kube.ok("GET", "/api/v1/namespaces/team")["status"]["conditions"]
    reasons = {each["type"].removeprefix("Namespace"): (each["reason"], each["message"]) for each in conditions}
    account = "system:serviceaccount:kube-system:namespace-controller"
    message = f'Failed to delete all resource types, 1 remaining: configmaps "Unknown" {DENIED} {account} {MEMBER}'
    assert reasons["DeletionContentFailure"] == ("ContentDeletionFailed", message)
    assert reasons["ContentRemaining"] == ("ContentRemoved", "All content successfully removed")
    assert [each["metadata"]["name"] for each in cluster.kube.ok("GET", maps)["items"]] == ["a"]

    cluster.kube.ok("DELETE", f"{ADMISSION}/validatingadmissionpolicies/keep")
    cluster.settle(60)
    cluster.kube.refused(404, "GET", "/api/v1/namespaces/team")


def test_collector_deletes_no_object_whose_deletion_a_policy_denies(cluster: Cluster) -> None:
    keep_some(cluster.kube)
    owner = cluster.kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "owner"}})["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    child = {"metadata": {"name": "child", "ownerReferences": [reference]}, "data": {"keep": "1"}}
    cluster.kube.ok("POST", CONFIG_MAPS, child)
    cluster.kube.ok("DELETE", f"{CONFIG_MAPS}/owner")
    for _ in range(12):
        cluster.settle(60)
    cluster.kube.ok("GET", f"{CONFIG_MAPS}/child")

    cluster.kube.ok("DELETE", f"{ADMISSION}/validatingadmissionpolicies/keep")
    cluster.settle(60)
    cluster.kube.refused(404, "GET", f"{CONFIG_MAPS}/child")


def test_pods_of_a_deployment_are_as_a_mutating_webhook_makes_them(cluster: Cluster, hook: WebhookServer) -> None:
    hook.answers["/x"] = lambda review: patch(review, {"op": "add", "path": "/metadata/labels/mesh", "value": "on"})
    cluster.register(hook, "Mutating")
    cluster.kube.ok("POST", DEPLOYMENTS, deployment(replicas=3))
    cluster.settle(1)
    pods = cluster.kube.ok("GET", PODS)["items"]
    assert [pod["metadata"]["labels"]["mesh"] for pod in pods] == ["on"] * 3
    assert {request["userInfo"]["username"] for _, request in hook.asked} == {
        "system:serviceaccount:kube-system:replicaset-controller"
    }
    assert len(hook.asked) == 3


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        pytest.param(
            lambda review: deny(review, message="no mesh"),
            'Error creating: admission webhook "x.example.com" denied the request: no mesh',
            id="denied",
        ),
        pytest.param(
            lambda _: b"out of order",
            'Error creating: Internal error occurred: failed calling webhook "x.example.com": ',
            id="out of order",
        ),
    ],
)
def test_rejected_pods_are_reported_and_created_once_the_webhook_allows_it(
    cluster: Cluster, hook: WebhookServer, verdict: Callable[[Object], Object], words: str
) -> None:
    hook.answers["/x"] = verdict
    cluster.register(hook, "Validating")
    cluster.kube.ok("POST", DEPLOYMENTS, deployment())
    cluster.settle()
    cluster.settle(1)
    assert cluster.kube.ok("GET", PODS)["items"] == []
    assert cluster.events("FailedCreate")[0].startswith(words)

    hook.answers["/x"] = allow
    for _ in range(5):
        cluster.settle(60)
    assert len(cluster.kube.ok("GET", PODS)["items"]) == 1


def test_running_server_calls_webhooks_for_the_pods_of_a_deployment(hook: WebhookServer) -> None:
    hook.answers["/x"] = lambda review: patch(review, {"op": "add", "path": "/metadata/labels/mesh", "value": "on"})
    webhooks = configuration(hook, "Mutating", "/x", rules=[ON_PODS])
    mutating = {"apiVersion": "admissionregistration.k8s.io/v1", **webhooks}
    with ApiServer() as server, urllib3.PoolManager(retries=False, timeout=10) as http:
        http.request("POST", f"{server.url}{ADMISSION}/mutatingwebhookconfigurations", json=mutating)
        http.request("POST", f"{server.url}{DEPLOYMENTS}", json=deployment(replicas=2))

        def labels() -> list[str]:
            pods = http.request("GET", f"{server.url}{PODS}").json()["items"]
            return [pod["metadata"]["labels"].get("mesh") for pod in pods]

        eventually(lambda: labels() == ["on", "on"])
