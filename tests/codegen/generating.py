"""Code generator for tests: it writes the kinds beside this file to a folder, as text or as importable modules."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clientgo.codegen.__main__ import main

CREDENTIALS = Path(__file__).with_name("credentials.yaml")


def generate(folder: Path, *modules: str, more: tuple[str, ...] = (), package: str = "made") -> None:
    """Generate everything for these modules (of `kinds`, unless dotted) in a folder."""
    inputs = [
        part
        for module in modules
        for part in ("--input-module", module if "." in module else f"tests.codegen.kinds.{module}")
    ]
    options = ("--output-package", package, "--crd-dir", "crd", "--root", str(folder), *more)
    assert main([*inputs, *options]) == 0


def as_text(folder: Path) -> str:
    """Return the concatenated files of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".yaml"))
    return "\n".join(f"=== {path.relative_to(folder).as_posix()}\n{path.read_text()}" for path in files)


@contextmanager
def importable(folder: Path, package: str) -> Iterator[None]:
    """Make the generated package importable for the block."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.split(".")[0] == package]:
            del sys.modules[name]
