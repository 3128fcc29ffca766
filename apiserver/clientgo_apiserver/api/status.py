"""Failures as Kubernetes Status objects: code, reason, message, details and causes in the real server's words.

Functions that reject a request raise `ApiFailure`, which `Api` turns into a response; their docstrings have the status
codes in parentheses. All wording is in this module, so that one file can be compared with Kubernetes.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from clientgo.errors import Restorable
from clientgo.meta.jsonvalues import html_escaped
from clientgo_apiserver.api.gotext import go_float, quoted_text
from clientgo_apiserver.api.names import path_segment_errors
from clientgo_apiserver.api.resources import Resource

NO_SNIFFING = (("X-Content-Type-Options", "nosniff"),)
"""Headers of a response written as text by a real server, and of what it does not authorize."""


class ApiFailure(Restorable, Exception):
    """A rejected request. `body` is its Status."""

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
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


class PageNotFound(Exception):
    """The path does not exist: answered as plain text, like Go's mux."""


class Cause(msgspec.Struct, frozen=True):
    """An error of one field, worded like Kubernetes' field errors."""

    reason: str
    field: str
    message: str

    @property
    def text(self) -> str:
        """The error as in the Status' message: `spec.replicas: Invalid value: 11: ...`."""
        return f"{self.field}: {self.message}"


def details_of(resource: Resource, name: str = "", **more: Any) -> dict[str, Any]:
    """Return the details of a Status about one object; empty members are omitted."""
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if resource.group:
        details["group"] = resource.group
    return {**details, "kind": resource.plural, **more}


def not_found(resource: Resource, name: str) -> ApiFailure:
    """Return 404: the object does not exist; 400 if none can have the name."""
    if reasons := path_segment_errors(name):
        return bad_request(f"Name parameter invalid: {quoted(name)}: {';'.join(reasons)}")
    return missing(resource, name)


def missing(resource: Resource, name: str) -> ApiFailure:
    """Return 404, whether or not an object can have the name."""
    return ApiFailure(
        404, "NotFound", f"{resource.qualified} {quoted(name)} not found", details=details_of(resource, name)
    )


def no_such_resource() -> ApiFailure:
    """Return 404: the path is not served."""
    return ApiFailure(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(resource: Resource, name: str, *, deleted: bool = False, generates: bool = False) -> ApiFailure:
    """Return 409: the name exists; `deleted`: its object is being deleted; `generates`: with a prefix for names."""
    message = f'{"object is being deleted: " if deleted else ""}{resource.qualified} "{name}" already exists'
    details = details_of(resource, name)
    if not generates:
        return ApiFailure(409, "AlreadyExists", message, details=details)
    message += ", the server was not able to generate a unique name for the object"
    details["retryAfterSeconds"] = 1
    return ApiFailure(409, "AlreadyExists", message, details=details, headers=(("Retry-After", "1"),))


def conflict(resource: Resource, name: str, reason: str) -> ApiFailure:
    """Return 409: a precondition on version or uid does not hold."""
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {reason}'
    return ApiFailure(409, "Conflict", message, details=details_of(resource, name))


def stale(resource: Resource, name: str, field: str, required: str, stored: str) -> ApiFailure:
    """Return 409: a precondition of a deletion does not hold."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    reason = "deleted and then recreated" if field == "UID" else "modified"
    message = (
        f'Operation cannot be fulfilled on {kind} "{name}": the {field} in the precondition ({required}) does not match'
        f" the {field} in record ({stored}). The object might have been {reason}"
    )
    return ApiFailure(409, "Conflict", message, details={**details_of(resource, name), "kind": resource.kind})


def modified(resource: Resource, name: str) -> ApiFailure:
    """Return 409: the object was modified."""
    reason = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, reason)


def bad_request(message: str) -> ApiFailure:
    """Return 400 with this message."""
    return ApiFailure(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, reason: str, causes: Iterable[Cause] = ()) -> ApiFailure:
    """Return 403 with this reason."""
    subject = f'{resource.qualified} "{name}"' if name else resource.qualified
    message = f"{subject} is forbidden: {reason}"
    details = details_of(resource, name)
    if listed := _causes(causes):
        details["causes"] = listed
    return ApiFailure(403, "Forbidden", message, details=details)


def invalid(kind: str, group: str, name: str, causes: Iterable[Cause]) -> ApiFailure:
    """Return 422: the object is invalid; every error is a cause."""
    errors = list(causes)
    texts = list(dict.fromkeys(cause.text for cause in errors))
    qualified = f"{kind}.{group}" if group else kind
    members = {"name": name, "group": group, "kind": kind, "causes": _causes(errors)}
    details = {member: value for member, value in members.items() if value}
    return ApiFailure(422, "Invalid", f"{qualified} {quoted(name)} is invalid: {joined(texts)}", details=details)


def joined(errors: list[str]) -> str:
    """Return one error as it is, and several as Go prints an aggregate of them."""
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"


def expired(message: str, metadata: dict[str, Any] | None = None) -> ApiFailure:
    """Return 410: the requested version is older than the history."""
    return ApiFailure(410, "Expired", message, metadata=metadata)


def unauthorized() -> ApiFailure:
    """Return 401: the credentials are invalid."""
    return ApiFailure(401, "Unauthorized", "Unauthorized")


def method_not_supported(resource: Resource, verb: str) -> ApiFailure:
    """Return 405: the resource does not support the verb."""
    message = f'{verb} is not supported on resources of kind "{resource.qualified}"'
    return ApiFailure(405, "MethodNotAllowed", message, details=details_of(resource))


def method_not_allowed() -> ApiFailure:
    """Return 405: the path does not support the method."""
    message = "the server does not allow this method on the requested resource"
    return ApiFailure(405, "MethodNotAllowed", message, details={})


def unsupported_media_type(accepted: Iterable[str]) -> ApiFailure:
    """Return 415: the content type is not supported."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return ApiFailure(415, "UnsupportedMediaType", message)


def not_acceptable(accepted: Iterable[str]) -> ApiFailure:
    """Return 406: no requested media type is supported."""
    message = "only the following media types are accepted: " + ", ".join(accepted)
    return ApiFailure(406, "NotAcceptable", message)


def unavailable_type(code: int, message: str) -> ApiFailure:
    """Return 406 or 415 as the router of a real server does, before its handlers of built-in kinds."""
    reason = "NotAcceptable" if code == 406 else "UnsupportedMediaType"
    return ApiFailure(code, reason, f"{code}: {message}", details={})


def too_large(limit: int) -> ApiFailure:
    """Return 413: the body is longer than `limit` bytes."""
    message = f"Request entity too large: limit is {limit}"
    return ApiFailure(413, "RequestEntityTooLarge", message)


def internal_error(what: str) -> ApiFailure:
    """Return 500: an error of the server itself."""
    details = {"causes": [{"message": what}]}
    return ApiFailure(500, "InternalError", f"Internal error occurred: {what}", details=details)


def _causes(causes: Iterable[Cause]) -> list[dict[str, str]]:
    return [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]


_encode = msgspec.json.Encoder().encode


def quoted(value: Any) -> str:
    """Format a value for a message: strings quoted, numbers plain, the rest as JSON."""
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, str) and not value.isprintable():
        return quoted_text(value)
    encoded = _encode(value)
    return (encoded if isinstance(value, str) else html_escaped(encoded)).decode()


