"""Order of the checks of a request, as of kube-apiserver 1.36: path, method, types, name, body, options, namespace."""

from typing import Any

import pytest

from apiserver.tests.inprocess import FOOS, Kube

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
FOO = f"{FOOS}/a"
MERGE, TEXT = "application/merge-patch+json", "text/plain"
NO_METHOD = "the server does not allow this method on the requested resource"


@pytest.mark.parametrize(
    ("line", "kind", "accept", "code", "message"),
    [
        (f"PATCH {CONFIG_MAPS}/a", TEXT, "garbage", 415, "415: Unsupported Media Type"),
        (f"PATCH {FOO}", TEXT, "garbage", 415, "the body of the request was in an unknown format"),
        (f"PATCH {FOOS}", TEXT, "", 415, "the body of the request was in an unknown format"),
        (f"PATCH {FOOS}", MERGE, "garbage", 400, "name must be provided"),
        (f"PUT {FOOS}", TEXT, "", 400, "name must be provided"),
        (f"POST {FOO}?fieldManager=a%0Ab", TEXT, "", 415, "the body of the request was in an unknown format"),
        (f"OPTIONS {FOOS}", "", "", 405, ' is not supported on resources of kind "foos.samplecontroller.k8s.io"'),
        (f"POST {FOO}/more/status", "", "", 404, 'foos.samplecontroller.k8s.io "a" not found'),
        (f"GET {FOOS}/../nope", "", "", 404, 'foos.samplecontroller.k8s.io ".." not found'),
        (f"GET {CONFIG_MAPS}/\0", "", "", 404, 'configmaps "\\x00" not found'),
        ("POST /api/v1", "", "garbage", 405, NO_METHOD),
        ("POST /version", "", "garbage", 405, NO_METHOD),
        ("HEAD /openid/v1/jwks", "", "garbage", 405, NO_METHOD),
    ],
)
def test_first_error_is_that_of_a_real_server(line: str, kind: str, accept: str, code: int, message: str) -> None:
    method, url = line.split(" ")
    response = Kube().send(method, url, {}, kind, accept=accept)
    assert response.status == code
    assert response.json()["message"].startswith(message)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_custom_kind_has_no_collection_of_all_namespaces_but_to_read(method: str) -> None:
    response = Kube().send(method, "/apis/samplecontroller.k8s.io/v1alpha1/foos")
    assert (response.status, response.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize("accept", ["*", "*;q=0.5", "application/yaml;q=0.1, *"])
def test_star_accepts_all_types(accept: str) -> None:
    assert Kube().send("GET", FOOS, accept=accept).content_type == "application/json"


def test_name_of_a_collection_s_path_is_ignored_when_a_custom_resource_is_created() -> None:
    body = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": {"name": "b"}}
    assert Kube().ok("POST", f"{FOO}?dryRun=All", body)["metadata"]["name"] == "b"


FOO_BODY = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"apiVersion": ""}, "the API version in the data () does not match the expected API version"),
        ({"apiVersion": None}, 'Foo in version "" cannot be handled as a Foo: .apiVersion accessor error'),
        ({"apiVersion": "a/b/c"}, "the object provided is unrecognized (must be of type Foo): unexpected GroupVersion"),
        ({"apiVersion": 5, "kind": 5}, "the object provided is unrecognized (must be of type Foo): couldn't get"),
    ],
)
def test_version_and_kind_are_read_before_the_object(changes: dict[str, Any], message: str) -> None:
    assert Kube().refused(400, "POST", FOOS, {**FOO_BODY, **changes})["message"].startswith(message)


def test_unknown_fields_are_reported_before_a_missing_namespace_and_a_wrong_name() -> None:
    kube, body = Kube(), {"metadata": {"name": "a"}, "data": {}, "spec": {}}
    for method, url in (("POST", "/api/v1/namespaces/nope/configmaps"), ("PUT", f"{CONFIG_MAPS}/b")):
        assert ("Warning", '299 - "unknown field \\"spec\\""') in kube.send(method, url, body).headers


def test_missing_namespace_is_reported_before_another_kind() -> None:
    url = FOOS.replace("default", "nope")
    assert Kube().refused(404, "POST", url, {**FOO_BODY, "kind": "Bar"})["details"]["kind"] == "namespaces"
