"""Router and encoder of a real server: methods, accepted types, and the ends of responses."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import urllib3

from apiserver.tests.inprocess import CONFIG_MAPS, FOOS, GROUP, Kube
from clientgo_apiserver.server import ApiServer

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
NOT_ALLOWED = "the server does not allow this method on the requested resource"


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with ApiServer(simulate=False) as running:
        yield running


@pytest.fixture
def http() -> Iterator[urllib3.PoolManager]:
    with urllib3.PoolManager(retries=False, timeout=60) as pool:
        yield pool


@pytest.mark.integration
@pytest.mark.parametrize(
    ("path", "accept", "end"),
    [
        ("/api/v1/namespaces/default", "", b"}\n"),
        ("/api/v1/namespaces", "", b"]}\n"),
        ("/api/v1/namespaces", TABLE, b"]}\n"),
        ("/api/v1/namespaces/none", "", b"}\n"),
        ("/api", "", b"]}\n"),
        ("/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", b"]}\n"),
        ("/apis/apps/v1", "", b"]}\n"),
        ("/api/v1/namespaces?pretty=1", "", b"\n}"),
        ("/version", "", b"\n}"),
        ("/openapi/v2", "", b"}}"),
        ("/.well-known/openid-configuration", "", b'"]}'),
        ("/api/v1/namespaces/default", "application/yaml", b"\n"),
    ],
)
def test_json_that_is_not_indented_ends_with_a_line_feed(
    server: ApiServer, http: urllib3.PoolManager, path: str, accept: str, end: bytes
) -> None:
    response = http.request("GET", server.url + path, headers={"Accept": accept} if accept else {})
    assert response.data.endswith(end)
    assert not response.data.endswith(b"\n\n")
    assert int(response.headers["Content-Length"]) == len(response.data)


@pytest.mark.integration
@pytest.mark.parametrize("method", ["FOO", "LIST", "PROPFIND", "M-SEARCH", "X" * 64])
def test_unknown_method_is_not_allowed(server: ApiServer, http: urllib3.PoolManager, method: str) -> None:
    for path in ("/api/v1", "/version", CONFIG_MAPS, f"{CONFIG_MAPS}/a"):
        response = http.request(method, server.url + path)
        assert (response.status, response.json()["message"]) == (405, NOT_ALLOWED)
    assert http.request(method, f"{server.url}/apis").status == 200
    assert http.request("GET", f"{server.url}/healthz").data == b"ok"


@pytest.mark.integration
@pytest.mark.parametrize(
    "start", [b"F(O / HTTP/1.1\r\n\r\n", b"FOO  HTTP/1.1\r\n\r\n", b"FOO\r\n\r\n", b"\r\nFOO\x00 /\r\n\r\n"]
)
def test_head_that_is_no_request_is_rejected(server: ApiServer, start: bytes) -> None:
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as client:
        client.sendall(start)
        assert client.recv(100).startswith(b"HTTP/1.1 400 ")


PRODUCED = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
ROUTED = f"406: Not Acceptable\n\nAvailable representations: {PRODUCED}"
NEGOTIATED = f"only the following media types are accepted: {PRODUCED}"


@pytest.mark.parametrize(
    ("path", "accept", "message"),
    [
        ("/api", "text/html", ROUTED),
        ("/api", "application/*", ROUTED),
        ("/api", TABLE, NEGOTIATED),
        ("/api/v1", "text/html", ROUTED),
        ("/api/v1", TABLE, NEGOTIATED),
        ("/apis", "text/html", NEGOTIATED),
        ("/apis/apps", "text/html", NEGOTIATED),
        ("/apis/apps/v1", "application/xml, x", ROUTED),
        (f"/apis/{GROUP}/v1alpha1", "text/html", NEGOTIATED),
        (f"/apis/{GROUP}/v1alpha1", TABLE, NEGOTIATED),
        ("/version", "application/yaml", "406: Not Acceptable\n\nAvailable representations: application/json"),
    ],
)
def test_discovery_that_is_not_acceptable_is_rejected(kube: Kube, path: str, accept: str, message: str) -> None:
    response = kube.send("GET", path, accept=accept)
    assert response.status == 406
    assert message in response.body.decode().replace("\\n", "\n").replace("\n  ", "\n")
    assert kube.send("GET", path, accept=f"{accept}, */*").status == 200


def test_documents_that_are_not_acceptable_have_no_content(kube: Kube) -> None:
    for path in ("/openapi/v2", "/openapi/v3/apis/apps/v1"):
        response = kube.send("GET", path, accept="application/yaml")
        assert (response.status, response.body, response.content_type) == (406, b"", "")
        assert kube.send("GET", path, accept="application/*").status == 200


def test_version_of_custom_kinds_is_shown_to_any_method(kube: Kube) -> None:
    assert kube.ok("POST", f"/apis/{GROUP}/v1alpha1")["kind"] == "APIResourceList"
    assert kube.refused(405, "POST", "/apis/apps/v1")["message"] == NOT_ALLOWED


def test_method_is_checked_before_the_accepted_type(kube: Kube) -> None:
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert kube.send("GET", review, accept="text/html").status == 405


@pytest.mark.parametrize("include", ["x", " None", "metadata"])
def test_unknown_object_of_a_row_is_rejected(kube: Kube, include: str) -> None:
    for path in (FOOS, CONFIG_MAPS, "/api/v1/namespaces/default", f"{CONFIG_MAPS}?watch=1"):
        url = f"{path}{'&' if '?' in path else '?'}includeObject={include}"
        response = kube.send("GET", url, accept=TABLE)
        assert response.status == 400
        assert f'includeObject: Invalid value: "{include}": must be' in response.json()["message"]
    assert kube.send("GET", f"{FOOS}?includeObject={include}").status == 200


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("application/json;q=0.5, application/yaml", "application/yaml"),
        ("application/yaml;q=0.9, application/json;q=1.0", "application/json"),
        ("*/*, application/yaml", "application/yaml"),
        ("application/json, application/yaml", "application/json"),
        ("application/yaml;q=x, application/json;q=0.9", "application/yaml"),
    ],
)
def test_preferred_type_is_returned(kube: Kube, accept: str, content_type: str) -> None:
    assert kube.send("GET", CONFIG_MAPS, accept=accept).content_type == content_type


def test_metadata_of_listed_objects_has_the_version_asked_for(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    accept = "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io"
    listed = kube.ok("GET", CONFIG_MAPS, accept=accept)
    assert [item["apiVersion"] for item in listed["items"]] == ["meta.k8s.io/v1beta1"]
