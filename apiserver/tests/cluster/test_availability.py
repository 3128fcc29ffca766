"""The condition `Available` of API services."""

from typing import Any

from apiserver.tests.inprocess import MERGE, SERVICES, Kube

Object = dict[str, Any]
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def api_service(version: str = "v1", **spec: Any) -> Object:
    fields = {"group": "a.b", "version": version, "groupPriorityMinimum": 1, "versionPriority": 1}
    return {"metadata": {"name": f"{version}.a.b"}, "spec": {**fields, **spec}}


REMOTE: Object = {"service": {"namespace": "default", "name": "metrics"}}


def condition(kube: Kube) -> tuple[str, str, str]:
    (stored,) = kube.ok("GET", f"{API_SERVICES}/v1.a.b")["status"]["conditions"]
    return stored["status"], stored["reason"], stored["message"]


def test_local_api_service_is_available_when_it_is_created(kube: Kube) -> None:
    created = kube.ok("POST", API_SERVICES, api_service())
    assert created["status"]["conditions"] == [
        {
            "type": "Available", "status": "True", "lastTransitionTime": created["metadata"]["creationTimestamp"],
            "reason": "Local", "message": "Local APIServices are always available",
        }
    ]  # fmt: skip


def test_the_condition_of_a_remote_api_service_says_what_is_missing(kube: Kube) -> None:
    kube.ok("POST", API_SERVICES, api_service(**REMOTE))
    assert condition(kube) == ("False", "ServiceNotFound", 'service/metrics in "default" is not present')
    kube.ok("POST", SERVICES, {"metadata": {"name": "metrics"}, "spec": {"ports": [{"port": 80, "name": "web"}]}})
    message = 'service/metrics in "default" is not listening on port 443'
    assert condition(kube) == ("False", "ServicePortError", message)
    kube.ok("PATCH", f"{SERVICES}/metrics", {"spec": {"ports": [{"port": 443, "name": "api"}]}}, MERGE)
    message = 'cannot find endpointslices for service/metrics in "default"'
    assert condition(kube) == ("False", "EndpointsNotFound", message)
    labels = {"kubernetes.io/service-name": "metrics"}
    endpoints: Object = {"addressType": "IPv4", "endpoints": [], "ports": [{"name": "api", "port": 8443}]}
    kube.ok("POST", SLICES, {"metadata": {"name": "metrics", "labels": labels}, **endpoints})
    message = 'endpointslices for service/metrics in "default" have no addresses with port name "api"'
    assert condition(kube) == ("False", "MissingEndpoints", message)
    kube.ok("PATCH", f"{SLICES}/metrics", {"endpoints": [{"addresses": ["10.1.0.1"]}]}, MERGE)
    assert condition(kube)[:2] == ("False", "FailedDiscoveryCheck")
    kube.ok("DELETE", f"{SERVICES}/metrics")
    assert condition(kube)[:2] == ("False", "ServiceNotFound")


def test_the_time_of_the_condition_is_that_of_its_status(kube: Kube) -> None:
    kube.ok("POST", API_SERVICES, api_service(**REMOTE))
    before = kube.ok("GET", f"{API_SERVICES}/v1.a.b")
    kube.clock.step(60)
    kube.ok("POST", SERVICES, {"metadata": {"name": "metrics"}, "spec": {"ports": [{"port": 80}]}})
    after = kube.ok("GET", f"{API_SERVICES}/v1.a.b")
    times = {obj["status"]["conditions"][0]["lastTransitionTime"] for obj in (before, after)}
    assert times == {before["metadata"]["creationTimestamp"]}
    managers = [(entry["manager"], entry.get("subresource")) for entry in after["metadata"]["managedFields"]]
    assert ("kube-apiserver", "status") in managers
