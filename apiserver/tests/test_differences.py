"""The page of differences from a real server: its numbered lines that a test can check hold."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from apiserver.tests.inprocess import DEPLOYMENTS, PODS, SERVICES, Kube, deployment

PAGE = Path(__file__).parents[1] / "docs/differences.md"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}


def nodes_cannot_be_reached(kube: Kube) -> None:
    kube.ok("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    kube.ok("POST", PODS, POD)
    assert kube.refused(500, "GET", f"{PODS}/p/log")["message"].startswith("no preferred addresses found")


def foreground_deletions_finish_at_once(kube: Kube) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment("d"))
    kube.ok("DELETE", f"{DEPLOYMENTS}/d", {"propagationPolicy": "Foreground"})
    assert kube.send("GET", f"{DEPLOYMENTS}/d").status == 404


def protobuf_is_not_a_response(kube: Kube) -> None:
    assert kube.send("GET", "/api/v1/namespaces/default", accept="application/vnd.kubernetes.protobuf").status == 406


def documents_are_reduced(kube: Kube) -> None:
    assert "parameters" not in kube.ok("GET", "/openapi/v2")
    assert kube.ok("GET", "/version")["gitCommit"] == ""
    assert kube.send("GET", "/debug/pprof").status == 404


def roles_exist_only_with_authorization(kube: Kube) -> None:
    assert kube.ok("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"] == []


def addresses_follow_from_names(kube: Kube) -> None:
    addresses = {each.ok("POST", SERVICES, SERVICE)["spec"]["clusterIP"] for each in (kube, Kube())}
    assert len(addresses) == 1
    assert addresses.pop().startswith("10.96.")


CHECKS: dict[int, Callable[[Kube], None]] = {
    1: nodes_cannot_be_reached,
    2: foreground_deletions_finish_at_once,
    5: protobuf_is_not_a_response,
    6: documents_are_reduced,
    7: roles_exist_only_with_authorization,
    8: addresses_follow_from_names,
}


@pytest.mark.parametrize("number", CHECKS)
def test_difference_exists(number: int) -> None:
    CHECKS[number](Kube())


def test_page_names_the_lines_that_are_checked() -> None:
    text = PAGE.read_text(encoding="utf-8")
    numbers = {int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)}
    assert set(CHECKS) <= numbers
    assert f"lines {', '.join(map(str, CHECKS))}" in " ".join(text.split())
