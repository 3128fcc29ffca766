"""Skips for missing features of the API server under test; a server and kubectl for the tests of kubectl."""

import json
import os
import re
import uuid
from collections.abc import Iterator

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.rest import load_config
from tests.e2e.clusters import kubeconfig_of, kubelet, pytest_runtest_setup
from tests.e2e.kubectl import CRD, Kubectl

__all__ = ["pytest_runtest_setup"]


@pytest.fixture(scope="package")
def kubectl_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """Return kubectl for the namespace `default`, with an empty home. All tests of kubectl share the server."""
    home = tmp_path_factory.mktemp("home")
    (home / "crd.yaml").write_text(json.dumps(CRD))
    environment = Environment(
        crd_paths=[home / "crd.yaml"], server=server_from(bundled=BundledServer(kubeconfig=home / "kubeconfig"))
    )
    environment.start()
    try:
        environ = {**os.environ, "HOME": str(home), "KUBECACHEDIR": str(home / "cache")}
        environ["KUBECONFIG"] = str(kubeconfig_of(environment, home / "kubeconfig"))
        yield Kubectl(environment, environ, "default")
    finally:
        environment.stop()


@pytest.fixture
def kubectl(kubectl_home: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """Return kubectl for a namespace of the test."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:50].strip("-") + f"-{uuid.uuid4().hex[:6]}"
    result = Kubectl(kubectl_home.environment, kubectl_home.environ, name)
    result.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, "-n", "default")
    try:
        with kubelet(result.environment, load_config(kubeconfig=result.environ["KUBECONFIG"]), name):
            yield result
    finally:
        result.run("delete", "namespace", name, "--wait=false", "--ignore-not-found", "-n", "default")
