"""Reload by `make run`, with release of the lease."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.processes import free_port, in_background, wait_for
from tests.cli.projects import foo_project, run

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.mark.feature("A-67")
def test_reload_restarts_on_valid_changes_and_releases_its_lease(tmp_path: Path, variables: Mapping[str, str]) -> None:
    project = foo_project(tmp_path / "foo")
    controller = project / "controllers" / "foo_controller.py"
    first = controller.read_text()
    kubectl = ("kubectl", "--kubeconfig", ".kubeconfig")
    flags = f"--leader-elect --log-level=debug --health-probe-bind-address=127.0.0.1:{free_port()}"
    with in_background(project, variables, "make", "cluster", sign="kubeconfig"):
        run(project, variables, "make", "install")
        run(project, variables, *kubectl, "apply", "-k", "config/samples")
        with in_background(project, variables, "make", "run", f"ARGS={flags}", sign='foo="foo-sample"') as output:
            controller.write_text(first.replace('log.info("reconciled"', 'log.info("reconciled"('))
            wait_for(output, "foo_controller.py changed; not restarting")
            controller.write_text(first.replace('log.info("reconciled"', 'log.info("reconciled again"'))
            wait_for(output, "reconciled again")
            lease = run(project, variables, *kubectl, "get", "lease", "-A", "-o", "jsonpath={.items[*].spec}")
    log = output.read_text()

    assert log.count("became leader") == 2
    assert log.count("stopped leading") == 2
    # The previous manager released the lease, so the next one did not wait for it to expire.
    assert "lease is held" not in log
    assert '"leaseTransitions"' in lease
    assert "Traceback" not in log
