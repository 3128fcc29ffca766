"""Allocation of the addresses and node ports of Services."""

from typing import Any

import pytest

from apiserver.tests.inprocess import MERGE, SERVICES, STRATEGIC, Kube

PORTS: list[dict[str, Any]] = [{"name": "a", "port": 80}]
NODE_PORTS = [{"name": "a", "port": 80, "nodePort": 31000}]


def create(kube: Kube, name: str, **spec: Any) -> dict[str, Any]:
    body = {"metadata": {"name": name}, "spec": {"ports": PORTS, **spec}}
    built: dict[str, Any] = kube.ok("POST", SERVICES, body)["spec"]
    return built


def test_every_service_has_an_address_and_ports_of_its_own(kube: Kube) -> None:
    built = [create(kube, f"s{number}", type="NodePort") for number in range(300)]
    assert len({spec["clusterIP"] for spec in built}) == len({spec["ports"][0]["nodePort"] for spec in built}) == 300


def test_deleted_service_releases_its_address(kube: Kube) -> None:
    create(kube, "a", clusterIP="10.96.1.1", type="NodePort", ports=NODE_PORTS)
    kube.ok("DELETE", f"{SERVICES}/a")
    create(kube, "b", clusterIP="10.96.1.1", type="NodePort", ports=NODE_PORTS)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"clusterIP": "10.96.1.1"}, "failed to allocate IP 10.96.1.1: provided IP is already allocated"),
        ({"clusterIP": "1.2.3.4"}, "the provided network does not match the current range"),
        ({"clusterIP": "x"}, 'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address'),
        ({"clusterIPs": ["10.96.7.7"]}, "must be empty when `clusterIP` is not specified"),
        ({"clusterIP": "fd00::1"}, 'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured'),
        ({"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        ({"ipFamilies": ["IPv4", "IPv6"]}, "when multiple IP families are specified"),
        ({"ipFamilyPolicy": "RequireDualStack"}, "this cluster is not configured for dual-stack services"),
        ({"ipFamilyPolicy": ""}, 'spec.ipFamilyPolicy: Unsupported value: ""'),
        ({"type": "NodePort", "ports": NODE_PORTS}, "spec.ports[0].nodePort: Invalid value: 31000: provided port"),
        ({"type": "NodePort", "ports": [{"port": 1, "nodePort": 5}]}, "The range of valid ports is 30000-32767"),
        ({"type": "ExternalName", "externalName": "x.y", "clusterIP": "10.96.9.9"}, "may not be set for ExternalName"),
    ],
)
def test_what_cannot_be_allocated_is_rejected(kube: Kube, spec: dict[str, Any], reason: str) -> None:
    create(kube, "first", clusterIP="10.96.1.1", type="NodePort", ports=NODE_PORTS)
    body = {"metadata": {"name": "a"}, "spec": {"ports": PORTS, **spec}}
    assert reason in kube.refused(422, "POST", SERVICES, body)["message"]


def test_update_keeps_the_address_and_cannot_change_it(kube: Kube) -> None:
    before = create(kube, "a", type="NodePort")
    spec = {"type": "NodePort", "ports": PORTS}
    after = kube.ok("PUT", f"{SERVICES}/a", {"metadata": {"name": "a"}, "spec": spec})["spec"]
    assert (after["clusterIP"], after["ports"]) == (before["clusterIP"], before["ports"])
    message = kube.refused(422, "PATCH", f"{SERVICES}/a", {"spec": {"clusterIP": "10.96.5.6"}}, MERGE)["message"]
    assert 'spec.clusterIPs[0]: Invalid value: ["10.96.5.6"]: may not change once set' in message


def test_another_type_drops_the_addresses_of_the_load_balancer(kube: Kube) -> None:
    create(kube, "a", type="LoadBalancer")
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}
    kube.ok("PATCH", f"{SERVICES}/a/status", status, MERGE)
    assert kube.ok("PATCH", f"{SERVICES}/a", {"spec": {"type": "NodePort"}}, MERGE)["status"] == {"loadBalancer": {}}


def test_another_type_drops_and_allocates_what_it_needs(kube: Kube) -> None:
    create(kube, "a", type="NodePort")
    external = {"spec": {"type": "ExternalName", "externalName": "x.y"}}
    spec = kube.ok("PATCH", f"{SERVICES}/a", external, MERGE)["spec"]
    assert ("clusterIP" in spec, "nodePort" in spec["ports"][0]) == (False, False)
    assert kube.ok("PATCH", f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}}, MERGE)["spec"]["clusterIP"]


def test_node_port_is_shared_by_the_entries_of_a_port_of_a_new_service_only(kube: Kube) -> None:
    udp = {"name": "b", "port": 80, "protocol": "UDP"}
    body = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [*NODE_PORTS, udp]}}
    assert [port["nodePort"] for port in kube.ok("POST", SERVICES, body)["spec"]["ports"]] == [31000, 31000]
    twice = {"spec": {"ports": [{"name": "q", "port": 81, "nodePort": 31000}]}}
    status = kube.refused(500, "PATCH", f"{SERVICES}/s", twice, STRATEGIC)
    assert status["message"] == "duplicate nodePort: {TCP 31000}"