def required(field: str, detail: str = "") -> Cause:
    """Return the cause of a missing field."""
    return Cause("FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value")


def invalid_value(field: str, value: Any, detail: str) -> Cause:
    """Return the cause of an invalid value."""
    return Cause("FieldValueInvalid", field, f"Invalid value: {quoted(value)}: {detail}")


def omitted_value(field: str, detail: str) -> Cause:
    """Return the cause of an invalid value that the message does not show."""
    return Cause("FieldValueInvalid", field, f"Invalid value: {detail}")


def type_invalid(field: str, value: Any, detail: str) -> Cause:
    """Return the cause of a value of the wrong type."""
    return Cause("FieldValueTypeInvalid", field, f"Invalid value: {quoted(value)}: {detail}")


def not_supported(field: str, value: Any, supported: Iterable[Any]) -> Cause:
    """Return the cause of a value that is not one of the supported ones."""
    allowed = ", ".join(quoted(option) for option in supported)
    return Cause("FieldValueNotSupported", field, f"Unsupported value: {quoted(value)}: supported values: {allowed}")


def not_found_value(field: str, value: Any) -> Cause:
    """Return the cause of a reference to something that does not exist."""
    return Cause("FieldValueNotFound", field, f"Not found: {quoted(value)}")


def duplicate(field: str, value: Any) -> Cause:
    """Return the cause of a duplicate list item."""
    return Cause("FieldValueDuplicate", field, f"Duplicate value: {quoted(value)}")


def forbidden_field(field: str, detail: str) -> Cause:
    """Return the cause of a field that must not be set or changed."""
    return Cause("FieldValueForbidden", field, f"Forbidden: {detail}")


def too_long(field: str, limit: int) -> Cause:
    """Return the cause of a text of more than `limit` bytes; a schema may have a negative limit."""
    if limit < 0:
        return Cause("FieldValueTooLong", field, "Too long: value is too long")
    return Cause("FieldValueTooLong", field, f"Too long: may not be more than {limit} byte{'' if limit == 1 else 's'}")


def too_many(field: str, actual: int, limit: int) -> Cause:
    """Return the cause of a list or map of more than `limit` members; a schema may have a negative limit."""
    if limit < 0:
        return Cause("FieldValueTooMany", field, f"Too many: {actual}: has too many items")
    items = "item" if limit == 1 else "items"
    return Cause("FieldValueTooMany", field, f"Too many: {actual}: must have at most {limit} {items}")
