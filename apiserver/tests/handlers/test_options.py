"""Options of requests: the errors of a real server, in its words."""

import json
from typing import Any

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS, DEPLOYMENTS, MERGE, PODS, Kube, deployment, pod


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("resourceVersionMatch=Exact", "forbidden unless resourceVersion is provided"),
        ("resourceVersion=1&resourceVersionMatch=No", 'supported values: "Exact", "NotOlderThan", ""'),
        ("resourceVersion=0&resourceVersionMatch=Exact", 'forbidden for resourceVersion "0"'),
        ("sendInitialEvents=false", "sendInitialEvents is forbidden for list"),
        ("watch=1&sendInitialEvents=true", "requires setting resourceVersionMatch to NotOlderThan"),
        ("watch=1&resourceVersionMatch=NotOlderThan", "forbidden for watch unless sendInitialEvents is provided"),
    ],
)
def test_contradictory_versions_of_lists_are_invalid(kube: Kube, query: str, reason: str) -> None:
    assert reason in kube.refused(422, "GET", f"{CONFIG_MAPS}?{query}")["message"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("resourceVersion=x", 'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint'),
        ("timeout=5", 'time: missing unit in duration "5"'),
        ("timeout=1m5x3s", 'time: unknown unit "x" in duration "1m5x3s"'),
        ("timeout=soon", 'time: invalid duration "soon"'),
    ],
)
def test_malformed_numbers_are_bad_requests(kube: Kube, query: str, reason: str) -> None:
    assert reason in kube.refused(400, "GET", f"{CONFIG_MAPS}?{query}")["message"]
    kube.ok("GET", f"{CONFIG_MAPS}?timeout=1m30.5s")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("fieldManager=a%0Ab", "invalid character U+000A (at position 1)"),
        ("fieldManager=" + "x" * 129, "Too long: may not be more than 128 bytes"),
        ("dryRun=", 'Unsupported value: [""]: supported values: "All"'),
        ("fieldValidation=x", 'supported values: "", "Ignore", "Strict", "Warn"'),
        ("force=true", "may not be specified for non-apply patch"),
    ],
)
def test_options_of_writes_are_validated(kube: Kube, query: str, reason: str) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    assert reason in kube.refused(422, "PATCH", f"{CONFIG_MAPS}/a?{query}", {}, MERGE)["message"]


@pytest.mark.parametrize(
    ("options", "code", "reason"),
    [
        ({"kind": "Wrong", "apiVersion": "v1"}, 400, 'no kind "Wrong" is registered for version "v1"'),
        ({"gracePeriodSeconds": "x"}, 400, "DeleteOptions.gracePeriodSeconds of type int64"),
        ({"dryRun": ["Some"]}, 422, 'Unsupported value: ["Some"]'),
        ({"propagationPolicy": ""}, 422, 'supported values: "Foreground", "Background", "Orphan", "nil"'),
        (
            {"orphanDependents": True, "propagationPolicy": "Background"},
            422,
            "orphanDependents and deletionPropagation",
        ),
        ({"preconditions": {"uid": 5}}, 400, "Preconditions.preconditions.uid of type types.UID"),
        ({"preconditions": {"uid": "other"}}, 409, "The object might have been deleted and then recreated"),
    ],
)
def test_options_of_deletions_are_validated(kube: Kube, options: Any, code: int, reason: str) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    assert reason in kube.refused(code, "DELETE", f"{CONFIG_MAPS}/a", options)["message"]
    assert reason in kube.refused(code, "DELETE", CONFIG_MAPS, options)["message"]


