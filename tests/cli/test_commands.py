"""Subcommands of `clientgo`: their files, output and errors."""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

import clientgo as clientgo_package
from clientgo.version import VERSION
from tests.cli.projects import FOO, clientgo, foo_project, kind, new_project, read_files, rejected

HOME = kind("ajd", "v1", "Home")
BAR = kind("samplecontroller", "v1", "Bar")
NEWER = kind("samplecontroller", "v1", "Foo")
BOTH = ("--resource", "--controller")


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Project with Foo; the output of its creation is discarded."""
    built = foo_project(tmp_path / "foo")
    capsys.readouterr()
    return built


@pytest.mark.feature("A-60")
def test_version_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert clientgo(tmp_path, "version") == 0
    with pytest.raises(SystemExit) as ended:
        clientgo(tmp_path, "--version")
    assert (ended.value.code, capsys.readouterr().out) == (0, f"clientgo {clientgo_package.__version__}\n" * 2)


@pytest.mark.e2e
def test_package_runs_as_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "clientgo", "version"]
    assert subprocess.check_output(command, cwd=tmp_path, text=True, timeout=60) == f"clientgo {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("bundles",), "invalid choice: 'bundles'"),
        (("bundle", "validate", "--suite", "all"), "invalid choice: 'all'"),
        (("create",), "the following arguments are required: api|webhook"),
        (("create", "foo"), "invalid choice: 'foo'"),
        (("create", "api", "--resource=perhaps"), "invalid value 'perhaps': expected true or false"),
    ],
)
def test_invalid_command_line_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        clientgo(tmp_path, *arguments)

    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert expected in error
    assert error.count("\n") == 1


@pytest.mark.feature("A-61", "E-01", "C-40")
@pytest.mark.feature("A-73")
def test_init_writes_the_scaffold_and_lists_each_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = read_files(new_project(tmp_path / "p"))

    folders = {Path(path).parts[1] for path in built if path.startswith("config/")}
    assert folders == {"crd", "default", "manager", "network-policy", "prometheus", "rbac", "samples"}
    assert {"PROJECT", "Makefile", "Dockerfile", ".gitignore", "main.py", ".github/workflows/test.yml"} <= built.keys()
    json.loads(built[".devcontainer/devcontainer.json"])
    listed = {line.removeprefix("created  ") for line in capsys.readouterr().out.splitlines()[:-1]}
    assert listed == built.keys() - {".clientgo/scaffold.json"}
    for path, text in built.items():
        if path.endswith((".yaml", ".yml")):
            list(yaml.safe_load_all(text))


@pytest.mark.feature("A-61")
def test_init_rejects_a_folder_that_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").touch()

    assert clientgo(tmp_path, "init") == 1
    assert "is not empty (mine): run init in an empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_init_accepts_an_empty_git_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()

    assert clientgo(tmp_path, "init", "--project-name", "foo") == 0


def test_project_name_defaults_to_the_folder_name(tmp_path: Path) -> None:
    (tmp_path / "My Operator").mkdir()

    assert clientgo(tmp_path / "My Operator", "init") == 0
    assert "projectName: my-operator\n" in (tmp_path / "My Operator" / "PROJECT").read_text()


def test_invalid_project_name_leaves_the_folder_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert clientgo(tmp_path, "init", "--project-name", "Foo_") == 1
    assert capsys.readouterr().err.startswith("clientgo init: invalid project name 'Foo_'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.feature("A-62")
def test_create_api_inserts_its_lines_at_the_markers(project: Path) -> None:
    built = read_files(project)

    assert "from controllers.foo_controller import FooReconciler\n" in built["main.py"]
    assert "    manager.add_reconciler(FooReconciler)\n    # +clientgo" in built["main.py"]
    assert "- bases/samplecontroller.c9g.io_foos.yaml\n" in built["config/crd/kustomization.yaml"]
    assert "- samplecontroller_v1alpha1_foo.yaml\n" in built["config/samples/kustomization.yaml"]
    assert "- foo_editor_role.yaml\n" in built["config/rbac/kustomization.yaml"]
    assert "- ../crd\n" in built["config/default/kustomization.yaml"]


@contextmanager
def answering(terminal: io.TextIOBase) -> Iterator[None]:
    """Replace standard input for the block."""
    before, sys.stdin = sys.stdin, terminal
    try:
        yield
    finally:
        sys.stdin = before


@pytest.mark.feature("A-62")
@pytest.mark.parametrize(
    ("answers", "types", "controller"),
    [("y\nn\n", True, False), ("yes\nYES\n", True, True), ("what?\ny\n\nn\n", True, False), ("n\nn\n", False, False)],
)
def test_create_api_prompts_for_omitted_flags(tmp_path: Path, answers: str, types: bool, controller: bool) -> None:
    project = new_project(tmp_path / "p")
    with answering(io.StringIO(answers)):
        assert clientgo(project, "create", "api", *FOO) == 0

    assert (project / "api/v1alpha1/foo_types.py").exists() is types
    assert (project / "controllers/foo_controller.py").exists() is controller


def test_end_of_input_at_a_prompt_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = new_project(tmp_path / "p")
    with answering(io.StringIO("")):
        assert clientgo(project, "create", "api", *FOO) == 1
    assert "no answer on standard input: give --resource or --resource=false" in capsys.readouterr().err


@pytest.mark.feature("A-62")
def test_second_create_api_is_rejected_without_force(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "api/v1alpha1/foo_types.py").write_text("# mine\n")
    error = rejected(project, capsys, "create", "api", *FOO, "--resource", "--controller=false")
    assert "Foo of samplecontroller.c9g.io/v1alpha1 already has types: use --force" in error


def test_second_controller_for_another_version_is_rejected(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = rejected(project, capsys, "create", "api", *NEWER, *BOTH)
    assert "Foo of samplecontroller.c9g.io/v1alpha1 already has a controller" in error


@pytest.mark.feature("A-62")
def test_force_restores_the_scaffold(project: Path) -> None:
    before = read_files(project)
    (project / "api/v1alpha1/foo_types.py").write_text("# mine\n")

    assert clientgo(project, "create", "api", *FOO, "--resource", "--controller", "--force") == 0
    assert read_files(project) == before


def test_second_kind_keeps_manual_changes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = project / "main.py"
    main.write_text(main.read_text().replace("Add the controllers", "Add all controllers"))

    assert clientgo(project, "create", "api", *BAR, *BOTH) == 0
    assert "Add all controllers" in main.read_text()
    assert "add_reconciler(FooReconciler)" in main.read_text()
    assert "add_reconciler(BarReconciler)" in main.read_text()
    assert "updated  main.py\n" in capsys.readouterr().out


def test_controller_can_be_added_after_its_kind(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p")
    assert clientgo(project, "create", "api", *FOO, "--resource", "--controller=false") == 0

    assert clientgo(project, "create", "api", *FOO, "--resource=false", "--controller") == 0
    assert (project / "controllers/foo_controller.py").exists()


def test_cluster_scope_and_second_version_are_set_in_the_types(project: Path) -> None:
    assert clientgo(project, "create", "api", *POOL, "--version", "v1", "--plural=puddles", "--namespaced=false") == 0
    assert clientgo(project, "create", "api", *NEWER, "--resource", "--controller=false") == 0
    assert '    plural="puddles",\n    scope="Cluster",\n)' in (project / "api/v1/pool_types.py").read_text()
    assert "    storage=False,\n)" in (project / "api/v1/foo_types.py").read_text()


POOL = ("--group", "samplecontroller", "--kind", "Pool", "--resource", "--controller=false")


def test_further_version_has_the_scope_of_the_kind(project: Path) -> None:
    assert clientgo(project, "create", "api", *POOL, "--version", "v1", "--namespaced=false") == 0
    assert clientgo(project, "create", "api", *POOL, "--version", "v2") == 0
    assert 'scope="Cluster"' in (project / "api/v2/pool_types.py").read_text()


def test_scope_that_was_edited_in_the_types_is_that_of_further_versions(project: Path) -> None:
    types = project / "api/v1alpha1/foo_types.py"
    types.write_text(types.read_text().replace('version="v1alpha1",', 'version="v1alpha1",\n    scope="Cluster",'))
    assert clientgo(project, "create", "api", *NEWER, "--resource", "--controller=false") == 0
    assert 'scope="Cluster"' in (project / "api/v1/foo_types.py").read_text()
    resources = yaml.safe_load((project / "PROJECT").read_text())["resources"]
    assert [each["api"]["namespaced"] for each in resources] == [False, False]


def test_force_applies_the_scope_to_an_existing_kind(project: Path) -> None:
    assert clientgo(project, "create", "api", *POOL, "--version", "v1") == 0
    assert clientgo(project, "create", "api", *POOL, "--version", "v1", "--force", "--namespaced=false") == 0
    assert 'scope="Cluster"' in (project / "api/v1/pool_types.py").read_text()
    assert "namespaced: false" in (project / "PROJECT").read_text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*POOL, "--version", "v2", "--namespaced=false"), "it is namespaced: that of v1 is the same, as in all ver"),
        ((*POOL, "--version", "v1", "--force", "--plural", "ponds"), "cannot change the plural 'pools' of Pool"),
        ((*POOL, "--version", "v2", "--plural", "ponds"), "cannot change the plural 'pools' of Pool"),
        ((*POOL, "--version", "v2", "--controller-name", "x"), "--controller-name requires a controller"),
        ((*kind("apps", "v1", "Deployment"), "--controller", "--namespaced=false"), "cannot change the scope of Depl"),
    ],
)
def test_option_that_would_change_nothing_is_rejected(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    assert clientgo(project, "create", "api", *POOL, "--version", "v1") == 0
    assert expected in rejected(project, capsys, "create", "api", *arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*kind("other", "v1", "Bar"), "--resource"), "the project has the group samplecontr"),
        ((*kind("samplecontroller", "v1", "FOO"), "--resource"), "differ only in case"),
        ((*BAR, "--resource=0"), "expected true or false"),
        ((*BAR, "--resource=false"), "has no types"),
    ],
)
def test_invalid_create_api_is_rejected_and_nothing_is_written(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    before = read_files(project)
    try:
        code = clientgo(project, "create", "api", *arguments, "--controller")
    except SystemExit as ended:
        code = int(str(ended.code))

    assert code in (1, 2)
    assert expected in capsys.readouterr().err
    assert read_files(project) == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*HOME, "--defaulting"), "Home of ajd/v1 not found in this project"),
        ((*FOO[:4], "--kind", "Bar", "--defaulting"), "not found in this project: add it with clientgo create api"),
        (FOO, "nothing to create"),
        ((*kind("apps", "v2", "Deployment"), "--defaulting"), "(to define the kind, use clientgo create api)"),
    ],
)
def test_invalid_create_webhook_is_rejected(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in rejected(project, capsys, "create", "webhook", *arguments)


def test_project_without_kinds_has_nothing_to_generate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = new_project(tmp_path / "p")

    assert clientgo(project, "manifests") == 0
    assert "Nothing to generate yet: add a kind with clientgo create api" in capsys.readouterr().out


def occupy(path: Path) -> None:
    """Replace a file by a folder, or a folder by a file."""
    if path.is_dir():
        shutil.rmtree(path)
        path.write_text("")
    else:
        path.unlink(missing_ok=True)
        path.mkdir()


@pytest.mark.parametrize(
    ("location", "command", "expected"),
    [
        ("PROJECT", "edit --multigroup", "invalid PROJECT"),
        (".clientgo", "edit --multigroup", "scaffold.json: Not a directory"),
        ("main.py", "create api --group samplecontroller --version v1 --kind Bar --resource --controller",
         "main.py: Is a directory"),
        ("config/samples", "create api --group samplecontroller --version v1 --kind Bar --resource --controller=false",
         "config/samples: File exists"),
        ("hack/manifests.yaml", "manifests", "hack/manifests.yaml: cannot read the file: Is a directory"),
        ("hack/boilerplate.py.txt", "generate", "hack/boilerplate.py.txt: cannot read the boilerplate: Is a directory"),
        ("main.py", "run", "main.py not found in the project"),
    ],
)  # fmt: skip
def test_unexpected_file_type_is_reported_in_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], location: str, command: str, expected: str
) -> None:
    occupy(project / location)
    capsys.readouterr()

    assert clientgo(project, *command.split()) != 0
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1


def test_file_with_invalid_utf8_is_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "main.py").write_bytes(b"\xff")

    assert clientgo(project, "create", "api", *BAR, *BOTH) == 1
    message = "clientgo create api: cannot add lines to main.py: invalid UTF-8 (byte 0)\n"
    assert capsys.readouterr().err == message


def test_plural_of_another_kind_is_rejected(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = rejected(project, capsys, "create", "api", *BAR, "--plural", "foos", *BOTH)
    assert "the plural 'foos' is already used by Foo: choose another with --plural" in error


def test_multiline_owner_is_one_comment(tmp_path: Path) -> None:
    assert clientgo(tmp_path, "init", "--project-name", "foo", "--owner", "A\nB", "--license", "apache2") == 0
    assert (tmp_path / "hack/boilerplate.py.txt").read_text().startswith("# Copyright A B\n")


class InterruptedTerminal(io.RawIOBase):
    """Standard input that raises KeyboardInterrupt."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        raise KeyboardInterrupt


def test_interrupt_exits_without_a_traceback(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(io.TextIOWrapper(io.BufferedReader(InterruptedTerminal()))):
        assert clientgo(project, "create", "api", *BAR) == 130
    assert "Traceback" not in capsys.readouterr().err
