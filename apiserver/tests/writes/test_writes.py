import json
from typing import Any

import pytest

from apiserver.tests.inprocess import (
    APPLY,
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    FOOS,
    GROUP,
    JSON_PATCH,
    MERGE,
    Kube,
    definition,
    deployment,
    foo,
)
from clientgo_apiserver.http.gojson import duplicate_fields
from clientgo_apiserver.writes.decoding import sharing


def test_client_cannot_choose_uid_generation_or_times(kube: Kube) -> None:
    arguments = foo()
    arguments["metadata"] |= {"uid": "mine", "generation": 7, "creationTimestamp": "2000-01-01T00:00:00Z"}
    meta = kube.ok("POST", FOOS, arguments)["metadata"]
    assert (meta["uid"] != "mine", meta["generation"]) == (True, 1)
    assert not meta["creationTimestamp"].startswith("2000")


def test_update_keeps_the_time_of_creation(kube: Kube) -> None:
    """The official client writes +00:00 where the server wrote Z."""
    built = kube.ok("POST", FOOS, foo())
    for same in ("2023-11-14T22:13:20+00:00", "2000-01-01T00:00:00Z"):
        arguments = {**built, "metadata": {**built["metadata"], "creationTimestamp": same}}
        assert kube.ok("PUT", f"{FOOS}/a", arguments)["metadata"]["creationTimestamp"] == "2023-11-14T22:13:20Z"


def test_update_shares_only_fields_that_are_written_alike() -> None:
    old = {"a": [{"b": 1}], "c": {"d": 1, "e": 2}, "f": None, "g": "x"}
    new = {"a": [{"b": 1.0}], "c": {"e": 2, "d": 1}, "f": None, "g": "y", "h": 1}
    shared = sharing(new, old)
    assert shared["c"] is old["c"]
    assert shared["a"] is new["a"]
    assert shared == new


@pytest.mark.parametrize("update", [{"spec": {"replicas": True}}, {"metadata": {"labels": {"a": 1}}}])
def test_update_with_a_value_that_only_python_finds_equal_is_rejected(kube: Kube, update: dict[str, Any]) -> None:
    sent = deployment("d", 1)
    sent["metadata"]["labels"] = {"a": "1"}
    stored = kube.ok("POST", DEPLOYMENTS, sent)
    kube.refused(400, "PUT", f"{DEPLOYMENTS}/d", {**stored, **{key: stored[key] | update[key] for key in update}})


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("Upper", "a lowercase RFC 1123 subdomain", id="case"),
        pytest.param("a" * 254, "must be no more than 253 characters", id="length"),
        pytest.param("-a", "a lowercase RFC 1123 subdomain", id="hyphen first"),
    ],
)
def test_name_that_is_not_a_dns_name_is_invalid(kube: Kube, name: str, reason: str) -> None:
    arguments = foo("a")
    arguments["metadata"]["name"] = name
    status = kube.refused(422, "POST", FOOS, arguments)
    assert reason in status["message"]
    assert status["details"]["causes"][0]["field"] == "metadata.name"


@pytest.mark.feature("A-05")
def test_custom_object_cannot_be_updated_without_a_version(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo())
    status = kube.refused(422, "PUT", f"{FOOS}/a", foo())
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in status["message"]


def test_write_that_changes_nothing_keeps_the_version(kube: Kube) -> None:
    built = kube.ok("POST", FOOS, foo())
    assert kube.ok("PUT", f"{FOOS}/a", built) == built
    watch = kube.watch(f"{FOOS}?resourceVersion={built['metadata']['resourceVersion']}")
    kube.ok("PATCH", f"{FOOS}/a", {"spec": {"replicas": 1}}, MERGE)
    assert watch.take() == []


def test_dry_run_is_checked_and_answered_but_not_stored(kube: Kube) -> None:
    assert "resourceVersion" not in kube.ok("POST", f"{FOOS}?dryRun=All", foo())["metadata"]
    kube.refused(404, "GET", f"{FOOS}/a")
    kube.refused(422, "POST", f"{FOOS}?dryRun=All", foo(replicas=11))
    kube.ok("POST", FOOS, foo())
    assert kube.ok("PATCH", f"{FOOS}/a?dryRun=All", {"spec": {"replicas": 7}}, MERGE)["spec"]["replicas"] == 7
    assert kube.ok("GET", f"{FOOS}/a")["spec"]["replicas"] == 1


def test_version_is_refused_by_the_storage_and_so_not_in_a_dry_run(kube: Kube) -> None:
    versioned = foo()
    versioned["metadata"]["resourceVersion"] = "5"
    assert "should not be set" in kube.refused(500, "POST", FOOS, versioned)["message"]
    kube.ok("POST", f"{FOOS}?dryRun=All", versioned)


def test_empty_version_is_none(kube: Kube) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": ""}}
    kube.ok("POST", CONFIG_MAPS, config_map)
    kube.ok("PUT", f"{CONFIG_MAPS}/a", config_map)
    kube.ok("PATCH", f"{CONFIG_MAPS}/a?fieldManager=m", config_map, APPLY)


