"""`make release`: version, changelogs, commit and tag by one command; errors change nothing."""

import datetime
import shutil
import subprocess
from pathlib import Path

import pytest

from clientgo.version import VERSION
from hack.checkout import DISTRIBUTIONS, ROOT, version, version_file
from hack.release import ReleaseError, release

pytestmark = pytest.mark.e2e

DATE = datetime.date(2030, 1, 2)
SECTION = "## Unreleased\n\n- A change.\n\n## 0.0.1 (2029-01-01)\n\n- Another.\n"


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=root, capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with the files that a release reads."""
    git(tmp_path, "init", "--quiet")
    for key, value in (("user.name", "Test"), ("user.email", "test@example.com")):
        git(tmp_path, "config", key, value)
    for name, folder in DISTRIBUTIONS.items():
        for path in (version_file(name), ROOT / folder / "setup.cfg"):
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    for folder in ("", "apiserver"):
        (tmp_path / folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{SECTION}")
    commit(tmp_path)
    return tmp_path


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Change")


def test_all_distributions_have_one_version() -> None:
    assert {version(name) for name in DISTRIBUTIONS} == {VERSION}


def test_release_writes_versions_ranges_and_changelogs_and_tags_its_commit(repository: Path) -> None:
    release("1.7.0", repository, DATE)
    assert {version(name, repository) for name in DISTRIBUTIONS} == {"1.7.0"}
    settings = (repository / "setup.cfg").read_text()
    assert settings.count("clientgo-tools>=1.7,<1.8") == 3
    assert "clientgo>=1.7,<1.8" in (repository / "olm" / "setup.cfg").read_text()
    assert "## 1.7.0 (2030-01-02)\n\n- A change.\n\n## 0.0.1" in (repository / "apiserver" / "CHANGELOG.md").read_text()
    assert git(repository, "log", "-1", "--format=%s") == "Release 1.7.0"
    assert git(repository, "describe", "--exact-match") == "v1.7.0"
    assert git(repository, "status", "--porcelain") == ""


def test_candidate_is_within_the_ranges_of_the_others(repository: Path) -> None:
    release("1.7.0rc1", repository, DATE)
    assert "clientgo-apiserver>=1.7.0rc1,<1.8" in (repository / "setup.cfg").read_text()
    (repository / "CHANGELOG.md").write_text(SECTION)
    (repository / "apiserver" / "CHANGELOG.md").write_text(SECTION)
    commit(repository)
    release("1.7.0", repository, DATE)
    assert "clientgo-apiserver>=1.7,<1.8" in (repository / "setup.cfg").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.7", "invalid version '1.7': expected three numbers such as 0.2.0"),
        ("v1.7.0", "invalid version 'v1.7.0': expected three numbers"),
        ("new", "invalid version 'new': expected three numbers"),
        ("1.7.0.dev1", "invalid version '1.7.0.dev1'"),
        ("0.0.1", f"invalid version 0.0.1: the current one is {VERSION}, which is newer"),
    ],
)
def test_unfit_version_is_rejected(repository: Path, text: str, message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        release(text, repository, DATE)


def test_uncommitted_files_are_rejected(repository: Path) -> None:
    (repository / "new.txt").write_text("")
    with pytest.raises(ReleaseError, match="1 files are not committed: commit or stash them"):
        release("1.7.0", repository, DATE)


def test_tag_of_an_earlier_release_is_rejected(repository: Path) -> None:
    git(repository, "tag", "v1.7.0")
    with pytest.raises(ReleaseError, match=r"the tag v1\.7\.0 already exists: choose the next version"):
        release("1.7.0", repository, DATE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# Changelog\n", 'apiserver/CHANGELOG.md has no section "## Unreleased": list what changes for users'),
        (
            "## Unreleased\n\n## 0.0.1\n\n- A change.\n",
            'the section "## Unreleased" of apiserver/CHANGELOG.md is empty',
        ),
    ],
    ids=["missing", "empty"],
)
def test_changelog_without_changes_is_rejected_and_nothing_is_written(
    repository: Path, text: str, message: str
) -> None:
    (repository / "apiserver" / "CHANGELOG.md").write_text(text)
    commit(repository)
    with pytest.raises(ReleaseError, match=message):
        release("1.7.0", repository, DATE)
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "tag") == ""


def test_release_that_cannot_be_committed_changes_nothing(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2; exit 1\n")
    hook.chmod(0o755)
    with pytest.raises(ReleaseError, match="git commit failed: not today"):
        release("1.7.0", repository, DATE)
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "tag") == ""


def test_scaffolded_examples_are_upgraded(repository: Path) -> None:
    shutil.rmtree(repository / "clientgo")
    shutil.rmtree(repository / "tools")
    for folder in ("clientgo", "tools"):
        shutil.copytree(ROOT / folder, repository / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (repository / ".gitignore").write_text("__pycache__/\n")
    shutil.copytree(ROOT / "examples" / "home", repository / "examples" / "home")
    commit(repository)
    assert "examples/home/PROJECT" in release("1.7.0", repository, DATE)
    assert "cliVersion: 1.7.0\n" in (repository / "examples" / "home" / "PROJECT").read_text()
    development = (repository / "examples" / "home" / "requirements-dev.txt").read_text()
    assert "./wheels/clientgo_olm-1.7.0-py3-none-any.whl\n" in development
