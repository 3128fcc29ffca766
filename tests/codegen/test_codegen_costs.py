"""What the generator and its output cost."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from tests.codegen.generating import generate

ROOT = Path(__file__).resolve().parents[2]
KIND = """
@api_type(group="g{group}.example.com", version="v1", kind="Kind{number}", columns=(Column("A", "string", ".spec.a"),))
@dataclass(frozen=True, slots=True)
class Kind{number}:
    metadata: ObjectMeta
    spec: Spec
    status: Status = Status()
"""
HEAD = """
from dataclasses import dataclass
from typing import Annotated
from clientgo.meta import Column, Int32, Meta, ObjectMeta, api_type

@dataclass(frozen=True, slots=True)
class Part:
    name: Annotated[str, Meta(min_length=1)]
    sizes: tuple[Int32, ...] = ()

@dataclass(frozen=True, slots=True)
class Spec:
    a: str
    b: Annotated[Int32, Meta(ge=1, le=10)] = 3
    parts: Annotated[tuple[Part, ...], Meta(list_type="map", list_map_keys=("name",))] = ()

@dataclass(frozen=True, slots=True)
class Status:
    seen: Int32 = 0
"""
LIMIT_SECONDS = 10.0


def test_a_hundred_kinds_take_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: TID251  # sys.path
    for group in range(10):
        kinds = "".join(KIND.format(group=group, number=number) for number in range(10 * group, 10 * group + 10))
        (tmp_path / f"hundred{group}.py").write_text(textwrap.dedent(HEAD) + kinds)
    monkeypatch.syspath_prepend(tmp_path)
    began = SYSTEM_CLOCK.now()
    inputs = tuple(part for group in range(10) for part in ("--input-module", f"hundred{group}"))
    generate(tmp_path / "out", more=(*inputs, "--rbac-dir", "rbac"))
    assert SYSTEM_CLOCK.now() - began < LIMIT_SECONDS
    assert len(list((tmp_path / "out/crd").glob("*_*.yaml"))) == 100


@pytest.mark.parametrize("layer", ["clientset", "listers", "informers", "applyconfigurations"])
def test_a_generated_group_imports_in_milliseconds_beyond_the_runtime(layer: str) -> None:
    # Processor time, the best of some: a busy machine says nothing about the code.
    code = (
        "import time, clientgo.cache.factory, clientgo.typed.scale, clientgo.meta.applyconfiguration\n"
        "import controller.api.v1alpha1\n"
        "began = time.process_time()\n"
        f"import generated.{layer}.samplecontroller_v1alpha1\n"
        "print(time.process_time() - began)"
    )
    spent = min(
        float(subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    )
    assert spent < 0.030