@pytest.mark.feature("A-21")
@pytest.mark.parametrize(
    ("mode", "code", "warned"), [("Ignore", 201, False), ("Warn", 201, True), ("", 201, True), ("Strict", 400, False)]
)
def test_unknown_fields_are_dropped_with_a_warning_or_refused(kube: Kube, mode: str, code: int, warned: bool) -> None:
    response = kube.send("POST", f"{FOOS}?fieldValidation={mode}", foo(odd=1))
    assert response.status == code
    assert [value for name, value in response.headers if name == "Warning"] == (
        ['299 - "unknown field \\"spec.odd\\""'] if warned else []
    )
    if code == 201:
        assert "odd" not in response.json()["spec"]


def test_unknown_fields_of_built_in_kinds_are_named_with_their_place(kube: Kube) -> None:
    arguments = deployment()
    arguments["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    status = kube.refused(400, "POST", f"{DEPLOYMENTS}?fieldValidation=Strict", arguments)
    assert status["message"].endswith('strict decoding error: unknown field "spec.template.spec.containers[0].imagee"')


def test_warning_of_an_unknown_field_with_a_line_feed_is_left_out(kube: Kube) -> None:
    body = {"metadata": {"name": "a"}, "odd\nname": 1, "even": 2}
    response = kube.send("POST", "/api/v1/namespaces/default/configmaps", body)
    assert response.status == 201
    assert [value for name, value in response.headers if name == "Warning"] == ['299 - "unknown field \\"even\\""']


def test_duplicate_field_is_warned_of_without_field_validation(kube: Kube) -> None:
    response = kube.send("POST", CONFIG_MAPS, b'{"metadata":{"name":"c"},"data":{"a":"1","a":"2"}}')
    assert response.status == 201
    assert ("Warning", '299 - "duplicate field \\"data.a\\""') in response.headers


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        pytest.param(rb'{"a":{"b":1},"b":{"b":2}}', [], id="the same name in different objects"),
        pytest.param(rb'{"a":"\"b\" :","b" : ":", "c":[":",{"d":"\\"}]}', [], id="colons in values"),
        pytest.param(rb'{"a\\":1,"\"":[{"c" :1,"c":{}}],"a\\":2}', ['"[0].c', "a\\"], id="escapes"),
    ],
)
def test_names_are_duplicate_in_one_object_only(body: bytes, paths: list[str]) -> None:
    assert duplicate_fields(body, json.loads(body)) == paths


def test_value_of_the_wrong_type_in_a_built_in_kind_is_a_bad_request(kube: Kube) -> None:
    arguments = deployment()
    arguments["spec"]["replicas"] = "three"
    assert (
        "cannot unmarshal string into Go struct field" in kube.refused(400, "POST", DEPLOYMENTS, arguments)["message"]
    )


def test_managers_are_recorded_with_the_fields_they_set(kube: Kube) -> None:
    kube.ok("POST", f"{FOOS}?fieldManager=one", foo(replicas=2))
    entries = kube.ok("PATCH", f"{FOOS}/a?fieldManager=two", {"spec": {"replicas": 3}}, MERGE)["metadata"][
        "managedFields"
    ]
    fields = {entry["manager"]: entry["fieldsV1"]["f:spec"] for entry in entries}
    assert fields == {"one": {".": {}, "f:deploymentName": {}}, "two": {"f:replicas": {}}}
    assert {entry["operation"] for entry in entries} == {"Update"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(
            b"{nope", "invalid character 'n' looking for beginning of object key string ({nope)", id="no JSON"
        ),
        pytest.param(b"[1]", "the object provided is unrecognized", id="no object"),
        pytest.param(b"\xff\xfe", "the object provided is unrecognized", id="no UTF-8"),
        pytest.param(b'{"a":' * 3000 + b"1" + b"}" * 3000, "the object provided is unrecognized", id="too deep"),
    ],
)
def test_body_that_cannot_be_read_is_a_bad_request(kube: Kube, body: bytes, reason: str) -> None:
    assert reason in kube.refused(400, "POST", FOOS, body)["message"]


def test_yaml_body_is_read_as_json_would_be(kube: Kube) -> None:
    body = b"kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: c\ndata: {day: 2026-01-01, at: 22:22, 010: =, y: a}\n"
    for sent in (
        kube.ok("POST", CONFIG_MAPS, body, "application/yaml"),
        kube.ok("PATCH", f"{CONFIG_MAPS}/d?fieldManager=m", body.replace(b"name: c", b"name: d"), APPLY),
    ):
        assert sent["data"] == {"day": "2026-01-01", "at": "22:22", "8": "=", "true": "a"}
    refused = kube.refused(400, "POST", CONFIG_MAPS, body.replace(b"=", b".inf"), "application/yaml")
    assert ".inf has no form in JSON" in refused["message"]
    status = kube.refused(400, "POST", CONFIG_MAPS, b"a: [", "application/yaml")
    assert "yaml: " in status["message"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "ReplicaSet"}, "converting (v1.ReplicaSet) to (apps.Deployment): unknown conversion"),
        ({"kind": "Foo"}, 'no kind "Foo" is registered for version "apps/v1"'),
        ({"apiVersion": "apps/v2"}, 'no kind "Deployment" is registered for version "apps/v2"'),
    ],
)
def test_built_in_object_of_another_kind_or_version_is_a_bad_request(
    kube: Kube, change: dict[str, str], reason: str
) -> None:
    assert reason in kube.refused(400, "POST", DEPLOYMENTS, {**deployment(), **change})["message"]


