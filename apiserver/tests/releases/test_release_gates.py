"""Feature gates of a release: defaults, settings, and the fields and kinds that depend on them."""

from typing import Any

import pytest

from apiserver.tests.inprocess import Kube, deployment
from clientgo.errors import ConfigError
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.gotypes.table import sections
from clientgo_apiserver.inmemory import InMemoryServer
from clientgo_apiserver.registry.builtin import builtin_resources
from clientgo_apiserver.releases.gates import gates_of
from clientgo_apiserver.releases.release import release_of

VERSIONS = ("1.35", "1.36", "1.37")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
LEASE: dict[str, Any] = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}
ELECTED: dict[str, Any] = {**LEASE, "spec": {"strategy": "OldestEmulationVersion", "holderIdentity": "a"}}


@pytest.mark.parametrize(("version", "count"), [("1.35", 212), ("1.36", 240), ("1.37", 258)])
def test_version_has_the_gates_of_its_server(version: str, count: int) -> None:
    assert abs(len(gates_of(version)) - count) <= 2


def test_gate_of_a_row_exists_in_the_versions_that_have_the_row() -> None:
    for version in VERSIONS:
        release = release_of(version)
        names = release.run(
            lambda: {
                gate
                for section in sections().values()
                for entry in section.types.values()
                for field in entry.fields
                if "gate" in field.options
                for gate in field.options["gate"].split(",")
            }
        )
        assert names <= gates_of(version).keys()


@pytest.mark.parametrize(
    ("version", "gates", "message"),
    [
        ("1.34", "", "unsupported Kubernetes version '1.34': expected 1.35, 1.36 or 1.37"),
        ("1.36", "NoSuchGate=true", "unrecognized feature gate: NoSuchGate"),
        ("1.35", "EmptyDirVolumeMode=true", "unrecognized feature gate: EmptyDirVolumeMode"),
        ("1.37", "HPAScaleToZero", "invalid feature gate 'HPAScaleToZero': expected NAME=true or NAME=false"),
        (
            "1.37",
            "DRADeviceTaints=false",
            "cannot set feature gate DRADeviceTaints to false, feature is locked to true",
        ),
    ],
)
def test_unusable_version_or_gate_is_an_error(version: str, gates: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        release_of(version, gates)


@pytest.mark.parametrize("text", ["1.36", "v1.36", "1.36.2", "v1.36.2+k3s1"])
def test_patch_releases_stand_for_their_minor_version(text: str) -> None:
    assert release_of(text).version == "1.36"


def test_environment_chooses_the_version(monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: TID251  # a variable
    monkeypatch.setenv("KUBERNETES_VERSION", "1.35")
    assert Kube().ok("GET", "/version")["minor"] == "35"
    assert Kube(version="1.36").ok("GET", "/version")["minor"] == "36"


def test_servers_of_several_versions_work_side_by_side() -> None:
    servers = {version: Kube(version=version) for version in VERSIONS}
    for version in (*VERSIONS, *VERSIONS):
        assert servers[version].ok("GET", "/version")["gitVersion"] == f"v{version}.0+bundled"
        code = servers[version].send("GET", "/apis/storagemigration.k8s.io/v1").status
        assert code == (200 if version == "1.37" else 404)


def test_all_alpha_gates_can_be_enabled() -> None:
    release = release_of("1.37", "AllAlpha=true,EmptyDirVolumeMode=false")
    assert release.enabled("StatefulSetRecreateStrategy")
    assert not release.enabled("EmptyDirVolumeMode")


def test_kinds_of_a_version() -> None:
    counts = {version: release_of(version).run(lambda: len([*builtin_resources()])) for version in VERSIONS}
    assert counts == {"1.35": 66, "1.36": 68, "1.37": 72}


def test_enabled_gate_keeps_fields_and_serves_its_kind() -> None:
    assert "strategy" not in Kube().ok("POST", LEASES, ELECTED)["spec"]
    kube = Kube(gates="CoordinatedLeaderElection=true")
    assert kube.ok("POST", LEASES, ELECTED)["spec"]["strategy"] == "OldestEmulationVersion"
    candidate = {"apiVersion": "coordination.k8s.io/v1beta1", "kind": "LeaseCandidate", "metadata": {"name": "c"}}
    spec = {
        "leaseName": "l",
        "binaryVersion": "1.37.0",
        "emulationVersion": "1.37.0",
        "strategy": "OldestEmulationVersion",
    }
    kube.ok("POST", "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates", {**candidate, "spec": spec})


def test_disabled_gate_drops_its_field_and_keeps_one_in_use() -> None:
    built = deployment()
    built["spec"]["template"]["spec"]["hostnameOverride"] = "h"
    path = "/apis/apps/v1/namespaces/default/deployments"
    kube = Kube(version="1.36", gates="HostnameOverride=false")
    assert "hostnameOverride" not in kube.ok("POST", path, built)["spec"]["template"]["spec"]
    assert Kube(version="1.36").ok("POST", path, built)["spec"]["template"]["spec"]["hostnameOverride"] == "h"


def test_server_in_memory_has_the_version_it_is_asked_for() -> None:
    server = InMemoryServer(FakeClock(), bare=True, version="1.35")
    assert b'"minor": "35"' in server.request("GET", "/version", {}, b"").body


@pytest.mark.parametrize(
    ("version", "gate", "api_version", "plural"),
    [
        ("1.35", "MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1beta1", "mutatingadmissionpolicies"),
        ("1.36", "ClusterTrustBundle", "certificates.k8s.io/v1beta1", "clustertrustbundles"),
        ("1.36", "DRADeviceTaintRules", "resource.k8s.io/v1beta2", "devicetaintrules"),
        ("1.36", "StorageVersionMigrator", "storagemigration.k8s.io/v1beta1", "storageversionmigrations"),
    ],
)
def test_beta_version_of_a_kind_is_served_with_its_gate(version: str, gate: str, api_version: str, plural: str) -> None:
    path = f"/apis/{api_version}/{plural}"
    assert Kube(version=version, gates=f"{gate}=true").ok("GET", path)["apiVersion"] == api_version
    assert Kube(version=version).send("GET", path).status == 404
    assert Kube(version="1.37").send("GET", path).status == 404


def test_beta_policy_changes_objects() -> None:
    kube = Kube(version="1.35", gates="MutatingAdmissionPolicy=true")
    api = "/apis/admissionregistration.k8s.io/v1beta1"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    patch = {"expression": 'Object{data: {"a": "b"}}'}
    mutations = [{"patchType": "ApplyConfiguration", "applyConfiguration": patch}]
    spec = {"reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": rules}, "mutations": mutations}
    kube.ok("POST", f"{api}/mutatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    kube.ok("POST", f"{api}/mutatingadmissionpolicybindings", {"metadata": {"name": "p"}, "spec": {"policyName": "p"}})
    path = "/api/v1/namespaces/default/configmaps"
    assert kube.ok("POST", path, {"metadata": {"name": "c"}})["data"] == {"a": "b"}
