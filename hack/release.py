"""Release of the distributions: python -m hack.release 0.2.0; `make release VERSION=0.2.0` runs it.

The version is written into all, the sections `Unreleased` of the changelogs get version and date, and the result
is committed and tagged v0.2.0. Nothing leaves this machine: pushing the tag starts the release workflow.
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.version import InvalidVersion, Version

from hack.checkout import DISTRIBUTIONS, ROOT, version, version_file

RANGE = re.compile(r"\b(clientgo(?:-\w+)?)>=[\w.]+,<[\d.]+")
"""Requirement of a distribution of this repository on another: releases with the same first two numbers."""

UNRELEASED = re.compile(r"^## Unreleased\b.*\n(?P<changes>(?:(?!## ).*\n?)*)", re.MULTILINE)


class ReleaseError(Exception):
    """The release cannot be made; nothing has been changed."""


def git(root: Path, *arguments: str) -> str:
    """Run git and return its output.

    Raises:
        ReleaseError: git failed; the message is its own.
    """
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)  # nosec B607
    if done.returncode:
        raise ReleaseError(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip()


def next_version(text: str, current: str) -> Version:
    """Return the version of the release.

    Raises:
        ReleaseError: it is not a version in normal form, or older than the current one.
    """
    try:
        parsed = Version(text)
    except InvalidVersion:
        parsed = None
    if parsed is None or str(parsed) != text or len(parsed.release) != 3 or parsed.local or parsed.dev is not None:
        raise ReleaseError(f"invalid version {text!r}: expected three numbers such as 0.2.0, or 0.2.0rc1")
    if parsed < Version(current):
        raise ReleaseError(f"invalid version {text}: the current one is {current}, which is newer")
    return parsed


def changelogs(root: Path) -> Iterator[Path]:
    """Yield the changelogs: the library's, and those of distributions that have one."""
    for folder in DISTRIBUTIONS.values():
        path = root / folder / "CHANGELOG.md"
        if path.exists():
            yield path


def released(path: Path, root: Path, heading: str) -> str:
    """Return a changelog with the heading of the release in place of `Unreleased`.

    Raises:
        ReleaseError: it has no such section, or the section is empty.
    """
    text = path.read_text(encoding="utf-8")
    match = UNRELEASED.search(text)
    name = path.relative_to(root)
    if match is None:
        raise ReleaseError(f'{name} has no section "## Unreleased": list what changes for users')
    if not match["changes"].strip():
        raise ReleaseError(f'the section "## Unreleased" of {name} is empty: list what changes for users')
    end = match.start("changes")
    return f"{text[: match.start()]}{heading}\n{text[end:]}"


def changes(root: Path, new: Version, date: datetime.date) -> dict[Path, str]:
    """Return the new text of every file that a release changes."""
    result = {path: released(path, root, f"## {new} ({date})") for path in changelogs(root)}
    major, minor, _ = new.release
    limits = f">={new if new.is_prerelease else f'{major}.{minor}'},<{major}.{minor + 1}"
    for name, folder in DISTRIBUTIONS.items():
        path = version_file(name, root)
        result[path] = re.sub(r'^VERSION = ".*"$', f'VERSION = "{new}"', path.read_text("utf-8"), flags=re.MULTILINE)
        path = root / folder / "setup.cfg"
        result[path] = RANGE.sub(rf"\1{limits}", path.read_text("utf-8"))
    return result


def upgrade_examples(root: Path) -> None:
    """Upgrade the scaffolded projects in examples/ to the version in the tree, as their users would.

    Raises:
        ReleaseError: an upgrade failed; the message is its own.
    """
    for project in sorted(root.glob("examples/*/PROJECT")):
        command = [sys.executable, "-m", "clientgo.cli", "upgrade"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "tools")])}
        done = subprocess.run(command, cwd=project.parent, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ReleaseError(f"clientgo upgrade failed in {project.parent.relative_to(root)}: {done.stderr.strip()}")


def release(text: str, root: Path, date: datetime.date) -> list[str]:
    """Write, commit and tag the release; return the files that changed.

    Raises:
        ReleaseError: the version is invalid, the tree is not clean, or a changelog lists nothing; nothing has changed.
    """
    new = next_version(text, version("clientgo", root))
    tag = f"v{new}"
    if changed := git(root, "status", "--porcelain"):
        raise ReleaseError(f"{len(changed.splitlines())} files are not committed: commit or stash them")
    if git(root, "tag", "--list", tag):
        raise ReleaseError(f"the tag {tag} already exists: choose the next version")
    written = changes(root, new, date)
    try:
        for path, content in written.items():
            path.write_text(content, encoding="utf-8")
        upgrade_examples(root)
        git(root, "add", "--all")
        listed = git(root, "diff", "--cached", "--name-only").splitlines()
        git(
            root,
            "commit",
            "--quiet",
            f"--message=Release {new}",
            "--message=Versions and changelogs; see CHANGELOG.md.",
        )
    except ReleaseError:  # such as a hook that rejects the commit; the tree was clean before
        git(root, "add", "--all")
        git(root, "reset", "--quiet", "--hard")
        raise
    git(root, "tag", "--annotate", tag, "--message", f"Release {new}")
    return listed


def main(arguments: Iterable[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m hack.release", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("version", help="version of the release, such as 0.2.0")
    options = parser.parse_args([*arguments])
    try:
        listed = release(options.version, ROOT, datetime.datetime.now(datetime.UTC).date())
    except ReleaseError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    tag = f"v{options.version}"
    sys.stdout.write(
        f"committed and tagged {tag}: {', '.join(listed)}\n"
        f"Next: make dist, then git push --atomic origin HEAD {tag}; the workflow publishes what the tag names.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
