import json
from typing import Any

from apiserver.tests.inprocess import SECRETS
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.inmemory import InMemoryServer


def create(server: InMemoryServer, name: str) -> None:
    reply = server.request("POST", SECRETS, {}, json.dumps({"metadata": {"name": name}}).encode())
    assert reply.status == 201, reply.body


def listed(server: InMemoryServer, path: str = SECRETS) -> list[Any]:
    return [item["metadata"] for item in json.loads(server.request("GET", path, {}, b"").body)["items"]]


def test_server_starts_with_the_objects_of_another() -> None:
    first = InMemoryServer(FakeClock())
    create(first, "a")
    second = InMemoryServer(FakeClock(), start=first)
    create(second, "b")
    assert listed(second)[0] == listed(first)[0]
    assert [meta["name"] for meta in listed(second)] == ["a", "b"]
    assert len(listed(first)) == 1


def test_server_that_starts_with_objects_has_the_same_nodes_and_its_controllers() -> None:
    first = InMemoryServer(FakeClock())
    second = InMemoryServer(FakeClock(), start=first)
    assert [meta["uid"] for meta in listed(second, "/api/v1/nodes")] == [
        meta["uid"] for meta in listed(first, "/api/v1/nodes")
    ]
    spec = {"containers": [{"name": "c", "image": "i"}]}
    body = json.dumps({"metadata": {"name": "p"}, "spec": spec}).encode()
    second.request("POST", "/api/v1/namespaces/default/pods", {}, body)
    pod = json.loads(second.request("GET", "/api/v1/namespaces/default/pods/p", {}, b"").body)
    assert pod["status"]["phase"] == "Running"


def test_reply_has_all_warnings() -> None:
    server = InMemoryServer(FakeClock())
    body = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"x":1,"y":2}'
    reply = server.request("POST", "/api/v1/namespaces/default/configmaps", {"content-type": "application/json"}, body)
    assert reply.headers["Warning"] == '299 - "unknown field \\"x\\"", 299 - "unknown field \\"y\\""'
