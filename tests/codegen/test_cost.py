"""Cost of code generation and of importing generated code."""

import subprocess
import sys
import textwrap
from pathlib import Path
from time import process_time

import pytest

from benchmarks.imports import BASE, STATEMENTS, main
from tests.codegen.generating import generate

pytestmark = pytest.mark.e2e

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
from clientgo.kubernetes.types.core_v1 import PodTemplateSpec
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


@pytest.mark.parametrize(
    "embedding",
    [pytest.param(False, id="plain"), pytest.param(True, id="each with a pod template", marks=pytest.mark.slow)],
)
def test_hundred_kinds_are_generated(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,  # noqa: TID251  # sys.path
    capsys: pytest.CaptureFixture[str],
    embedding: bool,
) -> None:
    more = "    template: PodTemplateSpec\n" if embedding else ""
    head = textwrap.dedent(HEAD).replace("    a: str\n", f"    a: str\n{more}")
    for group in range(10):
        kinds = "".join(KIND.format(group=group, number=number) for number in range(10 * group, 10 * group + 10))
        (tmp_path / f"hundred{group}{embedding}.py").write_text(head + kinds)
    monkeypatch.syspath_prepend(tmp_path)
    began = process_time()
    inputs = tuple(part for group in range(10) for part in ("--input-module", f"hundred{group}{embedding}"))
    generate(tmp_path / "out", more=(*inputs, "--rbac-dir", "rbac"))
    spent = process_time() - began
    assert len(list((tmp_path / "out/crd").glob("*_*.yaml"))) == 100
    with capsys.disabled():
        print(f"\n100 kinds{', each with a pod template,' * embedding}: {spent:.1f} s")


LISTERS = {
    "clientgo.cache.informer",
    "clientgo.cache.reflector",
    "clientgo.rest.request",
    "clientgo.stop.lifecycle",
    "random",
}
INFORMERS = {
    "clientgo.cache.watchtools",
    "clientgo.cache.mutation",
    "clientgo.rest.client",
    "clientgo.rest.config",
    "clientgo.typed.clientset",
}


@pytest.mark.parametrize(
    ("statement", "unused"),
    [
        ("import generated.listers.samplecontroller_v1alpha1", LISTERS | INFORMERS),
        ("from generated.informers import SharedInformerFactory", INFORMERS),
        ("import generated.clientset.samplecontroller_v1alpha1", INFORMERS | {"clientgo.cache"}),
        ("import clientgo.kubernetes.listers.apps_v1", LISTERS | INFORMERS),
        ("import clientgo.kubernetes.clients.coordination_v1", INFORMERS | {"clientgo.cache"}),
    ],
)
def test_generated_group_does_not_import_unused_runtime_modules(statement: str, unused: set[str]) -> None:
    code = f"{statement}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert unused & set(done.stdout.split()) == set()


def test_import_benchmark_prints_every_layer(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--rounds", "1"])
    output = capsys.readouterr().out
    assert [line.rpartition("ms  ")[2].partition(",")[0] for line in output.splitlines()] == [BASE, *STATEMENTS]
    with capsys.disabled():
        print(f"\n{output}", end="")  # `python -m benchmarks.imports` measures medians of more rounds
