"""`make run` takes what is saved, and keeps its lease."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.processes import free_port, in_background, wait_for
from tests.cli.projects import foo_project, run

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.mark.feature("A-67")
def test_what_is_saved_runs_with_the_same_lease_and_what_is_broken_is_told(
    tmp_path: Path, variables: Mapping[str, str]
) -> None:
    project = foo_project(tmp_path / "foo")
    controller = project / "controllers" / "foo_controller.py"
    first = controller.read_text()
    kubectl = ("kubectl", "--kubeconfig", ".kubeconfig")
    flags = f"--leader-elect --log-level=debug --health-probe-bind-address=127.0.0.1:{free_port()}"
    with in_background(project, variables, "make", "cluster", sign="kubeconfig"):
        run(project, variables, "make", "install")
        run(project, variables, *kubectl, "apply", "-k", "config/samples")
        with in_background(project, variables, "make", "run", f"ARGS={flags}", sign='foo="foo-sample"') as said:
            controller.write_text(first.replace('log.info("reconciled"', 'log.info("reconciled"('))
            wait_for(said, "foo_controller.py changed; not restarting")
            controller.write_text(first.replace('log.info("reconciled"', 'log.info("reconciled again"'))
            wait_for(said, "reconciled again")
            lease = run(project, variables, *kubectl, "get", "lease", "-A", "-o", "jsonpath={.items[*].spec}")
    log = said.read_text()

    assert log.count("became leader") == 2
    assert log.count("stopped leading") == 2
    # Nobody has had to wait for a lease to expire: the one before had given it back.
    assert "lease is held" not in log
    assert '"leaseTransitions"' in lease
    assert "Traceback" not in log
