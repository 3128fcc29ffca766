"""Static types of generated code, as seen by mypy and pyright."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, assert_type

import pytest

from clientgo.cache import DeletedFinalStateUnknown, SharedInformer, last_known
from clientgo.cache.lister import Lister
from clientgo.meta import ObjectMeta, ObjectName, object_name
from clientgo.workqueue import RateLimitingQueue
from controller.api.v1alpha1 import Foo, FooSpec, FooStatus
from generated.clientset.fake import FakeClientset
from generated.informers import SharedInformerFactory
from tests.codegen.generating import CREDENTIALS, generate
from tests.installed import installed

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.feature("B-STO-15", "C-04", "C-26")
def test_clientset_is_typed_down_to_the_fields() -> None:
    """Run code whose `assert_type` calls mypy checks."""
    clientset = FakeClientset(Foo(ObjectMeta(name="x", namespace="ns"), FooSpec("d", 3), FooStatus(2)))
    foos = clientset.samplecontroller_v1alpha1.foos("ns")
    assert_type(foos.get("x").spec, FooSpec)
    assert_type(foos.get("x").status.available_replicas, int | None)
    assert_type(foos.list().items, list[Foo])
    factory = SharedInformerFactory(clientset)
    assert_type(factory.samplecontroller.v1alpha1.foos.lister.foos("ns"), Lister[Foo])
    informer = assert_type(factory.samplecontroller.v1alpha1.foos.informer, SharedInformer[Foo])
    assert_type(informer.indexer.by_index("namespace", "ns"), list[Foo])
    queue = assert_type(RateLimitingQueue[ObjectName](), RateLimitingQueue[ObjectName])

    def enqueue(deleted: Foo | DeletedFinalStateUnknown[Foo]) -> None:
        assert_type(last_known(deleted), Foo | None)
        queue.add(object_name(deleted))

    informer.add_event_handler(on_delete=enqueue)
    assert assert_type(foos.get("x").spec.replicas, int | None) == 3


USE = """
from typing import assert_type
from clientgo.meta import ObjectMeta
from generated.clientset import Clientset
from controller.api.v1alpha1 import FooSpec
from made.applyconfigurations.workshop_v1 import MachineSpecApplyConfiguration
from made.clientset import Clientset as Made
from made.informers import SharedInformerFactory
from made.types.credentials_v1 import CredentialSpec
from tests.codegen.kinds.workshop import Machine, Repair

def use(clientset: Clientset, made: Made) -> None:
    assert_type(clientset.samplecontroller_v1alpha1.foos("ns").get("x").spec, FooSpec)
    machines = made.workshop_v1.machines("ns")
    assert_type(machines.repair("m", Repair(ObjectMeta(name="m"))), Repair)
    lister = SharedInformerFactory(made).workshop.v1.machines.lister
    assert_type(lister.machines("ns").get("m"), Machine)
    assert_type(made.credentials_v1.credentials("ns").get("c").spec, CredentialSpec)
    machines.get("m").spec.sped  # wrong
    MachineSpecApplyConfiguration(sped=1)  # wrong
"""
KINDS = ("bakery", "fleet", "ippool", "shelf_v1", "shelf_v1beta1", "workshop")


@pytest.mark.e2e
@pytest.mark.feature("A-41")
def test_pyright_accepts_generated_code_and_reports_its_misuse(tmp_path: Path) -> None:
    program = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("basedpyright")
    if program is None:
        pytest.skip("basedpyright is not installed")
    generate(tmp_path, *KINDS, more=("--from-crd", str(CREDENTIALS)))
    (tmp_path / "use.py").write_text(USE)
    config: dict[str, Any] = {
        "include": ["made", "use.py", str(ROOT / "generated"), str(ROOT / "clientgo/kubernetes")],
        "extraPaths": [str(installed(tmp_path)), str(ROOT), "."],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [program, "-p", str(tmp_path), "--pythonpath", sys.executable, "--outputjson"]
    document = json.loads(subprocess.run(command, capture_output=True, text=True, check=False, timeout=300).stdout)
    errors = [each for each in document["generalDiagnostics"] if each["severity"] == "error"]
    marked = {number for number, line in enumerate(USE.splitlines()) if re.search("# wrong$", line)}
    assert {Path(error["file"]).name for error in errors} == {"use.py"}, errors
    assert {error["range"]["start"]["line"] for error in errors} == marked
    assert document["summary"]["filesAnalyzed"] > 150
