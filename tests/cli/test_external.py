"""Third-party kinds in the API group of the project."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from clientgo.meta.yamlio import to_yaml
from tests.cli.projects import FOO, clientgo, kind, lint, new_project, read_files, rejected, run
from tests.codegen.generating import CREDENTIALS

GROUP = "samplecontroller.c9g.io"
OWN = ("create", "api", *FOO, "--resource", "--controller")
RULE = 'rbac(groups="samplecontroller.c9g.io", resources=("credentials", "credentials/status"), verbs="get")\n'


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    """CRD of another project with a kind of this group, in two versions, the second of which is that of Foo."""
    document = yaml.safe_load(CREDENTIALS.read_text().replace("credentials.example.net", GROUP))
    first = document["spec"]["versions"][0]
    document["spec"]["versions"] = [first, {**first, "name": "v1alpha1", "storage": False}]
    (file := tmp_path / "crd.yaml").write_text(to_yaml(document))
    return file


def from_crd(definition: Path, group: str, version: str = "v1") -> tuple[str, ...]:
    return ("create", "api", *kind(group, version, "Credential"), "--from-crd", str(definition), "--controller")


@pytest.mark.parametrize("group", ["samplecontroller", GROUP])
@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
@pytest.mark.parametrize("first", ["own", "external"])
def test_kind_is_external_whatever_is_created_first(
    tmp_path: Path, definition: Path, group: str, version: str, first: str
) -> None:
    project = new_project(tmp_path / "p")
    commands = [OWN, from_crd(definition, group, version)]
    for command in commands if first == "own" else reversed(commands):
        assert clientgo(project, *command) == 0
    (project / "main.py").write_text((project / "main.py").read_text() + RULE)

    assert clientgo(project, "manifests") == clientgo(project, "generate") == 0

    built = read_files(project)
    recorded = {each["kind"]: each for each in yaml.safe_load(built["PROJECT"])["resources"]}
    assert recorded["Credential"] == {
        "controller": True, "domain": "c9g.io", "external": True, "group": "samplecontroller", "kind": "Credential",
        "path": f"generated.types.samplecontroller_{version}", "version": version,
    }  # fmt: skip
    assert "class CredentialReconciler(Reconciler[Credential])" in built["controllers/credential_controller.py"]
    assert [path for path in built if path.startswith("config/crd/")] == [
        f"config/crd/bases/{GROUP}_foos.yaml",
        f"config/crd/external/{GROUP}_credentials.yaml",
        "config/crd/kustomization.yaml",
    ]
    assert "credentials" not in built["config/crd/kustomization.yaml"]
    assert "- credentials/status\n" in built["config/rbac/role.yaml"]
    assert clientgo(project, "upgrade") == 0
    assert read_files(project) == built


@pytest.mark.parametrize(("first", "owner"), [("own", "this"), ("external", "another")])
def test_versions_of_a_kind_belong_to_one_project(
    tmp_path: Path, definition: Path, capsys: pytest.CaptureFixture[str], first: str, owner: str
) -> None:
    project, version = new_project(tmp_path / "p"), kind("samplecontroller", "v1alpha1", "Credential")
    commands = {
        "own": ("create", "api", *version, "--resource", "--controller=false"),
        "external": from_crd(definition, GROUP),
    }
    assert clientgo(project, *commands.pop(first)) == 0
    error = rejected(project, capsys, *commands.popitem()[1])
    assert f"Credential of {GROUP} belongs to {owner} project with all its versions" in error


def test_group_of_the_project_can_be_given_with_its_domain(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p")
    for group, name in (("samplecontroller", "Foo"), (GROUP, "Bar")):
        flags = ("--resource", "--controller=false")
        assert clientgo(project, "create", "api", *kind(group, "v1", name), *flags) == 0
    assert clientgo(project, "create", "webhook", *kind(GROUP, "v1", "Foo"), "--defaulting") == 0
    resources = yaml.safe_load(read_files(project)["PROJECT"])["resources"]
    assert [(each["group"], each["domain"]) for each in resources] == [("samplecontroller", "c9g.io")] * 2


@pytest.mark.e2e
@pytest.mark.timeout(180)
def test_project_with_a_kind_of_others_in_its_group_passes_its_checks(
    tmp_path: Path, definition: Path, variables: Mapping[str, str]
) -> None:
    project = new_project(tmp_path / "p")
    assert clientgo(project, *from_crd(definition, "samplecontroller")) == clientgo(project, *OWN) == 0
    webhooks = ("--defaulting", "--programmatic-validation")
    assert clientgo(project, "create", "webhook", *kind(GROUP, "v1", "Credential"), *webhooks) == 0
    run(project, variables, "make", "manifests", "generate")

    lint(project, variables)
    assert "5 passed, 1 skipped" in run(project, variables, "make", "test")
    rendered = yaml.safe_load_all(run(project, variables, "kubectl", "kustomize", "config/crd"))
    assert [each["metadata"]["name"] for each in rendered] == [f"foos.{GROUP}"]
