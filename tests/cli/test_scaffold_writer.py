"""Scaffold writer, which keeps modified files and inserts lines at markers; upgrades by what it has recorded."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.cli.names import CommandError
from clientgo.cli.scaffold_writer import RECORD, Part, ScaffoldWriter, inserted
from clientgo.errors import ConfigError
from clientgo.version import VERSION
from tests.cli.projects import FOO, clientgo, foo_project, kind, new_project, read_files
from tests.codegen.generating import CREDENTIALS

MAIN = """\
from clientgo.rest import load_config

# +clientgo:scaffold:imports

def build():
    # +clientgo:scaffold:controllers
    return 1
"""
LINES = st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1, max_size=4)


def write(root: Path, *pieces: Part, force: bool = False) -> list[tuple[str, str]]:
    reported: list[tuple[str, str]] = []
    tree = ScaffoldWriter(root, tell=lambda done, path: reported.append((done, path)), force=force)
    for part in pieces:
        tree.add(part)
    tree.close()
    return reported


def test_file_is_created_and_kept_if_unchanged(tmp_path: Path) -> None:
    assert write(tmp_path, Part("a/b.py", "1\n")) == [("created", "a/b.py")]
    assert write(tmp_path, Part("a/b.py", "1\n")) == [("kept", "a/b.py")]


def test_unmodified_file_is_updated(tmp_path: Path) -> None:
    write(tmp_path, Part("a", "1\n"))

    assert write(tmp_path, Part("a", "2\n")) == [("updated", "a")]
    assert (tmp_path / "a").read_text() == "2\n"


def test_modified_file_is_kept_without_force(tmp_path: Path) -> None:
    write(tmp_path, Part("a", "1\n"))
    (tmp_path / "a").write_text("mine\n")

    assert write(tmp_path, Part("a", "2\n")) == [("kept", "a (modified; use --force to overwrite)")]
    assert (tmp_path / "a").read_text() == "mine\n"
    assert write(tmp_path, Part("a", "2\n"), force=True) == [("updated", "a")]
    assert (tmp_path / "a").read_text() == "2\n"


def test_existing_file_counts_as_modified(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine\n")

    write(tmp_path, Part("a", "2\n"))

    assert (tmp_path / "a").read_text() == "mine\n"


def test_lines_are_inserted_into_a_modified_file_which_stays_modified(tmp_path: Path) -> None:
    write(tmp_path, Part("main.py", MAIN))
    (tmp_path / "main.py").write_text("# mine\n" + MAIN)

    write(tmp_path, Part("main.py", "add()\n", "controllers"))
    reported = write(tmp_path, Part("main.py", MAIN))

    assert (tmp_path / "main.py").read_text().startswith("# mine\n")
    assert "    add()\n    # +clientgo:scaffold:controllers\n" in (tmp_path / "main.py").read_text()
    assert reported == [("kept", "main.py (modified; use --force to overwrite)")]


def test_lines_are_inserted_once(tmp_path: Path) -> None:
    write(tmp_path, Part("main.py", MAIN), Part("main.py", "add()\n", "controllers"))

    assert write(tmp_path, Part("main.py", "add()\n", "controllers")) == []
    assert (tmp_path / "main.py").read_text().count("add()") == 1


def test_file_without_the_marker_is_kept_and_the_lines_are_printed(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("mine\n")

    [(done, message)] = write(tmp_path, Part("main.py", "add()\n", "controllers"))

    assert (tmp_path / "main.py").read_text() == "mine\n"
    assert done == "kept"
    assert "marker # +clientgo:scaffold:controllers not found" in message
    assert "add()" in message


@pytest.mark.parametrize("target", ["../outside", "missing", "../outside.py"])
@pytest.mark.parametrize("part", [Part("a", "1\n"), Part("a", "1\n", "imports")], ids=["file", "lines"])
def test_link_in_the_place_of_a_file_is_rejected(tmp_path: Path, part: Part, target: str) -> None:
    (tmp_path / "outside.py").write_text(MAIN)
    (root := tmp_path / "p").mkdir()
    (root / "a").symlink_to(target)
    with pytest.raises(ConfigError, match="invalid path 'a': it "):
        write(root, part, force=True)
    assert (tmp_path / "outside.py").read_text() == MAIN
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "outside.py", "p"]


@pytest.mark.parametrize("path", ["../a", "/a", "up/a", "b/../../a"])
def test_path_out_of_the_project_is_rejected(tmp_path: Path, path: str) -> None:
    (root := tmp_path / "p").mkdir()
    (root / "up").symlink_to("..")
    with pytest.raises(ConfigError, match="it leads out of "):
        write(root, Part(path, "1\n"), force=True)
    assert read_files(tmp_path) == {}


def test_lines_that_are_a_part_of_others_are_inserted() -> None:
    text = "import ab as c\n# +clientgo:scaffold:here\n"
    assert inserted(text, "here", "import ab\n") == "import ab as c\nimport ab\n# +clientgo:scaffold:here\n"


def test_upgrade_of_a_hostile_project_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = foo_project(tmp_path / "p")
    (project / "Dockerfile").unlink()
    (project / "Dockerfile").symlink_to("../outside")
    (project / ".clientgo/scaffold.json").write_text("{}")
    before = read_files(tmp_path)
    capsys.readouterr()
    assert clientgo(project, "upgrade") == 1
    error = capsys.readouterr().err
    assert (error.count("\n"), "clientgo upgrade: invalid path 'Dockerfile': it leads out of " in error) == (1, True)
    assert read_files(tmp_path) == before


def test_inserted_imports_are_sorted_below_library_imports() -> None:
    text: str | None = MAIN
    for name in ("foo", "bar", "foo"):
        assert text is not None
        text = inserted(text, "imports", f"from controllers.{name} import X\n")

    assert text is not None
    assert text.startswith(
        "from clientgo.rest import load_config\n\n"
        "from controllers.bar import X\nfrom controllers.foo import X\n\n"
        "# +clientgo:scaffold:imports\n"
    )


@given(LINES, LINES)
def test_insertion_keeps_every_line_and_the_marker(before: list[str], new: list[str]) -> None:
    text = "\n".join([*before, "  # +clientgo:scaffold:here"]) + "\n"

    done = inserted(text, "here", "\n".join(new) + "\n")

    assert done is not None
    assert done == text or done.splitlines() == [*before, *("  " + line for line in new), "  # +clientgo:scaffold:here"]
    assert inserted(done, "here", "\n".join(new) + "\n") == done


@pytest.mark.parametrize("text", ["{", "[]", "1"])
def test_invalid_scaffold_record_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / RECORD).parent.mkdir()
    (tmp_path / RECORD).write_text(text)

    with pytest.raises(CommandError, match=r"invalid .*: restore it from version control"):
        ScaffoldWriter(tmp_path, tell=lambda *_: None)


def test_record_of_hashes_still_tells_modified_files_from_others(tmp_path: Path) -> None:
    (tmp_path / RECORD).parent.mkdir()
    for name in ("same", "modified"):
        (tmp_path / name).write_text("old\n")
    hashes = dict.fromkeys(("same", "modified", "missing"), hashlib.sha256(b"old\n").hexdigest())
    (tmp_path / RECORD).write_text(json.dumps(hashes))
    (tmp_path / "modified").write_text("mine\n")

    reported = write(tmp_path, *(Part(name, "new\n") for name in hashes))

    modified = ("kept", "modified (modified; use --force to overwrite)")
    assert reported == [("updated", "same"), modified, ("created", "missing")]


OLDER = "0.0.9"


@pytest.fixture
def older(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str, str, str], Path]:
    """A function that makes a project whose templates of an older version had another text in one file."""

    def make(path: str, new: str, old: str) -> Path:
        project = foo_project(tmp_path / "p")
        text = (project / path).read_text()
        assert new in text
        write(project, Part(path, text.replace(new, old)))
        text = (project / "PROJECT").read_text()
        (project / "PROJECT").write_text(text.replace(f"cliVersion: {VERSION}", f"cliVersion: {OLDER}"))
        capsys.readouterr()
        return project

    return make


OLD_LINE = ("Makefile", "IMG ?= controller:latest\n", "IMAGE ?= controller:old\n")


@pytest.mark.parametrize("again", [False, True])
def test_upgrade_replaces_unmodified_files_and_records_the_version(
    older: Callable[[str, str, str], Path], capsys: pytest.CaptureFixture[str], again: bool
) -> None:
    project = older(*OLD_LINE)
    expected = (project / "Makefile").read_text().replace(*reversed(OLD_LINE[1:]))

    assert clientgo(project, "upgrade") == 0
    done = f"updated  Makefile\nUpgraded from clientgo {OLDER} to {VERSION}.\n"
    assert capsys.readouterr().out == f"{done}Next: make manifests generate test\n"
    assert (project / "Makefile").read_text() == expected
    assert f"cliVersion: {VERSION}\n" in (project / "PROJECT").read_text()
    if again:
        before = read_files(project)
        assert clientgo(project, "upgrade") == 0
        assert read_files(project) == before


@pytest.mark.e2e
def test_upgrade_merges_changes_of_both_sides(
    older: Callable[[str, str, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    project = older(*OLD_LINE)
    mine = (project / "Makefile").read_text() + "\nmine:\n"
    (project / "Makefile").write_text(mine)

    assert clientgo(project, "upgrade") == 0
    assert "merged   Makefile\n" in capsys.readouterr().out
    assert (project / "Makefile").read_text() == mine.replace(*reversed(OLD_LINE[1:]))


@pytest.mark.e2e
def test_upgrade_marks_conflicts_and_keeps_both_sides(
    older: Callable[[str, str, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    project = older(*OLD_LINE)
    text = (project / "Makefile").read_text()
    (project / "Makefile").write_text(text.replace(OLD_LINE[2], "IMAGE ?= mine\n"))

    assert clientgo(project, "upgrade") == 1
    messages = capsys.readouterr()
    assert "conflict Makefile\n" in messages.out
    assert messages.err.startswith("clientgo upgrade: resolve the conflicts, marked by <<<<<<<, in Makefile;")
    sides = f"<<<<<<< yours\nIMAGE ?= mine\n=======\n{OLD_LINE[1]}>>>>>>> clientgo {VERSION}\n"
    assert (project / "Makefile").read_text() == text.replace(OLD_LINE[2], sides)
    # A second run has nothing to merge: the new text is the base.
    assert clientgo(project, "upgrade") == 0
    assert (project / "Makefile").read_text() == text.replace(OLD_LINE[2], sides)


def test_upgrade_keeps_modified_deleted_and_own_files_and_creates_new_ones(
    older: Callable[[str, str, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    project = older(*OLD_LINE)
    (project / "README.md").write_text("mine\n")
    (project / "controllers/foo_controller.py").write_text("# mine\n")
    (project / "AGENTS.md").unlink()
    (project / "own.py").write_text("")
    record = json.loads((project / RECORD).read_text())
    del record[".devcontainer/devcontainer.json"]
    (project / RECORD).write_text(json.dumps(record))
    (project / ".devcontainer/devcontainer.json").unlink()

    assert clientgo(project, "upgrade") == 0
    out = capsys.readouterr().out
    assert sorted(out.splitlines()[:-2]) == ["created  .devcontainer/devcontainer.json", "updated  Makefile"]
    assert (project / "README.md").read_text() == "mine\n"
    assert (project / "controllers/foo_controller.py").read_text() == "# mine\n"
    assert not (project / "AGENTS.md").exists()
    assert (project / "own.py").exists()


def test_upgrade_repeats_all_commands(tmp_path: Path) -> None:
    project = foo_project(tmp_path / "p")
    theirs, node = kind("credentials.example.net", "v1", "Credential"), kind("core", "v1", "Node")
    deployment = (*kind("apps", "v1", "Deployment"), "--controller")
    hub = kind("samplecontroller", "v1", "Foo")
    assert clientgo(project, "edit", "--multigroup") == 0
    for command in (
        ("api", *hub, "--resource", "--controller=false"),
        ("api", *theirs, "--resource=false", "--controller", "--from-crd", str(CREDENTIALS)),
        ("api", *deployment),
        ("api", *deployment, "--controller-name", "scaler"),
        ("webhook", *theirs, "--programmatic-validation"),
        ("api", *node, "--controller"),
        ("webhook", *node, "--programmatic-validation"),
        ("webhook", *FOO, "--programmatic-validation", "--validation-path", "/mine"),
        ("webhook", *hub, "--defaulting", "--conversion"),
        ("webhook", *theirs, "--defaulting"),
    ):
        assert clientgo(project, "create", *command) == 0
    before = read_files(project)

    assert clientgo(project, "upgrade") == 0
    assert read_files(project) == before


@pytest.mark.parametrize("marker", [True, False])
def test_lines_that_a_command_adds_to_a_modified_file_are_no_difference(tmp_path: Path, marker: bool) -> None:
    project = foo_project(tmp_path / "p")
    text = (project / "main.py").read_text()
    mine = "# mine\n" + text if marker else text.replace("    # +clientgo:scaffold:controllers\n", "    # mine\n")
    (project / "main.py").write_text(mine)
    second = (*FOO[:4], "--kind", "Bar", "--resource", "--controller")
    assert clientgo(project, "create", "api", *second) == 0
    before = read_files(project)

    assert clientgo(project, "upgrade") == 0
    assert read_files(project) == before


def test_upgrade_replaces_the_wheel(tmp_path: Path) -> None:
    for version in ("1", "2"):
        (tmp_path / f"clientgo-{version}-py3-none-any.whl").write_text(version)
    wheels = [f"../clientgo-{version}-py3-none-any.whl" for version in ("1", "2")]
    project = new_project(tmp_path / "p", "--clientgo-from", wheels[0])

    assert clientgo(project, "upgrade", "--clientgo-from", wheels[1]) == 0
    built = read_files(project)
    assert [path for path in built if path.startswith("wheels/")] == [
        "wheels/README.md",
        "wheels/SHA256SUMS",
        "wheels/clientgo-2-py3-none-any.whl",
    ]
    assert "./wheels/clientgo-2-py3-none-any.whl[secure-serving]\n" in built["requirements.txt"]
