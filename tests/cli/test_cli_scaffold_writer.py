"""Scaffold writer: it keeps modified files, inserts lines at markers and reports each file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.cli.names import CommandError
from clientgo.cli.scaffold_writer import RECORD, ScaffoldWriter, inserted
from clientgo.cli.template_files import Part

MAIN = """\
from clientgo.rest import load_config

# +clientgo:scaffold:imports

def build():
    # +clientgo:scaffold:controllers
    return 1
"""
LINES = st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1, max_size=4)


def write(root: Path, *parts: Part, force: bool = False) -> list[tuple[str, str]]:
    reported: list[tuple[str, str]] = []
    tree = ScaffoldWriter(root, tell=lambda done, path: reported.append((done, path)), force=force)
    for part in parts:
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
