import pytest

from apiserver.tests.inprocess import MERGE, NAMESPACES, PODS, Kube, Object

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def pod(kube: Kube, name: str = "a", *, phase: str = "", ready: bool = False, **spec: object) -> Object:
    containers = [{"name": name, "image": "i"} for name in ("c", "d")]
    updated = kube.ok(
        "POST", PODS, {"metadata": {"name": name, "labels": {"app": "x"}}, "spec": {"containers": containers, **spec}}
    )
    if phase:
        status = {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]}
        updated = kube.ok("PATCH", f"{PODS}/{name}/status", {"status": status}, MERGE)
    return updated


def budget(kube: Kube, name: str = "b", allowed: int = 0, **spec: object) -> None:
    selector = {"matchLabels": {"app": "x"}}
    kube.ok("POST", BUDGETS, {"metadata": {"name": name}, "spec": {"selector": selector, "minAvailable": 1, **spec}})
    status = {"disruptionsAllowed": allowed, "currentHealthy": 1 + allowed, "desiredHealthy": 1, "expectedPods": 2}
    kube.ok("PATCH", f"{BUDGETS}/{name}/status", {"status": {"observedGeneration": 1, **status}}, MERGE)


def eviction(name: str = "a", **options: object) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        **({"deleteOptions": options} if options else {}),
    }


@pytest.mark.parametrize(
    ("phase", "ready", "policy", "code"),
    [
        pytest.param("Running", True, "IfHealthyBudget", 429, id="ready"),
        pytest.param("Running", False, "AlwaysAllow", 201, id="unready, which the budget always lets go"),
        pytest.param("Running", False, "IfHealthyBudget", 201, id="unready beside a healthy budget"),
        pytest.param("Pending", False, "IfHealthyBudget", 201, id="pending"),
        pytest.param("Failed", False, "IfHealthyBudget", 201, id="failed"),
    ],
)
def test_eviction_that_would_violate_the_budget_is_rejected(
    kube: Kube, phase: str, ready: bool, policy: str, code: int
) -> None:
    budget(kube, unhealthyPodEvictionPolicy=policy)
    pod(kube, phase=phase, ready=ready)
    response = kube.send("POST", f"{PODS}/a/eviction", eviction(gracePeriodSeconds=0))
    assert response.status == code
    assert (kube.send("GET", f"{PODS}/a").status == 200) is (code == 429)
    if code == 429:
        cause = response.json()["details"]["causes"][0]
        assert cause == {
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 1 healthy pods and has 1 currently",
        }


def test_eviction_is_counted_in_the_budget_unless_it_is_a_dry_run(kube: Kube) -> None:
    budget(kube, allowed=1)
    pod(kube, phase="Running", ready=True)
    kube.ok("POST", f"{PODS}/a/eviction?dryRun=All", eviction())
    assert kube.ok("GET", f"{BUDGETS}/b")["status"]["disruptionsAllowed"] == 1
    evicted = kube.ok("POST", f"{PODS}/a/eviction", {**eviction(), "apiVersion": "policy/v1beta1"})
    assert evicted["status"] == "Success"
    status = kube.ok("GET", f"{BUDGETS}/b")["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["a"])
    assert status["conditions"][0]["reason"] == "InsufficientPods"


def test_budget_whose_status_is_older_than_its_spec_asks_to_retry(kube: Kube) -> None:
    budget(kube, allowed=1)
    kube.ok("PATCH", f"{BUDGETS}/b", {"spec": {"minAvailable": 2}}, MERGE)
    pod(kube, phase="Running", ready=True)
    response = kube.send("POST", f"{PODS}/a/eviction", eviction())
    assert (response.status, dict(response.headers)["Retry-After"]) == (429, "10")


def test_pod_with_two_budgets_can_be_evicted_only_while_it_is_pending(kube: Kube) -> None:
    for name in ("one", "two"):
        budget(kube, name, allowed=1)
    pod(kube, phase="Running", ready=True)
    message = kube.refused(500, "POST", f"{PODS}/a/eviction", eviction())["message"]
    assert "more than one PodDisruptionBudget" in message
    pod(kube, "b", phase="Pending")
    kube.ok("POST", f"{PODS}/b/eviction", eviction("b"))


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        pytest.param(eviction("other"), 400, "name in URL does not match name in Eviction object", id="name"),
        pytest.param(eviction(preconditions={"uid": "x"}), 409, "the UID in the precondition (x)", id="uid"),
    ],
)
def test_eviction_of_another_pod_is_rejected(kube: Kube, body: Object, code: int, reason: str) -> None:
    pod(kube)
    assert reason in kube.refused(code, "POST", f"{PODS}/a/eviction", body)["message"]


