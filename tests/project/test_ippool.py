"""IPPool, the cluster-scoped kind of an example: its generated code, and the permissions of its reconciler."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
PROJECT = ROOT / "examples" / "ippool"

PROGRAM = """
import inspect

from api.v1alpha1.ippool_types import IPPool
from generated.clientset import Clientset
from generated.clientset.tsi_v1alpha1 import TsiV1alpha1
from generated.informers.tsi_v1alpha1 import IPPoolInformer
from generated.listers.tsi_v1alpha1 import IPPoolLister

from clientgo.manager import Manager
from clientgo.testing.fake import FakeRequester

print(inspect.signature(TsiV1alpha1.ip_pools))
print([name for name in vars(IPPoolLister) if not name.startswith("_")])  # of a kind with namespaces: one more
print([*inspect.signature(IPPoolLister.get).parameters], [*inspect.signature(IPPoolLister.list).parameters])
manager = Manager(FakeRequester())
assert IPPoolInformer(manager.cache.factory).informer is manager.cache.informer(IPPool)
assert Clientset(manager.requester).tsi_v1alpha1.ip_pools().kind is IPPool
"""


@pytest.mark.e2e
@pytest.mark.feature("A-34")
@pytest.mark.feature("A-77")
def test_client_and_lister_have_no_namespace_and_share_types_and_cache_with_the_manager() -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=PROJECT, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "(self) -> generated.clientset.tsi_v1alpha1.IPPoolClient",
        "['kind']",
        "['self', 'name'] ['self', 'selector']",
    ]


@pytest.mark.feature("A-34")
def test_reconciler_has_the_permissions_of_its_markers() -> None:
    role = yaml.safe_load((PROJECT / "config" / "rbac" / "role.yaml").read_text())
    rules = {resource: set(rule["verbs"]) for rule in role["rules"] for resource in rule["resources"]}
    assert role["kind"] == "ClusterRole"
    assert rules["ippools"] == {"get", "list", "watch"}
    assert rules["ippools/status"] == {"get", "patch", "update"}
    assert rules["ippools/finalizers"] == {"update"}
