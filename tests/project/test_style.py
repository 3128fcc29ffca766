"""Limits of CONTRIBUTING.md that no linter checks: length of tests, and form of commit messages."""

import ast
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ("tests", "apiserver/tests", "olm/tests")
LONGEST_TEST = 40
FIRST_CHECKED = "1b43a6f"
"""Last commit whose message is not checked; its ancestors are not, either."""
EXCUSED = {"07e27c2", "8e9e0f1"}
"""Commits from before the check, with one line of 73 characters each."""
LONGEST_LINE = 72


def long_tests(source: str) -> Iterator[str]:
    """Yield name and length of each test function of a module that is too long."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LONGEST_TEST:
                yield f"{node.name}: {length} lines"


def message_errors(message: str) -> list[str]:
    """Return the violations of a commit message against CONTRIBUTING.md."""
    subject, _, body = message.strip().partition("\n")
    errors = [] if len(subject) <= LONGEST_LINE else [f"subject has {len(subject)} characters"]
    if not body.startswith("\n"):
        errors.append("no body, or no empty line before it")
    # A word that is longer than a line, such as an address, cannot be wrapped.
    errors += [
        f"line not wrapped: {line}" for line in body.splitlines() if len(line) > LONGEST_LINE and " " in line.strip()
    ]
    return errors


def git(*arguments: str) -> str | None:
    """Return the output of a git command in the repository, or None if git or its objects are missing."""
    try:
        result = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], check=False, capture_output=True, text=True, timeout=30
        )
    except FileNotFoundError:
        return None
    return result.stdout if result.returncode == 0 else None


@pytest.mark.parametrize(("lines", "expected"), [(40, []), (41, ["test_it: 41 lines"])])
def test_long_tests_are_found(lines: int, expected: list[str]) -> None:
    assert list(long_tests("def test_it():\n" + "    pass\n" * (lines - 1))) == expected


def test_tests_fit_on_a_screen() -> None:
    errors = {
        str(path.relative_to(ROOT)): tests
        for folder in TESTS
        for path in (ROOT / folder).rglob("*.py")
        if (tests := list(long_tests(path.read_text(encoding="utf-8"))))
    }
    assert errors == {}


@pytest.mark.parametrize(
    ("message", "errors"),
    [
        ("cache: keep the order\n\nThe reason.\n", []),
        ("cache: keep the order\n\nhttps://example.com/" + "x" * 70, []),
        ("x" * 73 + "\n\nThe reason.", ["subject has 73 characters"]),
        ("cache: keep the order\n", ["no body, or no empty line before it"]),
        ("cache: keep the order\nThe reason.", ["no body, or no empty line before it"]),
        ("cache: keep the order\n\n" + "word " * 15, ["line not wrapped: " + "word " * 15]),
    ],
    ids=["valid", "long address", "long subject", "no body", "no empty line", "long line"],
)
def test_errors_of_commit_messages_are_found(message: str, errors: list[str]) -> None:
    assert [error.strip() for error in message_errors(message)] == [error.strip() for error in errors]


@pytest.mark.e2e
def test_commit_messages_have_a_short_subject_and_a_wrapped_body() -> None:
    history = git("log", "--no-merges", "--format=%h%n%B%x00", f"{FIRST_CHECKED}..HEAD")
    if history is None:
        pytest.skip(f"no git history since {FIRST_CHECKED}: an exported archive or a shallow clone")
    commits = dict(entry.strip().split("\n", 1) for entry in history.split("\0") if entry.strip())
    errors = {
        commit: errors
        for commit, message in commits.items()
        if commit[:7] not in EXCUSED and (errors := message_errors(message))
    }
    assert errors == {}


def test_no_folder_of_the_library_has_more_than_twenty_modules() -> None:
    paths = [*(ROOT / "clientgo").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
    folders = Counter(path.parent for path in paths if "kubernetes" not in path.parts)
    assert {str(folder): count for folder, count in folders.items() if count > 21} == {}  # __init__.py besides
