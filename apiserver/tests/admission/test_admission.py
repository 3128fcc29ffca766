"""Admission webhooks, called over HTTPS as a real server calls them."""

import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from apiserver.tests.inprocess import APPLY, CONFIG_MAPS, FOOS, GROUP, JSON_PATCH, MERGE, Kube, foo
from apiserver.tests.webhookserver import WebhookServer, allow, deny, patch, serving
from clientgo.pki import CertificateAuthority
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.server import ApiServer
from clientgo_apiserver.state import ServerOptions, WebhookEndpoint

pytestmark = pytest.mark.integration

Object = dict[str, Any]

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["*"], "resources": ["foos"]}


@pytest.fixture
def hook() -> Iterator[WebhookServer]:
    with serving() as running:
        yield running


def configuration(hook: WebhookServer, kind: str, *paths: str, **more: Any) -> Object:
    """A configuration named after its first path, with a webhook for each."""
    webhooks = [
        {
            "name": f"{path.strip('/')}.example.com", "clientConfig": hook.client_config(path), "rules": [RULE],
            "sideEffects": "None", "admissionReviewVersions": ["v1"], **more,
        }
        for path in paths
    ]  # fmt: skip
    name = paths[0].strip("/")
    return {"kind": f"{kind}WebhookConfiguration", "metadata": {"name": name}, "webhooks": webhooks}


def mutating(kube: Kube, hook: WebhookServer, *paths: str, **more: Any) -> None:
    kube.ok(
        "POST", f"{ADMISSION}/mutatingwebhookconfigurations", _as_sent(configuration(hook, "Mutating", *paths, **more))
    )


def validating(kube: Kube, hook: WebhookServer, *paths: str, **more: Any) -> None:
    kube.ok(
        "POST",
        f"{ADMISSION}/validatingwebhookconfigurations",
        _as_sent(configuration(hook, "Validating", *paths, **more)),
    )


def _as_sent(obj: Object) -> Object:
    return {"apiVersion": "admissionregistration.k8s.io/v1", **obj}


def name_of_old(review: Object) -> str:
    name: str = review["request"]["oldObject"]["metadata"]["name"]
    return name


def set_replicas(number: int) -> Any:
    return lambda review: patch(review, {"op": "add", "path": "/spec/replicas", "value": number})


@pytest.mark.feature("A-15")
def test_mutating_comes_before_the_schema_and_validating_after(kube: Kube, hook: WebhookServer) -> None:
    mutating(kube, hook, "/mutate")
    validating(kube, hook, "/validate")
    hook.answers = {"/mutate": set_replicas(3), "/validate": allow}
    built = kube.ok("POST", FOOS, foo(replicas=50))  # the schema allows ten
    assert built["spec"]["replicas"] == 3
    (_, first), (_, last) = hook.asked
    assert (first["object"]["spec"]["replicas"], last["object"]["spec"]["replicas"]) == (50, 3)
    assert "uid" not in first["object"]["metadata"]
    assert last["object"]["metadata"]["uid"] == built["metadata"]["uid"]
    hook.answers["/mutate"] = set_replicas(11)
    assert "should be less than or equal to 10" in kube.refused(422, "POST", FOOS, foo("b"))["message"]
    assert hook.paths() == ["/mutate", "/validate", "/mutate"]


