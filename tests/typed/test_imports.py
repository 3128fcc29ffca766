"""Imports of a generated group: no HTTP library, TLS or YAML until a client is created."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"urllib3", "ssl", "http.client", "yaml", "kubernetes", "asyncio", "logging.handlers"}

BUILT = """
from clientgo.rest import Config, RESTClient
RESTClient(Config("https://127.0.0.1:1", proxy_url={proxy!r}))
"""


def loaded(code: str) -> set[str]:
    """Return the heavy modules that a new Python process has imported after `code`."""
    ask = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    return HEAVY & set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "from generated.clientset import Clientset",
        "import generated.listers.samplecontroller_v1alpha1",
        "from generated.informers import SharedInformerFactory",
        "import clientgo.kubernetes.clients.apps_v1",
        "from clientgo.rest import Config, RESTClient, in_cluster_config, load_config",
    ],
)
def test_importing_loads_nothing_that_only_connections_need(code: str) -> None:
    assert loaded(code) == set()


def test_building_a_client_loads_what_direct_connections_need() -> None:
    assert loaded(BUILT.format(proxy="")) == {"ssl"}


def test_building_a_client_behind_a_proxy_loads_what_speaks_to_it() -> None:
    assert {"urllib3", "ssl"} <= loaded(BUILT.format(proxy="http://127.0.0.1:1"))
