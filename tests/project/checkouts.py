"""Copy of the repository's files that the distributions are built from, with more than they may contain."""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
INGREDIENTS = (
    "apiserver",
    "clientgo",
    "controller",
    "generated",
    "olm",
    "tests",
    "tools",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
)


def copy_checkout(to: Path) -> None:
    """Copy the files into a new folder."""
    to.mkdir(parents=True)
    for name in INGREDIENTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, to / name)
