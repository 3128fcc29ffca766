"""Packages of the checkout as wheels install them, for type checkers that cannot read a package in two folders."""

from pathlib import Path

import clientgo

ROOT = Path(__file__).parents[1]


def installed(folder: Path) -> Path:
    """Return a folder with links to the packages: library and tools in one folder `clientgo`."""
    packages = folder / "packages"
    (packages / "clientgo").mkdir(parents=True)
    entries = {entry.name: entry for part in clientgo.__path__ for entry in Path(part).iterdir()}
    for name, entry in entries.items():
        (packages / "clientgo" / name).symlink_to(entry)
    (packages / "clientgo_apiserver").symlink_to(ROOT / "apiserver" / "clientgo_apiserver")
    return packages
