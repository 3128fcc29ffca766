"""The guides match the code: each page's program runs, with the output on the page.

The `python` blocks of a page are one program, its `text` blocks the output. pytest runs a page of tests. A page whose
program needs more (a server, a signal) has its own tests, `test_guides_<page>.py`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import MYPY_CACHE, using_mypy_cache

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "apiserver"
GUIDES = [
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
    SERVER / "docs" / "features.md",
    SERVER / "docs" / "differences.md",
]
PAGES = [*GUIDES, SERVER / "README.md"]
LINES = 90
"""Lines of a page for each of its programs, without those of tables."""


def blocks(page: str, language: str) -> str:
    return "".join(re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


def has_own_tests(page: Path) -> bool:
    return Path(__file__).with_name(f"test_guides_{page.stem}.py").is_file()


def run(program: Path) -> "subprocess.CompletedProcess[str]":
    """Run a program in a new interpreter, with warnings as errors."""
    tests = re.search(r"^def test_", program.read_text(), re.MULTILINE)
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if tests else ["-W", "error"]
    return subprocess.run(
        [sys.executable, *command, program], cwd=program.parent, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_page_is_short_and_shows_a_program(page: Path) -> None:
    text = page.read_text()
    programs = text.count("\n```python\n")
    assert sum(not line.startswith("|") for line in text.splitlines()) <= LINES * programs


@pytest.mark.e2e
@pytest.mark.parametrize("page", [page for page in PAGES if not has_own_tests(page)], ids=lambda page: page.stem)
def test_page_s_program_does_what_the_page_says(page: Path, tmp_path: Path) -> None:
    (program := tmp_path / "program.py").write_text(blocks(page.read_text(), "python"))
    done = run(program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    if printed := blocks(page.read_text(), "text"):
        assert done.stdout == printed


@pytest.mark.e2e
def test_programs_are_strictly_typed(tmp_path: Path) -> None:
    for page in GUIDES:
        name = page.stem.replace("-", "_").lower()
        (tmp_path / f"{name}_program.py").write_text(blocks(page.read_text(), "python"))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={MYPY_CACHE}", "."]
    env = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, (ROOT, SERVER, ROOT / "tools")))}
    with using_mypy_cache():
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout


@pytest.mark.e2e
@pytest.mark.parametrize("program", ["print(1)\nraise SystemExit(3)", "def test_it() -> None:\n    assert 1 == 2"])
def test_failing_program_fails_the_test(tmp_path: Path, program: str) -> None:
    (path := tmp_path / "program.py").write_text(program)
    assert run(path).returncode != 0


def test_blocks_of_one_language_are_taken_whole_and_in_order() -> None:
    page = "# A\n```python\na = 1\n```\nwords\n```text\n1\n```\n```sh\nls\n```\n```python\n\nprint(a)\n```\n"
    assert blocks(page, "python") == "a = 1\n\nprint(a)\n"
    assert blocks(page, "text") == "1\n"
