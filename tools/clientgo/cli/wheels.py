"""Origin of clientgo in a project: wheels in its folder wheels/, by path and hash, or an index that the user names.

Nothing is required by name alone from a public index: its owner could be anybody.
"""

import hashlib
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

HASHES = "SHA256SUMS"
"""File beside the wheels with their hashes, in the format of sha256sum; hack/install.sh of a project checks them."""

_LIBRARY = "clientgo-*.whl"
_FURTHER = {"embedded": "clientgo_apiserver-*.whl", "tools": "clientgo_tools-*.whl", "olm": "clientgo_olm-*.whl"}
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
            expected = f"expected a checkout of clientgo or its wheel ({_LIBRARY})"
            raise CommandError(f"invalid --clientgo-from {source}: {expected}")
        to = path_below(root, FOLDER)
        to.mkdir(exist_ok=True)
        for pattern in (_LIBRARY, *_FURTHER.values()):
            for old in to.glob(pattern):
                old.unlink()
        wheels = sorted(Path(folder).glob("*.whl"))
        for wheel in wheels:
            shutil.copy(wheel, to)
        lines = (f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  {wheel.name}\n" for wheel in wheels)
        (to / HASHES).write_text("".join(lines), encoding="ascii")
    return [*(f"{FOLDER}/{wheel.name}" for wheel in wheels), f"{FOLDER}/{HASHES}"]


def install_words(root: Path, index: str) -> Mapping[str, str]:
    """Return the template words of the requirements: versions if the project names an index, else paths of wheels.

    A project that has no wheels yet names those of this version, so that nothing is installed before they are added.
    """
    if index:
        within = f">={VERSION},<{_next_minor(VERSION)}"
        requirements = {extra: f"clientgo[{extra}]{within}" for extra in ("secure-serving", *_FURTHER)}
        return {**_words(requirements), "index": f"--index-url {index}\n", "copy_wheels": ""}
    paths = {extra: _wheel(root, pattern) for extra, pattern in _FURTHER.items()}
    requirements = {"secure-serving": f"{_wheel(root, _LIBRARY)}[secure-serving]", **paths}
    return {**_words(requirements), "index": "", "copy_wheels": f"COPY {FOLDER} ./{FOLDER}\n"}


def _words(requirements: Mapping[str, str]) -> Mapping[str, str]:
    return {extra.replace("-", "_"): requirement for extra, requirement in requirements.items()}


def _wheel(root: Path, pattern: str) -> str:
    usual = pattern.replace("*", f"{VERSION}-py3-none-any")
    return next((f"./{FOLDER}/{wheel.name}" for wheel in (root / FOLDER).glob(pattern)), f"./{FOLDER}/{usual}")


def _next_minor(version: str) -> str:
    major, minor, *_ = version.split(".")
    return f"{major}.{int(minor) + 1}"


def _build(source: Path, folder: str) -> None:
    options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--wheel-dir", folder]
    sources = [str(source.resolve() / name) for name in ("", "apiserver", "tools", "olm")]
    command = [sys.executable, "-m", "pip", "wheel", *options, *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603  # the user's checkout
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise CommandError(f"cannot build a wheel from {source}: {reason}")
