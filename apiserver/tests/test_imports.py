"""Imports of a server that has started: nothing that only some requests, kinds or options need."""

import sys
from pathlib import Path

import pytest

from tests.processes import Child

pytestmark = pytest.mark.e2e

STARTED = """
import sys
from clientgo_apiserver.server import ApiServer
with ApiServer():
    print(*sys.modules)
"""
LATER = {"clientgo_apiserver.cel.values", "cryptography", "importlib.metadata", "re2", "wsproto", "zoneinfo"}


def test_start_with_pods_imports_nothing_that_only_some_requests_need(tmp_path: Path) -> None:
    with Child([sys.executable, "-c", STARTED], tmp_path / "output") as process:
        imported = set(process.wait_for("").split())
    assert "clientgo_apiserver.cluster.kubelet" in imported
    assert not imported & LATER
