"""How a webhook judges: by functions for one kind, typed, or by a function of the request as it came.

A `Defaulter` gives the object as it should be, a `Validator` objects by raising. Both are turned into handlers, which
is all that the server knows.
"""

import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Protocol, TypeVar

from clientgo.errors import ApiError, Status
from clientgo.meta.codec import encode_value
from clientgo.meta.objects import ApiObject
from clientgo.meta.patches import PatchError, jsonpatch
from clientgo.webhook.admission import (
    AdmissionRequest,
    AdmissionResponse,
    BadReview,
    allowed,
    denied,
    errored,
    patch_response,
    refused,
    status_details,
)
from clientgo.webhook.field import Errors
from clientgo.webhook.overlay import changed

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)
T_contra = TypeVar("T_contra", bound=ApiObject, contravariant=True)

AdmissionHandler = Callable[[AdmissionRequest], AdmissionResponse]
"""Judges a request; thread-safe. Rejects it by raising `Denied`, `field.Errors`, `ApiError` or ValueError (400).

Any other exception is a bug: it denies the request with 500 and is logged with its traceback.
"""

Warnings = Sequence[str] | None
"""What a user is told of an object that is taken all the same."""


class Denied(Exception):
    """The request is refused in these words; `code` and `reason` are those of an API server's refusal."""

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
        self.warnings = _several(warnings)


class Defaulter(Protocol[T]):
    """Fills in what a user left out."""

    def default(self, obj: T, request: AdmissionRequest, /) -> T:
        """The object as it should be, which may be `obj` itself; never asked about deletions."""


class Validator(Protocol[T_contra]):
    """Objects to what may not be, by raising `Denied` or `field.Errors`; returns warnings, if there are any."""

    def validate_create(self, obj: T_contra, request: AdmissionRequest, /) -> Warnings:
        """Whether the object may be created."""

    def validate_update(self, old: T_contra, new: T_contra, request: AdmissionRequest, /) -> Warnings:
        """Whether the object may be changed so."""

    def validate_delete(self, obj: T_contra, request: AdmissionRequest, /) -> Warnings:
        """Whether the object may be deleted; asked only if the webhook's rules name DELETE."""


def defaulting(kind: type[T], defaulter: Defaulter[T]) -> AdmissionHandler:
    """The handler of a mutating webhook: what the defaulter changes becomes a patch of just that."""

    def handle(request: AdmissionRequest) -> AdmissionResponse:
        if request.operation == "DELETE":
            return allowed()
        obj = request.decode(kind)
        made = defaulter.default(obj, request)
        if made is obj:
            return allowed()
        if not isinstance(made, kind):
            raise TypeError(f"the defaulter of {kind.__name__} gave a {type(made).__name__}")
        raw = request.object
        return patch_response(raw, changed(raw, obj, made))

    return judged(handle)


def validating(kind: type[T], validator: Validator[T]) -> AdmissionHandler:
    """The handler of a validating webhook."""

    def handle(request: AdmissionRequest) -> AdmissionResponse:
        match request.operation:
            case "CREATE":
                warnings = validator.validate_create(request.decode(kind), request)
            case "UPDATE":
                warnings = validator.validate_update(request.decode_old(kind), request.decode(kind), request)
            case "DELETE":
                warnings = validator.validate_delete(request.decode_old(kind), request)
            case "CONNECT":
                warnings = None
            case other:
                raise BadReview(f"unknown operation {other!r}: there are CREATE, UPDATE, DELETE and CONNECT")
        return allowed().with_warnings(*_several(warnings or ()))

    return judged(handle)


def judged(handler: AdmissionHandler) -> AdmissionHandler:
    """The handler, whose objections are answers: `Denied`, `field.Errors`, `ApiError`, `BadReview`, ValueError."""

    def handle(request: AdmissionRequest) -> AdmissionResponse:
        try:
            return handler(request)
        except Denied as error:
            status = Status(code=error.code, reason=error.reason, message=str(error))
            return replace(denied(str(error)), status=status, warnings=error.warnings)
        except Errors as error:
            return _invalid(request, error)
        except ApiError as error:
            return refused(error)
        except BadReview as error:
            return errored(HTTPStatus.BAD_REQUEST, str(error))
        except ValueError as error:
            # Mutating webhooks are called before the object is validated, so that a value may be anything.
            log.warning("an object is invalid, and the request denied", extra={"err": error, "at": raised_at(error)})
            return errored(HTTPStatus.BAD_REQUEST, f"invalid object: {error}")

    return handle


def raised_at(error: Exception) -> str:
    """Return the file and line that raised the error, for a log line without a traceback."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}:{frame.lineno}"


def multi_validating(*handlers: AdmissionHandler) -> AdmissionHandler:
    """Asks each in turn, up to the first that denies; warnings of all that were asked are given."""

    def handle(request: AdmissionRequest) -> AdmissionResponse:
        warnings: tuple[str, ...] = ()
        for one in handlers:
            response = judged(one)(request)
            warnings += response.warnings
            if not response.allowed:
                return replace(response, warnings=warnings)
        return replace(allowed(), warnings=warnings)

    return handle


def multi_mutating(*handlers: AdmissionHandler) -> AdmissionHandler:
    """Lets each in turn change what the one before made of the object, up to the first that denies.

    In controller-runtime each sees the object as it came, and two that add a first label undo each other.
    """

    def handle(request: AdmissionRequest) -> AdmissionResponse:
        warnings: tuple[str, ...] = ()
        original = current = request.object
        for one in handlers:
            response = judged(one)(request)
            warnings += response.warnings
            if not response.allowed:
                return replace(response, warnings=warnings)
            try:
                current = jsonpatch.apply(current, response.patch)
            except PatchError as error:
                return errored(HTTPStatus.INTERNAL_SERVER_ERROR, f"a webhook's patch does not fit: {error}")
            request = replace(request, raw_object=encode_value(current))
        return replace(patch_response(original, current), warnings=warnings)

    return handle


def _several(warnings: Sequence[str]) -> tuple[str, ...]:
    # A single text is a sequence of texts to Python, and to a type checker: a user would be warned letter by letter.
    return (warnings,) if isinstance(warnings, str) else tuple(warnings)


def _invalid(request: AdmissionRequest, error: Errors) -> AdmissionResponse:
    """422 in the words of an API server."""
    kind = f"{request.kind.kind}.{request.kind.group}" if request.kind.group else request.kind.kind
    causes = [one.cause for one in error.problems]
    details = status_details(name=request.name, group=request.kind.group, kind=request.kind.kind, causes=causes)
    message = f'{kind} "{request.name}" is invalid: {error}'
    status = Status(code=HTTPStatus.UNPROCESSABLE_ENTITY, reason="Invalid", message=message, details=details)
    return AdmissionResponse(False, status, warnings=error.warnings)
