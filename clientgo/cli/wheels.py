"""Wheel of the library in a project's folder wheels/, for versions that no package index has."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from clientgo.cli.names import CommandError
from clientgo.files import path_below
from clientgo.version import VERSION

FOLDER = "wheels"

_PATTERN = "clientgo-*.whl"


def add_wheel(root: Path, source: Path) -> str:
    """Copy a wheel into the project, or build it from a checkout, in place of any other; return its path there.

    Raises:
        CommandError: the source is neither, or cannot be built.
    """
    with TemporaryDirectory() as folder:
        if source.is_dir() and (source / "clientgo" / "version.py").is_file():
            _build(source, folder)
        elif source.is_file() and source.match(_PATTERN):
            shutil.copy(source, folder)
        else:
            raise CommandError(
                f"invalid --clientgo-from {source}: expected a checkout of clientgo or its wheel ({_PATTERN})"
            )
        [wheel] = Path(folder).glob(_PATTERN)
        to = path_below(root, FOLDER)
        to.mkdir(exist_ok=True)
        for old in to.glob(_PATTERN):
            old.unlink()
        shutil.copy(wheel, to)
    return f"{FOLDER}/{wheel.name}"


def install_words(root: Path) -> Mapping[str, str]:
    """Return the template words of the library's requirement: the project's wheel if it has one, else the version."""
    for wheel in (root / FOLDER).glob(_PATTERN):
        return {"clientgo": f"./{FOLDER}/{wheel.name}", "at_least": "", "copy_wheels": f"COPY {FOLDER} ./{FOLDER}\n"}
    return {"clientgo": "clientgo", "at_least": f">={VERSION}", "copy_wheels": ""}


def _build(source: Path, folder: str) -> None:
    options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--wheel-dir", folder]
    command = [sys.executable, "-m", "pip", "wheel", *options, str(source.resolve())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603  # the user's checkout
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise CommandError(f"cannot build a wheel from {source}: {reason}")
