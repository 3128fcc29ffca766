"""Controllers of built-in kinds, and several controllers for one kind."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from clientgo.cli.project import Project
from clientgo.meta.objects import LAST_APPLIED
from clientgo.meta.yamlio import to_yaml
from tests.cli.projects import FOO, clientgo, foo_project, kind, new_project, read_files, rejected, run
from tests.codegen.generating import CREDENTIALS

DEPLOYMENT = kind("apps", "v1", "Deployment")
THEIRS = kind("credentials.example.net", "v1", "Credential")
SECOND = ("--resource=false", "--controller", "--controller-name", "backup")


@pytest.mark.feature("E-07")
@pytest.mark.feature("E-08")
def test_controller_of_a_built_in_kind_has_no_types(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p")

    assert clientgo(project, "create", "api", *DEPLOYMENT, "--controller") == 0

    built = read_files(project)
    assert "from clientgo.kubernetes.types.apps_v1 import Deployment\n" in built["controllers/deployment_controller.py"]
    assert "config/samples/apps_v1_deployment.yaml" not in built
    assert "api/v1/deployment_types.py" not in built
    assert yaml.safe_load(built["PROJECT"])["resources"] == [
        {
            "controller": True, "core": True, "group": "apps", "kind": "Deployment",
            "path": "clientgo.kubernetes.types.apps_v1", "version": "v1",
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "group"),
    [
        (kind("core", "v1", "ConfigMap"), "core"),
        (kind("networking", "v1", "Ingress"), "networking.k8s.io"),
        (kind("networking.k8s.io", "v1", "Ingress"), "networking.k8s.io"),
    ],
)
def test_built_in_group_can_be_abbreviated(tmp_path: Path, arguments: tuple[str, ...], group: str) -> None:
    project = new_project(tmp_path / "p")

    assert clientgo(project, "create", "api", *arguments, "--controller") == 0
    [resource] = Project.read(project).resources
    assert (resource.whole_group, resource.core) == (group, True)


@pytest.mark.parametrize(
    ("arguments", "rules"),
    [
        (kind("core", "v1", "ConfigMap"), ["configmaps"]),
        (kind("rbac", "v1", "Role"), ["roles"]),
        (DEPLOYMENT, ["deployments", "deployments/status"]),
    ],
)
def test_role_has_the_status_of_kinds_that_have_one(
    tmp_path: Path, arguments: tuple[str, ...], rules: list[str]
) -> None:
    project = new_project(tmp_path / "p")
    assert clientgo(project, "create", "api", *arguments, "--controller") == 0
    assert clientgo(project, "manifests") == 0
    built = read_files(project)
    [role] = yaml.safe_load_all(built["config/rbac/role.yaml"])
    assert [rule["resources"] for rule in role["rules"] if rule["resources"] != ["events"]] == [
        [each] for each in rules
    ]
    assert clientgo(project, "upgrade") == 0
    assert read_files(project) == built


def test_role_has_no_status_of_a_third_party_kind_without_one(tmp_path: Path) -> None:
    definition = yaml.safe_load(CREDENTIALS.read_text())
    for version in definition["spec"]["versions"]:
        version.pop("subresources", None)
    file = tmp_path / "crds.yaml"
    file.write_text(to_yaml(definition))
    project = new_project(tmp_path / "p")
    assert clientgo(project, "create", "api", *FROM_CRD[:-1], str(file)) == 0
    built = read_files(project)
    assert "status" not in built["controllers/credential_controller.py"]
    assert clientgo(project, "upgrade") == 0
    assert read_files(project) == built


def test_custom_kind_can_have_the_name_of_a_built_in_kind(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p")

    assert clientgo(project, "create", "api", *DEPLOYMENT, "--resource", "--controller=false") == 0
    assert (project / "api/v1/deployment_types.py").exists()


@pytest.mark.feature("C-40")
@pytest.mark.feature("E-07")
def test_kind_can_have_several_controllers(tmp_path: Path) -> None:
    project = foo_project(tmp_path / "p")

    assert clientgo(project, "create", "api", *FOO, *SECOND) == 0

    built = read_files(project)
    added = "    manager.add_reconciler(FooReconciler)\n    manager.add_reconciler(FooBackupReconciler)"
    assert added in built["main.py"]
    assert 'class FooBackupReconciler(Reconciler[Foo], name="backup"):' in built["controllers/foo_backup_controller.py"]
    [resource] = yaml.safe_load(built["PROJECT"])["resources"]
    assert resource["controllers"] == [{"name": "foo"}, {"name": "backup"}]
    assert [item.named for item in Project.read(project).resources] == [["backup"]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*FOO, *SECOND), "Foo of samplecontroller.c9g.io/v1alpha1 already has a controller backup"),
        ((*DEPLOYMENT, *SECOND), "the controller name backup is already used for Foo: choose another name"),
        ((*FOO[:4], "--kind", "FooBackup", "--resource", "--controller"), "has the class FooBackupReconciler"),
        ((*DEPLOYMENT, "--controller", "--controller-name", "Foo_"), "invalid controller name 'Foo_'"),
        ((*kind("core", "v1", "Pod"), "--resource"), "the project has the group"),
        ((*kind("apps", "v1", "Nothing"), *SECOND), "Nothing of apps/v1 has no types"),
        ((*THEIRS, *SECOND), "with --from-crd FILE"),
        (kind("apps", "v2", "Deployment"), "did you mean Deployment of apps/v1?"),
        (kind("apps", "v1", "Deploymet"), "did you mean Deployment of apps/v1?"),
        ((*kind("core", "v1", "Pods"), *SECOND), "did you mean Pod of v1?"),
        (kind("networking", "v1", "Ingres"), "did you mean Ingress of networking"),
    ],
)
def test_duplicate_controllers_and_unknown_kinds_are_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    project = foo_project(tmp_path / "p")
    assert clientgo(project, "create", "api", *FOO, *SECOND) == 0
    assert expected in rejected(project, capsys, "create", "api", *arguments)


def test_built_in_kind_gets_no_types_and_is_not_a_project_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = foo_project(tmp_path / "p")
    assert clientgo(project, "create", "api", *DEPLOYMENT, "--controller") == 0
    before = read_files(project)

    assert "Deployment is not defined in this project: its types cannot be scaffolded" in rejected(
        project, capsys, "create", "api", *DEPLOYMENT, "--resource", "--controller=false"
    )
    assert clientgo(project, "edit", "--multigroup") == clientgo(project, "edit", "--multigroup=false") == 0
    assert read_files(project) == before


FROM_CRD = (*THEIRS, "--resource=false", "--controller", "--from-crd", str(CREDENTIALS))


def test_third_party_kind_is_recorded_as_external_beside_the_group_of_the_project(tmp_path: Path) -> None:
    project = foo_project(tmp_path / "p")

    assert clientgo(project, "create", "api", *FROM_CRD) == 0

    built = read_files(project)
    definition = "config/crd/external/credentials.example.net_credentials.yaml"
    assert yaml.safe_load(built[definition])["spec"]["names"]["kind"] == "Credential"
    assert yaml.safe_load(built["hack/generate.yaml"])["outputs"][0]["from-crd"] == [definition]
    assert yaml.safe_load(built["PROJECT"])["resources"][1] == {
        "controller": True, "external": True, "group": "credentials.example.net", "kind": "Credential",
        "path": "generated.types.credentials_v1", "version": "v1",
    }  # fmt: skip


@pytest.mark.parametrize("form", ["several documents", "list"])
def test_definition_is_copied_without_conversion_and_status(tmp_path: Path, form: str) -> None:
    definition = yaml.safe_load(CREDENTIALS.read_text())
    definition["status"] = {"conditions": []}
    approval = {"api-approved.kubernetes.io": "https://example.com/pull/1"}
    definition["metadata"] |= {"uid": "1", "annotations": {**approval, LAST_APPLIED: "{}"}, "labels": {"a": "b"}}
    definition["spec"]["conversion"] = {"strategy": "Webhook"}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}
    objects = [other, definition]
    file = tmp_path / "crds.yaml"
    file.write_text("---\n".join(map(to_yaml, [{"kind": "List", "items": objects}] if form == "list" else objects)))

    project = new_project(tmp_path / "p")
    assert clientgo(project, "create", "api", *FROM_CRD[:-1], str(file)) == 0

    copied = yaml.safe_load(read_files(project)["config/crd/external/credentials.example.net_credentials.yaml"])
    assert copied.keys() == {"apiVersion", "kind", "metadata", "spec"}
    name = "credentials.credentials.example.net"
    assert copied["metadata"] == {"name": name, "labels": {"a": "b"}, "annotations": approval}
    assert copied["spec"] == {name: part for name, part in definition["spec"].items() if name != "conversion"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*FROM_CRD[:-1], "nowhere.yaml"), "--from-crd nowhere.yaml: cannot read the file"),
        ((*FROM_CRD[:-1], "PROJECT"), "--from-crd PROJECT:1: no CustomResourceDefinition"),
        ((*FROM_CRD, "--version", "v2"), "it has credentials.example.net/v1, Kind=Credential"),
        ((*FROM_CRD, "--version", ""), "--from-crd needs --group, --version and --kind: "),
        ((*FROM_CRD, "--resource"), "--from-crd generates the types of a third-party kind: omit --resource"),
    ],
)
def test_invalid_definition_is_rejected_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    project = foo_project(tmp_path / "p")
    assert expected in rejected(project, capsys, "create", "api", *arguments)


def test_webhooks_of_third_party_kinds_reject_writes_while_they_are_down(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p")
    assert clientgo(project, "create", "api", *FROM_CRD) == 0
    assert clientgo(project, "create", "webhook", *THEIRS, "--defaulting", "--programmatic-validation") == 0
    assert clientgo(project, "manifests") == 0
    configurations = yaml.safe_load_all(read_files(project)["config/webhook/manifests.yaml"])
    policies = [hook.get("failurePolicy", "Fail") for each in configurations for hook in each["webhooks"]]
    assert policies == ["Fail", "Fail"]


def test_group_with_the_generated_modules_of_a_third_party_group_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = new_project(tmp_path / "p")
    assert clientgo(project, "create", "api", *FROM_CRD) == 0

    local = (*kind("credentials", "v1", "Foo"), "--resource", "--controller")
    error = rejected(project, capsys, "create", "api", *local)
    assert "credentials and credentials.example.net map to the same Python package" in error


@pytest.mark.e2e
@pytest.mark.timeout(180)
@pytest.mark.feature("E-08")
def test_project_with_only_built_in_kinds_passes_its_checks(tmp_path: Path, variables: Mapping[str, str]) -> None:
    project = new_project(tmp_path / "p")
    for more in ((), ("--controller-name", "scaler")):
        assert clientgo(project, "create", "api", *DEPLOYMENT, "--controller", *more) == 0
    every = ("--defaulting", "--programmatic-validation")
    assert clientgo(project, "create", "webhook", *kind("core", "v1", "Pod"), *every) == 0

    assert "config/rbac/role.yaml" in run(project, variables, "make", "manifests")
    run(project, variables, "ruff", "check", "--no-cache")
    run(project, variables, "ruff", "format", "--no-cache", "--check")
    assert "5 passed" in run(project, variables, "make", "test")
    rendered = run(project, variables, "kubectl", "kustomize", "config/default")
    assert rendered.count("failurePolicy: Ignore\n") == 2
    assert "- deployments\n" in rendered