def test_the_request_says_who_does_what_to_which_object(kube: Kube, hook: WebhookServer) -> None:
    validating(kube, hook, "/validate")
    hook.answers = {"/validate": allow}
    kube.ok("POST", f"{FOOS}?fieldManager=me", foo())
    kube.ok("PATCH", f"{FOOS}/a", {"spec": {"replicas": 2}}, MERGE)
    kube.ok("DELETE", f"{FOOS}/a?dryRun=All")
    created, updated, deleted = (request for _, request in hook.asked)
    kind = {"group": GROUP, "version": "v1alpha1", "kind": "Foo"}
    resource = {"group": GROUP, "version": "v1alpha1", "resource": "foos"}
    assert (created["kind"], created["requestKind"]) == (kind, kind)
    assert (created["resource"], created["requestResource"]) == (resource, resource)
    assert (created["operation"], created["namespace"], created["dryRun"]) == ("CREATE", "default", False)
    assert created["userInfo"] == {"username": "system:anonymous", "groups": ["system:unauthenticated"]}
    assert created["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"}
    assert created["oldObject"] is None
    assert (updated["operation"], updated["name"]) == ("UPDATE", "a")
    assert updated["options"] == {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"}
    assert (updated["oldObject"]["spec"].get("replicas"), updated["object"]["spec"]["replicas"]) == (1, 2)
    assert (deleted["operation"], deleted["object"], deleted["dryRun"]) == ("DELETE", None, True)
    assert deleted["oldObject"]["spec"]["replicas"] == 2


def test_every_kind_of_write_calls_webhooks(kube: Kube, hook: WebhookServer) -> None:
    validating(kube, hook, "/validate")
    hook.answers = {"/validate": allow}
    applied = {**foo("b"), "metadata": {"name": "b"}}
    kube.ok("PATCH", f"{FOOS}/b?fieldManager=m", applied, APPLY)
    kube.ok("PATCH", f"{FOOS}/b", [{"op": "add", "path": "/spec/replicas", "value": 3}], JSON_PATCH)
    kube.ok("PUT", f"{FOOS}/b", kube.ok("GET", f"{FOOS}/b"))
    kube.ok("DELETE", FOOS)
    assert [request["operation"] for _, request in hook.asked] == ["CREATE", "UPDATE", "UPDATE", "DELETE"]


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        ({}, 400, "denied the request without explanation"),
        ({"message": "no", "code": 403, "reason": "Forbidden"}, 403, "denied the request: no"),
        ({"reason": "Because"}, 400, "denied the request: Because"),
        ({"message": "no", "code": 200}, 400, "denied the request: no"),
        ({"message": "no", "code": 600}, 600, "denied the request: no"),
    ],
)
def test_rejection_has_the_webhooks_message(
    kube: Kube, hook: WebhookServer, status: Object, code: int, words: str
) -> None:
    validating(kube, hook, "/validate")
    hook.answers = {"/validate": lambda review: deny(review, **status)}
    assert kube.refused(code, "POST", FOOS, foo())["message"] == f'admission webhook "validate.example.com" {words}'
    kube.refused(404, "GET", f"{FOOS}/a")


def test_rejected_deletion_deletes_nothing(kube: Kube, hook: WebhookServer) -> None:
    for name in "abc":
        kube.ok("POST", FOOS, foo(name))
    validating(kube, hook, "/validate")
    hook.answers = {"/validate": lambda review: (deny if name_of_old(review) == "b" else allow)(review)}
    kube.refused(400, "DELETE", f"{FOOS}/b")
    kube.refused(400, "DELETE", FOOS)
    assert len(kube.ok("GET", FOOS)["items"]) == 3
    kube.ok("DELETE", f"{FOOS}/a")


def test_warnings_reach_the_client_once(kube: Kube, hook: WebhookServer) -> None:
    mutating(kube, hook, "/mutate")
    validating(kube, hook, "/validate")
    hook.answers = {
        "/mutate": lambda review: allow(review, warnings=["old"]),
        "/validate": lambda review: allow(review, warnings=["older", "old"]),
    }
    headers = kube.send("POST", FOOS, foo()).headers
    assert [value for name, value in headers if name == "Warning"] == ['299 - "old"', '299 - "older"']


def test_failed_call_fails_the_write_unless_ignored(kube: Kube, hook: WebhookServer) -> None:
    validating(kube, hook, "/gone")
    message = kube.refused(500, "POST", FOOS, foo())["message"]
    assert message == (
        'Internal error occurred: failed calling webhook "gone.example.com": failed to call webhook: the server'
        " answered 404: no such webhook"
    )
    kube.ok("DELETE", f"{ADMISSION}/validatingwebhookconfigurations/gone")
    validating(kube, hook, "/gone", failurePolicy="Ignore")
    kube.ok("POST", FOOS, foo())


def test_ignored_failure_of_mutating_webhook_changes_nothing(kube: Kube, hook: WebhookServer) -> None:
    mutating(kube, hook, "/gone", "/there", failurePolicy="Ignore")
    hook.answers = {"/there": set_replicas(4)}
    assert kube.ok("POST", FOOS, foo())["spec"]["replicas"] == 4
    assert hook.paths() == ["/gone", "/there"]