@pytest.mark.parametrize("path", ["pods/a/eviction", "pods/a/binding", "bindings", "serviceaccounts/a/token"])
def test_action_in_a_namespace_that_is_missing_or_terminating_is_rejected(kube: Kube, path: str) -> None:
    kube.ok("POST", NAMESPACES, {"metadata": {"name": "n"}})
    held = {"metadata": {"name": "a", "finalizers": ["x.y/z"]}}
    kube.ok("POST", f"{NAMESPACES}/n/pods", {**held, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    kube.ok("POST", f"{NAMESPACES}/n/serviceaccounts", held)
    kube.ok("DELETE", f"{NAMESPACES}/n")
    body = {"metadata": {"name": "a"}}
    cause = kube.refused(403, "POST", f"{NAMESPACES}/n/{path}", body)["details"]["causes"][0]
    assert cause["reason"] == "NamespaceTerminating"
    assert kube.refused(404, "POST", f"{NAMESPACES}/m/{path}", body)["message"] == 'namespaces "m" not found'


@pytest.mark.parametrize("path", ["pods/a/binding", "bindings"])
def test_binding_assigns_a_pod_to_a_node_once(kube: Kube, path: str) -> None:
    pod(kube)
    binding = {"metadata": {"name": "a", "annotations": {"by": "me"}}, "target": {"kind": "Node", "name": "n"}}
    url = f"/api/v1/namespaces/default/{path}"
    assert kube.ok("POST", url, binding)["code"] == 201
    bound = kube.ok("GET", f"{PODS}/a")
    assert (bound["spec"]["nodeName"], bound["metadata"]["annotations"]) == ("n", {"by": "me"})
    assert (
        bound["status"]["conditions"][0] | {"type": "PodScheduled", "status": "True"}
        == bound["status"]["conditions"][0]
    )
    assert kube.refused(409, "POST", url, binding)["message"].endswith('pod a is already assigned to node "n"')


@pytest.mark.parametrize(
    ("target", "spec", "code"),
    [
        pytest.param({"kind": "Pod", "name": "n"}, {}, 500, id="no node"),
        pytest.param({}, {}, 500, id="no name"),
        pytest.param({"name": "n"}, {"schedulingGates": [{"name": "g"}]}, 409, id="gated"),
    ],
)
def test_pod_that_cannot_be_scheduled_is_not_bound(kube: Kube, target: Object, spec: Object, code: int) -> None:
    pod(kube, **spec)
    kube.refused(code, "POST", f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": target})


def test_ephemeral_containers_are_added_and_stay(kube: Kube) -> None:
    pod(kube)
    debug = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}], "nodeName": "n"}}
    changed = kube.ok("PATCH", f"{PODS}/a/ephemeralcontainers", debug, MERGE)
    assert changed["spec"]["ephemeralContainers"][0]["terminationMessagePath"] == "/dev/termination-log"
    assert "nodeName" not in changed["spec"]
    gone = kube.refused(422, "PATCH", f"{PODS}/a/ephemeralcontainers", {"spec": {"ephemeralContainers": None}}, MERGE)
    assert "may not be removed" in gone["message"]


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        pytest.param({"cpu": "2"}, "", id="cpu"),
        pytest.param({"cpu": None}, "resource requests cannot be removed", id="removed"),
        pytest.param({"cpu": "1", "ephemeral-storage": "1Gi"}, "only cpu and memory resources are mutable", id="other"),
    ],
)
def test_resize_changes_cpu_and_memory_only(kube: Kube, requests: Object, reason: str) -> None:
    sized = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pod(kube, containers=[sized])
    body = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], "nodeName": "n"}}
    response = kube.send("PATCH", f"{PODS}/a/resize", body, "application/strategic-merge-patch+json")
    assert response.status == (422 if reason else 200), response.body
    assert reason in response.json().get("message", "")
    assert "nodeName" not in response.json().get("spec", {})
