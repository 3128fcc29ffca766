"""Admission handlers: typed defaulters and validators of one kind, or functions of the raw request.

A `Defaulter` returns the object with defaults, a `Validator` raises for invalid objects. Both are wrapped as handlers,
the only interface that the server knows.
"""

import traceback
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from clientgo.errors import ApiError, Status, StatusDetails
from clientgo.internal.callbacks import text_of
from clientgo.log import get_logger
from clientgo.meta.codec import encode_value
from clientgo.meta.objects import ApiObject
from clientgo.meta.patches import PatchError, jsonpatch
from clientgo.meta.patches.overlay import changed
from clientgo.stop.lifecycle import MaybeCoroutine, finished
from clientgo.webhook.admission import (
    AdmissionRequest,
    AdmissionResponse,
    BadReview,
    allowed,
    denied,
    errored,
    patch_response,
    rejected,
)
from clientgo.webhook.field import Errors

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)
T_contra = TypeVar("T_contra", bound=ApiObject, contravariant=True)

AdmissionHandler = Callable[[AdmissionRequest], AdmissionResponse]
"""Handles a request; thread-safe. Rejects it by raising `Denied`, `field.Errors`, `ApiError` or ValueError (400).

An `ApiError` of a client that it calls denies the request with 500, as the webhook has no verdict. Any other exception
is a bug: it denies the request with 500 and is logged with its traceback.
"""

AsyncAdmissionHandler = Callable[[AdmissionRequest], Coroutine[Any, Any, AdmissionResponse]]
"""`AdmissionHandler` that is a coroutine function, which runs in an event loop of the request's thread."""

Warnings = Sequence[str] | None
"""Warnings for the user about an accepted object."""