@pytest.mark.parametrize(
    ("body", "duplicates"),
    [
        (b'{"metadata":{"name":"a","name":"b"},"x":1}', 'duplicate field "metadata.name", unknown field "x"'),
        (b'{"x":1,"metadata":{"name":"a","name":"b"}}', 'unknown field "x", duplicate field "metadata.name"'),
        (b"metadata: {name: a}\nmetadata: {name: b}\n", 'line 2: key "metadata" already set in map'),
    ],
)
def test_duplicate_fields_are_rejected_if_strict(kube: Kube, body: bytes, duplicates: str) -> None:
    kind = "application/json" if body.startswith(b"{") else "application/yaml"
    assert duplicates in kube.refused(400, "POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body, kind)["message"]


@pytest.mark.parametrize(
    ("body", "merged"),
    [
        ({"data": [{"a": "1"}, {"b": "2"}]}, {"data": {"a": "1", "b": "2"}}),
        ({"data": [{"a": "\ud800"}, {"a": "2"}]}, {"data": {"a": "2"}}),
        ({"immutable": [True, False]}, {"immutable": False}),
    ],
)
def test_repeated_field_of_a_built_in_kind_is_merged_with_the_one_before(kube: Kube, body: Any, merged: Any) -> None:
    ((field, values),) = body.items()
    fields = ",".join(f'"{field}":{json.dumps(value)}' for value in values)
    text = f'{{"metadata":{{"name":"a"}},"metadata":{{"labels":{{"a":"b"}}}},{fields}}}'
    for validation in ("Warn", "Ignore"):
        path = f"{CONFIG_MAPS}?dryRun=All&fieldValidation={validation}"
        built = kube.ok("POST", path, text.encode(), "application/json")
        assert {field: built[field]} == merged
        assert built["metadata"]["labels"] == {"a": "b"}


def test_first_of_the_documents_of_a_body_is_created(kube: Kube) -> None:
    body = b"metadata: {name: a}\n---\nmetadata: {name: b, name: c}\n"
    built = kube.ok("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body, "application/yaml")
    assert built["metadata"]["name"] == "a"


def test_items_of_a_repeated_list_are_merged_with_those_before(kube: Kube) -> None:
    ports = b'"ports":[{"port":1,"name":"x"}],"ports":[{"port":2},{"port":3,"name":"y"}]'
    body = b'{"metadata":{"name":"a"},"spec":{' + ports + b"}}"
    built = kube.ok("POST", "/api/v1/namespaces/default/services?dryRun=All", body, "application/json")
    assert [(each["name"], each["port"]) for each in built["spec"]["ports"]] == [("x", 2), ("y", 3)]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "SelfSubjectAccessReview"),
        ("/apis/authentication.k8s.io/v1/tokenreviews", "TokenReview"),
        ("/api/v1/namespaces/default/serviceaccounts/a/token", "TokenRequest"),
        (f"{PODS}/a/eviction", "Eviction"),
        (f"{PODS}/a/binding", "Binding"),
        ("/api/v1/namespaces/default/bindings", "Binding"),
    ],
)
def test_fields_of_kinds_that_are_not_stored_are_validated(kube: Kube, path: str, kind: str) -> None:
    kube.ok("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "a"}})
    body = b'{"metadata":{"x":1},"y":2,"metadata":{}}'
    message = kube.refused(400, "POST", f"{path}?fieldValidation=Strict", body, "application/json")["message"]
    errors = 'strict decoding error: unknown field "metadata.x", unknown field "y", duplicate field "metadata"'
    assert message == f'{kind} in version "v1" cannot be handled as a {kind}: {errors}'


def test_repeated_field_of_a_scale_is_rejected_if_strict(kube: Kube) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment())
    body = b'{"metadata":{"name":"d","namespace":"default"},"spec":{"replicas":3},"spec":{}}'
    refused = kube.refused(400, "PUT", f"{DEPLOYMENTS}/d/scale?fieldValidation=Strict", body, "application/json")
    assert 'Scale: strict decoding error: duplicate field "spec"' in refused["message"]
    assert kube.ok("PUT", f"{DEPLOYMENTS}/d/scale", body, "application/json")["spec"] == {"replicas": 3}


@pytest.mark.parametrize(
    ("path", "accept", "reason"),
    [
        (CONFIG_MAPS, "text/html", "406: Not Acceptable\n\nAvailable representations: application/json"),
        (CONFIG_MAPS, "application/json;as=Table;v=v9;g=meta.k8s.io", "only the following media types are accepted"),
        (
            f"{CONFIG_MAPS}/a",
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            "not a list (*core.ConfigMap)",
        ),
    ],
)
def test_unavailable_forms_are_not_acceptable(kube: Kube, path: str, accept: str, reason: str) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    response = kube.send("GET", path, accept=accept)
    assert (response.status, reason in response.json()["message"]) == (406, True)


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
REVIEW = {"spec": {"user": "u", "nonResourceAttributes": {"path": "/", "verb": "get"}}}


