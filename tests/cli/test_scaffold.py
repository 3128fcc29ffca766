"""New projects: files, make targets, flags, and the pod of the manager."""

import re
from collections.abc import Mapping
from fnmatch import fnmatch
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.cli.__main__ import main
from tests.cli.projects import FOO, clientgo, foo_project, kind, new_project, read_files, run

pytestmark = pytest.mark.e2e

GOLDEN = Path(__file__).parent / "golden" / "install.yaml"
IMAGE = "registry.example.com/foo:1.0.0"


@pytest.fixture(scope="module")
def foo(tmp_path_factory: pytest.TempPathFactory, variables: Mapping[str, str]) -> Path:
    """Project with Foo and its generated manifests."""
    built = foo_project(tmp_path_factory.mktemp("scaffold") / "foo")
    run(built, variables, "make", "manifests")
    return built


@pytest.mark.feature("A-60")
def test_installing_the_package_installs_the_command() -> None:
    [command] = entry_points(group="console_scripts", name="clientgo")

    assert command.load() is main


@pytest.mark.feature("A-73")
@pytest.mark.feature("E-02")
def test_create_api_adds_types_controller_test_crd_roles_and_sample(foo: Path, variables: Mapping[str, str]) -> None:
    built = read_files(foo)

    assert {
        "api/v1alpha1/__init__.py",
        "api/v1alpha1/foo_types.py",
        "controllers/foo_controller.py",
        "tests/test_foo_controller.py",
        "config/crd/bases/samplecontroller.c9g.io_foos.yaml",
        "config/rbac/foo_admin_role.yaml",
        "config/rbac/foo_editor_role.yaml",
        "config/rbac/foo_viewer_role.yaml",
        "config/rbac/role.yaml",
        "config/samples/samplecontroller_v1alpha1_foo.yaml",
    } <= built.keys()
    [version] = yaml.safe_load(built["config/crd/bases/samplecontroller.c9g.io_foos.yaml"])["spec"]["versions"]
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    conditions = properties["status"]["properties"]["conditions"]
    assert "foo" in properties["spec"]["properties"]
    assert (conditions["x-kubernetes-list-type"], conditions["x-kubernetes-list-map-keys"]) == ("map", ["type"])
    assert version["subresources"] == {"status": {}}
    for path, text in built.items():
        if path.endswith(".yaml"):
            list(yaml.safe_load_all(text))
    for folder in ("crd", "default", "manager", "network-policy", "prometheus", "rbac", "samples"):
        run(foo, variables, "kubectl", "kustomize", f"config/{folder}")


def test_readme_lists_the_folders_and_the_program(tmp_path: Path) -> None:
    project = foo_project(tmp_path / "p")
    assert clientgo(project, "create", "webhook", *FOO, "--defaulting") == 0
    assert clientgo(project, "generate") == 0
    listed = set(re.findall(r"^\| `([\w.]+)/?`", (project / "README.md").read_text(), re.MULTILINE))
    folders = {path.name for path in project.iterdir() if path.is_dir() and not path.name.startswith((".", "_"))}
    assert listed == {*folders, "main.py", "PROJECT"}


def test_formatter_leaves_generated_files_as_the_generator_writes_them(
    tmp_path: Path, variables: Mapping[str, str]
) -> None:
    project = foo_project(tmp_path / "p")
    generated, source = project / "generated/types/foo.py", project / "controllers/foo.py"
    for path in (generated, source):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("FOO = {  }\n")
    run(project, variables, "make", "fmt")
    assert (generated.read_text(), source.read_text()) == ("FOO = {  }\n", "FOO = {}\n")


@pytest.mark.feature("E-08")
def test_make_flag_runs_the_generators(tmp_path: Path, variables: Mapping[str, str]) -> None:
    project = new_project(tmp_path / "p")

    arguments = ("create", "api", *FOO, "--resource", "--controller=false", "--make")
    output = run(project, variables, "python", "-m", "clientgo.cli", *arguments)
    assert "config/crd/bases/samplecontroller.c9g.io_foos.yaml\n" in output
    assert "generated/clientset/clientset.py\n" in output
    assert "Next: make" not in output


@pytest.mark.feature("E-04")
def test_make_help_lists_every_target(foo: Path, variables: Mapping[str, str]) -> None:
    listed = set(re.findall(r"^  ([a-z0-9-]+) ", run(foo, variables, "make"), re.MULTILINE))

    assert listed == set(re.findall(r"^\.PHONY: (\S+)$", (foo / "Makefile").read_text(), re.MULTILINE))
    assert {
        *("help", "all", "manifests", "generate", "fmt", "vet", "lint", "lint-fix", "lint-config", "test"),
        *("setup-test-e2e", "test-e2e", "cleanup-test-e2e", "build", "run", "docker-build", "docker-push"),
        *("docker-buildx", "build-installer", "install", "uninstall", "deploy", "undeploy"),
    } <= listed


