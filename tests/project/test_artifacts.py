"""The manifests are valid, and agree with each other, with the repository and with the program."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from clientgo.meta.yamlio import to_yaml
from tests.project.manifests import (
    ARTIFACTS,
    NAME,
    NAMESPACE,
    OVERLAYS,
    ROOT,
    Object,
    container,
    documents,
    gathered,
    grants,
    named,
    pod,
    rendered,
)

CLUSTER_SCOPED = {"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}


@pytest.fixture(scope="module")
def default() -> list[Object]:
    """Return everything that `make deploy` applies, read from the files."""
    return gathered(ARTIFACTS / "default")


def label(obj: Object) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


@pytest.mark.parametrize("path", sorted(ARTIFACTS.rglob("*.yaml")), ids=lambda path: str(path.relative_to(ARTIFACTS)))
def test_file_is_yaml_and_holds_objects(path: Path) -> None:
    objects = documents(path)
    assert objects
    assert all(document["apiVersion"] and document["kind"] for document in objects)


@pytest.mark.e2e
def test_kubectl_renders_the_same_objects_we_list(default: list[Object]) -> None:
    assert sorted(rendered("default"), key=label) == sorted(default, key=label)


def test_every_manifest_is_used_by_its_folder_s_kustomization() -> None:
    """A file that no kustomization lists is never applied."""
    for folder in {path.parent for path in ARTIFACTS.rglob("kustomization.yaml")}:
        [kustomization] = documents(folder / "kustomization.yaml")
        files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert files == {name for name in kustomization["resources"] if not name.startswith("..")}, folder


@pytest.mark.e2e
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_another_namespace_is_one_line(overlay: str, tmp_path: Path) -> None:
    shutil.copytree(ARTIFACTS, tmp_path / "artifacts")
    (mine := tmp_path / "artifacts" / "mine").mkdir()
    (mine / "kustomization.yaml").write_text(f"namespace: team-a\nresources: [../{overlay}]\n")
    objects = rendered(mine)
    assert named(objects, "Namespace", "team-a")
    assert {each["metadata"]["namespace"] for each in objects if each["kind"] not in CLUSTER_SCOPED} == {"team-a"}
    subjects = [subject for each in objects for subject in each.get("subjects", ())]
    assert subjects == [{"kind": "ServiceAccount", "name": NAME, "namespace": "team-a"}] * len(subjects)


@pytest.mark.e2e
def test_set_ups_of_one_s_own_render_as_the_page_shows_them(tmp_path: Path) -> None:
    shutil.copytree(ARTIFACTS, tmp_path / "artifacts")
    displayed = re.findall(
        r"^```yaml\n(.*?)^```$", (ROOT / "artifacts" / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert len(displayed) == 2
    for at, block in enumerate(displayed):
        (mine := tmp_path / f"mine-{at}").mkdir()
        over = {"resources": ["../artifacts/default"], **yaml.safe_load(block)}
        (mine / "kustomization.yaml").write_text(to_yaml(over))
    assert container(rendered(tmp_path / "mine-0"))["image"] == "registry.example.com/team/sample-controller:1.0"
    secured = rendered(tmp_path / "mine-1")
    [folder] = [mount["mountPath"] for mount in container(secured)["volumeMounts"]]
    assert f"--metrics-cert-dir={folder}" in container(secured)["args"]
    assert [volume["name"] for volume in pod(secured)["spec"]["volumes"]] == ["certs"]


@pytest.mark.e2e
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_binding_leads_from_the_pod_s_account_to_a_role_that_is_there(overlay: str) -> None:
    objects = rendered(overlay)
    existing = {label(each) for each in objects}
    bindings = [each for each in objects if each["kind"].endswith("Binding")]
    assert len(bindings) == 3
    for binding in bindings:
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in existing
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}]
    assert ("ServiceAccount", pod(objects)["spec"]["serviceAccountName"]) in existing


@pytest.mark.e2e
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_all_pod_selectors_select_the_controller(overlay: str) -> None:
    objects = rendered(overlay)
    labels = pod(objects)["metadata"]["labels"].items()
    selectors: list[dict[str, str]] = [
        named(objects, "Deployment")["spec"]["selector"]["matchLabels"],
        named(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        named(objects, "NetworkPolicy", "allow-metrics-traffic")["spec"]["podSelector"]["matchLabels"],
        named(objects, "Service", f"{NAME}-metrics")["spec"]["selector"],
        *(each["labelSelector"]["matchLabels"] for each in pod(objects)["spec"]["topologySpreadConstraints"]),
    ]
    assert [selector for selector in selectors if not selector or not selector.items() <= labels] == []


def test_monitor_finds_the_service_and_its_port(default: list[Object]) -> None:
    spec = named(documents(ARTIFACTS / "prometheus" / "monitor.yaml"), "ServiceMonitor", f"{NAME}-metrics")["spec"]
    service = named(default, "Service", f"{NAME}-metrics")
    assert spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert {each["port"] for each in spec["endpoints"]} <= {port["name"] for port in service["spec"]["ports"]}
    reader = named(default, "ClusterRole", f"{NAME}-metrics-reader")
    assert {"nonResourceURLs": [spec["endpoints"][0]["path"]], "verbs": ["get"]} in reader["rules"]


@pytest.mark.e2e
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_port_that_is_named_is_one_the_program_listens_at(overlay: str) -> None:
    objects = rendered(overlay)
    ports = {port["name"]: port["containerPort"] for port in container(objects)["ports"]}
    requested = [container(objects)[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")]
    requested += [port["targetPort"] for port in named(objects, "Service", f"{NAME}-metrics")["spec"]["ports"]]
    policy = named(objects, "NetworkPolicy", "allow-metrics-traffic")["spec"]["ingress"]
    requested += [port["port"] for rule in policy for port in rule["ports"]]
    assert set(requested) == set(ports)
    listening = re.findall(r"--(\w+-?\w+)-bind-address=:(\d+)", " ".join(container(objects)["args"]))
    assert {(name, int(port)) for name, port in listening} == {
        ("health-probe", ports["health"]),
        ("metrics", ports["https"]),
    }


@pytest.mark.e2e
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_argument_is_a_flag_of_the_program(overlay: str) -> None:
    stdout = subprocess.run(
        [sys.executable, "main.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    ).stdout
    flags = set(re.findall(r"(--[a-z][a-z-]+)", stdout))
    arguments = container(rendered(overlay))["args"]
    assert [argument for argument in arguments if argument.partition("=")[0] not in flags] == []


def test_one_works_and_one_stands_by_and_an_upgrade_leaves_no_gap(default: list[Object]) -> None:
    spec = named(default, "Deployment")["spec"]
    assert spec["replicas"] == 2
    assert "--leader-elect" in container(default)["args"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spread = pod(default)["spec"]["topologySpreadConstraints"]
    assert {each["whenUnsatisfiable"] for each in spread} == {"ScheduleAnyway"}


def test_budget_allows_drains_for_any_number_of_replicas(default: list[Object]) -> None:
    spec = named(default, "PodDisruptionBudget")["spec"]
    assert (spec["maxUnavailable"], spec["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")


@pytest.mark.e2e
def test_sharded_members_all_work() -> None:
    objects = rendered("sharded")
    arguments = container(objects)["args"]
    assert f"--shard-count={named(objects, 'Deployment')['spec']['replicas']}" in arguments
    assert f"--shard-lease-prefix={NAME}" in arguments
    assert "--leader-elect" not in arguments
    remainder = set(container(rendered("default"))["args"]) - {"--leader-elect"}
    assert remainder <= set(arguments)
    leases = {name for _, _, name, _ in grants(named(objects, "Role", f"{NAME}-leader-election"))} - {""}
    assert leases == {f"{NAME}-{member}" for member in range(named(objects, "Deployment")["spec"]["replicas"])}


@pytest.mark.e2e
def test_namespaced_controller_has_no_right_over_foos_elsewhere() -> None:
    """The same rules in one namespace; cluster-scoped are only token reviews."""
    objects, everywhere = rendered("namespaced"), rendered("default")
    assert named(objects, "Role")["rules"] == named(everywhere, "ClusterRole")["rules"]
    assert named(objects, "RoleBinding")["roleRef"]["kind"] == "Role"
    bound = [each["roleRef"]["name"] for each in objects if each["kind"] == "ClusterRoleBinding"]
    assert bound == [f"{NAME}-metrics-auth"]
    assert "--namespace=$(POD_NAMESPACE)" in container(objects)["args"]
    [variable] = container(objects)["env"]
    assert variable == {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}


def test_image_is_the_one_make_builds_and_deploy_replaces(default: list[Object]) -> None:
    makefile = (ROOT / "Makefile").read_text()
    [image] = re.findall(r"^IMG \?= (\S+)$", makefile, re.MULTILINE)
    assert container(default)["image"] == image
    assert f"s|image: {image}|image: $(IMG)|" in makefile


def test_pod_and_image_run_as_the_same_user(default: list[Object]) -> None:
    context = pod(default)["spec"]["securityContext"]
    assert f"\nUSER {context['runAsUser']}:{context['runAsGroup']}\n" in (ROOT / "Dockerfile").read_text()


@pytest.mark.feature("E-06")
def test_pod_has_limits_and_time_to_end(default: list[Object]) -> None:
    assert container(default)["resources"] == {
        "limits": {"cpu": "500m", "memory": "512Mi"},
        "requests": {"cpu": "10m", "memory": "64Mi"},
    }
    # --graceful-shutdown-timeout is 30 s.
    assert pod(default)["spec"]["terminationGracePeriodSeconds"] > 30


def test_token_is_given_to_the_pod_that_asks_and_to_no_other(default: list[Object]) -> None:
    assert named(default, "ServiceAccount")["automountServiceAccountToken"] is False
    assert pod(default)["spec"]["automountServiceAccountToken"] is True
