"""Pod Security: rejections, warnings and audit annotations by the labels of a namespace."""

from typing import Any

import pytest

from apiserver.tests.inprocess import NAMESPACES, Kube, deployment
from clientgo_apiserver.admission.podsecuritychecks import described, violations
from clientgo_apiserver.state import ServerOptions

Object = dict[str, Any]

PODS = f"{NAMESPACES}/n/pods"
PREFIX = "pod-security.kubernetes.io"
RESTRICTED: Object = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
NGINX = (
    'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set'
    ' securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set'
    ' securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set'
    ' securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set'
    ' securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
)


def pod(context: Object | None = None, *, name: str = "p", **spec: Any) -> Object:
    container = {"name": "c", "image": "nginx", **({"securityContext": context} if context else {})}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def labelled(kube: Kube, **labels: str) -> None:
    metadata = {"name": "n", "labels": {f"{PREFIX}/{mode.replace('_', '-')}": level for mode, level in labels.items()}}
    kube.ok("POST", NAMESPACES, {"metadata": metadata})


def warnings(response: Any) -> list[str]:
    return [value for name, value in response.headers if name == "Warning"]


def test_violating_pod_is_rejected(kube: Kube) -> None:
    labelled(kube, enforce="restricted")
    status = kube.refused(403, "POST", PODS, pod())
    assert status["message"] == f'pods "p" is forbidden: {NGINX}'
    assert status["details"] == {"name": "p", "kind": "pods"}
    kube.ok("POST", PODS, pod(RESTRICTED))
    kube.ok("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")


def test_violating_ephemeral_container_is_rejected(kube: Kube) -> None:
    labelled(kube, enforce="baseline")
    kube.ok("POST", PODS, pod())
    strategic = "application/strategic-merge-patch+json"
    added = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i", "securityContext": {"privileged": True}}]}}
    status = kube.refused(403, "PATCH", f"{PODS}/p/ephemeralcontainers", added, strategic)
    assert 'privileged (container "e" must not set' in status["message"]


def test_baseline_admits_ordinary_pods_only(kube: Kube) -> None:
    labelled(kube, enforce="baseline")
    kube.ok("POST", PODS, pod())
    status = kube.refused(403, "POST", PODS, pod({"privileged": True}, name="q", hostNetwork=True))
    assert status["message"] == (
        'pods "q" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true),'
        ' privileged (container "c" must not set securityContext.privileged=true)'
    )


def test_workloads_only_get_warnings(kube: Kube) -> None:
    labelled(kube, enforce="restricted", enforce_version="v1.30")
    response = kube.send("POST", "/apis/apps/v1/namespaces/n/deployments", deployment("d"))
    assert response.status == 201
    [warning] = warnings(response)
    assert warning.startswith('299 - "would violate PodSecurity \\"restricted:v1.30\\": allowPrivilegeEscalation')
    assert '(container \\"nginx\\" must set' in warning
    kube.send("POST", "/api/v1/namespaces", {"metadata": {"name": "free"}})
    assert not warnings(kube.send("POST", "/apis/apps/v1/namespaces/free/deployments", deployment("d")))


def test_warn_and_audit_reject_nothing() -> None:
    events: list[Object] = []
    kube = Kube(ServerOptions(audit=events.append))
    labelled(kube, warn="baseline", audit="restricted")
    assert not warnings(kube.send("POST", PODS, pod()))
    assert events[-1]["annotations"][f"{PREFIX}/audit-violations"] == NGINX.replace("violates", "would violate")
    [warning] = warnings(kube.send("POST", PODS, pod(name="q", hostPID=True)))
    assert "would violate PodSecurity" in warning
    assert "(hostPID=true)" in warning


def test_invalid_level_labels_are_rejected(kube: Kube) -> None:
    labels = {f"{PREFIX}/enforce": "strict", f"{PREFIX}/warn-version": "1.2"}
    status = kube.refused(422, "POST", NAMESPACES, {"metadata": {"name": "n", "labels": labels}})
    assert [cause["message"] for cause in status["details"]["causes"]] == [
        'Invalid value: "strict": must be one of privileged, baseline, restricted',
        'Invalid value: "1.2": must be "latest" or "v1.x"',
    ]


def test_stricter_namespace_warns_of_violating_pods(kube: Kube) -> None:
    labelled(kube)
    for name in "ab":
        kube.ok("POST", PODS, pod(name=name, hostIPC=True))
    change = {"metadata": {"labels": {f"{PREFIX}/enforce": "baseline"}}}
    response = kube.send("PATCH", f"{NAMESPACES}/n", change, "application/merge-patch+json")
    assert warnings(response) == [
        '299 - "existing pods in namespace \\"n\\" violate the new PodSecurity enforce level \\"baseline:latest\\""',
        '299 - "a (and 1 other pod): host namespaces"',
    ]