@pytest.mark.feature("E-04")
def test_make_targets_pass_variables_on(foo: Path, variables: Mapping[str, str]) -> None:
    def make(*arguments: str) -> str:
        return run(foo, variables, "make", "--silent", *arguments)

    make("lint-config", "build")
    image = ("CONTAINER_TOOL=echo", f"IMG={IMAGE}")
    assert make("docker-build", "docker-push", *image) == f"build --tag {IMAGE} .\npush {IMAGE}\n"
    assert make("docker-buildx", *image, "PLATFORMS=linux/s390x") == (
        f"buildx build --platform=linux/s390x --tag {IMAGE} --push .\n"
    )
    assert make("doctor", "CLIENTGO=echo", "ARGS=--context dev") == "doctor --context dev\n"
    assert make("cleanup-test-e2e", "KIND=echo") == "delete cluster --name foo-test-e2e\n"
    assert make("setup-test-e2e", "KIND=echo") == "create cluster --name foo-test-e2e\n"
    deletes = make("undeploy", "uninstall", "KUBECTL=echo", "ignore-not-found=false").splitlines()
    kinds = "crd --ignore-not-found -o name"  # of the command that lists the CRDs
    assert [line.removeprefix("delete --timeout=2m ") for line in deletes if line.startswith("delete")] == [
        f"{kinds} --all --all-namespaces",  # the manager still runs and removes its finalizers
        "--ignore-not-found=false -f -",
        "--ignore-not-found=false -k config/crd",
        f"{kinds} --all --all-namespaces",
        "--ignore-not-found=false -k config/crd",
    ]


@pytest.mark.parametrize("webhooks", [False, True], ids=["no webhooks", "webhooks"])
@pytest.mark.parametrize("local", [False, True], ids=["cluster of kubectl", "local cluster"])
def test_every_recipe_is_valid_shell(
    tmp_path: Path, variables: Mapping[str, str], *, webhooks: bool, local: bool
) -> None:
    project = foo_project(tmp_path / "p")
    if webhooks:
        assert clientgo(project, "create", "webhook", *FOO, "--defaulting") == 0
    if local:
        (project / ".local/webhooks").mkdir(parents=True)
        (project / ".local/webhooks/port").write_text("9443")
        (project / ".kubeconfig").touch()
    for target in re.findall(r"^\.PHONY: (\S+)$", (project / "Makefile").read_text(), re.MULTILINE):
        run(project, variables, "sh", "-n", answers=run(project, variables, "make", "--dry-run", target))

    installed = run(project, variables, "make", "--silent", "install", "KUBECTL=echo").splitlines()
    crds = "apply --server-side --force-conflicts -k config/crd"
    hooks = "apply --server-side --force-conflicts -f config/webhook/manifests.yaml"
    assert [line for line in installed if "apply" in line] == [crds, *([hooks] if webhooks and local else [])]


@pytest.mark.feature("A-69")
def test_image_runs_as_an_unprivileged_user(tmp_path: Path, variables: Mapping[str, str]) -> None:
    project = new_project(tmp_path / "p")
    lines = (project / "Dockerfile").read_text().splitlines()

    assert "USER 65532:65532" in lines
    assert lines[-1] == 'ENTRYPOINT ["/opt/venv/bin/python", "main.py"]'
    run(project, variables, "hadolint", "Dockerfile")


@pytest.mark.parametrize("path", ["main.py", "settings/model.py", "controllers/page.html", "hack/install.sh"])
def test_image_has_the_code_of_all_packages(tmp_path: Path, path: str) -> None:
    assert is_sent(new_project(tmp_path / "p"), path)


# An allow-list keeps secrets out of the image.
@pytest.mark.parametrize(
    "path", ["token", ".env", ".git/hook.py", ".venv/a.py", "venv/lib/site-packages/a.py", "tests/a.py", "hack/a.sh"]
)
def test_image_has_neither_tests_nor_other_files(tmp_path: Path, path: str) -> None:
    assert not is_sent(new_project(tmp_path / "p"), path)


def is_sent(project: Path, path: str) -> bool:
    """Return whether .dockerignore admits a file: the last pattern that matches it or a folder above it decides."""
    sent = True
    for line in (project / ".dockerignore").read_text().splitlines():
        folder, _, name = line.removeprefix("!").rpartition("/")
        above = [each for each in (Path(path), *Path(path).parents) if fnmatch(each.name, name) and each.name]
        if not line.startswith("#") and any(folder in ("**", str(each.parent).strip(".")) for each in above):
            sent = line.startswith("!")
    return sent


