"""What an end-to-end test needs of whatever server `Environment` gives it: a place of its own, and reasons to skip.

No test here may depend on the bundled server: with `USE_EXISTING_CLUSTER=true` or `KUBEBUILDER_ASSETS` the same tests
run against a real one. What only some environments can do is asked for, and a test that can't have it says why.
"""

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from clientgo.envtest import Environment
from clientgo.errors import NotFound
from clientgo.rest import Config, RESTClient


def require_bundled(environment: Environment, why: str) -> None:
    """Skip unless the server is the bundled one: `why` says what of it the test needs."""
    if environment.kind != "bundled server":
        pytest.skip(f"needs {why}, which the bundled server has and the {environment.kind} has not")


def require_controllers(environment: Environment, what: str) -> None:
    """Skip where nobody does what a cluster's controllers do: `what` names it."""
    if not environment.runs_controllers:
        pytest.skip(f"{what} takes a cluster's controllers, which a {environment.kind} does not run")


def patience(environment: Environment) -> float:
    """How many seconds things may take: a real cluster pulls images and starts containers."""
    return 10.0 if environment.kind == "bundled server" else 60.0


def kubeconfig_of(environment: Environment, written: Path) -> Path:
    """The kubeconfig that leads to the environment: `written` by it, or the one kubectl would use."""
    if environment.kind != "existing cluster":
        return written
    return Path(os.environ.get("KUBECONFIG", "").split(os.pathsep)[0] or Path.home() / ".kube" / "config")


@contextmanager
def namespace(config: Config, prefix: str) -> Iterator[str]:
    """A namespace that nobody else uses, and that is deleted afterwards."""
    name = f"{prefix}-{uuid.uuid4().hex[:8]}"
    client = RESTClient(config)
    try:
        client.raw("POST", "/api/v1/namespaces", body=json.dumps({"metadata": {"name": name}}).encode())
        yield name
        with suppress(NotFound):  # the test may have deleted it
            client.raw("DELETE", f"/api/v1/namespaces/{name}")
    finally:
        client.close()