SECURE: Object = {"securityContext": RESTRICTED}


@pytest.mark.parametrize(
    ("level", "spec", "messages"),
    [
        ("baseline", {"hostPID": True, "hostIPC": True}, "host namespaces (hostPID=true, hostIPC=true)"),
        ("baseline", {"volumes": [{"name": "v", "hostPath": {}}, {"name": "w", "hostPath": {}}]},
         'hostPath volumes (volumes "v", "w")'),
        ("baseline", {"containers": [{"name": "a", "ports": [{"hostPort": 80}, {"hostPort": 443}]}]},
         'hostPort (container "a" uses hostPorts 443, 80)'),
        ("baseline",
         {"containers": [{"name": "a", "securityContext": {"capabilities": {"add": ["NET_RAW", "CHOWN"]}}}]},
         'non-default capabilities (container "a" must not include "NET_RAW" in securityContext.capabilities.add)'),
        (
            "baseline",
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}, "sysctls": [{"name": "kernel.msgmax"}]}},
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined"), forbidden sysctls'
            " (kernel.msgmax)",
        ),
        ("baseline", {"securityContext": {"seLinuxOptions": {"type": "spc_t", "user": "u"}}},
         'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)'),
        ("baseline", {"securityContext": {"windowsOptions": {"hostProcess": True}}},
         "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)"),
        ("baseline", {"initContainers": [{"name": "a", "securityContext": {"procMount": "Unmasked"}}]},
         'procMount (container "a" must not set securityContext.procMount to "Unmasked")'),
        ("baseline", {"containers": [{"name": "a", "livenessProbe": {"httpGet": {"host": "h"}}}]},
         'probe or lifecycle host (container "a" uses probe or lifecycle host "h")'),
        ("baseline", {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
         'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")'),
        ("restricted", {"volumes": [{"name": "v", "nfs": {}}, {"name": "w", "emptyDir": {}}]},
         'restricted volume types (volume "v" uses restricted volume type "nfs")'),
        (
            "restricted",
            {"securityContext": {"runAsNonRoot": False, "runAsUser": 0}},
            "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), runAsUser=0 (pod must not set"
            " runAsUser=0)",
        ),
        (
            "restricted",
            {"containers": [{"name": "a", "securityContext": {**RESTRICTED, "capabilities": {"add": ["X"]}}}]},
            'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "a"'
            ' must not include "X" in securityContext.capabilities.add)',
        ),
        ("privileged", {"hostPID": True}, ""),
        ("restricted", {"containers": [{"name": "a", **SECURE}], "initContainers": [{"name": "b", **SECURE}]}, ""),
    ],
)  # fmt: skip
def test_each_check_reports_its_violation(level: str, spec: Object, messages: str) -> None:
    assert described(violations(level, 36, {}, spec)) == messages


def test_check_applies_from_its_release() -> None:
    spec = {"containers": [{"name": "a", "livenessProbe": {"tcpSocket": {"host": "h"}}}]}
    assert violations("baseline", 33, {}, spec) == []
    assert violations("baseline", 34, {}, spec)


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("kernel.shm_rmid_forced", 0),
        ("net.ipv4.ip_local_reserved_ports", 27),
        ("net.ipv4.tcp_fin_timeout", 29),
        ("net.ipv4.tcp_rmem", 32),
        ("net.ipv4.tcp_notsent_lowat", 37),
    ],
)
def test_setting_of_the_kernel_is_allowed_since_a_release(name: str, since: int) -> None:
    spec = {"containers": [], "securityContext": {"sysctls": [{"name": name, "value": "1"}]}}
    for minor in (26, 28, 31, 36, 37):
        assert (violations("baseline", minor, {}, spec) == []) is (minor >= since), minor


@pytest.mark.parametrize(("version", "code"), [("1.36", 403), ("1.37", 201)])
def test_latest_policy_is_that_of_the_server(version: str, code: int) -> None:
    kube = Kube(version=version)
    labels = {"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "latest"}
    kube.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n", "labels": labels}})
    settings = [{"name": "net.ipv4.tcp_slow_start_after_idle", "value": "0"}]
    spec = {"containers": [{"name": "c", "image": "i"}], "securityContext": {"sysctls": settings}}
    assert kube.send("POST", "/api/v1/namespaces/n/pods", {"metadata": {"name": "p"}, "spec": spec}).status == code
