"""Type checkers find wrong names and types in `replace`, `change`, constructors, reconcilers and options.

Those of `replace` are found for targets of Python 3.13 and later.
"""

import json
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.installed import installed
from tests.processes import MYPY_CACHE, using_mypy_cache

ROOT = Path(__file__).parent.parent.parent
REPLACE = """\
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
    replace(meta, finalizers="a/b")  # wrong
    replace(meta, finalizers=["a/b"])
    replace(meta, generation="3")  # wrong
    replace(ConfigMap(), metadata=3)  # wrong
    return replace(spec, replicas=3), replace(meta, labels={**meta.labels, "a": "b"})


def of_any_kind(obj: T) -> T:
    return replace(obj, metadata=replace(obj.metadata, labels={}))
"""
CHANGE = """\
from clientgo.kubernetes.types.apps_v1 import Deployment, DeploymentStrategy
from clientgo.meta import change


def edited(old: Deployment) -> Deployment:
    change(old, lambda d: d.spec.replica).to(3)  # wrong
    change(old, lambda d: d.spec.replicas).to("3")  # wrong
    change(old, lambda d: d.spec.replicas).by(lambda n: n + 1)  # wrong: may be None
    change(old, lambda d: d.spec.strategy.type).to("Recreate")  # wrong: may be None
    change(old, lambda d: d.spec.template.spec.containers[0].imag).to("nginx")  # wrong
    change(old, lambda d: d.spec.template.spec.containers[0].image).to(2)  # wrong
    change(old, lambda d: d.metadata.labels).to({"a": 1})  # wrong
    change(old, lambda d: d.metadata.labels["a"]).to(1)  # wrong
    old = change(old, lambda d: d.spec.replicas).to(3)
    old = change(old, lambda d: d.spec.replicas).by(lambda n: (n or 0) + 1)
    old = change(old, lambda d: d.spec.strategy).to(DeploymentStrategy(type="Recreate"))
    old = change(old, lambda d: d.metadata.labels).by(lambda labels: {**labels, "a": "b"})
    return change(old, lambda d: next(c for c in d.spec.template.spec.containers if c.name == "a").image).to("nginx")
"""
LISTS = """\
from clientgo.kubernetes.applyconfigurations.pods import ContainerApplyConfiguration
from clientgo.kubernetes.types.pods import Container, PodSpec
from clientgo.meta import ObjectMeta


def made(names: list[str]) -> tuple[Container, ...]:
    ObjectMeta(finalizers="a/b")  # wrong
    ObjectMeta(finalizers=[1])  # wrong
    PodSpec(containers=(Container()))  # wrong
    PodSpec(containers=["web"])  # wrong
    PodSpec(container=[Container()])  # wrong
    PodSpec().containers.append(Container())  # wrong
    PodSpec().containers = ()  # wrong
    ContainerApplyConfiguration(args="-v")  # wrong
    ContainerApplyConfiguration(args=["-v"])
    ObjectMeta(finalizers=["a/b"])
    spec = PodSpec(containers=[Container(name=name, args=("-v",)) for name in names])
    return (*spec.containers, spec.containers[0])
"""
RECONCILER = """\
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Client, Reconciler, Result
from clientgo.meta import ObjectMeta, change, object_name
from clientgo.testing.client import FakeClient


class Scaler(Reconciler[ConfigMap], owns=[Deployment]):
    def reconcile(self, settings: ConfigMap) -> Result | None:
        found = self.client.find(Deployment, object_name(settings))
        self.client.update(found)  # wrong: may be None
        if found is not None:
            self.client.update(change(found, lambda d: d.spec.replicas).to(2))
        return None

    def finalize(self, settings: ConfigMap) -> None:
        self.client.delete(settings)


client: Client = FakeClient(ConfigMap(metadata=ObjectMeta(name="a", namespace="ns")))
Scaler(client).reconcile(ConfigMap())
Scaler(client).reconcile(Deployment())  # wrong
"""
OPTIONS = """\
from clientgo.envtest import BundledServer
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.manager import ControllerBuilder, ControllerOptions, Reconciler


class Base(Reconciler[ConfigMap], owns=[Secret], workers=2, retries=3, timeout=5, expected=[KeyError], warm_up=False):
    pass


class Derived(Base, name="derived", predicates=[]):
    pass


class UnknownKeyword(Base, worker=2):  # wrong
    pass


class WrongType(Base, workers="2"):  # wrong
    pass


def built(builder: ControllerBuilder) -> ControllerOptions:
    builder.with_options(worker=2)  # wrong
    builder.with_options(recover_panic="no")  # wrong
    builder.with_options(recover_panic=False).with_workers(2)
    return ControllerOptions(workers=2, cache_sync_timeout=3.0)


def served() -> BundledServer:
    BundledServer(secured=True)  # wrong
    BundledServer(port="8080")  # wrong
    return BundledServer(secure=True, port=8080, stages=["stages.yaml"])
"""
ARGUMENTS = {
    "mypy": ("--strict", "--config-file=", "--python-version={}", f"--cache-dir={MYPY_CACHE}"),
    "basedpyright": ("--pythonversion={}", f"--pythonpath={sys.executable}", "--level=error"),
}


@pytest.mark.e2e
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("version", "sources"),
    [
        ("3.11", {"change": CHANGE, "lists": LISTS, "reconciler": RECONCILER, "options": OPTIONS}),
        ("3.13", {"replace": REPLACE}),
    ],
    ids=["3.11", "3.13"],
)
@pytest.mark.parametrize("checker", ARGUMENTS)
def test_checker_rejects_wrong_names_and_types_of_attributes(
    checker: str, version: str, sources: dict[str, str], tmp_path: Path
) -> None:
    program = shutil.which(checker, path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip(f"{checker} is not installed")
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(installed(tmp_path)), str(ROOT)]}))
    environment = {"MYPYPATH": str(ROOT), "PATH": str(Path(program).parent), "HOME": str(tmp_path)}
    arguments = (argument.format(version) for argument in ARGUMENTS[checker])
    with using_mypy_cache() if checker == "mypy" else nullcontext():
        result = subprocess.run(
            [program, *arguments, *(f"{name}.py" for name in sources)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=200,
        )  # fmt: skip
    actual = set(re.findall(r"(\w+)\.py:(\d+):(?:\d+ -)? error", result.stdout))
    wrong = {
        (name, str(number))
        for name, source in sources.items()
        for number, line in enumerate(source.splitlines(), 1)
        if "  # wrong" in line
    }
    assert actual == wrong, result.stdout