def test_put_creates_missing_objects_of_some_kinds(kube: Kube) -> None:
    url = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    assert kube.send("PUT", url, {"metadata": {"name": "l"}, "spec": {}}).status == 201
    kube.refused(404, "PUT", f"{CONFIG_MAPS}/c", {"metadata": {"name": "c"}})


def test_body_of_an_update_is_read_before_its_object_is_looked_up(kube: Kube) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"replicas": "x"}}
    assert "cannot unmarshal string" in kube.refused(400, "PUT", f"{DEPLOYMENTS}/a", body)["message"]
    kube.refused(400, "PUT", f"{CONFIG_MAPS}/a?fieldValidation=Strict", {"metadata": {"name": "a"}, "b": 1})


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"labels": {"a b": "c"}}, "metadata.labels"),
        ({"labels": {"a": "b c"}}, "metadata.labels"),
        ({"annotations": {"/": ""}}, "metadata.annotations"),
        ({"annotations": {"a": "x" * 300_000}}, "metadata.annotations"),
        ({"finalizers": ["a/b c"]}, "metadata.finalizers"),
        ({"finalizers": ["own"]}, "metadata.finalizers[0]"),
        ({"finalizers": ["orphan", "foregroundDeletion"]}, "metadata.finalizers"),
        (
            {"ownerReferences": [{"kind": "X", "name": "x", "apiVersion": "a/b/c", "uid": "u"}]},
            "metadata.ownerReferences.apiVersion",
        ),
        ({"ownerReferences": [{"kind": "X", "name": "x", "apiVersion": "v1"}]}, "metadata.ownerReferences.uid"),
    ],
)
def test_invalid_metadata_is_rejected(kube: Kube, metadata: dict[str, object], field: str) -> None:
    arguments = {"metadata": {"name": "c", **metadata}}
    causes = kube.refused(422, "POST", CONFIG_MAPS, arguments)["details"]["causes"]
    assert {cause["field"] for cause in causes} == {field}


@pytest.mark.parametrize(
    "metadata", [{"labels": {"a": 1}}, {"labels": "x"}, {"finalizers": [1]}, {"generation": "x"}, 7]
)
def test_metadata_of_the_wrong_type_is_a_bad_request(kube: Kube, metadata: object) -> None:
    assert "cannot unmarshal" in kube.refused(400, "POST", CONFIG_MAPS, {"metadata": metadata})["message"]


@pytest.mark.parametrize("kind", ["application/json", MERGE, APPLY, JSON_PATCH])
def test_change_from_true_to_one_is_stored(kube: Kube, kind: str) -> None:
    open_map = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    kube.ok("POST", DEFINITIONS, definition("bags", "Bag", schema=open_map))
    url, version = FOOS.replace("foos", "bags"), f"{GROUP}/v1alpha1"
    bag = {"apiVersion": version, "kind": "Bag", "metadata": {"name": "b"}, "spec": {"a": True, "l": [{"b": False}]}}
    created = kube.ok("POST", url, bag)

    spec = {"a": 1, "l": [{"b": 0}]}
    body: Any = {**bag, "metadata": {"name": "b"}, "spec": spec}
    if kind == JSON_PATCH:
        body = [{"op": "replace", "path": "/spec", "value": spec}]
    elif kind == "application/json":
        body["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"]
    method = "PUT" if kind == "application/json" else "PATCH"
    query = "fieldManager=second" + ("&force=true" if kind == APPLY else "")
    kube.ok(method, f"{url}/b?{query}", body, kind)

    stored = kube.ok("GET", f"{url}/b")
    assert json.dumps(stored["spec"]) == json.dumps(spec)
    assert stored["metadata"]["generation"] == 2
    owner = next(each for each in stored["metadata"]["managedFields"] if each["manager"] == "second")
    assert "f:a" in owner["fieldsV1"]["f:spec"]


@pytest.mark.parametrize(("name", "message"), [
    ("a%b", """Name parameter invalid: "a%b": may not contain '%'"""),
    ("..", """Name parameter invalid: "..": may not be '..'"""),
])  # fmt: skip
def test_name_that_no_object_can_have_is_a_bad_request(kube: Kube, name: str, message: str) -> None:
    assert kube.refused(400, "GET", f"/api/v1/nodes/{name}")["message"] == message
