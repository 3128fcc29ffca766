"""Each fault as seen by a client over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from apiserver.tests.inprocess import CONFIG_MAPS
from clientgo.clock import SYSTEM_CLOCK
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.faults import Fault, Faults
from clientgo_apiserver.http.messages import HTTPRequest, Query
from clientgo_apiserver.server import ApiServer

pytestmark = pytest.mark.integration


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer(simulate=False, enable_faults=True) as running:
        yield running


class Client:
    def __init__(self, server: ApiServer) -> None:
        self.pool = urllib3.PoolManager(retries=False, timeout=10)
        self.root = server.url

    def send(self, method: str, path: str, body: Any = None) -> urllib3.BaseHTTPResponse:
        data = None if body is None else json.dumps(body).encode()
        return self.pool.request(method, self.root + path, body=data, headers={"Content-Type": "application/json"})

    def create(self, name: str) -> urllib3.BaseHTTPResponse:
        return self.send("POST", CONFIG_MAPS, {"metadata": {"name": name}})

    def watch(self) -> urllib3.BaseHTTPResponse:
        url = f"{self.root}{CONFIG_MAPS}?watch=1&timeoutSeconds=2"
        return self.pool.request("GET", url, preload_content=False)


@pytest.fixture
def client(server: ApiServer) -> Iterator[Client]:
    result = Client(server)
    with result.pool:
        yield result


def test_fault_returns_its_reason_and_retry_after(server: ApiServer, client: Client) -> None:
    active = server.faults.add(Fault(method="POST", resource="configmaps", code=503, retry_after=7, times=1))
    response = client.create("a")
    assert (response.status, response.headers["Retry-After"]) == (503, "7")
    printed = response.json()
    assert (printed["kind"], printed["reason"], printed["details"]["retryAfterSeconds"]) == (
        "Status",
        "ServiceUnavailable",
        7,
    )
    assert active.hits == 1
    assert client.create("a").status == 201  # it was asked for once


def test_share_of_requests_fails_evenly(server: ApiServer, client: Client) -> None:
    server.faults.add(Fault(method="GET", resource="configmaps", code=429, retry_after=0, share=0.25))
    assert [client.send("GET", CONFIG_MAPS).status for _ in range(8)] == [200, 200, 200, 429] * 2


def test_response_is_delayed(server: ApiServer, client: Client) -> None:
    server.faults.add(Fault(method="GET", delay=0.3))
    began = SYSTEM_CLOCK.now()
    assert client.send("GET", CONFIG_MAPS).status == 200
    assert SYSTEM_CLOCK.now() - began >= 0.3


@pytest.mark.parametrize(("when", "stored"), [("before", 404), ("after", 200)])
def test_connection_is_dropped_before_or_after_the_write_took_effect(
    server: ApiServer, client: Client, when: Any, stored: int
) -> None:
    server.faults.add(Fault(method="POST", drop=when, times=1))
    with pytest.raises(urllib3.exceptions.ProtocolError):
        client.create("a")
    assert client.send("GET", f"{CONFIG_MAPS}/a").status == stored


def test_watch_is_cut_in_the_middle_of_a_frame(server: ApiServer, client: Client) -> None:
    server.faults.add(Fault(method="WATCH", resource="configmaps", cut=2))
    for name in ("a", "b", "c"):
        client.create(name)
    received = b""
    stream = client.watch()
    with pytest.raises(urllib3.exceptions.ProtocolError):  # noqa: PT012 (what came before it is looked at)
        for part in stream.stream(65536):
            received += part
    full, _, remainder = received.partition(b"\n")
    assert json.loads(full)["object"]["metadata"]["name"] == "a"
    assert remainder.startswith(b'{"type":"ADDED"')
    with pytest.raises(json.JSONDecodeError):
        json.loads(remainder)


def test_watch_is_silent_while_the_server_continues(server: ApiServer, client: Client) -> None:
    active = server.faults.add(Fault(method="WATCH", silent=True))
    client.create("a")
    silent = client.watch()
    server.faults.remove(active)
    speaking = client.watch()
    client.create("b")
    assert len(b"".join(speaking.stream()).splitlines()) == 2
    assert b"".join(silent.stream()) == b""


def test_history_is_dropped_on_request(server: ApiServer, client: Client) -> None:
    version = client.create("a").json()["metadata"]["resourceVersion"]
    client.create("b")
    server.faults.compact()
    old = client.send("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=1")
    assert json.loads(old.data)["object"]["code"] == 410


def test_clock_is_skewed(server: ApiServer, client: Client) -> None:
    right = client.create("a").json()["metadata"]["creationTimestamp"]
    server.faults.skew(86_400 * 400)
    wrong = client.create("b").json()["metadata"]["creationTimestamp"]
    assert int(wrong[:4]) - int(right[:4]) in (1, 2)
    server.faults.clear()
    assert client.create("c").json()["metadata"]["creationTimestamp"][:4] == right[:4]


def test_faults_are_added_and_removed_over_http(client: Client) -> None:
    expected = {"method": "GET", "resource": "configmaps", "code": 500, "retryAfter": 1}
    response = client.send("POST", "/faults", expected)
    assert (response.status, response.json()) == (201, {"number": 1, "hits": 0, **expected})
    assert client.send("GET", CONFIG_MAPS).status == 500
    assert client.send("GET", "/faults").json()["items"][0]["hits"] == 1
    assert client.send("DELETE", "/faults/1").status == 200
    assert client.send("GET", CONFIG_MAPS).status == 200
    assert client.send("PUT", "/faults/clock", {"skewSeconds": -5}).json() == {"skewSeconds": -5}
    assert client.send("POST", "/faults/compact").status == 200
    client.send("POST", "/faults", {"code": 500})  # everything: it can be taken away all the same
    assert client.send("DELETE", "/faults").status == 200
    assert client.send("GET", CONFIG_MAPS).status == 200


@pytest.mark.parametrize(
    ("call", "body", "status", "reason"),
    [
        ("POST /faults", {"oops": 1}, 400, "unknown field 'oops'"),
        ("POST /faults", {"code": 200}, 400, "expected an HTTP error, 400 to 599"),
        ("POST /faults", {"drop": "during"}, 400, "invalid fault"),
        ("POST /faults", {"share": "all"}, 400, "invalid fault"),
        ("POST /faults", [], 400, "must be a JSON object"),
        ("PUT /faults/clock", {}, 400, "skewSeconds must be a number"),
        ("DELETE /faults/7", None, 404, "not found"),
        ("PATCH /faults", None, 405, "does not allow this method"),
    ],
)
def test_invalid_fault_over_http_is_rejected(client: Client, call: str, body: Any, status: int, reason: str) -> None:
    method, path = call.split()
    response = client.send(method, path, body)
    assert (response.status, reason in response.data.decode()) == (status, True), response.data


def test_fault_injection_over_http_is_disabled_by_default() -> None:
    with ApiServer(simulate=False) as server, urllib3.PoolManager(retries=False) as http:
        assert http.request("GET", f"{server.url}/faults").status == 404
        assert http.request("POST", f"{server.url}/faults", body=b'{"code":500}').status == 404


@pytest.mark.parametrize(
    "wrong", [{"share": 0.0}, {"share": 1.5}, {"times": -1}, {"delay": -0.1}, {"code": 302}, {"drop": "x"}]
)
def test_invalid_fault_is_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"invalid | must not be negative"):
        Fault(**wrong)


def request(method: str = "GET", path: str = f"{CONFIG_MAPS}/a", **query: str) -> HTTPRequest:
    return HTTPRequest(method, path, Query(query))


@pytest.mark.parametrize(
    ("fault", "struck", "spared"),
    [
        (Fault(), request(), request(path="/faults")),
        (Fault(method="get"), request(), request("PUT")),
        (Fault(method="GET"), request(), request(watch="1")),
        (Fault(method="WATCH"), request(watch="true"), request()),
        (Fault(resource="configmaps"), request(), request(path="/api/v1/pods")),
        (Fault(subresource=""), request(), request(path=f"{CONFIG_MAPS}/a/status")),
        (Fault(subresource="status"), request(path=f"{CONFIG_MAPS}/a/status"), request()),
        (Fault(namespace="default"), request(), request(path="/api/v1/namespaces/other/configmaps")),
        (Fault(name="a"), request(), request(path=f"{CONFIG_MAPS}/b")),
        (Fault(method="GET"), request(path="/version"), request("POST", "/version")),
        (Fault(), request(path="/healthz"), request(path="/faults/clock")),
    ],
)
def test_fault_applies_to_matching_requests(fault: Fault, struck: HTTPRequest, spared: HTTPRequest) -> None:
    assert (fault.applies_to(struck), fault.applies_to(spared)) == (True, False)


def test_skip_and_times_limit_affected_requests() -> None:
    faults = Faults(FakeClock())
    faults.add(Fault(skip=2, times=2, code=500))
    assert [len(faults.matching(request())) for _ in range(6)] == [0, 0, 1, 1, 0, 0]
