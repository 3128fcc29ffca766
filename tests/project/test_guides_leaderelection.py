"""The guide to leader election: its program runs."""

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
GUIDE = (ROOT / "docs" / "guide" / "leaderelection.md").read_text()


def test_it_is_short() -> None:
    assert len(GUIDE.splitlines()) <= 80


@pytest.mark.e2e
def test_its_program_leads_and_hands_over(tmp_path: Path) -> None:
    [program] = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    path, kubeconfig = tmp_path / "program.py", tmp_path / "kubeconfig"
    path.write_text(program)
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
