"""Warnings about valid objects of built-in kinds."""

import json
from typing import Any

import pytest

from apiserver.tests.inprocess import FOOS, MERGE, Kube, deployment, foo
from clientgo_apiserver.http.messages import HTTPResponse

Object = dict[str, Any]
CORE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"


def warnings(response: HTTPResponse) -> list[str]:
    assert response.status < 400, response.body
    texts = [value for name, value in response.headers if name == "Warning"]
    return [text.removeprefix('299 - "').removesuffix('"').replace('\\"', '"') for text in texts]


def container(**fields: Any) -> Object:
    return {"name": "c", "image": "x", **fields}


def pod(*containers: Object, annotations: Object | None = None, **spec: Any) -> Object:
    meta: Object = {"name": "a", "annotations": annotations or {}}
    return {"metadata": meta, "spec": {"containers": list(containers) or [container()], **spec}}


TWICE = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
PORT = [{"containerPort": 80}]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (pod(container(env=TWICE)),
         'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped'),
        (pod(container(ports=PORT), container(name="d", ports=PORT)),
         "spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]"),
        (pod(container(ports=[{"containerPort": 80, "hostIP": "1.2.3.4"}])),
         "hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}"),
        (pod(container(resources={"limits": {"memory": "100m"}})),
         'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer'),
        (pod(nodeSelector={"beta.kubernetes.io/os": "linux"}),
         'deprecated since v1.14; use "kubernetes.io/os" instead'),
        (pod(annotations={"scheduler.alpha.kubernetes.io/critical-pod": ""}),
         'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "p'),
        (pod(imagePullSecrets=[{"name": "s"}, {"name": "s"}]), 'spec.imagePullSecrets[1].name: duplicate name "s"'),
        (pod(volumes=[{"name": "v", "gitRepo": {"repository": "r"}}]),
         "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"),
    ],
    ids=["env", "ports", "host", "fraction", "label", "annotation", "secrets", "volume"],
)  # fmt: skip
def test_pods_and_pod_templates_have_the_same_warnings(kube: Kube, body: Object, expected: str) -> None:
    assert any(expected in text for text in warnings(kube.send("POST", f"{CORE}/pods", body)))
    workload = deployment("d")
    workload["spec"]["template"]["spec"] = body["spec"]
    workload["spec"]["template"]["metadata"]["annotations"] = body["metadata"]["annotations"]
    created = warnings(kube.send("POST", f"{APPS}/deployments", workload))
    assert any(expected.replace("spec.containers", "spec.template.spec.containers")[:40] in each for each in created)


def test_negative_grace_period_is_replaced_in_a_pod_and_has_a_warning_in_a_template(kube: Kube) -> None:
    body = pod(terminationGracePeriodSeconds=-1)
    created = kube.send("POST", f"{CORE}/pods", body)
    assert json.loads(created.body)["spec"]["terminationGracePeriodSeconds"] == 1
    assert warnings(created) == []
    workload = deployment("d")
    workload["spec"]["template"]["spec"] = body["spec"]
    reason = "must be >= 0; negative values are invalid and will be treated as 1"
    stored = kube.send("POST", f"{APPS}/deployments", workload)
    assert json.loads(stored.body)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == -1
    assert warnings(stored) == [f"spec.template.spec.terminationGracePeriodSeconds: {reason}"]


def test_update_warns_of_a_template_only_if_the_spec_changes(kube: Kube) -> None:
    url, body = f"{APPS}/deployments", deployment("a.b")
    body["spec"]["template"]["spec"]["containers"][0]["env"] = TWICE
    assert len(warnings(kube.send("POST", url, body))) == 2
    assert not warnings(kube.send("PATCH", f"{url}/a.b", {"metadata": {"labels": {"a": "b"}}}, MERGE))
    assert len(warnings(kube.send("PATCH", f"{url}/a.b", {"spec": {"replicas": 3}}, MERGE))) == 1


@pytest.mark.parametrize(("query", "count"), [("", 1), ("?propagationPolicy=Background", 0)])
def test_deletion_of_a_job_warns_that_its_pods_remain(kube: Kube, query: str, count: int) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [container()]}}
    kube.ok("POST", jobs, {"metadata": {"name": "a"}, "spec": {"template": template}})
    assert len(warnings(kube.send("DELETE", f"{jobs}/a{query}"))) == count


def test_new_finalizer_without_a_domain_of_a_custom_object_is_warned_about(kube: Kube) -> None:
    words = "to avoid accidental conflicts with other finalizer writers"
    body = foo("a")
    body["metadata"]["finalizers"] = ["bucket", "example.com", "example.com/bucket", "foregroundDeletion"]
    assert warnings(kube.send("POST", FOOS, body)) == [
        f'metadata.finalizers: "bucket": prefer a domain-qualified finalizer name {words}',
        f'metadata.finalizers: "example.com": prefer a domain-qualified finalizer name including a path (/) {words}',
    ]
    patch = {"metadata": {"labels": {"a": "b"}, "finalizers": ["bucket", "account"]}}
    assert warnings(kube.send("PATCH", f"{FOOS}/a", patch, MERGE)) == [
        f'metadata.finalizers: "account": prefer a domain-qualified finalizer name {words}'
    ]


@pytest.mark.parametrize("url", [f"{CORE}/services", "/apis/networking.k8s.io/v1/namespaces/default/ingresses"])
def test_addresses_of_load_balancers_have_the_warnings_of_addresses(kube: Kube, url: str) -> None:
    backend = {"service": {"name": "s", "port": {"number": 1}}}
    spec = {"type": "LoadBalancer", "ports": [{"port": 1}]} if "services" in url else {"defaultBackend": backend}
    kube.ok("POST", url, {"metadata": {"name": "a"}, "spec": spec})
    status = {"loadBalancer": {"ingress": [{"ip": "2001:DB8::1"}]}}
    (text,) = warnings(kube.send("PATCH", f"{url}/a/status", {"status": status}, MERGE))
    assert text.startswith('status.loadBalancer.ingress[0]: IPv6 address "2001:DB8::1" should be')
