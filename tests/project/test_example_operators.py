"""The operator of one file, the line counts of the examples, and the generated code of a cluster-scoped kind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace
from clientgo.meta import ObjectMeta, ObjectName, change
from clientgo.testing.client import FakeClient
from examples.configmap_syncer import SOURCE, TO, ConfigMapSyncer

ROOT = Path(__file__).parents[2]
IPPOOL = ROOT / "examples" / "ippool"

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

NAME = ObjectName("home", "settings")


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))


def settings(**annotations: str) -> ConfigMap:
    metadata = ObjectMeta(name="settings", namespace="home", annotations=annotations)
    return ConfigMap(metadata=metadata, data={"mode": "fast"})


@pytest.fixture
def client() -> FakeClient:
    """Two namespaces of which the ConfigMap selects one, besides its own."""
    return FakeClient(
        namespace("home", team="a"), namespace("a", team="a"), namespace("b", team="b"), settings(**{TO: "team=a"})
    )


def copies(client: FakeClient) -> dict[str, dict[str, str]]:
    ConfigMapSyncer(client).reconcile_request(NAME)
    result = client.list(ConfigMap)
    return {item.metadata.namespace: dict(item.data) for item in result if SOURCE in item.metadata.annotations}


def test_selected_namespaces_get_a_copy_which_is_written_once(client: FakeClient) -> None:
    assert copies(client) == {"a": {"mode": "fast"}}
    client.clear_actions()
    assert copies(client) == {"a": {"mode": "fast"}}
    assert client.writes == []


def test_changed_selector_moves_the_copies(client: FakeClient) -> None:
    assert copies(client).keys() == {"a"}
    source = client.get(ConfigMap, NAME)
    client.update(change(source, lambda d: d.metadata.annotations).to({TO: "team=b"}))
    assert copies(client).keys() == {"b"}
    client.update(change(client.get(ConfigMap, NAME), lambda d: d.metadata.annotations).to({}))
    assert copies(client) == {}


def test_changed_copy_is_reverted_and_a_changed_source_is_copied(client: FakeClient) -> None:
    assert copies(client) == {"a": {"mode": "fast"}}
    client.patch(client.get(ConfigMap, ObjectName("a", "settings")), {"data": {"mode": "other"}})
    assert copies(client) == {"a": {"mode": "fast"}}
    client.patch(client.get(ConfigMap, NAME), {"data": {"mode": "slow"}})
    assert copies(client) == {"a": {"mode": "slow"}}


def test_copies_of_a_deleted_source_are_deleted(client: FakeClient) -> None:
    assert copies(client).keys() == {"a"}
    client.delete(client.get(ConfigMap, NAME))
    assert copies(client) == {}


@pytest.mark.parametrize(
    "example", ["configmap_syncer.py", "certificates/expiry.py", "database/with_clientgo.py", "webapp/"]
)
def test_line_count_in_the_list_of_examples_is_current(example: str) -> None:
    readme = (ROOT / "examples" / "README.md").read_text()
    [listed] = re.findall(rf"^\| `{example}` \| (\d+) \|", readme, re.MULTILINE)
    location = ROOT / "examples" / example
    files = (
        [path for path in location.rglob("*.py") if "tests" not in path.parts[-2:]] if location.is_dir() else [location]
    )
    assert sum(len(path.read_text().splitlines()) for path in files) == int(listed)


@pytest.mark.e2e
@pytest.mark.feature("A-34")
@pytest.mark.feature("A-77")
def test_client_and_lister_of_ippool_have_no_namespace_and_share_types_and_cache_with_the_manager() -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=IPPOOL, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "(self) -> generated.clientset.tsi_v1alpha1.IPPoolClient",
        "['kind']",
        "['self', 'name'] ['self', 'selector']",
    ]


@pytest.mark.feature("A-34")
def test_reconciler_of_ippool_has_the_permissions_of_its_markers() -> None:
    role = yaml.safe_load((IPPOOL / "config" / "rbac" / "role.yaml").read_text())
    rules = {resource: set(rule["verbs"]) for rule in role["rules"] for resource in rule["resources"]}
    assert role["kind"] == "ClusterRole"
    assert rules["ippools"] == {"get", "list", "watch"}
    assert rules["ippools/status"] == {"get", "patch", "update"}
    assert rules["ippools/finalizers"] == {"update"}
