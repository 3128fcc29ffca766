"""`replace` for type checkers: wrong names and types of attributes are errors from Python 3.13 on."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
USE = """\
from dataclasses import dataclass
from typing import TypeVar

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ApiObject, ObjectMeta, replace

T = TypeVar("T", bound=ApiObject)


@dataclass(frozen=True, slots=True)
class Spec:
    name: str
    replicas: int | None = None


def edited(spec: Spec, meta: ObjectMeta) -> tuple[Spec, ObjectMeta]:
    replace(spec, replica=3)  # wrong
    replace(spec, replicas="3")  # wrong
    replace(meta, label={})  # wrong
    replace(meta, generation="3")  # wrong
    replace(ConfigMap(), metadata=3)  # wrong
    return replace(spec, replicas=3), replace(meta, labels={**meta.labels, "a": "b"})


def of_any_kind(obj: T) -> T:
    return replace(obj, metadata=replace(obj.metadata, labels={}))
"""
ARGUMENTS = {
    "mypy": ("--strict", "--config-file=", "--python-version=3.13", "--cache-dir=cache"),
    "basedpyright": ("--pythonversion=3.13", f"--pythonpath={sys.executable}", "--level=error"),
}


@pytest.mark.e2e
@pytest.mark.parametrize("checker", ARGUMENTS)
def test_a_checker_rejects_wrong_names_and_types_of_attributes(checker: str, tmp_path: Path) -> None:
    program = shutil.which(checker, path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip(f"{checker} is not installed")
    (tmp_path / "use.py").write_text(USE)
    (tmp_path / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{ROOT}"]}}')
    environment = {"MYPYPATH": str(ROOT), "PATH": str(Path(program).parent), "HOME": str(tmp_path)}
    answer = subprocess.run(
        [program, *ARGUMENTS[checker], "use.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    found = {int(line) for line in re.findall(r"use\.py:(\d+):(?:\d+ -)? error", answer.stdout)}
    assert found == {n for n, line in enumerate(USE.splitlines(), 1) if line.endswith("# wrong")}, answer.stdout
