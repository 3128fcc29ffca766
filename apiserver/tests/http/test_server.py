import contextlib
import json
import threading
from collections.abc import Iterator

import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from apiserver.tests.inprocess import CONFIG_MAPS, FOOS, Kube, foo
from clientgo.clock import SYSTEM_CLOCK
from clientgo.stop.lifecycle import Group
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.http.messages import HTTPRequest, text_response, warning_headers
from clientgo_apiserver.server import ApiServer


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer(simulate=False) as running:
        yield running


@pytest.fixture
def http() -> Iterator[urllib3.PoolManager]:
    with urllib3.PoolManager(retries=False, timeout=10) as pool:
        yield pool


@pytest.mark.integration
def test_the_server_answers_over_http_and_counts_what_it_answers(server: ApiServer, http: urllib3.PoolManager) -> None:
    body = json.dumps({"metadata": {"name": "c"}}).encode()
    response = http.request("POST", server.url + CONFIG_MAPS, body=body, headers={"Content-Type": "application/json"})
    assert (response.status, response.headers["Content-Type"]) == (201, "application/json")
    assert http.request("GET", f"{server.url}{CONFIG_MAPS}/c").json()["metadata"]["name"] == "c"
    assert server.requests(verb="POST", resource="configmaps") == 1
    metrics = http.request("GET", f"{server.url}/metrics").data.decode()
    assert 'resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1' in metrics


@pytest.mark.integration
def test_watch_over_http_sends_its_head_at_once_and_ends_with_the_server(http: urllib3.PoolManager) -> None:
    server = ApiServer(simulate=False)
    server.start()
    stream = http.request("GET", f"{server.url}{CONFIG_MAPS}?watch=1&resourceVersion=0", preload_content=False)
    assert stream.status == 200
    http.request("POST", server.url + CONFIG_MAPS, body=b'{"metadata":{"name":"c"}}')
    frames = stream.stream(65536)
    assert json.loads(next(frames))["type"] == "ADDED"
    server.stop()
    assert list(frames) == []
    stream.release_conn()


@pytest.mark.integration
def test_watches_opened_while_the_server_stops_do_not_hold_it_up(http: urllib3.PoolManager) -> None:
    """Watches that informers open while the server stops must end as well."""
    server = ApiServer(simulate=False)
    server.start()
    opened = threading.Event()
    group = Group()

    def watch_again_and_again() -> None:
        with contextlib.suppress(urllib3.exceptions.HTTPError):  # the server has shut down
            while True:
                stream = http.request("GET", f"{server.url}{CONFIG_MAPS}?watch=1", preload_content=False)
                opened.set()
                stream.read()

    group.start(watch_again_and_again, name="watcher")
    assert opened.wait(10)
    began = SYSTEM_CLOCK.now()
    server.stop()
    assert SYSTEM_CLOCK.now() - began < 3
    group.join(10)


@pytest.mark.integration
def test_body_over_the_limit_is_refused_however_it_comes(http: urllib3.PoolManager) -> None:
    with ApiServer(max_body=100_000, simulate=False) as server:
        response = http.request("POST", server.url + CONFIG_MAPS, body=b"x" * 300_000)
        assert (response.status, response.json()["reason"]) == (413, "RequestEntityTooLarge")
        assert http.request("GET", f"{server.url}/readyz").data == b"ok"


@pytest.mark.integration
def test_slow_document_does_not_block_the_loop(server: ApiServer, http: urllib3.PoolManager) -> None:
    document = http.request("GET", f"{server.url}/openapi/v3/api/v1").json()
    assert document["openapi"].startswith("3.")
    assert http.request("GET", f"{server.url}/openapi/v3/apis/no.such/v1").status == 404


def test_version_is_served(kube: Kube) -> None:
    version = kube.ok("GET", "/version")
    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "37", "v1.37.0+bundled")
    assert (version["emulationMinor"], version["minCompatibilityMinor"]) == ("37", "36")


def test_hook_may_replace_the_response(kube: Kube) -> None:
    kube.api.hooks.append(lambda request: text_response("broken", 503) if request.method == "PUT" else None)
    assert kube.send("PUT", f"{FOOS}/a", foo()).status == 503
    kube.ok("GET", FOOS)


def test_internal_requests_are_validated_but_not_counted(kube: Kube) -> None:
    internal = Internal(kube.api, manager="tester")
    key = ("samplecontroller.k8s.io", "foos")
    built = internal.create(key, "default", foo())
    assert built["metadata"]["managedFields"][0]["manager"] == "tester"
    with pytest.raises(ApiFailure, match="should be less than or equal to 10"):
        internal.patch(key, "default", "a", {"spec": {"replicas": 11}})
    internal.patch(key, "default", "a", {"status": {"availableReplicas": 1}}, subresource="status")
    internal.delete(key, "default", "a", uid=built["metadata"]["uid"])
    assert internal.state.store.get(key, "default", "a") is None
    assert sum(kube.api.state.calls.values()) == 1  # the definition's own


def test_access_reviews_are_answered(kube: Kube) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "create", "resource": "foos"}}}
    url = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert kube.ok("POST", url, review)["status"] == {"allowed": True}
    kube.refused(405, "GET", url)


def test_all_namespaces_path_takes_no_creation(kube: Kube) -> None:
    assert kube.send("POST", FOOS.replace("/namespaces/default", ""), foo()).body == b"404 page not found\n"
    kube.refused(405, "POST", CONFIG_MAPS.replace("/namespaces/default", ""), {"metadata": {"name": "a"}})


def test_openapi_v2_is_served_as_json_and_protobuf(kube: Kube) -> None:
    accepted = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    response = kube.send("GET", "/openapi/v2", accept=accepted)
    assert (response.status, response.content_type.endswith("+protobuf")) == (200, True)
    assert "io.k8s.api.core.v1.Pod" in kube.ok("GET", "/openapi/v2")["definitions"]


@given(st.lists(st.text('a"\\\n\r\x00\x7f\x85\u2028\ud800é')))
def test_every_warning_is_a_valid_header_or_left_out(texts: list[str]) -> None:
    headers = warning_headers(HTTPRequest("POST", "/", warnings=texts))
    assert [value.encode().decode() for _, value in headers if set(value) & set("\n\r\x00\x7f\x85")] == []
    assert len(headers) == len({text for text in texts if text and not set(text) & set("\n\r\x00\x7f\x85")})


def test_many_long_warnings_are_shortened_and_limited() -> None:
    request = HTTPRequest("POST", "/", warnings=[f"{number:03} {'é' * 400}" for number in range(100)])
    assert [len(value) for _, value in warning_headers(request)] == [len('299 - ""') + 256] * 16
