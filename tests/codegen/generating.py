"""Code generator for tests: it writes the kinds beside this file to a folder, as text or as importable modules."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

from clientgo.codegen.__main__ import main
from clientgo.codegen.crd.schema import SchemaMaker
from clientgo.codegen.problems import Problems

CREDENTIALS = Path(__file__).with_name("credentials.yaml")
ROOT = Path(__file__).resolve().parents[2]


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


def printed_by(folder: Path, code: str) -> str:
    """Return what code prints that imports the modules in a folder; it must print no error."""
    command, env = [sys.executable, "-c", code], {"PYTHONPATH": f"{folder}:{ROOT}"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    return done.stdout


def schema_of(hint: Any, *default: Any, **options: Any) -> Any:
    """Return the schema of one field, and check that there are no problems."""
    problems = Problems()
    maker = SchemaMaker(problems, **options)
    built = maker.of_class(make_dataclass("Holder", [("field", hint, *default)], frozen=True))
    assert list(problems) == []
    return built["properties"]["field"]


def problems_of(hint: Any) -> str:
    """Return the problems of the schema of one field."""
    problems = Problems()
    SchemaMaker(problems).of_class(make_dataclass("Holder", [("field", hint)], frozen=True))
    return "\n".join(problems)