def test_webhooks_of_a_collection_are_called_concurrently(kube: Kube, hook: WebhookServer) -> None:
    for number in range(12):
        kube.ok("POST", FOOS, foo(f"f{number:02}"))
    mutating(kube, hook, "/mutate")
    validating(kube, hook, "/validate")
    all_called = threading.Barrier(12)

    def wait_for_the_others(review: Object) -> Object:
        all_called.wait(10)
        return allow(review)

    hook.answers = {"/mutate": wait_for_the_others, "/validate": wait_for_the_others}
    kube.ok("DELETE", FOOS)
    for path in hook.answers:
        requests = [request for called, request in hook.asked if called == path]
        assert sorted(request["oldObject"]["metadata"]["name"] for request in requests) == [
            f"f{number:02}" for number in range(12)
        ]
        assert {request.get("name") for request in requests} == {None}  # as on a real server
    assert kube.ok("GET", FOOS)["items"] == []


@pytest.mark.parametrize(
    ("client", "words"),
    [
        ({"url": "https://127.0.0.1:1/x"}, 'Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect'),
        ({"service": {"namespace": "default", "name": "svc"}},
         "service default/svc cannot be resolved: this server has"),
        ({"service": {"namespace": "ns", "name": "gone", "path": "/x"}},
         'Post "https://gone.ns.svc:443/x?timeout=10s": service "gone" not found'),
    ],
)  # fmt: skip
def test_failed_call_is_explained(kube: Kube, hook: WebhookServer, client: Object, words: str) -> None:
    kube.ok(
        "POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "svc"}, "spec": {"ports": [{"port": 1}]}}
    )
    validating(kube, hook, "/x", clientConfig=client)
    assert words in kube.refused(500, "POST", FOOS, foo())["message"]


def test_empty_parts_of_a_path_are_dropped(kube: Kube, hook: WebhookServer) -> None:
    hook.answers["/a/b"] = allow
    validating(kube, hook, "/x", clientConfig={"url": f"{hook.url}//a//b/", "caBundle": hook.ca})
    kube.ok("POST", FOOS, foo())
    assert hook.paths() == ["/a/b"]


def test_certificate_of_unknown_ca_is_not_trusted(kube: Kube, hook: WebhookServer) -> None:
    validating(kube, hook, "/x", clientConfig={"url": f"{hook.url}/x"})
    assert "tls: failed to verify certificate" in kube.refused(500, "POST", FOOS, foo())["message"]
    assert hook.asked == []


def test_ca_bundle_may_have_comments_in_any_language(kube: Kube, hook: WebhookServer) -> None:
    bundle = b64encode("# Aussteller für Köln\n".encode() + b64decode(hook.ca)).decode()
    validating(kube, hook, "/v", clientConfig={"url": f"{hook.url}/v", "caBundle": bundle})
    hook.answers = {"/v": allow}
    kube.ok("POST", FOOS, foo())


def test_ca_bundle_without_a_certificate_fails_the_call(kube: Kube, hook: WebhookServer) -> None:
    bundle = b64encode("für".encode()).decode()
    validating(kube, hook, "/v", clientConfig={"url": f"{hook.url}/v", "caBundle": bundle})
    assert "no PEM certificate found" in kube.refused(500, "POST", FOOS, foo())["message"]


def test_service_is_reached_where_the_options_say(kube: Kube, hook: WebhookServer) -> None:
    kube.api.state.options.webhook_services["ns/svc"] = WebhookEndpoint(hook.url)
    client = {"service": {"namespace": "ns", "name": "svc", "path": "/v"}, "caBundle": hook.ca}
    validating(kube, hook, "/x", clientConfig=client)
    hook.answers = {"/v": allow}
    kube.ok("POST", FOOS, foo())
    assert hook.paths() == ["/v"]


