"""Admission requests and responses (admission.k8s.io/v1).

Decoding is lenient: unknown fields are ignored, `null` means absent. Responses contain only fields of the API.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from clientgo.errors import ApiError, Status, StatusDetails
from clientgo.meta.codec import Undecodable, decode, encode_value
from clientgo.meta.jsonvalues import Json
from clientgo.meta.objects import EMPTY_MAP, GroupVersionKind, GroupVersionResource
from clientgo.meta.patches.jsonpatch import Operation, diff
from clientgo.meta.scheme import api_of
from clientgo.meta.shallow_json import UNREADABLE

T = TypeVar("T")

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"


NO_STATUS = Status()

_NULL = msgspec.Raw(b"null")


class BadReview(ValueError):
    """The body is not an AdmissionReview, or is about an unexpected object; the message is one sentence."""


class UserInfo(msgspec.Struct, frozen=True):
    """User of the request (authentication.k8s.io/v1)."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = EMPTY_MAP


class Review(msgspec.Struct, frozen=True, rename="camel"):
    """Version and kind of a review of any kind."""

    api_version: str = ""
    kind: str = ""

    def check(self, api_version: str, kind: str) -> None:
        """Raise `BadReview` if the review has another version or kind."""
        if (self.api_version, self.kind) != (api_version, kind):
            received = f"{self.api_version or 'nothing'}, Kind={self.kind or 'nothing'}"
            raise BadReview(f"expected {api_version}, Kind={kind}, got {received}")


class _AdmissionReview(Review, frozen=True):
    request: msgspec.Raw = _NULL


_REVIEW = msgspec.json.Decoder(_AdmissionReview)
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class AdmissionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Operation on one object that the API server asks about.

    `kind` and `resource` are those the webhook is registered for; `request_kind` and `request_resource` are the user's,
    which differ if the API server converted the object. `operation` is CREATE, UPDATE, DELETE or CONNECT. `name` is
    empty if the server generates it.
    """

    uid: str = ""
    kind: GroupVersionKind = GroupVersionKind("", "", "")
    resource: GroupVersionResource = GroupVersionResource("", "", "")
    operation: str = ""
    sub_resource: str = ""
    request_kind: GroupVersionKind = GroupVersionKind("", "", "")
    request_resource: GroupVersionResource = GroupVersionResource("", "", "")
    request_sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    user_info: UserInfo = UserInfo()
    dry_run: bool = False
    raw_object: msgspec.Raw = msgspec.field(default=_NULL, name="object")
    raw_old_object: msgspec.Raw = msgspec.field(default=_NULL, name="oldObject")
    raw_options: msgspec.Raw = msgspec.field(default=_NULL, name="options")

    def __repr__(self) -> str:
        # Without the objects, which may hold a Secret.
        return f"<AdmissionRequest {self.operation} {self.kind} {self.namespace}/{self.name}, uid {self.uid}>"

    @property
    def object(self) -> Json:
        """New object; None for deletions."""
        return msgspec.json.decode(self.raw_object)

    @property
    def old_object(self) -> Json:
        """Existing object; None for creations."""
        return msgspec.json.decode(self.raw_old_object)

    @property
    def options(self) -> Json:
        """CreateOptions, UpdateOptions or DeleteOptions of the request."""
        return msgspec.json.decode(self.raw_options)

    def decode(self, cls: type[T]) -> T:
        """Return the new object; raise `BadReview` if there is none or it has another kind."""
        return self._decoded(cls, self.raw_object, "object")

    def decode_old(self, cls: type[T]) -> T:
        """Return the existing object; raise `BadReview` if there is none or it has another kind."""
        return self._decoded(cls, self.raw_old_object, "oldObject")

    def _decoded(self, cls: type[T], data: msgspec.Raw, member: str) -> T:
        expected = api_of(cls).gvk
        # Lenient decoding would accept an object of any kind, with no field set.
        if self.kind != expected:
            raise BadReview(f"this webhook is for {expected}, got {self.kind}: check the rules of its configuration")
        if bytes(data) == b"null":
            raise BadReview(f"the request has no {member}")
        try:
            return decode(cls, data)
        except Undecodable as error:
            raise BadReview(str(error)) from error


_REQUEST = msgspec.json.Decoder(AdmissionRequest)


def read_review(body: bytes) -> AdmissionRequest:
    """Return the request in an AdmissionReview.

    Raises:
        BadReview: it is not v1, or has no request with a uid.
    """
    try:
        review = _REVIEW.decode(body)
        review.check(API_VERSION, KIND)
        # null means absent, as in Go.
        members = {name: raw for name, raw in _MEMBERS.decode(review.request).items() if bytes(raw) != b"null"}
        for name in ("kind", "resource", "subResource"):
            if name in members:
                members.setdefault(f"request{name[0].upper()}{name[1:]}", members[name])
        request = _REQUEST.decode(encode_value(members))
    except UNREADABLE as error:
        raise BadReview(f"the body is not an {KIND}: {error}") from error
    if not request.uid:
        raise BadReview(f"the {KIND} has no request with a uid")
    return request


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """Decision on a request, with patch, warnings and audit annotations."""

    allowed: bool
    status: Status = NO_STATUS
    patch: Sequence[Operation] = ()
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = EMPTY_MAP

    def with_warnings(self, *warnings: str) -> "AdmissionResponse":
        """Return the response with more warnings, which kubectl prints; keep each below 120 characters."""
        return replace(self, warnings=(*self.warnings, *warnings))

    def with_audit_annotations(self, **annotations: str) -> "AdmissionResponse":
        """Return the response with more annotations for the API server's audit log."""
        return replace(self, audit_annotations={**self.audit_annotations, **annotations})


