"""The guide to several replicas: its programs run."""

import inspect
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment
from clientgo.kubernetes.clientset import Clientset
from clientgo.leaderelection import LeaderElector
from clientgo.leaderelection.candidate import ElectionMetrics
from tests.processes import Child

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guide" / "replicas.md").read_text()


PROGRAMS = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.mark.e2e
def test_its_program_shares_objects(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS[1])
    [printed] = re.findall(r"^```text\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with Child([sys.executable, "-W", "error", str(path)], tmp_path / "output", env=environ) as process:
        assert process.end(seconds=30) == (0, printed)


@pytest.mark.e2e
def test_its_program_leads_and_hands_over(tmp_path: Path) -> None:
    path, kubeconfig = tmp_path / "program.py", tmp_path / "kubeconfig"
    path.write_text(PROGRAMS[0])
    with Environment(server=BundledServer(kubeconfig=kubeconfig)) as config:
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(kubeconfig)}
        with Child([sys.executable, str(path)], tmp_path / "output", env=environ) as process:
            process.wait_for("^leading$")
            clientset = Clientset(config)
            leases = clientset.coordination_v1.leases("default")
            assert leases.get("sample-controller").spec.holder_identity
            assert process.end(signal.SIGTERM) == (0, "leading\nstopped\n")
        assert leases.get("sample-controller").spec.holder_identity == ""
        clientset.close()


def test_its_defaults_are_the_electors() -> None:
    named = dict(re.findall(r"^\| `(\w+)` \| (\d+) s \|", GUIDE, re.MULTILINE))
    options = inspect.signature(LeaderElector).parameters
    assert {name: float(seconds) for name, seconds in named.items()} == {
        name: options[name].default for name in ("lease_duration", "renew_deadline", "retry_period")
    }


def test_its_metrics_are_counted() -> None:
    source = Path(sys.modules[ElectionMetrics.__module__].__file__ or "").read_text()
    names = re.findall(r"`(leader_election_\w+)\{", GUIDE)
    assert len(names) == 2
    assert all(f'"{name}"' in source for name in names)