def test_ca_of_the_options_is_that_of_what_stands_for_the_service(kube: Kube, hook: WebhookServer) -> None:
    authority = b64decode(hook.ca).decode()
    kube.api.state.options.webhook_services["*"] = WebhookEndpoint(hook.url, authority)
    of_service = b64encode(CertificateAuthority.create("of-the-service").certificate).decode()
    client = {"service": {"namespace": "ns", "name": "svc", "path": "/v"}, "caBundle": of_service}
    validating(kube, hook, "/v", clientConfig=client)
    hook.answers = {"/v": allow}
    kube.ok("POST", FOOS, foo())


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (
            lambda review: {**allow(review), "kind": "Other"},
            'no kind "Other" is registered for version "admission.k8s.io/v1" in scheme',
        ),
        (
            lambda review: {**allow(review), "apiVersion": "admission.k8s.io/v1beta1"},
            "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (lambda review: {**allow(review), "response": None}, "webhook response was absent"),
        (lambda review: {"response": {"allowed": True}}, 'got ""'),
        (lambda review: allow(review, uid="other"), 'got "other"'),
        (lambda review: allow(review, patchType="JSONPatch"), "validating webhook may not return response.patchType"),
        (lambda review: patch(review, {"op": "test"}), "validating webhook may not return response.patch"),
    ],
)
def test_invalid_webhook_response_is_a_failure(kube: Kube, hook: WebhookServer, response: Any, words: str) -> None:
    validating(kube, hook, "/x")
    hook.answers = {"/x": response}
    assert words in kube.refused(500, "POST", FOOS, foo())["message"]


def test_webhook_may_leave_out_the_names_of_its_review(kube: Kube, hook: WebhookServer) -> None:
    validating(kube, hook, "/x")
    hook.answers = {"/x": lambda review: {"response": allow(review)["response"]}}
    kube.ok("POST", FOOS, foo())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "0-length response with status code: 200 and content type: application/json"),
        (
            b"12",
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go value of type struct ",
        ),
        (
            b"<html>",
            "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type ",
        ),
        (b"null", "webhook response was absent"),
        (b"response: {}", 'expected response.uid="'),
        (b'{"kind": 1}', "json: cannot unmarshal number into Go struct field .kind of type string"),
        (b'{"response": []}', "array into Go struct field AdmissionReview.response of type v1.AdmissionResponse"),
        (b'{"response": {"uid": 5}}', "number into Go struct field AdmissionResponse.response.uid of type types.UID"),
        (b'{"response": {"warnings": ""}}', "field AdmissionResponse.response.warnings of type []string"),
        (
            b'{"response": {"warnings": [5]}}',
            "number into Go struct field AdmissionResponse.response.warnings of type string",
        ),
        (b'{"response": {"auditAnnotations": {"a": 1}}}', "AdmissionResponse.response.auditAnnotations of type string"),
        (b'{"response": {"status": {"code": ""}}}', "field Status.response.status.code of type int32"),
        (
            b'{"response": {"status": {"details": {"causes": ""}}}}',
            "field StatusDetails.response.status.details.causes of type []v1.StatusCause",
        ),
    ],
)
def test_response_that_is_no_review_is_explained_in_the_words_of_go(
    kube: Kube, hook: WebhookServer, body: bytes, words: str
) -> None:
    validating(kube, hook, "/x")
    hook.answers = {"/x": lambda _: body}
    assert words in kube.refused(500, "POST", FOOS, foo())["message"]


def test_mutating_webhooks_see_the_managed_fields_of_the_write(kube: Kube, hook: WebhookServer) -> None:
    mutating(kube, hook, "/x")
    hook.answers = {"/x": allow}
    kube.ok("POST", f"{FOOS}?fieldManager=first", foo())
    kube.ok("PATCH", f"{FOOS}/a?fieldManager=second", {"spec": {"replicas": 2}}, MERGE)
    managers = [[each["manager"] for each in _object(request)["managedFields"]] for _, request in hook.asked]
    assert managers == [["first"], ["first", "second"]]


