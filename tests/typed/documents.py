"""Requester of discovery documents."""

import json
from typing import Any

from clientgo.errors import NotFound

DOCUMENTS: dict[str, Any] = {
    "/version": {"major": "1", "minor": "35", "gitVersion": "v1.35.0", "goVersion": "go"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": "batch",
                "versions": [{"version": "v1beta1"}, {"version": "v1"}],
                "preferredVersion": {"groupVersion": "batch/v1", "version": "v1"},
            },
            {"name": "empty", "versions": None},
        ],
    },
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [{"name": "nodes", "kind": "Node", "verbs": ["get"]}],
    },
    "/apis/batch/v1": {"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": None},
}


class Documents:
    """A server of nothing but documents; `asked` are the paths so far."""

    def __init__(self, documents: dict[str, Any] = DOCUMENTS) -> None:
        self.documents = documents
        self.asked: list[str] = []

    def raw(self, method: str, path: str) -> bytes:
        assert method == "GET"
        self.asked.append(path)
        if path not in self.documents:
            raise NotFound(f"{path} not found")
        return json.dumps(self.documents[path]).encode()
