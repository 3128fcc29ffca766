"""Images built and run by buildah, which needs neither a daemon nor a user namespace."""

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.processes import Child

USER = 65532
BASE = os.environ.get("PYTHON_IMAGE", "")
OPTIONS = shlex.split(os.environ.get("BUILD_OPTIONS", ""))
"""Options of each build that this machine needs, such as a network or a folder with certificates."""

MINUTES = 20


def buildah(*arguments: str | Path) -> str:
    """Run buildah and return its output, which a failure shows."""
    done = subprocess.run(
        ["buildah", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60 * MINUTES
    )
    assert done.returncode == 0, f"buildah {arguments[0]}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout.strip()


def build(context: Path) -> str:
    """Build the image of a folder with its Dockerfile and a fixed time, and return its id."""
    base = ["--build-arg", f"PYTHON_IMAGE={BASE}"] if BASE else []
    fixed = ["--timestamp", "0", "--no-cache", "--isolation", "chroot"]
    return buildah("build", "--quiet", *fixed, *OPTIONS, *base, context).splitlines()[-1]


class Size(NamedTuple):
    """Sizes of a part of an image."""

    part: str
    megabytes: float


class Container:
    """File system of a container, in which `start` runs the entry point of its image as an unprivileged user."""

    def __init__(self, image: str) -> None:
        self.name = buildah("from", image)
        self.root = Path(buildah("mount", self.name))
        self._entrypoint = json.loads(buildah("inspect", self.name))["OCIv1"]["config"]["Entrypoint"]

    def start(self, output: Path, conf: Path, *flags: str) -> Child:
        """Start the program with its flags; it reads /conf and must not write."""
        # Not inherited by the program: what runs in the container is configured by the image.
        run = ["buildah", "run", "--isolation", "chroot", "--user", f"{USER}:{USER}", "--volume", f"{conf}:/conf:ro"]
        return Child([*run, self.name, "--", *self._entrypoint, *flags], output)

    def files(self) -> dict[str, tuple[int, int]]:
        """Return mode and size of every file outside of the folders that buildah mounts."""
        mounted = ("conf", "dev", "proc", "sys", "run", "etc/hosts", "etc/resolv.conf", "etc/hostname")
        return {
            name: (status.st_mode, status.st_size if not path.is_dir() else 0)
            for path in self.root.rglob("*")
            if not (name := str(path.relative_to(self.root))).startswith(mounted)
            for status in [path.lstat()]
        }

    def sizes(self) -> Iterator[Size]:
        """Yield the size of the base, and of the folders that the image adds to it."""
        packages = next(self.root.glob("opt/venv/lib/python3*/site-packages"))
        added = [Size("/opt/venv", _megabytes(self.root / "opt/venv")), Size("/app", _megabytes(self.root / "app"))]
        yield Size("base", _megabytes(self.root) - sum(size.megabytes for size in added))
        yield from added
        each = [Size(f"  {path.name}", _megabytes(path)) for path in packages.iterdir()]
        yield from [size for size in sorted(each, key=lambda size: -size.megabytes) if size.megabytes >= 1]


def _megabytes(path: Path) -> float:
    below = path.rglob("*") if path.is_dir() else [path]
    return sum(entry.lstat().st_blocks for entry in below) * 512 / 1e6


@contextmanager
def container(image: str) -> Iterator[Container]:
    """Create a container of an image for the block."""
    created = Container(image)
    try:
        yield created
    finally:
        buildah("rm", created.name)


def end(child: Child) -> int:
    """Send SIGTERM to the program in a container, and return the exit code of the container."""
    for pid in child.session():
        # What starts the program has its user, too.
        process = Path(f"/proc/{pid}")
        if (
            f"\nUid:\t{USER}\t" in (process / "status").read_text()
            and b"buildah" not in (process / "cmdline").read_bytes()
        ):
            os.kill(pid, signal.SIGTERM)
    return child.end(seconds=60)[0]


def metric(text: str, name: str, labels: Mapping[str, str]) -> float:
    """Return the sum of the samples of a metric that have these labels."""
    lines = re.findall(rf"^{name}\{{(.*)\}} (\S+)$", text, re.MULTILINE)
    pairs = [f'{label}="{value}"' for label, value in labels.items()]
    return sum(float(value) for sample, value in lines if all(pair in sample for pair in pairs))
