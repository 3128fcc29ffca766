"""Projects of several groups, or of one namespace; and how generated files begin."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.cli.projects import FOO, clientgo, foo_project, new_project, run, texts

FRIGATE = ("--group", "ship-yard", "--version", "v1", "--kind", "Frigate")
BOTH = ("--resource", "--controller")


def project_file(project: Path) -> dict[str, object]:
    said = yaml.safe_load((project / "PROJECT").read_text())
    assert isinstance(said, dict)
    return said


@pytest.mark.feature("A-62")
@pytest.mark.feature("E-07")
def test_kinds_of_several_groups_lie_in_folders_of_their_own(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    assert clientgo(project, "init", "--domain", "c9g.io", "--multigroup") == 0
    assert clientgo(project, "create", "api", *FOO, *BOTH) == 0
    assert clientgo(project, "create", "api", *FRIGATE, *BOTH) == 0
    assert clientgo(project, "create", "webhook", *FRIGATE, "--defaulting") == 0

    made = texts(project)
    assert {
        "api/samplecontroller/v1alpha1/foo_types.py",
        "api/ship_yard/v1/frigate_types.py",
        "controllers/ship_yard/frigate_controller.py",
        "webhooks/ship_yard/v1/frigate_defaulter.py",
        "tests/ship_yard/test_frigate_controller.py",
        "config/samples/ship-yard_v1_frigate.yaml",
    } <= made.keys()
    assert "from controllers.ship_yard.frigate_controller import FrigateReconciler\n" in made["main.py"]
    said = project_file(project)
    assert said["multigroup"] is True
    assert [one["path"] for one in said["resources"]] == [  # type: ignore[attr-defined]
        "api.samplecontroller.v1alpha1",
        "api.ship_yard.v1",
    ]


@pytest.mark.feature("E-08")
def test_what_is_there_stays_where_it_is_when_more_groups_are_let_in(tmp_path: Path) -> None:
    project = foo_project(tmp_path / "p")
    before = texts(project)

    assert clientgo(project, "edit", "--multigroup") == 0
    assert clientgo(project, "edit", "--multigroup") == 0
    assert {path for path, text in texts(project).items() if before.get(path) != text} == {"PROJECT"}

    assert clientgo(project, "create", "api", *FRIGATE, *BOTH) == 0
    # Another version of a kind that is there lies beside it, for one controller is for both.
    assert (
        clientgo(project, "create", "api", *FOO[:2], "--version", "v1", *FOO[4:], "--resource", "--controller=false")
        == 0
    )
    assert {"api/v1alpha1/foo_types.py", "api/v1/foo_types.py", "api/ship_yard/v1/frigate_types.py"} <= texts(
        project
    ).keys()


@pytest.mark.parametrize(
    ("first", "words", "told"),
    [
        ((), FRIGATE, "run clientgo edit --multigroup to allow others"),
        (("--multigroup",), ("--group", "ship-yard", *FOO[2:]), "the group samplecontroller already has a kind Foo"),
    ],
)
def test_kinds_that_would_get_in_each_others_way_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], first: tuple[str, ...], words: tuple[str, ...], told: str
) -> None:
    project = foo_project(tmp_path / "p")
    if first:
        assert clientgo(project, "edit", *first) == 0
    before = texts(project)

    assert clientgo(project, "create", "api", *words, *BOTH) == 1
    assert told in capsys.readouterr().err
    assert texts(project) == before


def test_groups_that_would_be_one_package_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = new_project(tmp_path / "p")
    assert clientgo(project, "edit", "--multigroup") == 0
    assert clientgo(project, "create", "api", *FRIGATE, *BOTH) == 0

    words = ("--group", "ship.yard", "--version", "v1", "--kind", "Dinghy")
    assert clientgo(project, "create", "api", *words, *BOTH) == 1
    assert "the groups ship.yard and ship-yard map to the same Python package" in capsys.readouterr().err


def test_a_change_that_is_none_or_can_not_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = new_project(tmp_path / "p")
    assert clientgo(project, "edit") == 1
    assert "give --multigroup, --namespaced, or both" in capsys.readouterr().err

    assert clientgo(project, "edit", "--multigroup", "--namespaced") == 0
    assert clientgo(project, "create", "api", *FOO, *BOTH) == 0
    assert clientgo(project, "create", "api", *FRIGATE, *BOTH) == 0
    capsys.readouterr()
    assert clientgo(project, "edit", "--multigroup=false") == 1
    assert (
        "cannot disable multigroup: the project has 2 groups (samplecontroller, ship-yard)" in capsys.readouterr().err
    )
    assert clientgo(project, "edit", "--namespaced=false") == 1
    assert "remove role-namespace from hack/manifests.yaml" in capsys.readouterr().err


@pytest.mark.feature("C-40")
@pytest.mark.feature("E-08")
def test_a_project_of_one_namespace_is_made_the_same_at_once_or_later(tmp_path: Path) -> None:
    at_once, later = tmp_path / "a", tmp_path / "b"
    for folder, words in ((at_once, ("--namespaced",)), (later, ())):
        folder.mkdir()
        assert clientgo(folder, "init", "--domain", "c9g.io", "--project-name", "foo", *words) == 0
    assert clientgo(later, "edit", "--namespaced") == 0

    assert texts(at_once) == texts(later)
    assert project_file(later)["namespaced"] is True
    assert yaml.safe_load((later / "config/rbac/role_binding.yaml").read_text())["kind"] == "RoleBinding"
    deployment = list(yaml.safe_load_all((later / "config/manager/manager.yaml").read_text()))[1]
    [variable] = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    assert variable["name"] == "WATCH_NAMESPACE"


@pytest.mark.e2e
@pytest.mark.timeout(180)
@pytest.mark.feature("A-71")
def test_a_project_of_groups_and_one_namespace_passes_its_checks(tmp_path: Path, variables: Mapping[str, str]) -> None:
    project = tmp_path / "p"
    project.mkdir()
    assert clientgo(project, "init", "--domain", "c9g.io", "--project-name", "p", "--multigroup", "--namespaced") == 0
    assert clientgo(project, "create", "api", *FOO, *BOTH) == 0
    assert clientgo(project, "create", "api", *FRIGATE, *BOTH) == 0
    run(project, variables, "make", "manifests", "generate")

    run(project, variables, "ruff", "check", "--no-cache")
    run(project, variables, "ruff", "format", "--no-cache", "--check")
    assert "4 passed" in run(project, variables, "python", "-m", "pytest")
    rendered = list(yaml.safe_load_all(run(project, variables, "kubectl", "kustomize", "config/default")))
    [namespace] = [one for one in rendered if one["kind"] == "Namespace"]
    # The controllers' own workloads run beside the manager, and need not meet the profile that its pod does.
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"
    roles = {(one["kind"], one["metadata"]["name"]) for one in rendered}
    assert ("Role", "p-manager-role") in roles
    assert ("RoleBinding", "p-manager-rolebinding") in roles
    assert ("ClusterRole", "p-manager-role") not in roles


@pytest.mark.feature("E-08")
@pytest.mark.parametrize(
    ("words", "head"),
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
def test_generated_files_begin_as_is_said(tmp_path: Path, words: tuple[str, ...], head: str) -> None:
    (tmp_path / "licence.txt").write_text("Ours alone.\n\nAsk us.\n")
    (tmp_path / "p").mkdir()

    assert clientgo(tmp_path / "p", "init", "--project-name", "foo", *words) == 0
    assert (tmp_path / "p/hack/boilerplate.py.txt").read_text().startswith(head)


def test_a_licence_that_is_not_there_is_told_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert clientgo(tmp_path, "init", "--project-name", "foo", "--license-file", "nowhere") == 1
    assert "cannot read --license-file nowhere: No such file or directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
