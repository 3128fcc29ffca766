"""kubectl with the simulated cluster, roles, policies and quotas."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.kubectl import Kubectl, simulated_cluster

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with simulated_cluster(tmp_path_factory.mktemp("home")) as kubectl:
        yield kubectl


def template(name: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]}}


def workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    full = {"selector": selector, "template": template(name), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": full}


def test_rollouts_of_stateful_and_daemon_sets_are_waited_for(kubectl: Kubectl) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    sets = [workload("StatefulSet", "db", replicas=2, serviceName="db"), workload("DaemonSet", "agent")]
    kubectl.apply({"apiVersion": "v1", "kind": "List", "items": [node, *sets]})
    result = kubectl.run("rollout", "status", "statefulset/db", "--timeout=20s")
    assert result.endswith("roll out complete: 2 new pods have been updated...\n")
    assert "successfully rolled out" in kubectl.run("rollout", "status", "daemonset/agent", "--timeout=20s")
    kubectl.run("set", "image", "statefulset/db", "c=nginx:1.28")
    result = kubectl.run("rollout", "status", "statefulset/db", "--timeout=20s")
    assert result.endswith("roll out complete: 2 new pods have been updated...\n")
    assert kubectl.run("get", "sts", "db").splitlines()[1].split()[:2] == ["db", "2/2"]


def test_job_is_waited_for(kubectl: Kubectl) -> None:
    kubectl.run("create", "job", "once", "--image=busybox")
    assert "condition met" in kubectl.run("wait", "--for=condition=complete", "job/once", "--timeout=20s")
    assert kubectl.run("get", "job", "once").splitlines()[1].split()[:3] == ["once", "Complete", "1/1"]


def test_kubectl_cannot_escalate_privileges(kubectl: Kubectl) -> None:
    kubectl.run("create", "role", "rbac", "--verb=create,get", "--resource=roles.rbac.authorization.k8s.io")
    kubectl.run("create", "rolebinding", "rbac", "--role=rbac", "--user=eve")
    refused = kubectl.run("create", "role", "more", "--verb=get", "--resource=secrets", "--as=eve", code=1)
    assert (
        'user "eve" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently' in refused
    )


def test_kubectl_shows_pod_security_and_quota_errors(kubectl: Kubectl) -> None:
    kubectl.run("create", "namespace", "strict")
    kubectl.run("label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted")
    refused = kubectl.run("run", "p", "--image=nginx", "-n", "strict", code=1)
    assert (
        'pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false' in refused
    )
    warned = kubectl.run("create", "deployment", "d", "--image=nginx", "-n", "strict")
    assert "Warning: would violate PodSecurity" in warned
    kubectl.run("create", "quota", "few", "--hard=configmaps=2", "-n", "strict")
    kubectl.run("create", "configmap", "a", "-n", "strict")
    refused = kubectl.run("create", "configmap", "b", "-n", "strict", code=1)
    assert "exceeded quota: few, requested: configmaps=1, used: configmaps=2, limited: configmaps=2" in refused
    described = kubectl.run("describe", "quota", "few", "-n", "strict")
    assert [line.split() for line in described.splitlines()][-1] == ["configmaps", "2", "2"]


def test_budget_is_shown(kubectl: Kubectl) -> None:
    kubectl.run("create", "deployment", "web", "--image=nginx", "--replicas=3")
    kubectl.run("rollout", "status", "deployment/web", "--timeout=20s")
    kubectl.run("create", "pdb", "web", "--selector=app=web", "--min-available=2")
    waited = kubectl.run("wait", "--for=jsonpath={.status.disruptionsAllowed}=1", "pdb/web", "--timeout=20s")
    assert "condition met" in waited
