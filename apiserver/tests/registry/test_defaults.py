from typing import Any

import pytest

from apiserver.tests.inprocess import MERGE, Kube
from clientgo_apiserver.gotypes.decoding import message_of
from clientgo_apiserver.registry.defaults.pods import pull_policy, quality_of_service, volume
from clientgo_apiserver.registry.defaults.types import complete
from clientgo_apiserver.registry.views import event_from_core, event_to_core

CORE = "/api/v1/namespaces/default"
POD_SPEC = {"containers": [{"name": "c", "image": "busybox:1"}]}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry:5000/nginx", "Always"),
        ("registry:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
        (f"a/b@sha256:{'0' * 64}", "IfNotPresent"),
        ("localhost/a:latest", "Always"),
        ("ko://a/b", "IfNotPresent"),
        ("$(IMG)", "IfNotPresent"),
        ("${HUB}/x:latest", "IfNotPresent"),
        ("Nginx", "IfNotPresent"),
        ("a b", "IfNotPresent"),
        ("0" * 64, "IfNotPresent"),
    ],
)
def test_image_is_pulled_always_unless_its_tag_is_fixed(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
        ({"limits": {"cpu": "0", "memory": "0"}}, "BestEffort"),
        ({"limits": {"cpu": "1", "memory": "0"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1"}, "requests": {"cpu": "0"}}, "Burstable"),
    ],
)
def test_quality_of_service_follows_from_the_resources(resources: dict[str, Any], quality: str) -> None:
    assert quality_of_service({"containers": [{"resources": resources}]}) == quality


def test_volume_without_a_source_is_an_empty_directory() -> None:
    assert volume({"name": "v"}) == {"name": "v", "emptyDir": {}}
    assert volume({"name": "v", "image": {"reference": "i"}})["image"]["pullPolicy"] == "Always"


@pytest.mark.parametrize(
    ("kind", "arguments", "expected"),
    [
        ("v1 Volume", {"secret": {}}, {"name": "", "secret": {"defaultMode": 420}}),
        ("v1 ServicePort", {"port": 1}, {"port": 1, "protocol": "TCP", "targetPort": 0}),
        ("apps/v1 DeploymentStrategy", {"type": "Recreate"}, {"type": "Recreate"}),
        (
            "apps/v1 DeploymentStrategy",
            {"rollingUpdate": {"maxSurge": 1}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}},
        ),
        ("apps/v1 StatefulSetUpdateStrategy", {"type": "RollingUpdate"}, {"type": "RollingUpdate"}),
        ("rbac.authorization.k8s.io/v1 Subject", {"kind": "ServiceAccount"}, {"kind": "ServiceAccount", "name": ""}),
        ("discovery.k8s.io/v1 EndpointPort", {"port": 1}, {"port": 1, "name": "", "protocol": "TCP"}),
    ],
)
def test_type_has_its_defaults_wherever_it_occurs(
    kind: str, arguments: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert complete(message_of(*kind.split()), arguments) == expected


def test_new_pod_is_pending(kube: Kube) -> None:
    pod = kube.ok("POST", f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": POD_SPEC, "status": {"phase": "Running"}})
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert pod["spec"]["restartPolicy"] == "Always"
    again = kube.ok("PUT", f"{CORE}/pods/p", pod)
    assert again == pod


def test_string_data_of_a_secret_becomes_data(kube: Kube) -> None:
    built = kube.ok("POST", f"{CORE}/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert (built["type"], built["data"], "stringData" in built) == ("Opaque", {"a": "Yg=="}, False)


@pytest.mark.parametrize(
    ("plural", "kind", "expected"),
    [
        ("statefulsets", "StatefulSet", {"podManagementPolicy": "OrderedReady", "replicas": 1}),
        ("daemonsets", "DaemonSet", {"revisionHistoryLimit": 10}),
        ("replicasets", "ReplicaSet", {"replicas": 1}),
    ],
)
def test_workloads_get_their_defaults(kube: Kube, plural: str, kind: str, expected: dict[str, Any]) -> None:
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": POD_SPEC}
    obj = {"kind": kind, "metadata": {"name": "x"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    built = kube.ok("POST", f"/apis/apps/v1/namespaces/default/{plural}", obj)
    assert {field: built["spec"][field] for field in expected} == expected
    assert built["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"


def test_webhook_gets_its_defaults(kube: Kube) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    hook = {"name": "a.b.c", "clientConfig": {"service": {"name": "s", "namespace": "n"}}, "rules": [rule]}
    hook |= {"sideEffects": "None", "admissionReviewVersions": ["v1"]}  # what has no default
    url = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    built = kube.ok("POST", url, {"metadata": {"name": "w"}, "webhooks": [hook]})["webhooks"][0]
    assert (built["failurePolicy"], built["timeoutSeconds"], built["reinvocationPolicy"]) == ("Fail", 10, "Never")
    assert built["clientConfig"]["service"]["port"] == 443
    assert built["rules"][0]["scope"] == "*"


def test_events_survive_a_round_trip() -> None:
    event = {"metadata": {}, "message": "m", "involvedObject": {"name": "a"}, "count": 2, "source": {"component": "c"}}
    assert event_to_core(event_from_core(event)) == event


def event(namespace: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "e"}, "involvedObject": {"kind": "Foo", "name": "a", "namespace": namespace}, **more}


def test_event_must_be_in_the_namespace_of_its_object(kube: Kube) -> None:
    causes = kube.refused(422, "POST", f"{CORE}/events", event("other"))["details"]["causes"]
    assert causes[0]["message"] == 'Invalid value: "other": does not match event.namespace'
    kube.ok("POST", f"{CORE}/events", event("default"))


def test_new_style_event_requires_its_reporter(kube: Kube) -> None:
    new = event("default", eventTime="2026-01-01T00:00:00.000000Z")
    causes = kube.refused(422, "POST", f"{CORE}/events", new)["details"]["causes"]
    fields = dict.fromkeys(cause["field"] for cause in causes)
    assert [*fields] == ["reportingComponent", "reportingInstance", "action", "reason"]


def test_field_of_a_disabled_feature_is_dropped_and_keeps_its_owner(kube: Kube) -> None:
    url = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = kube.ok("POST", url, {"metadata": {"name": "l"}, "spec": {"preferredHolder": "x"}})
    assert lease["spec"] == {}
    assert lease["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:preferredHolder": {}}}
    patched = kube.ok("PATCH", f"{url}/l", {"spec": {"strategy": "x", "holderIdentity": "me"}}, MERGE)
    assert patched["spec"] == {"holderIdentity": "me"}


def test_autoscaler_of_the_old_version_keeps_its_one_target(kube: Kube) -> None:
    url = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 3, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 50}
    kube.ok("POST", url.format("v1"), {"metadata": {"name": "h"}, "spec": spec})
    [metric] = kube.ok("GET", url.format("v2") + "/h")["spec"]["metrics"]
    assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 50}
    assert kube.ok("GET", url.format("v1") + "/h")["spec"]["targetCPUUtilizationPercentage"] == 50


@pytest.mark.parametrize(
    ("patch", "ports", "absent"),
    [
        ({"type": "LoadBalancer"}, [30080], ()),
        ({"type": "ClusterIP"}, [None], ("externalTrafficPolicy",)),
        ({"type": "ExternalName", "externalName": "x.example.com"}, [None], ("clusterIP", "clusterIPs", "ipFamilies")),
    ],
)
def test_service_of_another_type_keeps_only_what_that_type_has(
    kube: Kube, patch: dict[str, Any], ports: list[int | None], absent: tuple[str, ...]
) -> None:
    spec = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}
    kube.ok("POST", f"{CORE}/services", {"metadata": {"name": "s"}, "spec": spec})
    changed = kube.ok("PATCH", f"{CORE}/services/s", {"spec": patch}, MERGE)["spec"]
    assert [port.get("nodePort") for port in changed["ports"]] == ports
    assert not set(absent) & set(changed)


def test_headless_service_without_a_selector_is_dual_stack(kube: Kube) -> None:
    spec = kube.ok("POST", f"{CORE}/services", {"metadata": {"name": "s"}, "spec": {"clusterIP": "None"}})["spec"]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")