def validation_response(is_allowed: bool, message: str = "") -> AdmissionResponse:
    """Return a response with a message: 200, or 403 with reason Forbidden."""
    if is_allowed:
        return AdmissionResponse(True, Status(code=HTTPStatus.OK, message=message))
    return AdmissionResponse(False, Status(code=HTTPStatus.FORBIDDEN, reason="Forbidden", message=message))


def allowed(message: str = "") -> AdmissionResponse:
    """Allow the request."""
    return validation_response(True, message)


def denied(message: str) -> AdmissionResponse:
    """Deny the request (403) with a message for the user."""
    return validation_response(False, message)


def errored(code: int, message: str) -> AdmissionResponse:
    """Deny the request because of an error; `code` is an HTTP status of 400 or more."""
    return AdmissionResponse(False, Status(code=code, message=message))


def patched(message: str, *operations: Operation) -> AdmissionResponse:
    """Allow the request and patch its object."""
    return AdmissionResponse(True, Status(code=HTTPStatus.OK, message=message), operations)


def patch_response(original: Json, current: Json) -> AdmissionResponse:
    """Allow the request and change its object from `original` to `current` (controller-runtime: PatchResponseFromRaw).

    The JSON patch is their difference, which `clientgo/meta/patches/jsonpatch.py` computes.
    """
    return replace(allowed(), patch=diff(original, current))


def rejected(error: ApiError) -> AdmissionResponse:
    """Deny the request with the Status of an API error."""
    details = error.details if error.details != StatusDetails() else None
    code = error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    return AdmissionResponse(False, Status(code=code, reason=error.reason, message=str(error), details=details))


def write_review(uid: str, response: AdmissionResponse) -> bytes:
    """Return the AdmissionReview that answers the request with that uid."""
    review_response: dict[str, Any] = {"uid": uid, "allowed": response.allowed}
    if response.status != NO_STATUS:
        review_response["status"] = {"metadata": {}, **msgspec.to_builtins(response.status)}
    if response.allowed and response.patch:
        review_response["patchType"] = "JSONPatch"
        review_response["patch"] = b64encode(encode_value(list(response.patch))).decode()
    if response.audit_annotations:
        review_response["auditAnnotations"] = dict(response.audit_annotations)
    if response.warnings:
        review_response["warnings"] = list(response.warnings)
    return encode_value({"kind": KIND, "apiVersion": API_VERSION, "response": review_response})
