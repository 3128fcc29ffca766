"""AdmissionReviews as in Kubernetes' documentation, and their responses."""

import json
from base64 import b64decode
from typing import Any

import pytest

from clientgo.errors import Invalid, NotFound, StatusDetails
from clientgo.meta.objects import GroupVersionKind, GroupVersionResource
from clientgo.webhook import allowed, denied, errored, patch_response, patched, validation_response
from clientgo.webhook.admission import AdmissionResponse, BadReview, read_review, rejected, write_review
from tests.webhook.homes import GROUP, Home, HomeV2, home, review
from tests.webhook.recording import recorded


def written(response: AdmissionResponse) -> dict[str, Any]:
    document = json.loads(write_review("the-uid", response))
    assert (document["apiVersion"], document["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert document["response"].pop("uid") == "the-uid"
    result: dict[str, Any] = document["response"]
    return result


@pytest.mark.feature("A-15")
def test_request_is_decoded_completely() -> None:
    request = read_review(recorded("update"))
    assert (request.uid, request.operation) == ("0df28fbd-5f5f-11e8-bc74-36e6bb280816", "UPDATE")
    assert (request.namespace, request.name, request.dry_run) == ("default", "villa", True)
    assert request.kind == GroupVersionKind(GROUP, "v1", "Home")
    assert request.request_resource == GroupVersionResource(GROUP, "v2", "homes")
    assert (request.user_info.username, request.user_info.uid) == ("system:serviceaccount:default:ann", "014fbff9a07c")
    assert (request.object["spec"]["rooms"], request.old_object["spec"]["rooms"]) == (2, 3)
    assert request.options["fieldManager"] == "kubectl-edit"
    assert (request.decode(Home).spec.rooms, request.decode_old(Home).spec.rooms) == (2, 3)


def test_subresource_request_is_decoded() -> None:
    request = read_review(recorded("scale"))
    assert (request.sub_resource, request.request_sub_resource, request.kind.kind) == ("scale", "scale", "Scale")
    assert request.user_info.extra == {"some-key": ("some-value1", "some-value2")}
    assert request.object["spec"] == {"replicas": 4}


def test_null_unknown_and_missing_fields_are_accepted() -> None:
    request = {"uid": "u", "name": None, "subResource": None, "options": None, "userInfo": None, "extra": [1]}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request, "response": None}
    result = read_review(json.dumps(body).encode())
    assert (result.name, result.object, result.options, result.user_info.username) == ("", None, None, "")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the body is not an AdmissionReview"),
        (b"{", "the body is not an AdmissionReview"),
        (b"[]", "the body is not an AdmissionReview"),
        (b"\xff\xfe", "the body is not an AdmissionReview"),
        (b"{}", "got nothing, Kind=nothing"),
        (b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}', "got admission.k8s.io/v1beta1"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "the body is not an AdmissionReview"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}', "no request with a uid"),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":7}}',
            "is not an AdmissionReview",
        ),
        (b"[" * 100_000, "the body is not an AdmissionReview"),
    ],
)
def test_invalid_review_is_rejected(body: bytes, reason: str) -> None:
    with pytest.raises(BadReview, match=reason):
        read_review(body)


def test_object_of_another_kind_or_missing_object_is_rejected() -> None:
    request = read_review(json.dumps(review("CREATE", home())).encode())
    with pytest.raises(BadReview, match=r"for ajd.my.domain/v2, Kind=Home, got ajd.my.domain/v1"):
        request.decode(HomeV2)
    with pytest.raises(BadReview, match="the request has no oldObject"):
        request.decode_old(Home)
    with pytest.raises(BadReview, match="Home default/villa cannot be decoded"):
        read_review(json.dumps(review("CREATE", home(rooms="many"))).encode()).decode(Home)


@pytest.mark.feature("B-CR-12")
def test_helpers_return_controller_runtimes_responses() -> None:
    assert written(allowed()) == {"allowed": True, "status": {"metadata": {}, "code": 200}}
    assert written(allowed("fine"))["status"] == {"metadata": {}, "code": 200, "message": "fine"}
    assert written(denied("no")) == {
        "allowed": False,
        "status": {"metadata": {}, "code": 403, "reason": "Forbidden", "message": "no"},
    }
    assert written(validation_response(False, "no")) == written(denied("no"))
    assert written(errored(500, "broken")) == {
        "allowed": False,
        "status": {"metadata": {}, "code": 500, "message": "broken"},
    }
    warned = written(allowed().with_warnings("a", "b").with_audit_annotations(by="me"))
    assert (warned["warnings"], warned["auditAnnotations"]) == (["a", "b"], {"by": "me"})


def test_patch_is_base64_with_its_type() -> None:
    response = written(patch_response({"a": 1}, {"a": 2}))
    assert (response["allowed"], response["patchType"]) == (True, "JSONPatch")
    assert json.loads(b64decode(response["patch"])) == [{"op": "replace", "path": "/a", "value": 2}]
    assert "patch" in written(patched("done", {"op": "remove", "path": "/a"}))
    # An API server refuses a type without a patch, and a patch from who denies.
    assert written(patch_response({"a": 1}, {"a": 1})).keys() == {"allowed", "status"}


def test_api_error_becomes_the_status_of_the_denial() -> None:
    assert written(rejected(NotFound("no such owner", details=StatusDetails(name="ann", kind="owners"))))["status"] == {
        "metadata": {}, "code": 404, "reason": "NotFound", "message": "no such owner",
        "details": {"name": "ann", "kind": "owners"},
    }  # fmt: skip
    assert "details" not in written(rejected(Invalid("bad")))["status"]