@pytest.mark.feature("A-70")
@pytest.mark.feature("A-71")
@pytest.mark.feature("A-72")
def test_installer_manifest_matches_the_golden_file(foo: Path, variables: Mapping[str, str]) -> None:
    """Compare with tests/cli/golden.

    After an intended change, copy the file of the message there, without descriptions of conditions, and review it.
    """
    run(foo, variables, "make", "build-installer", f"IMG={IMAGE}")

    built = foo / "dist" / "install.yaml"
    assert without_descriptions_of_conditions(built.read_text()) == GOLDEN.read_text(), f"{built} is not {GOLDEN}"


def without_descriptions_of_conditions(manifest: str) -> str:
    """Remove the descriptions below `conditions`: they are Kubernetes', from the installed `kubernetes` package."""
    return re.sub(r"^( {18,})description: .*\n(?:\1 +.*\n)*", "", manifest, flags=re.MULTILINE)


def manager_container() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the pod of the Deployment in the golden file, and its only container."""
    [deployment] = [item for item in yaml.safe_load_all(GOLDEN.read_text()) if item["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    [only] = pod["containers"]
    return pod, only


@pytest.mark.feature("E-06")
def test_manager_pod_has_probes_limits_and_a_restricted_security_context() -> None:
    pod, manager = manager_container()

    assert manager["args"] == ["--metrics-bind-address=:8443", "--leader-elect", "--health-probe-bind-address=:8081"]
    for name, path, delay, period in (("livenessProbe", "/healthz", 15, 20), ("readinessProbe", "/readyz", 5, 10)):
        probe = manager[name]
        assert probe["httpGet"]["path"] == path
        assert (probe["initialDelaySeconds"], probe["periodSeconds"]) == (delay, period)
    assert manager["resources"] == {
        "limits": {"cpu": "500m", "memory": "512Mi"},
        "requests": {"cpu": "10m", "memory": "64Mi"},
    }
    assert manager["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 65532)
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["serviceAccountName"] == "foo-controller-manager"


@pytest.mark.feature("E-06")
def test_manager_roles_allow_leader_election_and_metrics_authorization() -> None:
    rules = {
        (item["kind"], item["metadata"]["name"]): {tuple(rule.get("resources", ())) for rule in item["rules"]}
        for item in yaml.safe_load_all(GOLDEN.read_text())
        if item["kind"] in ("Role", "ClusterRole")
    }

    assert rules["Role", "foo-leader-election-role"] == {("leases",), ("events",)}
    assert rules["ClusterRole", "foo-metrics-auth-role"] == {("tokenreviews",), ("subjectaccessreviews",)}


@pytest.mark.feature("E-05")
def test_manager_has_the_kubebuilder_flags(foo: Path, variables: Mapping[str, str]) -> None:
    output = run(foo, variables, "python", "main.py", "--help")

    for flag in (
        *("--metrics-bind-address", "--health-probe-bind-address", "--leader-elect", "--metrics-secure"),
        *("--metrics-cert-path", "--kubeconfig", "--log-level", "--log-format"),
    ):
        assert flag in output
    assert re.search(r'leader_elect_resource_name="[0-9a-f]{8}\.c9g\.io"', (foo / "main.py").read_text())


@pytest.mark.feature("A-71")
@pytest.mark.feature("C-40")
def test_optional_manifests_render_when_uncommented(tmp_path: Path, variables: Mapping[str, str]) -> None:
    project = new_project(tmp_path / "p")
    for path in ("config/default/kustomization.yaml", "config/prometheus/kustomization.yaml"):
        file = project / path
        file.write_text(re.sub(r"^#(-|patches|  target|    kind)", r"\1", file.read_text(), flags=re.MULTILINE))

    objects = list(yaml.safe_load_all(run(project, variables, "kubectl", "kustomize", "config/default")))
    [monitor] = [item for item in objects if item["kind"] == "ServiceMonitor"]
    assert monitor["metadata"]["namespace"] == "foo-system"
    service = "foo-controller-manager-metrics-service"
    assert monitor["spec"]["endpoints"][0]["tlsConfig"]["serverName"] == f"{service}.foo-system.svc"
    assert any(entry["kind"] == "Service" and entry["metadata"]["name"] == service for entry in objects)
    assert any(element["kind"] == "NetworkPolicy" for element in objects)


def test_completion_for_an_unknown_shell_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        clientgo(tmp_path, "completion", "powershell")


def test_names_that_yaml_would_convert_are_quoted(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p", name="on")
    assert clientgo(project, "create", "api", *kind("a", "v1", "Y"), "--resource", "--controller") == 0

    plain = {
        (file.name, event.value)
        for file in [*project.rglob("*.yaml"), project / "PROJECT"]
        for event in yaml.parse(file.read_text())
        if isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value in ("on", "Y")
    }
    assert plain == set()
    assert yaml.safe_load((project / "config/samples/a_v1_y.yaml").read_text())["kind"] == "Y"
