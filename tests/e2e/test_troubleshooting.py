"""Frequent mistakes print the messages of docs/troubleshooting.md."""

import os
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from clientgo.envtest import BundledServer, Environment
from clientgo.meta.yamlio import to_yaml
from tests.processes import Child

ROOT = Path(__file__).parents[2]

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
MESSAGES = re.findall(r"^\| `(.+?)` \|", PAGE.partition("\n## Messages of other programs\n")[0], re.MULTILINE)

PROGRAM = """\
from dataclasses import dataclass

from clientgo.manager import Reconciler
from clientgo.meta import ObjectMeta, api_type, replace


@dataclass(frozen=True, slots=True)
class WidgetSpec:
    text: str = ""


@api_type(group="example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Widget:
    metadata: ObjectMeta
    spec: WidgetSpec = WidgetSpec()


class WidgetReconciler(Reconciler[Widget]):
    def reconcile(self, widget: Widget) -> None:
        pass
"""

BUILT_IN = """\
import logging

from clientgo.kubernetes.types.core_v1 import Namespace, Pod
from clientgo.manager import Reconciler, Result
from clientgo.meta import replace


class NamespaceReconciler(Reconciler[Namespace]):
    def reconcile(self, namespace: Namespace) -> None:
        {}
"""

SPEC = """

@__import__("dataclasses").dataclass(frozen=True, slots=True)
class Spec:
    text: str = ""
"""

WEBHOOKS = """\
from clientgo.manager import run
from clientgo.webhook import WebhookServer

run(lambda manager, flags: manager.add(WebhookServer(cert_dir="/nowhere", port=0)), name="webhooks")
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Kubeconfig of a server without CRDs; `nobody` has no permissions."""
    kubeconfig = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    with Environment(server=BundledServer(secure=True, kubeconfig=kubeconfig)):
        yield kubeconfig


def shown(folder: Path, program: str, *flags: str, kubeconfig: Path | None, message: str) -> None:
    """Run a program until it prints the message."""
    (folder / "widgets.py").write_text(program)
    launcher = () if "run(" in program else ("-m", "clientgo.cli", "run")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder), "KUBECONFIG": str(kubeconfig or "")}
    pattern = ".*".join(re.escape(part.strip()) for part in message.split("…"))
    command = [sys.executable, *launcher, "widgets.py", *flags]
    with Child(command, folder / "log", cwd=folder, env=environ) as child:
        child.wait_for(pattern)


def test_every_message_of_the_page_has_a_test() -> None:
    assert len(MESSAGES) == 16


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("number", "program"),
    [
        pytest.param(1, PROGRAM, id="missing CRD"),
        pytest.param(3, PROGRAM.replace("widget: Widget)", "name: str, namespace: str)"), id="wrong parameters"),
        pytest.param(4, PROGRAM.replace("Reconciler[Widget]", "Reconciler[WidgetSpec]"), id="not a kind"),
        pytest.param(6, WEBHOOKS, id="webhook without certificate"),
        pytest.param(7, BUILT_IN.format("replace(namespace, speck=None)"), id="unknown field"),
        pytest.param(8, BUILT_IN.format("replace(Spec(), speck=None)") + SPEC, id="unknown field of a dataclass"),
        pytest.param(9, BUILT_IN.format("__import__('dataclasses').replace(namespace)"), id="copy of a built-in type"),
        pytest.param(10, BUILT_IN.format('logging.info("x", extra={"name": "a"})'), id="reserved name of a log record"),
        pytest.param(11, BUILT_IN.format("{}['x']"), id="exception"),
        pytest.param(12, BUILT_IN.format("self.client.list(Pod, fields={'node': 'a'})"), id="list without an index"),
        pytest.param(13, BUILT_IN.format("self.client.get(Pod, 'shop/web')"), id="text as a name"),
        pytest.param(14, BUILT_IN.format("return Result(requeue_after=float('nan'))"), id="no time"),
    ],
)
def test_mistake_is_named(tmp_path: Path, cluster: Path, number: int, program: str) -> None:
    shown(tmp_path, program, kubeconfig=cluster, message=MESSAGES[number])


@pytest.mark.e2e
def test_unknown_flag_is_named(tmp_path: Path) -> None:
    shown(tmp_path, BUILT_IN.format("pass"), "--wokers=2", kubeconfig=None, message=MESSAGES[15])


@pytest.mark.e2e
def test_missing_configuration_is_named(tmp_path: Path) -> None:
    shown(tmp_path, PROGRAM, kubeconfig=None, message=MESSAGES[0])


@pytest.mark.e2e
def test_missing_permission_is_named(tmp_path: Path, cluster: Path) -> None:
    config = yaml.safe_load(cluster.read_text())
    config["users"][0]["user"]["as"] = "nobody"
    (tmp_path / "nobody").write_text(to_yaml(config))
    shown(tmp_path, BUILT_IN.format("pass"), kubeconfig=tmp_path / "nobody", message=MESSAGES[2])


@pytest.mark.e2e
def test_port_in_use_is_named(tmp_path: Path, cluster: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        flag = f"--health-probe-bind-address={address}"
        shown(tmp_path, BUILT_IN.format("pass"), flag, kubeconfig=cluster, message=MESSAGES[5])
