from typing import Any

import pytest

from apiserver.tests.cluster.podcluster import Object
from clientgo_apiserver.cluster.podaffinity import PodNeighbors

NODES = [
    {"metadata": {"name": "n1", "labels": {"zone": "a", "host": "n1"}}, "spec": {}},
    {"metadata": {"name": "n2", "labels": {"zone": "a", "host": "n2"}}, "spec": {}},
    {"metadata": {"name": "n3", "labels": {"host": "n3"}}, "spec": {}},
]
NAMESPACES: dict[str, Object] = {"default": {"metadata": {"labels": {"team": "x"}}}, "n": {"metadata": {}}}
FREE, PORTS = "", "node(s) didn't have free ports for the requested pod ports"
APART, REJECTED = (
    "node(s) didn't match pod anti-affinity rules",
    "node(s) didn't satisfy existing pods anti-affinity rules",
)
ALONE, SPREAD = "node(s) didn't match pod affinity rules", "node(s) didn't match pod topology spread constraints"
LABELED = {"matchLabels": {"app": "w"}}


def pod(spec: Object, *, node: str = "", namespace: str = "default", app: str = "w") -> Object:
    placed = {"nodeName": node} if node else {}
    containers = {"containers": [{"name": "c", "ports": spec.pop("ports", [])}]}
    return {"metadata": {"namespace": namespace, "labels": {"app": app}}, "spec": {**containers, **spec, **placed}}


def affinity(kind: str, **term: Any) -> Object:
    terms = [{"topologyKey": "zone", "labelSelector": LABELED, **term}]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def spread(**constraint: Any) -> Object:
    fields = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": LABELED}
    return {"topologySpreadConstraints": [{**fields, **constraint}]}


def port(number: int, **fields: Any) -> Object:
    return {"ports": [{"containerPort": 1, "hostPort": number, **fields}]}


@pytest.mark.parametrize(
    ("spec", "placed", "expected"),
    [
        (port(80), pod(port(80), node="n1"), [PORTS, FREE, FREE]),
        (port(80), pod(port(81), node="n1"), [FREE, FREE, FREE]),
        (port(80), pod(port(80, protocol="UDP"), node="n1"), [FREE, FREE, FREE]),
        (port(80, hostIP="127.0.0.1"), pod(port(80), node="n1"), [PORTS, FREE, FREE]),
        (port(80, hostIP="127.0.0.1"), pod(port(80, hostIP="10.0.0.1"), node="n1"), [FREE, FREE, FREE]),
        (affinity("podAntiAffinity"), pod({}, node="n1"), [APART, APART, FREE]),
        (affinity("podAntiAffinity"), pod({}, node="n1", app="v"), [FREE, FREE, FREE]),
        (affinity("podAntiAffinity"), pod({}, node="n1", namespace="n"), [FREE, FREE, FREE]),
        (affinity("podAntiAffinity", namespaces=["n"]), pod({}, node="n1", namespace="n"), [APART, APART, FREE]),
        (affinity("podAntiAffinity", namespaceSelector={}), pod({}, node="n1", namespace="n"), [APART, APART, FREE]),
        (
            affinity("podAntiAffinity", namespaceSelector={"matchLabels": {"team": "x"}}),
            pod({}, node="n1", namespace="n"),
            [FREE, FREE, FREE],
        ),
        ({}, pod(affinity("podAntiAffinity"), node="n1", app="v"), [REJECTED, REJECTED, FREE]),
        (affinity("podAffinity"), pod({}, node="n1"), [FREE, FREE, ALONE]),
        (affinity("podAffinity"), pod({}, node="n1", app="v"), [FREE, FREE, ALONE]),  # the first of its kind
        (affinity("podAffinity", labelSelector={"matchLabels": {"app": "v"}}), pod({}, node="n1"), [ALONE] * 3),
        (spread(), pod({}, node="n1"), [FREE, FREE, f"{SPREAD} (missing required label)"]),
        (spread(topologyKey="host"), pod({}, node="n1"), [SPREAD, FREE, FREE]),
        (spread(topologyKey="host", maxSkew=2), pod({}, node="n1"), [FREE, FREE, FREE]),
        (spread(minDomains=2), pod({}, node="n1"), [SPREAD, SPREAD, f"{SPREAD} (missing required label)"]),
        (spread(topologyKey="host", whenUnsatisfiable="ScheduleAnyway"), pod({}, node="n1"), [FREE, FREE, FREE]),
    ],
)
def test_reason_by_which_a_node_does_not_fit_beside_another_pod(
    spec: Object, placed: Object, expected: list[str]
) -> None:
    neighbors = PodNeighbors(pod({**spec}), [placed], NODES, lambda name: NAMESPACES[name])
    assert [neighbors.reason(node) for node in NODES] == expected
