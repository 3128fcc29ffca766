"""Wheels of the library and its API server in a project's folder wheels/, for versions that no package index has."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from clientgo.cli.names import CommandError
from clientgo.internal.files import path_below
from clientgo.version import VERSION

FOLDER = "wheels"

_LIBRARY, _SERVER = "clientgo-*.whl", "clientgo_apiserver-*.whl"


def add_wheels(root: Path, source: Path) -> list[str]:
    """Copy a wheel of the library into the project, and that of the server beside it, or build both from a checkout.

    They replace others. Return their paths in the project.

    Raises:
        CommandError: the source is neither, or cannot be built.
    """
    with TemporaryDirectory() as folder:
        if source.is_dir() and (source / "clientgo" / "version.py").is_file():
            _build(source, folder)
        elif source.is_file() and source.match(_LIBRARY):
            for wheel in (source, *sorted(source.parent.glob(_SERVER))[-1:]):
                shutil.copy(wheel, folder)
        else:
            raise CommandError(
                f"invalid --clientgo-from {source}: expected a checkout of clientgo or its wheel ({_LIBRARY})"
            )
        to = path_below(root, FOLDER)
        to.mkdir(exist_ok=True)
        for old in (*to.glob(_LIBRARY), *to.glob(_SERVER)):
            old.unlink()
        wheels = sorted(Path(folder).glob("*.whl"))
        for wheel in wheels:
            shutil.copy(wheel, to)
    return [f"{FOLDER}/{wheel.name}" for wheel in wheels]


def install_words(root: Path) -> Mapping[str, str]:
    """Return the template words of the requirements: the project's wheels if it has them, else the version."""
    library = next((f"./{FOLDER}/{wheel.name}" for wheel in (root / FOLDER).glob(_LIBRARY)), "")
    server = next((f"./{FOLDER}/{wheel.name}" for wheel in (root / FOLDER).glob(_SERVER)), "")
    clientgo, at_least = (library, "") if library else ("clientgo", f">={VERSION}")
    return {
        "clientgo": clientgo,
        "at_least": at_least,
        "server": server or f"{clientgo}[embedded]{at_least}",
        "copy_wheels": f"COPY {FOLDER} ./{FOLDER}\n" if library else "",
    }


def _build(source: Path, folder: str) -> None:
    options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--wheel-dir", folder]
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        *options,
        str(source.resolve()),
        str(source.resolve() / "apiserver"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603  # the user's checkout
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise CommandError(f"cannot build a wheel from {source}: {reason}")
