"""Every refusal is a Kubernetes Status: code, reason, message, details and causes as the real server words them.

Handlers raise `ApiFailure`; the front end alone turns it into bytes. The constructors below are the vocabulary:
a handler that needs another sentence adds it here, so that one file can be compared with Kubernetes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from clientgo.apiserver.registry.registry import Resource


class ApiFailure(Exception):
    """A request was refused. `body` is the Status to answer with."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata or {}
        self.headers = headers

    @property
    def body(self) -> dict[str, Any]:
        """The failure as a metav1.Status object."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


class PageNotFound(Exception):
    """The path names nothing the server serves: answered as plain text, as a Go mux does."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing wrong with one field, worded as Kubernetes' field errors are."""

    reason: str
    field: str
    message: str

    @property
    def text(self) -> str:
        """`spec.replicas: Invalid value: 11: ...`, as it stands in the Status' message."""
        return f"{self.field}: {self.message}"


def details_of(resource: Resource, name: str = "", **more: Any) -> dict[str, Any]:
    """The details of a Status that speaks of one object; empty members are left out."""
    found: dict[str, Any] = {}
    if name:
        found["name"] = name
    if resource.group:
        found["group"] = resource.group
    return {**found, "kind": resource.plural, **more}


def not_found(resource: Resource, name: str) -> ApiFailure:
    """404: no object of that name."""
    return ApiFailure(404, "NotFound", f'{resource.qualified} "{name}" not found', details=details_of(resource, name))


def already_exists(resource: Resource, name: str) -> ApiFailure:
    """409: the name is taken."""
    message = f'{resource.qualified} "{name}" already exists'
    return ApiFailure(409, "AlreadyExists", message, details=details_of(resource, name))


def conflict(resource: Resource, name: str, why: str) -> ApiFailure:
    """409: a precondition on version or uid did not hold."""
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return ApiFailure(409, "Conflict", message, details=details_of(resource, name))


def modified(resource: Resource, name: str) -> ApiFailure:
    """409: the version sent is not the version stored."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def bad_request(message: str) -> ApiFailure:
    """400 with this sentence."""
    return ApiFailure(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, why: str, causes: Iterable[Cause] = ()) -> ApiFailure:
    """403: understood, and refused for this reason."""
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    details = details_of(resource, name)
    if listed := _causes(causes):
        details["causes"] = listed
    return ApiFailure(403, "Forbidden", message, details=details)


def invalid(kind: str, group: str, name: str, causes: Iterable[Cause]) -> ApiFailure:
    """422: the object breaks its kind's rules; every broken rule is a cause."""
    found = list(causes)
    texts = list(dict.fromkeys(cause.text for cause in found))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind}.{group}" if group else kind
    details: dict[str, Any] = {"name": name} if name else {}
    if group:
        details["group"] = group
    details |= {"kind": kind, "causes": _causes(found)}
    return ApiFailure(422, "Invalid", f'{qualified} "{name}" is invalid: {joined}', details=details)


def expired(message: str, metadata: dict[str, Any] | None = None) -> ApiFailure:
    """410: the version asked for lies before the history that is kept."""
    return ApiFailure(410, "Expired", message, metadata=metadata)


def unauthorized() -> ApiFailure:
    """401: credentials were shown, and they count for nothing."""
    return ApiFailure(401, "Unauthorized", "Unauthorized")


def method_not_supported(resource: Resource, verb: str) -> ApiFailure:
    """405: the resource has no such verb."""
    message = f'{verb} is not supported on resources of kind "{resource.qualified}"'
    return ApiFailure(405, "MethodNotAllowed", message, details=details_of(resource))


def method_not_allowed() -> ApiFailure:
    """405: the path takes no such method."""
    message = "the server does not allow this method on the requested resource"
    return ApiFailure(405, "MethodNotAllowed", message, details={})


def unsupported_media_type(accepted: Iterable[str]) -> ApiFailure:
    """415: the body is of a type this request does not take."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return ApiFailure(415, "UnsupportedMediaType", message)


def not_acceptable(accepted: Iterable[str]) -> ApiFailure:
    """406: none of the types asked for can be answered."""
    message = "only the following media types are accepted: " + ", ".join(accepted)
    return ApiFailure(406, "NotAcceptable", message)


def too_large(limit: int) -> ApiFailure:
    """413: the body is longer than `limit` bytes."""
    message = f"Request entity too large: limit is {limit}"
    return ApiFailure(413, "RequestEntityTooLarge", message)


def internal_error(what: str) -> ApiFailure:
    """500: the server itself is at fault."""
    details = {"causes": [{"message": what}]}
    return ApiFailure(500, "InternalError", f"Internal error occurred: {what}", details=details)


def no_space() -> ApiFailure:
    """500: the disk below the store is full; in etcd's words, as the real server hands them on."""
    return ApiFailure(500, "", "etcdserver: mvcc: database space exceeded")


def success(resource: Resource, name: str, uid: str) -> dict[str, Any]:
    """The Status a delete is answered with once the object is gone."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details_of(resource, name, uid=uid),
    }


def _causes(causes: Iterable[Cause]) -> list[dict[str, str]]:
    return [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
