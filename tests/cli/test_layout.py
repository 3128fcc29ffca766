"""Project layouts: several groups, one namespace, and the boilerplate of generated files."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.cli.projects import FOO, clientgo, foo_project, kind, new_project, read_files, rejected, run

FRIGATE = kind("ship-yard", "v1", "Frigate")
BOTH = ("--resource", "--controller")
BACKUP = ("--resource=false", "--controller", "--controller-name", "backup")


def project_file(project: Path) -> dict[str, object]:
    document = yaml.safe_load((project / "PROJECT").read_text())
    assert isinstance(document, dict)
    return document


@pytest.mark.feature("A-62")
@pytest.mark.feature("E-07")
def test_multigroup_kinds_are_in_folders_per_group(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p", "--multigroup")
    assert clientgo(project, "create", "api", *FOO, *BOTH) == 0
    assert clientgo(project, "create", "api", *FRIGATE, *BOTH) == 0
    assert clientgo(project, "create", "webhook", *FRIGATE, "--defaulting") == 0

    built = read_files(project)
    assert {
        "api/samplecontroller/v1alpha1/foo_types.py",
        "api/ship_yard/v1/frigate_types.py",
        "controllers/ship_yard/frigate_controller.py",
        "webhooks/ship_yard/v1/frigate_defaulter.py",
        "tests/ship_yard/test_frigate_controller.py",
        "config/samples/ship-yard_v1_frigate.yaml",
    } <= built.keys()
    assert "from controllers.ship_yard.frigate_controller import FrigateReconciler\n" in built["main.py"]
    document = project_file(project)
    assert document["multigroup"] is True
    assert [item["path"] for item in document["resources"]] == [  # type: ignore[attr-defined]
        "api.samplecontroller.v1alpha1",
        "api.ship_yard.v1",
    ]


@pytest.mark.feature("E-08")
def test_enabling_multigroup_moves_no_existing_file(tmp_path: Path) -> None:
    project = foo_project(tmp_path / "p")
    before = read_files(project)

    assert clientgo(project, "edit", "--multigroup") == 0
    assert clientgo(project, "edit", "--multigroup") == 0
    assert {path for path, text in read_files(project).items() if before.get(path) != text} == {"PROJECT"}

    assert clientgo(project, "create", "api", *FRIGATE, *BOTH) == 0
    # Another version of an existing kind is placed beside it, because both share a controller.
    newer = kind("samplecontroller", "v1", "Foo")
    assert clientgo(project, "create", "api", *newer, "--resource", "--controller=false") == 0
    types = {"api/v1alpha1/foo_types.py", "api/v1/foo_types.py", "api/ship_yard/v1/frigate_types.py"}
    assert types <= read_files(project).keys()


@pytest.mark.parametrize(
    ("first", "arguments", "expected"),
    [
        ("Foo", FRIGATE, "run clientgo edit --multigroup to allow others"),
        ("Deployment", kind("apps", "v1", "Deployment"), "choose another name, or run"),
    ],
)
def test_conflicting_kinds_are_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], first: str, arguments: tuple[str, ...], expected: str
) -> None:
    project = new_project(tmp_path / "p")
    assert clientgo(project, "create", "api", *FOO[:-1], first, *BOTH) == 0

    flags = BOTH[1:] if first == "Deployment" else BOTH
    assert expected in rejected(project, capsys, "create", "api", *arguments, *flags)


def test_kinds_of_one_name_in_several_groups_have_files_and_names_of_their_own(tmp_path: Path) -> None:
    project = foo_project(tmp_path / "p")
    assert clientgo(project, "edit", "--multigroup") == 0
    before = read_files(project)
    second = kind("ship-yard", "v1alpha1", "Foo")
    assert clientgo(project, "create", "api", *second, *BOTH) == 0
    assert clientgo(project, "create", "api", *second, *BACKUP) == 0
    newer = kind("ship-yard", "v1", "Foo")
    assert clientgo(project, "create", "api", *newer, "--resource", "--controller=false") == 0
    for each in (FOO, second):
        assert clientgo(project, "create", "webhook", *each, "--defaulting") == 0
    assert clientgo(project, "create", "webhook", *newer, "--conversion") == 0

    built = read_files(project)
    assert [path for path in before if "foo" in path and built[path] != before[path]] == []
    controller = built["controllers/ship_yard/foo_controller.py"]
    assert 'class FooShipYardReconciler(Reconciler[Foo], name="foo-ship-yard"):' in controller
    assert "manager.add_reconciler(FooShipYardBackupReconciler)\n" in built["main.py"]
    assert "- ship-yard.c9g.io_foo_editor_role.yaml\n" in built["config/rbac/kustomization.yaml"]
    assert "config/crd/patches/webhook_in_ship-yard.c9g.io_foos.yaml" in built
    assert clientgo(project, "upgrade") == 0
    assert read_files(project) == built


def test_groups_that_map_to_one_package_are_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = new_project(tmp_path / "p")
    assert clientgo(project, "edit", "--multigroup") == 0
    assert clientgo(project, "create", "api", *FRIGATE, *BOTH) == 0

    error = rejected(project, capsys, "create", "api", *kind("ship.yard", "v1", "Dinghy"), *BOTH)
    assert "the groups ship.yard and ship-yard map to the same Python package" in error


def test_invalid_edit_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = new_project(tmp_path / "p")
    assert "give --multigroup, --namespaced, or both" in rejected(project, capsys, "edit")

    assert clientgo(project, "edit", "--multigroup", "--namespaced") == 0
    assert clientgo(project, "create", "api", *FOO, *BOTH) == 0
    assert clientgo(project, "create", "api", *FRIGATE, *BOTH) == 0
    error = rejected(project, capsys, "edit", "--multigroup=false")
    assert "cannot disable multigroup: the project has 2 groups (samplecontroller, ship-yard)" in error
    assert "remove role-namespace from hack/manifests.yaml" in rejected(project, capsys, "edit", "--namespaced=false")


@pytest.mark.feature("C-40")
@pytest.mark.feature("E-08")
def test_namespaced_project_is_the_same_by_init_or_edit(tmp_path: Path) -> None:
    at_once, later = new_project(tmp_path / "a", "--namespaced"), new_project(tmp_path / "b")
    for folder in (at_once, later):
        assert clientgo(folder, "create", "api", *FOO, *BOTH) == 0
        assert clientgo(folder, "create", "webhook", *FOO, "--defaulting", "--programmatic-validation") == 0
    assert clientgo(later, "edit", "--namespaced") == 0

    trees = [
        {path: sorted(text.splitlines()) for path, text in read_files(folder).items() if path[0] != "."}
        for folder in (at_once, later)
    ]
    assert trees[0] == trees[1]
    assert project_file(later)["namespaced"] is True
    assert yaml.safe_load((later / "config/rbac/role_binding.yaml").read_text())["kind"] == "RoleBinding"
    deployment = list(yaml.safe_load_all((later / "config/manager/manager.yaml").read_text()))[1]
    [variable] = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    assert variable["name"] == "WATCH_NAMESPACE"


@pytest.mark.e2e
@pytest.mark.timeout(180)
@pytest.mark.feature("A-71")
def test_multigroup_namespaced_project_passes_its_checks(tmp_path: Path, variables: Mapping[str, str]) -> None:
    project = new_project(tmp_path / "p", "--multigroup", "--namespaced", name="p")
    assert clientgo(project, "create", "api", *FOO, *BOTH) == 0
    assert clientgo(project, "create", "api", *FRIGATE, *BOTH) == 0
    assert clientgo(project, "create", "webhook", *FRIGATE, "--defaulting", "--programmatic-validation") == 0
    run(project, variables, "make", "manifests", "generate")

    run(project, variables, "ruff", "check", "--no-cache")
    run(project, variables, "ruff", "format", "--no-cache", "--check")
    assert "5 passed, 2 skipped" in run(project, variables, "python", "-m", "pytest")
    rendered = list(yaml.safe_load_all(run(project, variables, "kubectl", "kustomize", "config/default")))
    [namespace] = [item for item in rendered if item["kind"] == "Namespace"]
    # Workloads of the controllers run in the same namespace and need not meet the profile of the manager's pod.
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"
    roles = {(entry["kind"], entry["metadata"]["name"]) for entry in rendered}
    assert ("Role", "p-manager-role") in roles
    assert ("RoleBinding", "p-manager-rolebinding") in roles
    assert ("ClusterRole", "p-manager-role") not in roles
    selectors = [hook["namespaceSelector"] for item in rendered for hook in item.get("webhooks", ())]
    assert selectors == 2 * [{"matchLabels": {"kubernetes.io/metadata.name": "p-system"}}]


@pytest.mark.feature("E-08")
@pytest.mark.parametrize(
    ("arguments", "head"),
    [
        ((), "# Part of foo.\n"),
        (("--owner", "Jane Doe"), "# Copyright Jane Doe\n"),
        (
            ("--license", "apache2", "--owner", "Jane"),
            "# Copyright Jane\n#\n# Licensed under the Apache License, Version",
        ),
        (("--license-file", "../licence.txt"), "# Ours alone.\n#\n# Ask us.\n"),
    ],
)
def test_boilerplate_has_the_license_and_owner(tmp_path: Path, arguments: tuple[str, ...], head: str) -> None:
    (tmp_path / "licence.txt").write_text("Ours alone.\n\nAsk us.\n")
    (tmp_path / "p").mkdir()

    assert clientgo(tmp_path / "p", "init", "--project-name", "foo", *arguments) == 0
    assert (tmp_path / "p/hack/boilerplate.py.txt").read_text().startswith(head)


@pytest.mark.parametrize("licence", ["apache2", "none"])
def test_two_licenses_are_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str], licence: str) -> None:
    (tmp_path / "licence.txt").write_text("Ours alone.\n")
    with pytest.raises(SystemExit):
        clientgo(tmp_path, "init", "--license", licence, "--license-file", "licence.txt")
    assert "argument --license-file: not allowed with argument --license" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["licence.txt"]


def test_missing_license_file_is_reported_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert clientgo(tmp_path, "init", "--project-name", "foo", "--license-file", "nowhere") == 1
    assert "cannot read --license-file nowhere: No such file or directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
