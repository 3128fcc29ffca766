"""Bodies, heads and selectors of any kind and size, and clients that neither read nor write."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apiserver.tests.inprocess import (
    APPLY,
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    FOOS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Kube,
    definition,
    foo,
)
from clientgo.testing.eventually import eventually
from clientgo_apiserver.api.limits import MAX_DEPTH
from clientgo_apiserver.server import ApiServer

STALL = 0.5


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with ApiServer(stall_seconds=STALL, watch_buffer=200_000, simulate=False) as running:
        yield running


def connect(server: ApiServer, *, receive: int = 0) -> socket.socket:
    """Open a connection, optionally with a small receive buffer."""
    built = socket.socket()
    if receive:
        built.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    built.settimeout(10)
    built.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
    return built


def read_all(connection: socket.socket) -> bytes:
    """Return everything received until the server closes the connection."""
    pieces = []
    try:
        while part := connection.recv(65536):
            pieces.append(part)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def ask(server: ApiServer, head: str, body: bytes = b"") -> bytes:
    with connect(server) as connection:
        connection.sendall(f"{head}\r\nHost: h\r\nConnection: close\r\n\r\n".encode("latin-1") + body)
        return read_all(connection)


def until(server: ApiServer, condition: Callable[[], bool]) -> None:
    """Wait for a state of the server, which continues to answer requests."""
    eventually(lambda: b"200 OK" in ask(server, "GET /readyz HTTP/1.1") and condition(), seconds=20)


def nested(depth: int, kind: str = "object") -> bytes:
    opening, closing = (b'{"a":', b"}") if kind == "object" else (b"[", b"]")
    return opening * depth + b"1" + closing * depth


@pytest.mark.parametrize("depth", [100, MAX_DEPTH - 2, 400, 5_000, 400_000])
@pytest.mark.parametrize("kind", ["object", "list"])
def test_deep_nesting_is_stored_or_rejected(kube: Kube, depth: int, kind: str) -> None:
    value = nested(depth, kind)
    schemaless = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":%b}' % value
    assert kube.send("POST", CONFIG_MAPS, schemaless).status in (201, 400, 422)
    spec = b'{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"a"},"spec":%b}' % value
    assert kube.send("POST", FOOS, spec).status in (201, 400, 422)
    kube.send("POST", FOOS, foo("b"))
    body = spec.replace(b'"name":"a"', b'"name":"b"')
    assert kube.send("PATCH", f"{FOOS}/b", body, MERGE).status < 500
    # Like a real server, 500 says that the configuration does not fit the schema.
    assert kube.send("PATCH", f"{FOOS}/b?fieldManager=m", body, APPLY).status in (200, 400, 422, 500)
    assert (
        kube.send("PATCH", f"{FOOS}/b", b'[{"op":"add","path":"/spec/x","value":%b}]' % value, JSON_PATCH).status < 500
    )
    assert kube.send("PATCH", f"{DEPLOYMENTS}/b", b'{"spec":%b}' % value, STRATEGIC).status in (400, 404)
    assert kube.send("GET", FOOS).status == 200


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        (b'{"spec":%b}' % nested(10_000), MERGE, "invalid JSON patch"),
        (b"[%b]" % nested(10_000), JSON_PATCH, "invalid JSON patch"),
        (b"[" * 10_000, APPLY, f"error encoding patch: yaml: exceeded max depth of {MAX_DEPTH}"),
        (b"a: &a [*a]", APPLY, "error encoding patch: yaml: anchor 'a' value contains itself"),
    ],
    ids=["merge patch", "JSON patch", "YAML", "aliases"],
)
def test_too_deep_nesting_is_rejected_in_kubernetes_words(kube: Kube, body: bytes, kind: str, reason: str) -> None:
    kube.ok("POST", FOOS, foo("b"))
    refused = kube.send("PATCH", f"{FOOS}/b?fieldManager=m", body, kind)
    assert (refused.status, refused.json()["reason"]) == (400, "BadRequest")
    assert reason in refused.json()["message"]


def test_patches_cannot_exceed_the_nesting_limit(kube: Kube) -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    kube.ok("POST", DEFINITIONS, definition("things", "Thing", schema=anything))
    things = FOOS.replace("foos", "things")
    kube.ok("POST", things, {**foo("b"), "kind": "Thing"})
    statuses = []
    for times in range(4):
        path = "/spec/x" + "/a" * (100 * times)
        patch = b'[{"op":"add","path":"%b","value":%b}]' % (path.encode(), nested(100))
        statuses.append(kube.send("PATCH", f"{things}/b", patch, JSON_PATCH).status)
    assert statuses == [200, 400, 422, 422]
    assert kube.send("GET", things).status == 200


@pytest.mark.parametrize(
    "text",
    [
        "- " * 5_000 + "a",
        "? " * 5_000 + "a",
        "\n".join(" " * n + "a:" for n in range(1_000)),
        "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10) if n else 'x'}]" for n in range(10)),
        "a: &a [*a]",
    ],
    ids=["sequences", "keys", "mappings", "aliases of aliases", "an alias of itself"],
)
def test_yaml_alias_expansion_is_limited(kube: Kube, text: str) -> None:
    kube.ok("POST", FOOS, foo("b"))
    body = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  x:\n{text}".encode()
    assert kube.send("POST", CONFIG_MAPS, body, "application/yaml").status == 400
    assert kube.send("PATCH", f"{CONFIG_MAPS}/a?fieldManager=m", body, APPLY).status == 400


@pytest.mark.parametrize("kind", ["application/json", MERGE, STRATEGIC, JSON_PATCH, APPLY, "application/yaml"])
def test_invalid_utf8_is_rejected(kube: Kube, kind: str) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    body = b'{"metadata":{"name":"a"},"data":{"x":"\xff\xfe"}}'
    method, url = ("PUT", "") if "patch" not in kind else ("PATCH", "?fieldManager=m")
    refused = kube.send(method, f"{CONFIG_MAPS}/a{url}", body, kind)
    assert (refused.status, refused.json()["reason"]) == (400, "BadRequest"), refused.body


@pytest.mark.integration
def test_invalid_utf8_in_names_and_selectors_matches_nothing(server: ApiServer) -> None:
    assert b"HTTP/1.1 404" in ask(server, f"GET {CONFIG_MAPS}/%ff%fe HTTP/1.1")
    assert b"HTTP/1.1 400" in ask(server, f"GET {CONFIG_MAPS}?labelSelector=%ff HTTP/1.1")
    assert b"HTTP/1.1 400" in ask(server, f"GET {CONFIG_MAPS}/\xff HTTP/1.1")


@pytest.mark.parametrize(
    "selector",
    [
        "a=b," * 20_000 + "a=b",
        "a in (" + ",".join(f"v{n}" for n in range(20_000)) + ")",
        "(" * 50_000,
        "!" * 50_000,
        "a" * 200_000,
        "\\," * 50_000,
    ],
    ids=["many terms", "many values", "parentheses", "exclamation marks", "one long name", "escapes"],
)
def test_huge_selectors_are_answered_soon(kube: Kube, selector: str) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a", "labels": {"a": "b"}}})
    # Processor time: how long it takes on the wall depends on who else uses the machine.
    began = os.times().user
    for name in ("labelSelector", "fieldSelector"):
        assert kube.send("GET", f"{CONFIG_MAPS}?{name}={selector}").status in (200, 400)
    assert os.times().user - began < 5


@pytest.mark.integration
def test_head_without_an_end_is_refused(server: ApiServer) -> None:
    response = ask(server, f"GET /readyz HTTP/1.1\r\nX: {'x' * 2_000_000}")
    assert response == b"" or b"HTTP/1.1 431" in response
    assert b"200 OK" in ask(server, f"GET /readyz HTTP/1.1\r\nX: {'x' * 100_000}")


@pytest.mark.integration
@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /readyz HT", f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: h\r\nContent-Length: 90\r\n\r\n{{".encode()],
    ids=["nothing", "half a head", "half a body"],
)
def test_client_with_unfinished_request_is_disconnected(server: ApiServer, sent: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(sent)
        assert read_all(connection) == b""


@pytest.mark.integration
def test_incomplete_request_is_not_handled(server: ApiServer) -> None:
    body = json.dumps({"metadata": {"name": "half"}}).encode()
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body) + 1}\r\n\r\n".encode()
    with connect(server) as connection:
        connection.sendall(head + body)
    assert b"HTTP/1.1 404" in ask(server, f"GET {CONFIG_MAPS}/half HTTP/1.1")


def post(server: ApiServer, name: str, size: int) -> None:
    body = json.dumps({"metadata": {"name": name}, "data": {"x": "x" * size}}).encode()
    response = ask(server, f"POST {CONFIG_MAPS} HTTP/1.1\r\nContent-Length: {len(body)}", body)
    assert b"HTTP/1.1 201" in response, response


def watchers(server: ApiServer) -> int:
    def count(api: Any) -> int:
        return len(api.state.store._bucket(("", "configmaps")).watchers)

    return int(server.run(count))


@pytest.mark.integration
def test_unread_watch_is_closed_and_others_continue(server: ApiServer) -> None:
    watch = f"GET {CONFIG_MAPS}?watch=1&timeoutSeconds=300 HTTP/1.1\r\nHost: h\r\n\r\n".encode()
    before = watchers(server)
    with connect(server, receive=4096) as stuck, connect(server) as reader:
        for connection in (stuck, reader):
            connection.sendall(watch)
        until(server, lambda: watchers(server) == before + 2)
        received = b""
        for number in range(40):
            post(server, f"big-{number}", 100_000)
            while received.count(b'"ADDED"') <= number:
                received += reader.recv(1 << 20)
        until(server, lambda: watchers(server) == before + 1)
        # Its connection is closed too, in the middle of what it has not read.
        assert not read_all(stuck).endswith(b"0\r\n\r\n")


@pytest.mark.integration
def test_watch_may_begin_with_more_than_a_watcher_may_fall_behind() -> None:
    with ApiServer(watch_buffer=20_000, simulate=False) as server:
        for number in range(20):
            post(server, f"old-{number}", 50_000)
        with connect(server) as reader:
            reader.sendall(f"GET {CONFIG_MAPS}?watch=1&timeoutSeconds=1 HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            received = b""
            while not received.endswith(b"\r\n0\r\n\r\n"):
                received += reader.recv(1 << 20)
        assert received.count(b'"type":"ADDED"') == 20


@pytest.mark.integration
def test_client_that_does_not_read_is_disconnected(server: ApiServer) -> None:
    for number in range(40):
        post(server, f"large-{number}", 400_000)

    def connections() -> int:
        assert server._server is not None
        return len(server._server.server_state.connections)

    until(server, lambda: connections() <= 1)
    with connect(server, receive=4096) as stuck:
        stuck.sendall(f"GET {CONFIG_MAPS} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        stuck.recv(100)
        assert connections() == 1
        until(server, lambda: connections() <= 1 and not stuck_is_served(server))


def stuck_is_served(server: ApiServer) -> bool:
    assert server._server is not None
    return any(connection.transport.get_write_buffer_size() for connection in server._server.server_state.connections)