def test_version_that_a_webhook_sets_is_a_precondition(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", FOOS, foo())
    mutating(kube, hook, "/x")
    hook.answers = {
        "/x": lambda review: patch(review, {"op": "add", "path": "/metadata/resourceVersion", "value": "1"})
    }
    message = kube.refused(500, "POST", FOOS, foo("b"))["message"]
    assert message == "resourceVersion should not be set on objects to be created"
    kube.refused(409, "PATCH", f"{FOOS}/a", {"spec": {"replicas": 2}}, MERGE)


def _object(request: Object) -> Object:
    metadata: Object = request["object"]["metadata"]
    return metadata


def test_object_that_a_webhook_makes_undecodable_is_an_error_of_the_server(kube: Kube, hook: WebhookServer) -> None:
    mutating(kube, hook, "/x")
    hook.answers = {"/x": lambda review: patch(review, {"op": "add", "path": "/metadata/labels", "value": {"a": 1}})}
    message = kube.refused(500, "POST", FOOS, foo())["message"]
    assert message.startswith("Internal error occurred: json: cannot unmarshal number into Go struct field ObjectMeta.")


@pytest.mark.parametrize(
    "response",
    [
        pytest.param({"allowed": "yes"}, id="allowed"),
        pytest.param({"warnings": "none"}, id="warnings"),
        pytest.param({"warnings": [1]}, id="a warning"),
        pytest.param({"status": "no"}, id="status"),
        pytest.param({"status": {"code": "403"}}, id="code"),
        pytest.param({"status": {"details": {"causes": [1]}}}, id="cause"),
        pytest.param({"auditAnnotations": {"a": 1}}, id="annotation"),
        pytest.param({"patchType": "JSONPatch", "patch": [1]}, id="patch"),
        pytest.param({"patchType": "JSONPatch", "patch": "no base64"}, id="base64"),
        pytest.param({"patchType": "JSONPatch", "patch": b64encode(b"{}").decode()}, id="no operations"),
        pytest.param({"patchType": "JSONPatch", "patch": b64encode(b"[" * 5000).decode()}, id="nested"),
        pytest.param({"patchType": "Merge", "patch": b64encode(b"[]").decode()}, id="other patch"),
        pytest.param({"patch": b64encode(b"[]").decode()}, id="no type"),
        pytest.param(b"[" * 100_000, id="nested text"),
        pytest.param(b"\xff", id="no text"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"null", id="null"),
    ],
)
def test_garbage_is_a_failure_that_the_policy_may_ignore(kube: Kube, hook: WebhookServer, response: Any) -> None:
    hook.answers = {"/x": lambda review: response if isinstance(response, bytes) else allow(review, **response)}
    mutating(kube, hook, "/x")
    assert 'failed calling webhook "x.example.com": ' in kube.refused(500, "POST", FOOS, foo())["message"]
    kube.ok("DELETE", f"{ADMISSION}/mutatingwebhookconfigurations/x")
    mutating(kube, hook, "/x", failurePolicy="Ignore")
    kube.ok("POST", FOOS, foo())


def test_patch_that_nests_too_deep_fails_the_write(kube: Kube, hook: WebhookServer) -> None:
    deep: Any = {}
    for _ in range(100):
        deep = {"spec": deep}
    into = "/spec" * 99
    mutating(kube, hook, "/x")
    added = {"op": "add", "path": "/spec/deep", "value": deep}
    hook.answers = {"/x": lambda review: patch(review, added, {**added, "path": f"/spec/deep{into}/more"})}
    assert "exceeded max depth" in kube.refused(500, "POST", FOOS, foo())["message"]


def test_webhooks_annotate_the_audit_event(hook: WebhookServer) -> None:
    events: list[Object] = []
    kube = Kube(ServerOptions(audit=events.append))
    validating(kube, hook, "/x")
    hook.answers = {"/x": lambda review: allow(review, auditAnnotations={"note": "seen"})}
    kube.ok("POST", FOOS, foo())
    assert events[-1]["annotations"]["x.example.com/note"] == "seen"


def test_created_object_meets_a_namespace_deleted_while_webhooks_were_called(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    validating(kube, hook, "/x")

    def delete_namespace(review: Object) -> Object:
        kube.ok("DELETE", "/api/v1/namespaces/n")
        return allow(review)

    hook.answers = {"/x": delete_namespace}
    url = FOOS.replace("/default/", "/n/")
    assert kube.refused(404, "POST", url, foo())["message"] == 'namespaces "n" not found'
    assert kube.api.state.store.list((GROUP, "foos")) == []


def test_object_changed_while_its_deletion_was_admitted_is_admitted_again(kube: Kube, hook: WebhookServer) -> None:
    for name in "ab":
        kube.ok("POST", FOOS, foo(name))
    rule = {**RULE, "operations": ["DELETE"]}
    validating(kube, hook, "/x", rules=[rule])

    def label_once(review: Object) -> Object:
        name = name_of_old(review)
        if "labels" not in review["request"]["oldObject"]["metadata"] and name == "b":
            kube.ok("PATCH", f"{FOOS}/{name}", {"metadata": {"labels": {"k": "v"}}}, MERGE)
        return allow(review)

    hook.answers = {"/x": label_once}
    kube.ok("DELETE", FOOS)
    assert kube.ok("GET", FOOS)["items"] == []
    assert sorted(request["oldObject"]["metadata"]["name"] for _, request in hook.asked) == ["a", "b", "b"]


def test_applied_object_created_by_another_meanwhile_is_updated(kube: Kube, hook: WebhookServer) -> None:
    mutating(kube, hook, "/x")

    def create_once(review: Object) -> Object:
        hook.answers = {"/x": allow}
        kube.ok("POST", FOOS, foo(labels={"k": "v"}))
        return allow(review)

    hook.answers = {"/x": create_once}
    applied = kube.send("PATCH", f"{FOOS}/a?fieldManager=m&force=1", foo(replicas=3), APPLY)
    assert (applied.status, applied.json()["metadata"]["labels"]) == (200, {"k": "v"})
    assert kube.ok("GET", f"{FOOS}/a")["spec"]["replicas"] == 3


def test_object_that_keeps_changing_ends_in_a_timeout(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", FOOS, foo())
    rule = {**RULE, "operations": ["UPDATE"]}
    validating(kube, hook, "/x", rules=[rule])

    def change(review: Object) -> Object:
        Internal(kube.api).patch((GROUP, "foos"), "default", "a", {"metadata": {"labels": {"k": str(len(hook.asked))}}})
        kube.clock.step(25)
        return allow(review)

    hook.answers = {"/x": change}
    assert kube.refused(504, "PATCH", f"{FOOS}/a", {"spec": {"replicas": 2}}, MERGE)["reason"] == "Timeout"
    assert len(hook.asked) == 3


def test_failed_webhook_patch_fails_the_write(kube: Kube, hook: WebhookServer) -> None:
    mutating(kube, hook, "/x")
    hook.answers = {"/x": lambda review: patch(review, {"op": "remove", "path": "/spec/nothing"})}
    kube.refused(500, "POST", FOOS, foo())
    hook.answers = {"/x": lambda review: patch(review, {"op": "replace", "path": "/kind", "value": "Bar"})}
    kube.refused(500, "POST", FOOS, foo())


def test_unknown_fields_of_a_webhook_are_pruned(kube: Kube, hook: WebhookServer) -> None:
    mutating(kube, hook, "/x")
    hook.answers = {"/x": lambda review: patch(review, {"op": "add", "path": "/spec/nothing", "value": 1})}
    assert "nothing" not in kube.ok("POST", f"{FOOS}?fieldValidation=Strict", foo())["spec"]


def test_dry_run_is_not_shown_to_webhooks_with_side_effects(kube: Kube, hook: WebhookServer) -> None:
    # Only configurations stored before v1 can have these side effects.
    old = _as_sent(configuration(hook, "Validating", "/some", sideEffects="Some"))
    key = ("admissionregistration.k8s.io", "validatingwebhookconfigurations")
    kube.api.state.store.put(key, old)
    message = kube.refused(400, "POST", f"{FOOS}?dryRun=All", foo())["message"]
    assert message == 'admission webhook "some.example.com" does not support dry run'
    kube.api.state.store.remove(key, "", "some")
    validating(kube, hook, "/none", sideEffects="NoneOnDryRun")
    hook.answers = {"/none": allow}
    kube.ok("POST", f"{FOOS}?dryRun=All", foo())
    assert hook.asked[0][1]["dryRun"] is True


@pytest.mark.parametrize(
    ("more", "requested"),
    [
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, True),
        ({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}, False),
        ({"matchConditions": [{"name": "c", "expression": "object.spec.replicas > 1"}]}, False),
        ({"matchConditions": [{"name": "c", "expression": "request.operation == 'CREATE'"}]}, True),
        ({"rules": [{**RULE, "operations": ["UPDATE"]}]}, False),
        ({"rules": [{**RULE, "resources": ["foos/status"]}]}, False),
        ({"rules": [{**RULE, "resources": ["*/*"]}]}, True),
        ({"rules": [{**RULE, "apiVersions": ["v2"]}]}, False),
        ({"rules": [{**RULE, "scope": "Cluster"}]}, False),
        ({"rules": [{**RULE, "apiGroups": ["*"], "resources": ["*"]}]}, True),
    ],
)
def test_rules_selectors_and_conditions_choose_webhooks(
    kube: Kube, hook: WebhookServer, more: Object, requested: bool
) -> None:
    validating(kube, hook, "/x", **more)
    hook.answers = {"/x": allow}
    kube.ok("POST", FOOS, foo(labels={"a": "b"}))
    assert bool(hook.asked) is requested


def test_failed_condition_rejects_unless_failures_are_ignored(kube: Kube, hook: WebhookServer) -> None:
    conditions = [{"name": "c", "expression": "object.nothing.there == 1"}]
    validating(kube, hook, "/x", matchConditions=conditions)
    assert "resulted in error: no such key: nothing" in kube.refused(403, "POST", FOOS, foo())["message"]
    kube.ok("DELETE", f"{ADMISSION}/validatingwebhookconfigurations/x")
    validating(kube, hook, "/x", matchConditions=conditions, failurePolicy="Ignore")
    kube.ok("POST", FOOS, foo())
    assert hook.asked == []


def test_the_status_subresource_has_rules_of_its_own(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", FOOS, foo())
    validating(kube, hook, "/x", rules=[{**RULE, "resources": ["foos/status"]}])
    hook.answers = {"/x": allow}
    kube.ok("PATCH", f"{FOOS}/a", {"spec": {"replicas": 2}}, MERGE)
    kube.ok("PATCH", f"{FOOS}/a/status", {"status": {"availableReplicas": 2}}, MERGE)
    assert [request["subResource"] for _, request in hook.asked] == ["status"]


def test_webhook_is_reinvoked_after_later_changes(kube: Kube, hook: WebhookServer) -> None:
    mutating(kube, hook, "/first", "/second", reinvocationPolicy="IfNeeded")
    hook.answers = {"/first": allow, "/second": set_replicas(4)}
    kube.ok("POST", FOOS, foo())
    assert hook.paths() == ["/first", "/second", "/first"]
    assert hook.asked[-1][1]["object"]["spec"]["replicas"] == 4


def test_webhooks_see_no_writes_of_controllers_without_an_event_loop(kube: Kube, hook: WebhookServer) -> None:
    validating(kube, hook, "/x")
    Internal(kube.api).create((GROUP, "foos"), "default", foo())
    assert hook.asked == []


def test_webhook_is_called_again_for_a_changed_object(kube: Kube, hook: WebhookServer) -> None:
    kube.ok("POST", FOOS, foo())
    validating(kube, hook, "/x")

    def label_once(review: Object) -> Object:
        hook.answers = {"/x": allow}
        kube.ok("PATCH", f"{FOOS}/a", {"metadata": {"labels": {"k": "v"}}}, MERGE)
        return allow(review)

    hook.answers = {"/x": label_once}
    changed = kube.ok("PATCH", f"{FOOS}/a", {"spec": {"replicas": 2}}, MERGE)
    assert (changed["spec"]["replicas"], changed["metadata"]["labels"]) == (2, {"k": "v"})
    assert [request["oldObject"]["metadata"].get("labels") for _, request in hook.asked] == [None, None, {"k": "v"}]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"sideEffects": "Some"},
         'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "None'),
        ({"sideEffects": None}, "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"),
        ({"admissionReviewVersions": []}, "webhooks[0].admissionReviewVersions: Required value: must specify one of"),
        ({"name": "short"}, 'webhooks[0].name: Invalid value: "short": should be a domain with at least three'),
        ({"timeoutSeconds": 31}, "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between"),
        ({"clientConfig": {}}, "webhooks[0].clientConfig: Required value: exactly one of url or service is required"),
        ({"clientConfig": {"url": "http://x"}}, "'https' is the only allowed URL scheme"),
        ({"matchConditions": [{"name": "c", "expression": "1 +"}]},
         "webhooks[0].matchConditions[0].expression: Invalid"),
    ],
)  # fmt: skip
def test_invalid_webhook_configuration_is_rejected(kube: Kube, hook: WebhookServer, more: Object, words: str) -> None:
    body = _as_sent(configuration(hook, "Validating", "/x", **more))
    assert words in kube.refused(422, "POST", f"{ADMISSION}/validatingwebhookconfigurations", body)["message"]


