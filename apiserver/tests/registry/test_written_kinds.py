"""Fields that the server sets, keeps and drops when objects of some kinds are written."""

import pytest

from apiserver.tests.inprocess import MERGE, PODS, SERVICES, STRATEGIC, Kube, Object

SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
LIMITED = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
RULE = "requiredDuringSchedulingIgnoredDuringExecution"
TERM: Object = {"topologyKey": "z", "labelSelector": {"matchLabels": {"a": "b"}}}


def pod(**spec: object) -> Object:
    labels = {"a": "b", "k": "v"}
    return {"metadata": {"name": "p", "labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@pytest.mark.parametrize("field", ["podAffinity", "podAntiAffinity"])
def test_affinity_selects_by_the_labels_of_the_pod(kube: Kube, field: str) -> None:
    term = {**TERM, "matchLabelKeys": ["k", "absent"], "mismatchLabelKeys": ["a"]}
    preferred = [{"weight": 1, "podAffinityTerm": term}]
    terms = {RULE: [term], "preferredDuringSchedulingIgnoredDuringExecution": preferred}
    created = kube.ok("POST", PODS, pod(affinity={field: terms}))["spec"]["affinity"][field]
    expected = [
        {"key": "k", "operator": "In", "values": ["v"]},
        {"key": "a", "operator": "NotIn", "values": ["b"]},
    ]
    weighted = created["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"]
    for selecting in (created[RULE][0], weighted):
        assert selecting["labelSelector"] == {**TERM["labelSelector"], "matchExpressions": expected}


@pytest.mark.parametrize(
    ("gates", "merges"), [("", True), ("MatchLabelKeysInPodTopologySpreadSelectorMerge=false", False)]
)
def test_spread_constraint_selects_by_the_labels_of_the_pod(gates: str, merges: bool) -> None:
    constraint = {**TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["k"]}
    [created] = Kube(gates=gates).ok("POST", PODS, pod(topologySpreadConstraints=[constraint]))["spec"][
        "topologySpreadConstraints"
    ]
    expressions = [{"key": "k", "operator": "In", "values": ["v"]}] if merges else None
    assert created["labelSelector"].get("matchExpressions") == expressions


def test_label_of_the_pod_cannot_be_selected_twice(kube: Kube) -> None:
    term = {**TERM, "matchLabelKeys": ["a"]}
    status = kube.refused(422, "POST", PODS, pod(affinity={"podAffinity": {RULE: [term]}}))
    assert "exists in both matchLabelKeys and labelSelector" in status["message"]


def test_resize_does_not_change_its_policy(kube: Kube) -> None:
    resources = {"requests": {"cpu": "1"}}
    policy = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    container = {"name": "c", "image": "i", "resources": resources, "resizePolicy": policy}
    kube.ok("POST", PODS, pod(containers=[container]))
    kube.ok("PATCH", f"{PODS}/p/resize", {"spec": {"containers": [{"name": "c", "resources": resources}]}}, STRATEGIC)
    replaced = {"spec": {"containers": [{**container, "resizePolicy": []}]}}
    status = kube.refused(422, "PATCH", f"{PODS}/p/resize", replaced, MERGE)
    assert status["message"].endswith("spec: Forbidden: only cpu and memory resources are mutable")


def test_topology_of_endpoints_is_dropped(kube: Kube) -> None:
    endpoint = {"addresses": ["10.0.0.1"], "deprecatedTopology": {"a": "b"}}
    body = {"metadata": {"name": "x"}, "addressType": "IPv4", "endpoints": [endpoint]}
    assert kube.ok("POST", SLICES, body)["endpoints"] == [{"addresses": ["10.0.0.1"], "conditions": {}}]
    changed = kube.ok("PUT", f"{SLICES}/x", body)
    assert changed["endpoints"] == [{"addresses": ["10.0.0.1"], "conditions": {}}]


def test_taint_of_a_device_has_the_time_of_its_write(kube: Kube) -> None:
    taint = {"key": "a.b/c", "effect": "NoSchedule"}
    spec = {
        "driver": "d", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "a", "taints": [taint]}, {"name": "b"}],
    }  # fmt: skip
    created = kube.ok("POST", "/apis/resource.k8s.io/v1/resourceslices", {"metadata": {"name": "x"}, "spec": spec})
    tainted, plain = created["spec"]["devices"]
    assert tainted["taints"] == [{**taint, "timeAdded": created["metadata"]["creationTimestamp"]}]
    assert "taints" not in plain


@pytest.mark.parametrize(
    ("plural", "spec"),
    [("prioritylevelconfigurations", LIMITED), ("flowschemas", {"priorityLevelConfiguration": {"name": "p"}})],
)
def test_configuration_of_flows_is_replaced_without_a_version(kube: Kube, plural: str, spec: Object) -> None:
    body = {"metadata": {"name": "x"}, "spec": spec}
    kube.ok("POST", f"{FLOW}/{plural}", body)
    kube.ok("PUT", f"{FLOW}/{plural}/x", body)