class Denied(Exception):
    """The request is denied with this message; `code` and `reason` are those of the API server's response."""

    def __init__(
        self,
        message: str,
        *,
        code: int = HTTPStatus.FORBIDDEN,
        reason: str = "Forbidden",
        warnings: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.warnings = _as_tuple(warnings)


class Defaulter(Protocol[T]):
    """Sets defaults of omitted fields. Its method may be a coroutine function, as those of a `Validator`."""

    def default(self, obj: T, request: AdmissionRequest, /) -> MaybeCoroutine[T]:
        """Return the object with defaults, which may be `obj` itself; not called for deletions."""


class Validator(Protocol[T_contra]):
    """Validates objects: raises `Denied` or `field.Errors`, or returns warnings, if any."""

    def validate_create(self, obj: T_contra, request: AdmissionRequest, /) -> MaybeCoroutine[Warnings]:
        """Validate the creation of an object."""

    def validate_update(self, old: T_contra, new: T_contra, request: AdmissionRequest, /) -> MaybeCoroutine[Warnings]:
        """Validate an update."""

    def validate_delete(self, obj: T_contra, request: AdmissionRequest, /) -> MaybeCoroutine[Warnings]:
        """Validate a deletion; called only if the webhook's rules include DELETE."""


def defaulting(kind: type[T], defaulter: Defaulter[T]) -> AdmissionHandler:
    """Return the handler of a mutating webhook, which sends the defaulter's changes as a patch.

    Raises:
        TypeError: it lacks a method.
    """
    _check_methods(defaulter, "default")

    def handle(request: AdmissionRequest) -> AdmissionResponse:
        if request.operation == "DELETE":
            return allowed()
        obj = request.decode(kind)
        defaulted = finished(defaulter.default(obj, request))
        if defaulted is obj:
            return allowed()
        if not isinstance(defaulted, kind):
            raise TypeError(f"the defaulter of {kind.__name__} returned a {type(defaulted).__name__}")
        raw = request.object
        return patch_response(raw, changed(raw, obj, defaulted))

    return with_rejections(handle)


def validating(kind: type[T], validator: Validator[T]) -> "ValidatingHandler[T]":
    """Return the handler of a validating webhook.

    Raises:
        TypeError: it lacks a method.
    """
    _check_methods(validator, "validate_create", "validate_update", "validate_delete")
    return ValidatingHandler(kind, validator)


@dataclass(frozen=True, slots=True)
class ValidatingHandler(Generic[T]):
    """Handler of a validating webhook, and the kind of its objects."""

    kind: type[T]
    validator: Validator[T]

    def __call__(self, request: AdmissionRequest) -> AdmissionResponse:
        """Return the decision on a request."""
        return with_rejections(self._validated)(request)

    def _validated(self, request: AdmissionRequest) -> AdmissionResponse:
        kind, validator = self.kind, self.validator
        match request.operation:
            case "CREATE":
                warnings = finished(validator.validate_create(request.decode(kind), request))
            case "UPDATE":
                warnings = finished(validator.validate_update(request.decode_old(kind), request.decode(kind), request))
            case "DELETE":
                warnings = finished(validator.validate_delete(request.decode_old(kind), request))
            case "CONNECT":
                warnings = None
            case other:
                raise BadReview(f"unknown operation {other!r}: expected CREATE, UPDATE, DELETE or CONNECT")
        return allowed().with_warnings(*_as_tuple(warnings or ()))


def _check_methods(webhook: object, *names: str) -> None:
    missing = [name for name in names if not callable(getattr(webhook, name, None))]
    if missing:
        raise TypeError(f"{webhook!r:.100} has no method {' and no method '.join(missing)}")


def with_rejections(handler: AdmissionHandler | AsyncAdmissionHandler) -> AdmissionHandler:
    """Return a handler that turns `Denied`, `field.Errors`, `ApiError`, `BadReview` and ValueError into denials."""

    def handle(request: AdmissionRequest) -> AdmissionResponse:
        try:
            return finished(handler(request))
        except Denied as error:
            message = text_of(error)
            status = Status(code=error.code, reason=error.reason, message=message)
            return replace(denied(message), status=status, warnings=error.warnings)
        except Errors as error:
            return _invalid(request, error)
        except ApiError as error:
            if not _is_of_a_request(error):
                return rejected(error)
            # Its code would be about the reviewed object: `kubectl delete --ignore-not-found` takes 404 as success.
            log.warning("request to the API server failed; review denied", extra={"err": error, "at": raised_at(error)})
            return errored(HTTPStatus.INTERNAL_SERVER_ERROR, f"the webhook failed: {text_of(error)}")
        except BadReview as error:
            return errored(HTTPStatus.BAD_REQUEST, text_of(error))
        except ValueError as error:
            # Mutating webhooks are called before the object is validated, so any value is possible.
            log.warning("invalid object; request denied", extra={"err": error, "at": raised_at(error)})
            return errored(HTTPStatus.BAD_REQUEST, f"invalid object: {text_of(error)}")

    return handle


def _is_of_a_request(error: ApiError) -> bool:
    """Report whether a client of this library raised the error, and not the webhook itself as its verdict."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "clientgo"


def raised_at(error: Exception) -> str:
    """Return the file and line that raised the error, for a log line without a traceback."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}:{frame.lineno}"


def multi_validating(*handlers: AdmissionHandler | AsyncAdmissionHandler) -> AdmissionHandler:
    """Return a handler that calls each handler up to the first that denies, and returns the warnings of all."""

    def handle(request: AdmissionRequest) -> AdmissionResponse:
        warnings: tuple[str, ...] = ()
        for handler in handlers:
            response = with_rejections(handler)(request)
            warnings += response.warnings
            if not response.allowed:
                return replace(response, warnings=warnings)
        return replace(allowed(), warnings=warnings)

    return handle


def multi_mutating(*handlers: AdmissionHandler | AsyncAdmissionHandler) -> AdmissionHandler:
    """Return a handler that passes the object through each handler in turn, up to the first that denies.

    In controller-runtime each handler gets the original object, and two that add a first label overwrite each other.
    """

    def handle(request: AdmissionRequest) -> AdmissionResponse:
        warnings: tuple[str, ...] = ()
        original = current = request.object
        for handler in handlers:
            response = with_rejections(handler)(request)
            warnings += response.warnings
            if not response.allowed:
                return replace(response, warnings=warnings)
            try:
                current = jsonpatch.apply(current, response.patch)
            except PatchError as error:
                return errored(HTTPStatus.INTERNAL_SERVER_ERROR, f"cannot apply the patch of a webhook: {error}")
            request = msgspec.structs.replace(request, raw_object=msgspec.Raw(encode_value(current)))
        return replace(patch_response(original, current), warnings=warnings)

    return handle


def _as_tuple(warnings: Sequence[str]) -> tuple[str, ...]:
    # A string is a sequence of strings, also for type checkers: each letter would become a warning.
    return (warnings,) if isinstance(warnings, str) else tuple(warnings)


def _invalid(request: AdmissionRequest, error: Errors) -> AdmissionResponse:
    """Return a 422 response with an API server's message."""
    kind = f"{request.kind.kind}.{request.kind.group}" if request.kind.group else request.kind.kind
    causes = tuple(problem.cause for problem in error.problems)
    details = StatusDetails(name=request.name, group=request.kind.group, kind=request.kind.kind, causes=causes)
    message = f'{kind} "{request.name}" is invalid: {error}'
    status = Status(code=HTTPStatus.UNPROCESSABLE_ENTITY, reason="Invalid", message=message, details=details)
    return AdmissionResponse(False, status, warnings=error.warnings)
