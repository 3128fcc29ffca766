import gzip
import json

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS, Kube
from clientgo.meta.yamlio import read_yaml
from clientgo_apiserver.http.messages import HTTPRequest, HTTPResponse
from clientgo_apiserver.http.rendering import compress, is_compressible

OPENAPI = "/openapi/v3/apis/batch/v1"


@pytest.mark.parametrize(
    ("url", "agent", "indented"),
    [
        (CONFIG_MAPS, "kubectl/v1.36", False),
        (CONFIG_MAPS, "curl/8", True),
        (f"{CONFIG_MAPS}?pretty=false", "curl/8", False),
        (f"{CONFIG_MAPS}?pretty=1", "kubectl/v1.36", True),
        (f"{CONFIG_MAPS}/absent", "Mozilla/5.0", True),
    ],
)
def test_people_get_indented_json(kube: Kube, url: str, agent: str, indented: bool) -> None:
    body = kube.send("GET", url, user_agent=agent).body
    assert (b'{\n  "kind"' in body) is indented


@pytest.mark.parametrize(
    ("accept", "indented"),
    [("application/json;pretty=1", True), ("application/json;pretty=0", False), ("text/html;pretty=1, */*", False)],
)
def test_client_may_accept_indented_json(kube: Kube, accept: str, indented: bool) -> None:
    assert (b'{\n  "kind"' in kube.send("GET", CONFIG_MAPS, accept=accept).body) is indented


TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(("accept", "indented"), [(TABLE, True), (f"{TABLE},application/json", False), ("", False)])
def test_error_is_indented_for_clients_that_accept_tables_only(kube: Kube, accept: str, indented: bool) -> None:
    body = kube.send("GET", f"{CONFIG_MAPS}/absent", accept=accept).body
    assert (b'{\n  "kind"' in body) is indented


def test_columns_are_described(kube: Kube) -> None:
    columns = json.loads(kube.send("GET", "/api/v1/pods", accept=TABLE).body)["columnDefinitions"]
    assert all(column["description"] for column in columns)


def test_yaml_is_sent_to_clients_that_prefer_it(kube: Kube) -> None:
    for url, kind in ((CONFIG_MAPS, "ConfigMapList"), (f"{CONFIG_MAPS}/absent", "Status")):
        response = kube.send("GET", url, accept="application/yaml")
        assert response.content_type == "application/yaml"
        assert read_yaml(response.body.decode())[0]["kind"] == kind


def test_yaml_has_quotes_and_blocks_as_in_go(kube: Kube) -> None:
    data = {"block": "a\nb\n", "number": "1e3", "plain": "a b", "special": "a: b"}
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "quoted"}, "data": data})
    text = kube.send("GET", f"{CONFIG_MAPS}/quoted", accept="application/yaml").body.decode()
    lines = ["data:", "  block: |", "    a", "    b", '  number: "1e3"', "  plain: a b", "  special: 'a: b'"]
    assert "\n".join(lines) in text
    assert read_yaml(text)[0]["data"] == data


def test_long_responses_are_compressed() -> None:
    request = HTTPRequest("GET", CONFIG_MAPS, headers={"accept-encoding": "gzip"})
    assert not is_compressible(request, HTTPResponse(200, b"x" * 1000))
    long = HTTPResponse(200, b"x" * 131072)
    assert is_compressible(request, long)
    assert not is_compressible(HTTPRequest("GET", CONFIG_MAPS), long)
    packed = compress(long)
    assert gzip.decompress(packed.body) == long.body
    assert ("Content-Encoding", "gzip") in packed.headers


def test_document_that_the_client_has_is_not_sent_again(kube: Kube) -> None:
    for url, accept in (
        (OPENAPI, ""),
        ("/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
        ("/apis", "application/json; as=APIGroupDiscoveryList; v=v2; g=apidiscovery.k8s.io"),
    ):
        first = kube.send("GET", url, accept=accept)
        tag = dict(first.headers)["Etag"]
        again = kube.send("GET", url, accept=accept, if_none_match=tag)
        assert (first.status, again.status, again.body) == (200, 304, b"")


def test_old_hash_of_a_document_is_redirected_to_the_current_one(kube: Kube) -> None:
    current = kube.ok("GET", "/openapi/v3")["paths"]["apis/batch/v1"]["serverRelativeURL"]
    moved = kube.send("GET", f"{OPENAPI}?hash=old")
    assert (moved.status, dict(moved.headers)["Location"]) == (301, current)
    assert dict(kube.send("GET", current).headers)["Cache-Control"] == "public, immutable"


def test_health_lists_its_checks_without_the_excluded_ones(kube: Kube) -> None:
    lines = kube.send("GET", "/livez?verbose&exclude=etcd&exclude=nosuch").body.decode().splitlines()
    assert lines[:4] == ["[+]ping ok", "[+]log ok", "[+]loopback-serving-certificate ok", "[+]etcd excluded: ok"]
    warning = 'warn: some health checks cannot be excluded: no matches for "nosuch"'
    assert lines[-2:] == [warning, "livez check passed"]
    for method in ("GET", "POST", "DELETE"):
        assert kube.send(method, "/healthz/poststarthook/rbac/bootstrap-roles").body == b"ok"
    kube.api.state.ready = False
    assert b"[-]shutdown failed: reason withheld\n" in kube.send("GET", "/readyz").body
    assert kube.send("GET", "/readyz?exclude=shutdown").status == 200


def test_root_lists_every_health_check_and_group_version(kube: Kube) -> None:
    paths = json.loads(kube.send("GET", "/").body)["paths"]
    assert {"/healthz/etcd", "/readyz/shutdown", "/apis/apps/v1", "/openapi/v2"} <= set(paths)