@pytest.mark.parametrize("form", ["Table;v=v9;g=meta.k8s.io", "Other;v=v1;g=meta.k8s.io"])
def test_nothing_is_stored_for_a_client_that_accepts_no_response(kube: Kube, form: str) -> None:
    response = kube.send("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, accept=f"application/json;as={form}")
    assert response.status == 406
    kube.refused(404, "GET", f"{CONFIG_MAPS}/a")


def test_reviews_have_no_table(kube: Kube) -> None:
    assert kube.send("POST", ACCESS_REVIEWS, REVIEW, accept=TABLE).status == 406
    response = kube.send("POST", ACCESS_REVIEWS, REVIEW, accept=f"{TABLE}, application/json")
    assert response.json()["kind"] == "SubjectAccessReview"
    assert kube.send("POST", ACCESS_REVIEWS, REVIEW, accept=PARTIAL).json()["kind"] == "PartialObjectMetadata"


def test_scale_has_a_table(kube: Kube) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment("a", 2))
    table = kube.send("GET", f"{DEPLOYMENTS}/a/scale", accept=TABLE).json()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"][:2] == ["a", 2]


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", "/api/v1/pods/x", 404),
        ("PUT", "/api/v1/namespaces/default/nodes", 404),
        ("POST", "/api/v1/nodes/x/status/y", 404),
        ("POST", "/api/v1/namespaces/default/pods/x", 405),
        ("POST", "/apis/apps/v1", 405),
        ("POST", "/apis/apps", 200),
        ("GET", "/api/v1/namespaces/default/bindings/x", 404),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews/x", 404),
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews", 405),
    ],
)
def test_path_that_is_not_served_is_not_found_for_any_method(kube: Kube, method: str, path: str, code: int) -> None:
    assert kube.send(method, path, {}).status == code


@pytest.mark.parametrize("kind", ["application/x-yaml", "text/plain", ";;"])
def test_unknown_types_of_bodies_are_rejected(kube: Kube, kind: str) -> None:
    kube.refused(415, "POST", CONFIG_MAPS, b"{}", kind)


def test_head_is_not_allowed_on_built_in_kinds(kube: Kube) -> None:
    assert [kube.send("HEAD", path).status for path in (CONFIG_MAPS, "/api/v1", "/healthz")] == [405, 405, 200]


def test_pod_on_a_node_waits_for_its_grace_period_which_is_only_shortened(kube: Kube) -> None:
    kube.ok("POST", PODS, pod(nodeName="n", terminationGracePeriodSeconds=40))
    queries = ("", *(f"?gracePeriodSeconds={seconds}" for seconds in (50, 10, 20, -20, 0)))
    deleted = [kube.ok("DELETE", f"{PODS}/p{query}")["metadata"] for query in queries]
    assert [meta["deletionGracePeriodSeconds"] for meta in deleted] == [40, 40, 10, 10, 1, 0]
    kube.refused(404, "GET", f"{PODS}/p")


def test_pod_without_a_node_goes_at_once(kube: Kube) -> None:
    kube.ok("POST", PODS, pod())
    assert kube.ok("DELETE", f"{PODS}/p")["metadata"]["deletionGracePeriodSeconds"] == 0
    kube.refused(404, "GET", f"{PODS}/p")


def test_client_of_protobuf_is_told_what_is_wrong_with_its_read_before_its_form_is_rejected(kube: Kube) -> None:
    accept = "application/vnd.kubernetes.protobuf"
    assert kube.send("GET", f"{CONFIG_MAPS}/missing", accept=accept).status == 404
    assert kube.send("GET", f"{CONFIG_MAPS}?labelSelector=%3D", accept=accept).status == 400
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    assert kube.send("GET", f"{CONFIG_MAPS}/a", accept=accept).status == 406
    assert kube.send("DELETE", f"{CONFIG_MAPS}/missing", accept=accept).status == 406, "before anything is written"
