"""Custom kinds in several versions: served in each, stored in one."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import urllib3

from apiserver.tests.inprocess import APPLY, DEFINITIONS, MERGE, Kube
from apiserver.tests.webhookserver import WebhookServer, patch, serving
from clientgo_apiserver.server import ApiServer

pytestmark = pytest.mark.integration

Object = dict[str, Any]

GROUP = "example.com"
TEXT = {"type": "string"}
SCHEMAS = {"v1": {"address": TEXT}, "v2": {"host": TEXT, "port": {"type": "integer"}}}


@pytest.fixture
def hook() -> Iterator[WebhookServer]:
    with serving() as running:
        running.answers = {"/convert": convert}
        yield running


def definition(conversion: Object | None = None, storage: str = "v1") -> Object:
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == storage,
            "subresources": {"status": {}},
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {"type": "object", "properties": {**fields}}},
                }
            },
        }
        for name, fields in SCHEMAS.items()
    ]
    names = {"kind": "Site", "plural": "sites"}
    spec: Object = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions}
    if conversion is not None:
        spec["conversion"] = conversion
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sites.{GROUP}"},
        "spec": spec,
    }


def by(hook: WebhookServer) -> Object:
    webhook = {"clientConfig": hook.client_config("/convert"), "conversionReviewVersions": ["v1"]}
    return {"strategy": "Webhook", "webhook": webhook}


def convert(review: Object) -> Object:
    request = review["request"]
    desired_apiversion = request["desiredAPIVersion"]
    objects = [_converted(obj, desired_apiversion) for obj in request["objects"]]
    return _answer(request, convertedObjects=objects, result={"status": "Success"})


def _answer(request: Object, **response: Any) -> Object:
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
    return {**head, "response": {"uid": request["uid"], **response}}


def _returned(request: Object, **changes: Any) -> Object:
    objects = [{**obj, "apiVersion": request["desiredAPIVersion"], **changes} for obj in request["objects"]]
    return _answer(request, convertedObjects=objects, result={"status": "Success"})


def _relabelled(request: Object, labels: Any) -> Object:
    [obj] = request["objects"]
    return _returned(request, metadata={**obj["metadata"], "labels": labels})


def _converted(obj: Object, expected: str) -> Object:
    if expected.endswith("v2"):
        host, _, port = obj["spec"]["address"].partition(":")
        spec: Object = {"host": host, "port": int(port)}
    else:
        spec = {"address": f"{obj['spec']['host']}:{obj['spec']['port']}"}
    return {**obj, "apiVersion": expected, "spec": spec}


def sites(version: str) -> str:
    return f"/apis/{GROUP}/{version}/namespaces/default/sites"


def site(version: str, name: str = "a", **spec: Any) -> Object:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Site", "metadata": {"name": name}, "spec": spec}


@pytest.mark.feature("A-18")
def test_each_version_shows_its_own_shape_of_what_is_stored_once(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    built = kube.ok("POST", sites("v2"), site("v2", host="h", port=80))
    assert (built["apiVersion"], built["spec"]) == ("example.com/v2", {"host": "h", "port": 80})
    old = kube.ok("GET", f"{sites('v1')}/a")
    assert (old["apiVersion"], old["spec"]) == ("example.com/v1", {"address": "h:80"})
    assert old["metadata"]["uid"] == built["metadata"]["uid"]
    assert kube.api.state.store.list((GROUP, "sites"))[0]["spec"] == {"address": "h:80"}


def test_each_list_is_converted_in_one_call(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    for name in "abc":
        kube.ok("POST", sites("v1"), site("v1", name, address=f"{name}:1"))
    assert hook.asked == []
    listed = kube.ok("GET", sites("v2"))
    assert [item["spec"]["host"] for item in listed["items"]] == ["a", "b", "c"]
    kube.ok("GET", sites("v2"))
    assert [len(request["objects"]) for _, request in hook.asked] == [3, 3]
    kube.ok("PATCH", f"{sites('v2')}/b", {"spec": {"port": 2}}, MERGE)
    assert kube.ok("GET", f"{sites('v1')}/b")["spec"] == {"address": "b:2"}


def test_fields_of_each_manager_are_compared_in_its_version(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    kube.ok("PATCH", f"{sites('v1')}/a?fieldManager=x", site("v1", address="h:80"), APPLY)
    changed = kube.ok("PATCH", f"{sites('v2')}/a?fieldManager=u", {"spec": {"port": 81}}, MERGE)
    assert [(entry["manager"], entry["fieldsV1"]) for entry in changed["metadata"]["managedFields"]] == [
        ("u", {"f:spec": {"f:port": {}}})
    ]
    status = kube.refused(409, "PATCH", f"{sites('v1')}/a?fieldManager=x", site("v1", address="h:80"), APPLY)
    assert status["message"].endswith('conflict with "u" using example.com/v2: .spec.port')


def test_each_read_and_write_shows_what_the_webhook_does_by_now(kube: Kube, hook: WebhookServer) -> None:
    def moved(review: Object) -> Object:
        response = convert(review)
        for obj in response["response"]["convertedObjects"]:
            obj["metadata"] = {**obj["metadata"], "labels": {"moved": "yes"}}
        return response

    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    kube.ok("POST", sites("v1"), site("v1", address="a:1"))
    url = f"{sites('v2')}/a"
    read = kube.ok("GET", url)
    assert "labels" not in read["metadata"]
    hook.answers = {"/convert": moved}
    assert kube.ok("GET", url)["metadata"]["labels"] == {"moved": "yes"}
    assert [item["metadata"]["labels"] for item in kube.ok("GET", sites("v2"))["items"]] == [{"moved": "yes"}]
    hook.answers = {"/convert": partial(_same, b"garbage")}
    writes = (("PUT", read, "application/json"), ("PATCH", {"spec": {"port": 2}}, MERGE), ("DELETE", None, ""))
    for method, body, content_type in (("GET", None, ""), *writes):
        failed = kube.refused(500, method, url, body, content_type or "application/json")
        assert "conversion webhook for example.com/v1, Kind=Site failed" in failed["message"]
    assert kube.refused(500, "GET", f"{sites('v2')}?resourceVersion=0")["code"] == 500
    assert kube.ok("PATCH", f"{sites('v1')}/a", {"spec": {"address": "b:1"}}, MERGE)["spec"] == {"address": "b:1"}
    hook.answers = {"/convert": convert}
    assert kube.ok("GET", url)["spec"] == {"host": "b", "port": 1}


def test_replacement_through_another_version_converts_the_stored_object_first(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    kube.ok("POST", sites("v1"), site("v1", address="a:1"))
    read = kube.ok("GET", f"{sites('v2')}/a")
    hook.asked.clear()
    kube.ok("PUT", f"{sites('v2')}/a", {**read, "spec": {"host": "b", "port": 2}})
    specs = [(request["desiredAPIVersion"][-2:], request["objects"][0]["spec"]) for _, request in hook.asked]
    stored, sent = {"address": "a:1"}, {"host": "b", "port": 2}
    # The manager of the creation owns fields in v1: the object is compared there before it is stored.
    compared = [("v1", read["spec"]), ("v1", sent)]
    assert specs == [("v2", stored), *compared, ("v1", sent), ("v2", {"address": "b:2"})]


def defaulting(built: Object, version: str, **defaults: Any) -> Object:
    """Return the definition with these defaults in one of its versions."""
    for each in built["spec"]["versions"]:
        fields = each["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        for field, value in defaults.items() if each["name"] == version else ():
            fields[field] = {**fields.get(field, {"type": "string"}), "default": value}
    return built


@pytest.mark.feature("A-18", "A-22")
def test_stored_object_is_defaulted_in_its_version_before_conversion(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    kube.ok("POST", sites("v1"), site("v1"))
    grown = defaulting(defaulting(definition(by(hook)), "v1", address="h:80"), "v2", host="none", colour="blue")
    kube.ok("PATCH", f"{DEFINITIONS}/sites.{GROUP}", {"spec": grown["spec"]}, MERGE)
    assert kube.ok("GET", f"{sites('v1')}/a")["spec"] == {"address": "h:80"}
    assert kube.ok("GET", f"{sites('v2')}/a")["spec"] == {"host": "h", "port": 80}
    assert [item["spec"] for item in kube.ok("GET", sites("v2"))["items"]] == [{"host": "h", "port": 80}]


@pytest.mark.feature("A-18")
def test_objects_stored_in_an_older_version_are_shown_and_deleted_after_storage_moved_on(
    kube: Kube, hook: WebhookServer
) -> None:
    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    built = site("v1", address="a:1")
    built["metadata"]["finalizers"] = ["example.com/hold"]
    kube.ok("POST", sites("v1"), built)
    kube.ok("PATCH", f"{DEFINITIONS}/sites.{GROUP}", {"spec": definition(by(hook), "v2")["spec"]}, MERGE)
    stored = kube.ok("GET", f"{DEFINITIONS}/sites.{GROUP}")["status"]["storedVersions"]
    assert stored == ["v1", "v2"]
    assert kube.ok("GET", f"{sites('v2')}/a")["spec"] == {"host": "a", "port": 1}
    kube.ok("DELETE", f"{sites('v1')}/a")
    (held,) = kube.api.state.store.list((GROUP, "sites"))
    assert (held["apiVersion"], held["spec"]) == ("example.com/v2", {"host": "a", "port": 1})


@pytest.mark.feature("A-18")
def test_stored_version_cannot_be_removed(kube: Kube) -> None:
    kube.ok("POST", DEFINITIONS, definition())
    versions = [item for item in definition(storage="v2")["spec"]["versions"] if item["name"] == "v2"]
    url = f"{DEFINITIONS}/sites.{GROUP}"
    refused = kube.refused(422, "PATCH", url, {"spec": {"versions": versions}}, MERGE)
    assert 'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions' in refused["message"]


@pytest.mark.feature("A-18")
def test_only_labels_and_annotations_of_metadata_may_be_converted(kube: Kube, hook: WebhookServer) -> None:
    def tamper(review: Object) -> Object:
        response = convert(review)
        for obj in response["response"]["convertedObjects"]:
            more = {"labels": {"l": "1"}, "annotations": {"n": "2"}, "generation": 99, "finalizers": ["x/y"]}
            obj["metadata"] = {**obj["metadata"], **more}
        return response

    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    kube.ok("POST", sites("v1"), site("v1", address="a:1"))
    hook.answers = {"/convert": tamper}
    meta = kube.ok("GET", f"{sites('v2')}/a")["metadata"]
    assert (meta["labels"], meta["annotations"], meta["generation"]) == ({"l": "1"}, {"n": "2"}, 1)
    assert "finalizers" not in meta


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (lambda request: _answer(request, result={"status": "Failure", "message": "cannot"}),
         "conversion webhook for example.com/v1, Kind=Site failed: cannot"),
        (lambda request: _answer(request, convertedObjects=[], result={"status": "Success"}),
         "conversion webhook for example.com/v1, Kind=Site returned 0 objects, expected 1"),
        (lambda request: _answer(request, convertedObjects=request["objects"], result={"status": "Success"}),
         "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)"),
        (lambda request: _returned(request, kind="Other"), "invalid kind (expected Site, received Other)"),
        (lambda request: _returned(request, kind=""), "Object 'Kind' is missing in '{"),
        (lambda request: _returned(request, metadata={}), "invalid object: must have the same name: a != "),
        (lambda request: _relabelled(request, {"a": 5}),
         "invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"),
        (lambda request: _relabelled(request, ["a"]), "metadata.labels of type []interface {} in converted object"),
        (lambda request: _relabelled(request, {"a b": ""}), 'metadata.labels: Invalid value: "a b": name part must'),
        (lambda request: _answer(request, convertedObjects=[None], result={"status": "Success"}),
         "unexpected end of JSON input"),
        (lambda request: _answer(request, convertedObjects=["x"], result={"status": "Success"}),
         "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (lambda request: _answer(request, convertedObjects=5),
         "field ConversionResponse.response.convertedObjects of type []runtime.RawExtension"),
        (lambda request: _answer(request), "response.result.status was '', not 'Success'"),
        (lambda request: {**_answer(request), "response": {"uid": "x"}}, 'got "x"'),
        (lambda request: {**_answer(request), "response": None}, "no response provided"),
        (lambda request: {"response": _answer(request)["response"]}, "Kind=ConversionReview, got /, Kind="),
        (lambda request: {**_answer(request), "kind": "Other"}, 'no kind "Other" is registered for version'),
    ],
)  # fmt: skip
def test_failed_conversion_fails_the_request_and_is_retried(
    kube: Kube, hook: WebhookServer, response: Any, words: str
) -> None:
    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    kube.ok("POST", sites("v1"), site("v1", address="a:1"))
    hook.answers = {"/convert": lambda review: response(review["request"])}
    assert words in kube.refused(500, "GET", f"{sites('v2')}/a")["message"]
    assert words in kube.refused(500, "GET", sites("v2"))["message"]
    hook.answers = {"/convert": convert}
    kube.ok("GET", f"{sites('v2')}/a")


@pytest.mark.parametrize(
    ("conversion", "words"),
    [
        ({"strategy": "Magic"}, 'spec.conversion.strategy: Unsupported value: "Magic"'),
        ({"strategy": "Webhook"}, "spec.conversion.webhookClientConfig: Required value: required when strategy"),
        (
            {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x"}}},
            "spec.conversion.conversionReviewVersions",
        ),
    ],
)
def test_invalid_conversion_is_rejected_with_its_definition(kube: Kube, conversion: Object, words: str) -> None:
    assert words in kube.refused(422, "POST", DEFINITIONS, definition(conversion))["message"]


def test_watch_shows_each_event_in_its_version_and_in_order(hook: WebhookServer) -> None:
    release = threading.Event()

    def slowly(review: Object) -> Object:
        release.wait(10)
        return convert(review)

    with ApiServer(simulate=False) as server, urllib3.PoolManager(retries=False, timeout=10, maxsize=4) as http:
        http.request("POST", server.url + DEFINITIONS, json=definition(by(hook)))
        http.request("POST", server.url + sites("v1"), json=site("v1", address="a:1"))
        hook.answers = {"/convert": slowly}
        stream = http.request("GET", f"{server.url}{sites('v2')}?watch=1&resourceVersion=0", preload_content=False)
        for number in (2, 3):
            patch = json.dumps({"spec": {"address": f"a:{number}"}})
            url = f"{server.url}{sites('v1')}/a"
            assert http.request("PATCH", url, body=patch, headers={"content-type": MERGE}).status == 200
        release.set()
        frames: list[Object] = []
        for chunk in stream.stream(65536):
            frames += [json.loads(line) for line in chunk.splitlines()]
            if len(frames) == 3:
                break
        assert [
            (frame["type"], frame["object"]["apiVersion"], frame["object"]["spec"]["port"]) for frame in frames
        ] == [("ADDED", "example.com/v2", 1), ("MODIFIED", "example.com/v2", 2), ("MODIFIED", "example.com/v2", 3)]
        stream.close()


def test_watch_that_is_up_to_date_shows_later_events_in_its_version(hook: WebhookServer) -> None:
    with ApiServer(simulate=False) as server, urllib3.PoolManager(retries=False, timeout=10, maxsize=4) as http:
        http.request("POST", server.url + DEFINITIONS, json=definition(by(hook)))
        http.request("POST", server.url + sites("v1"), json=site("v1", address="a:1"))
        stream = http.request("GET", f"{server.url}{sites('v2')}?watch=1&resourceVersion=0", preload_content=False)
        versions_and_specs: list[tuple[str, Object]] = []
        for number, chunk in enumerate(stream.stream(65536), 2):
            frame = json.loads(chunk)
            versions_and_specs.append((frame["object"]["apiVersion"], frame["object"].get("spec")))
            if number == 4:
                break
            patch = json.dumps({"spec": {"address": f"a:{number}"}})
            http.request("PATCH", f"{server.url}{sites('v1')}/a", body=patch, headers={"content-type": MERGE})
        assert versions_and_specs == [("example.com/v2", {"host": "a", "port": number}) for number in (1, 2, 3)]
        stream.close()


def test_slow_webhook_is_called_once(kube: Kube, hook: WebhookServer) -> None:
    def slowly(review: Object) -> Object:
        kube.clock.step(5)
        return convert(review)

    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    hook.answers = {"/convert": slowly}
    body = json.dumps(site("v2", host="h", port=80)).encode()
    kube.ok("PATCH", f"{sites('v2')}/a?fieldManager=m", body, "application/apply-patch+yaml")
    assert len(hook.asked) == 2  # to the version it is stored in, and back for the answer


@pytest.mark.parametrize(("policy", "requested"), [("Equivalent", True), ("Exact", False)])
def test_admission_webhook_gets_the_version_of_its_rules(
    kube: Kube, hook: WebhookServer, policy: str, requested: bool
) -> None:
    rule = {"apiGroups": [GROUP], "apiVersions": ["v1"], "operations": ["*"], "resources": ["sites"]}
    webhook = {
        "name": "m.example.com", "clientConfig": hook.client_config("/mutate"), "rules": [rule],
        "matchPolicy": policy, "sideEffects": "None", "admissionReviewVersions": ["v1"],
    }  # fmt: skip
    change = {"op": "replace", "path": "/spec/address", "value": "other:81"}
    hook.answers["/mutate"] = lambda review: patch(review, change)
    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    url = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    kube.ok("POST", url, {"metadata": {"name": "m"}, "webhooks": [webhook]})
    built = kube.ok("POST", sites("v2"), site("v2", host="h", port=80))
    assert built["spec"] == ({"host": "other", "port": 81} if requested else {"host": "h", "port": 80})
    requests = [request for path, request in hook.asked if path == "/mutate"]
    assert bool(requests) is requested
    for request in requests:
        assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v1", "v2")
        assert request["object"]["spec"] == {"address": "h:80"}


@pytest.mark.feature("A-18")
def test_controllers_write_objects_in_their_stored_version_without_the_webhook(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    owner = kube.ok("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    held = {**site("v1", "held", address="a:1"), "metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    for dependent in (site("v1", "free", address="a:1"), held):
        dependent["metadata"]["ownerReferences"] = [reference]
        kube.ok("POST", sites("v1"), dependent)
    kube.ok("PATCH", f"{DEFINITIONS}/sites.{GROUP}", {"spec": definition(by(hook), "v2")["spec"]}, MERGE)
    kube.ok("DELETE", "/api/v1/namespaces/default/configmaps/owner")
    (remaining,) = kube.api.state.store.list((GROUP, "sites"))
    assert (remaining["apiVersion"], remaining["spec"]) == ("example.com/v1", {"address": "a:1"})
    assert "deletionTimestamp" in remaining["metadata"]
    assert hook.asked == []


def _same(response: bytes, _: Object) -> bytes:
    return response


def test_garbage_of_a_conversion_webhook_fails_the_request(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", DEFINITIONS, definition(by(hook)))
    kube.ok("POST", sites("v1"), site("v1", address="a:1"))
    for garbage in (b"[" * 100_000, b"{}", b'{"response": 1}', b'{"response": {"convertedObjects": {}}}'):
        hook.answers = {"/convert": partial(_same, garbage)}
        assert "conversion webhook for" in kube.refused(500, "GET", f"{sites('v2')}/a")["message"]