def test_hanging_webhook_times_out_and_blocks_no_other_request(hook: WebhookServer) -> None:
    release = threading.Event()

    def hang(review: Object) -> Object:
        release.wait(20)
        return allow(review)

    rule = {**RULE, "apiGroups": [""], "resources": ["configmaps"]}
    body = configuration(hook, "Validating", "/hang", timeoutSeconds=1, rules=[rule])
    hook.answers = {"/hang": hang}
    with ApiServer(simulate=False) as server, urllib3.PoolManager(retries=False, timeout=10) as http:
        http.request("POST", f"{server.url}{ADMISSION}/validatingwebhookconfigurations", json=_as_sent(body))
        answers = []
        with Group() as group:
            create = {"metadata": {"name": "c"}}
            group.start(lambda: answers.append(http.request("POST", server.url + CONFIG_MAPS, json=create)), name="one")
            for _ in range(20):
                assert http.request("GET", f"{server.url}/api/v1/namespaces").status == 200
            assert answers == []
            group.join(10)
        release.set()
        (response,) = answers
        assert response.status == 500
        assert response.json()["message"].endswith("context deadline exceeded")
        assert http.request("GET", f"{server.url}{CONFIG_MAPS}/c").status == 404


def test_stopping_server_rejects_requests_whose_webhooks_hang(hook: WebhookServer) -> None:
    release, statuses = threading.Event(), list[int]()

    def hang(review: Object) -> Object:
        release.wait(30)
        return allow(review)

    rule = {**RULE, "apiGroups": [""], "resources": ["configmaps"]}
    slow = configuration(hook, "Validating", "/hang", timeoutSeconds=30, rules=[rule])
    fast = configuration(hook, "Validating", "/allow", rules=[{**rule, "resources": ["secrets"]}])
    hook.answers = {"/hang": hang, "/allow": allow}
    with Group() as group, urllib3.PoolManager(retries=False, timeout=20, maxsize=70) as http:
        with ApiServer(simulate=False) as server:
            for body in (slow, fast):
                http.request("POST", f"{server.url}{ADMISSION}/validatingwebhookconfigurations", json=_as_sent(body))

            def create(name: str) -> None:
                body = {"metadata": {"name": name}}
                statuses.append(http.request("POST", server.url + CONFIG_MAPS, json=body).status)

            for number in range(64):
                group.start(create, f"c{number}", name=f"create-{number}")
            eventually(lambda: hook.paths().count("/hang") == 64)
            secret = {"metadata": {"name": "s"}}
            url = server.url + CONFIG_MAPS.replace("configmaps", "secrets")
            assert http.request("POST", url, json=secret).status == 201
            assert statuses == []
        group.join(10)
        release.set()
    assert statuses == [503] * 64


@pytest.mark.parametrize(("version", "paths"), [("1.36", ["/v"]), ("1.37", [])])
@pytest.mark.parametrize(
    ("path", "spec"),
    [
        ("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"user": "u", "resourceAttributes": {"verb": "get"}}),
        ("/apis/authentication.k8s.io/v1/tokenreviews", {"token": "t"}),
    ],
)
def test_review_is_not_sent_to_a_webhook_of_all_resources_since_1_37(
    hook: WebhookServer, version: str, paths: list[str], path: str, spec: Object
) -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    kube = Kube(version=version)
    validating(kube, hook, "/v", rules=[everything])
    hook.answers = {"/v": allow}
    kube.ok("POST", path, {"spec": spec})
    assert hook.paths() == paths