def test_service_becomes_single_stack_and_keeps_its_first_family(kube: Kube) -> None:
    body: Object = {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}
    assert kube.ok("POST", SERVICES, body)["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    reduced = {"spec": {"ipFamilies": ["IPv4"]}}
    status = kube.refused(422, "PATCH", f"{SERVICES}/s", reduced, MERGE)
    assert "must be 'SingleStack' to release the secondary IP family" in status["message"]
    single = {**body, "spec": {**body["spec"], "ipFamilyPolicy": "SingleStack"}}
    assert kube.ok("PUT", f"{SERVICES}/s", single)["spec"]["ipFamilies"] == ["IPv4"]


def test_status_of_a_job_without_labels_has_those_of_its_pods(kube: Kube) -> None:
    url = "/apis/batch/v1/namespaces/default/jobs"
    body = {"metadata": {"name": "j"}, "spec": {"template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}}}
    labels = kube.ok("POST", url, body)["metadata"]["labels"]
    assert kube.ok("PUT", f"{url}/j/status", body)["metadata"]["labels"] == labels


def test_volume_has_the_time_of_its_last_change_of_phase(kube: Kube) -> None:
    url, time = "/api/v1/persistentvolumes", "2020-01-01T00:00:00Z"
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}
    kube.ok("POST", url, {"metadata": {"name": "v"}, "spec": spec})
    changes: list[tuple[Object, str]] = [
        ({"phase": "Available", "lastPhaseTransitionTime": time}, time),
        ({"phase": "Available", "lastPhaseTransitionTime": None}, time),
        ({"phase": "Bound"}, ""),
    ]
    for status, expected in changes:
        changed = kube.ok("PATCH", f"{url}/v/status", {"status": status}, MERGE)
        assert changed["status"]["lastPhaseTransitionTime"] == expected or (
            not expected and changed["status"]["lastPhaseTransitionTime"] > time
        )


def test_empty_resources_of_the_pod_hide_those_of_its_containers(kube: Kube) -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1", "memory": "1"}}}
    assert kube.ok("POST", PODS, pod(containers=[container], resources={}))["status"]["qosClass"] == "BestEffort"


def test_first_range_of_a_node_is_its_range(kube: Kube) -> None:
    ranges = ["2001:db8::/64", "10.0.0.0/24"]
    node = kube.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "spec": {"podCIDRs": ranges}})
    assert node["spec"]["podCIDR"] == ranges[0]


def test_target_of_cpu_comes_after_the_other_metrics_of_an_old_autoscaler(kube: Kube) -> None:
    url = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    sources = [
        {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
    ]
    target = {"apiVersion": "apps/v1", "kind": "D", "name": "d"}
    body = {"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "scaleTargetRef": target, "metrics": sources}}
    kube.ok("POST", url.format("v2"), body)
    kube.ok("PATCH", f"{url.format('v1')}/h", {"spec": {"targetCPUUtilizationPercentage": 55}}, MERGE)
    metrics = kube.ok("GET", f"{url.format('v2')}/h")["spec"]["metrics"]
    assert [metric["resource"]["name"] for metric in metrics] == ["memory", "cpu"]


def test_note_of_limit_ranges_is_that_of_the_last_one(kube: Kube) -> None:
    url, limit = "/api/v1/namespaces/default/limitranges", {"type": "Container", "default": {"cpu": "1"}}
    kube.ok("POST", url, {"metadata": {"name": "a"}, "spec": {"limits": [limit]}})
    more = {**limit, "default": {"cpu": "2", "memory": "1Gi"}}
    kube.ok("POST", url, {"metadata": {"name": "b"}, "spec": {"limits": [more]}})
    created = kube.ok("POST", PODS, pod())
    note = "LimitRanger plugin set: memory request for container c; memory limit for container c"
    assert created["metadata"]["annotations"] == {"kubernetes.io/limit-ranger": note}
    assert created["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}


def test_claims_of_the_status_of_a_pod_are_those_of_its_spec(kube: Kube) -> None:
    kube.ok("POST", PODS, pod(resourceClaims=[{"name": "c", "resourceClaimName": "d"}]))
    for claims, field, message in (
        ([{"name": "x"}], "0].name", 'Invalid value: "x": must match the name of an entry in `spec.resourceClaims`'),
        ([{"name": "c"}, {"name": "c"}], "1].name", 'Duplicate value: "c"'),
        ([{"name": "c", "resourceClaimName": "A_"}], "0].resourceClaimName", 'Invalid value: "A_": a lowercase'),
    ):
        written = {"status": {"resourceClaimStatuses": claims}}
        (cause,) = kube.refused(422, "PATCH", f"{PODS}/p/status", written, MERGE)["details"]["causes"]
        assert cause["field"] == f"status.resourceClaimStatuses[{field}"
        assert cause["message"].startswith(message)


def test_priority_and_tolerations_are_kept_by_an_update_without_them(kube: Kube) -> None:
    built = kube.ok("POST", PODS, pod())
    local = {field: value for field, value in built["spec"].items() if field not in ("priority", "tolerations")}
    updated = kube.ok("PUT", f"{PODS}/p", {**built, "spec": local})
    assert updated["spec"] == built["spec"]


def test_quality_of_service_is_kept_by_a_status_without_it(kube: Kube) -> None:
    built = kube.ok("POST", PODS, pod())
    updated = kube.ok("PUT", f"{PODS}/p/status", {**built, "status": {"phase": "Running"}})
    assert updated["status"] == {"phase": "Running", "qosClass": built["status"]["qosClass"]}


def test_api_service_of_a_service_is_at_the_port_of_https(kube: Kube) -> None:
    spec = {"group": "x.y", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    body = {"metadata": {"name": "v1.x.y"}, "spec": {**spec, "service": {"name": "s", "namespace": "default"}}}
    url = "/apis/apiregistration.k8s.io/v1/apiservices"
    assert kube.ok("POST", url, body)["spec"]["service"]["port"] == 443


def test_condition_of_an_api_service_has_one_of_three_statuses(kube: Kube) -> None:
    spec = {"group": "x.y", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    url = "/apis/apiregistration.k8s.io/v1/apiservices"
    built = kube.ok("POST", url, {"metadata": {"name": "v1.x.y"}, "spec": spec})
    wrong = {**built, "status": {"conditions": [{"type": "Available", "status": "Bad"}]}}
    causes = kube.refused(422, "PUT", f"{url}/v1.x.y/status", wrong)["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["status.conditions[0].status"]
