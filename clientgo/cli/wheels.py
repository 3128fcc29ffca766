"""Wheels of this project's distributions in a folder wheels/, for versions that no package index has."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from clientgo.cli.names import CommandError
from clientgo.internal.files import path_below
from clientgo.version import VERSION

FOLDER = "wheels"

_LIBRARY = "clientgo-*.whl"
_FURTHER = {"embedded": "clientgo_apiserver-*.whl", "olm": "clientgo_olm-*.whl"}
"""Wheels of the other distributions, by the extras that require them."""


def add_wheels(root: Path, source: Path) -> list[str]:
    """Copy a wheel of the library into the project, and others beside it, or build all from a checkout.

    They replace others. Return their paths in the project.

    Raises:
        CommandError: the source is neither, or cannot be built.
    """
    with TemporaryDirectory() as folder:
        if source.is_dir() and (source / "clientgo" / "version.py").is_file():
            _build(source, folder)
        elif source.is_file() and source.match(_LIBRARY):
            further = (sorted(source.parent.glob(pattern))[-1:] for pattern in _FURTHER.values())
            for wheel in (source, *chain.from_iterable(further)):
                shutil.copy(wheel, folder)
        else:
            raise CommandError(
                f"invalid --clientgo-from {source}: expected a checkout of clientgo or its wheel ({_LIBRARY})"
            )
        to = path_below(root, FOLDER)
        to.mkdir(exist_ok=True)
        for pattern in (_LIBRARY, *_FURTHER.values()):
            for old in to.glob(pattern):
                old.unlink()
        wheels = sorted(Path(folder).glob("*.whl"))
        for wheel in wheels:
            shutil.copy(wheel, to)
    return [f"{FOLDER}/{wheel.name}" for wheel in wheels]


def install_words(root: Path) -> Mapping[str, str]:
    """Return the template words of the requirements: the project's wheels if it has them, else the version."""
    library = _wheel(root, _LIBRARY)
    clientgo, at_least = (library, "") if library else ("clientgo", f">={VERSION}")
    further = {extra: _wheel(root, pattern) for extra, pattern in _FURTHER.items()}
    return {
        "clientgo": clientgo,
        "at_least": at_least,
        **{extra: wheel or f"{clientgo}[{extra}]{at_least}" for extra, wheel in further.items()},
        "copy_wheels": f"COPY {FOLDER} ./{FOLDER}\n" if library else "",
    }


def _wheel(root: Path, pattern: str) -> str:
    return next((f"./{FOLDER}/{wheel.name}" for wheel in (root / FOLDER).glob(pattern)), "")


def _build(source: Path, folder: str) -> None:
    options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--wheel-dir", folder]
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        *options,
        str(source.resolve()),
        *(str(source.resolve() / folder) for folder in ("apiserver", "olm")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603  # the user's checkout
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise CommandError(f"cannot build a wheel from {source}: {reason}")
