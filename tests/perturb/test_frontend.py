"""Requests of operators in other processes, as they reach the gate: watches by path, and bodies in protobuf."""

import http.client
import json
from typing import Any, cast

import pytest

from clientgo.perturb.frontend import GateServer
from clientgo.perturb.programs.gate import GateTransport
from clientgo.rest.transport import Headers, HTTPReply

pytestmark = pytest.mark.e2e

LEASE = b"k8s\x00\n\x1f\n\x16coordination.k8s.io/v1\x12\x05Lease\x12\x05\n\x03\n\x01a"


class RecordingGate:
    """Gate that answers each request at once, and records it."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []

    def request(self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float) -> HTTPReply:
        self.requests.append((dict(headers)["content-type"], json.loads(body or b"null")))
        return HTTPReply(200, {}, b"{}")

    def stream(self, method: str, target: str, headers: Headers, timeout: float, *, idle_timeout: float) -> Any:
        self.requests.append(("watch", target))
        raise ConnectionRefusedError


def sent(method: str, target: str, body: bytes = b"", content_type: str = "application/json") -> tuple[str, Any]:
    gate = RecordingGate()
    server = GateServer(cast(GateTransport, gate))
    try:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
        connection.request(method, target, body, {"Content-Type": content_type})
        connection.getresponse().read()
        connection.close()
    finally:
        server.close()
    return gate.requests[0]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/api/v1/watch/pods", "/api/v1/pods?watch=true"),
        (
            "/apis/a.b/v1/watch/namespaces/x/foos?timeoutSeconds=9",
            "/apis/a.b/v1/namespaces/x/foos?timeoutSeconds=9&watch=true",
        ),
        ("/api/v1/watch/namespaces/x/pods/a", "/api/v1/namespaces/x/pods?watch=true&fieldSelector=metadata.name%3Da"),
    ],
    ids=["all", "namespace", "name"],
)
def test_watch_by_its_path_is_a_watch(target: str, expected: str) -> None:
    assert sent("GET", target) == ("watch", expected)


def test_body_in_protobuf_is_passed_on_as_json() -> None:
    kind, body = sent("POST", "/apis/coordination.k8s.io/v1/leases", LEASE, "application/vnd.kubernetes.protobuf")
    assert kind == "application/json"
    assert (body["apiVersion"], body["kind"], body["metadata"]["name"]) == ("coordination.k8s.io/v1", "Lease", "a")
