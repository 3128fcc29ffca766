"""Bundled server in memory, without the controllers of the simulated cluster, as a target of sequences."""

import json
from typing import Any

from apiserver.tests.inprocess import DEFINITIONS, Kube
from tests.differential.kinds import DEFINITION, NAMESPACE
from tests.differential.playing import Send


def bundled() -> Send:
    """Return requests to a new server that serves all kinds of the sequences."""
    server = Kube(version="1.36")  # as in the recording
    server.ok("POST", DEFINITIONS, DEFINITION)
    server.ok("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})

    def send(method: str, target: str, body: Any, content_type: str) -> tuple[int, Any]:
        response = server.send(method, target, body, content_type)
        return response.status, json.loads(response.body)

    return send
