"""What the API server says when it refuses, and what the network does instead of answering.

    ClientGoError
    ├── ApiError(code, reason, message, details, retry_after)   the server answered with a Status
    │   ├── BadRequest 400            ├── Gone 410
    │   ├── Unauthorized 401          │   └── Expired 410, reason Expired
    │   ├── Forbidden 403             ├── RequestEntityTooLarge 413
    │   ├── NotFound 404              ├── UnsupportedMediaType 415
    │   ├── MethodNotAllowed 405      ├── Invalid 422
    │   ├── NotAcceptable 406         ├── TooManyRequests 429
    │   ├── Conflict 409              ├── InternalError 500
    │   ├── AlreadyExists 409         ├── ServerTimeout 500/504, reason ServerTimeout
    │   ├── ServiceUnavailable 503    └── Timeout 504
    ├── ConnectionFailed              no usable answer; the cause is kept
    └── ConfigError                   no usable configuration; one sentence says what to do

AlreadyExists is no Conflict although both are 409: what helps against a conflict, reading again, does not help there.
The tree is ours and not the HTTP library's, so that callers do not change when the transport does. A class is chosen by
the Status' `reason`, then by its code: an unknown reason with a known code is still caught by the code's class.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec


class ClientGoError(Exception):
    """Everything this library raises about the server, the network or the configuration."""


class ConfigError(ClientGoError):
    """The configuration is missing or unusable; the message is one sentence for the user."""


class LeaseNotHeld(ClientGoError):
    """Nothing was sent: this process does not hold, or holds no more, the lease under which it may write."""


class ConnectionFailed(ClientGoError):
    """The network gave no usable answer; `__cause__` is what happened.

    `sent` tells whether the server may have seen the request: a write may then have happened. `broken` tells whether
    the peer closed or reset the connection, or garbled it, so that a read may be repeated at once; by default every
    failure after sending counts, except a timeout.
    """

    def __init__(
        self,
        message: str,
        *,
        sent: bool = True,
        refused: bool = False,
        timeout: bool = False,
        broken: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.sent = sent
        self.refused = refused
        self.timeout = timeout
        self.broken = (sent and not refused and not timeout) if broken is None else broken

    def with_message(self, message: str) -> "ConnectionFailed":
        """Return the same failure with another message."""
        return ConnectionFailed(message, sent=self.sent, refused=self.refused, timeout=self.timeout, broken=self.broken)


class StatusCause(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One of several reasons for a refusal, usually naming a field."""

    reason: str | None = ""
    message: str | None = ""
    field: str | None = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a refusal is about, machine-readable."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The body of a refusal (metav1.Status)."""

    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0


class ApiError(ClientGoError):
    """The server refused; `retry_after` is in seconds and None when the server named none."""

    code: int = 0
    reasons: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        message: str = "",
        *,
        code: int = 0,
        reason: str = "",
        details: StatusDetails | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message or reason or type(self).__name__)
        self.message = message
        self.code = code or self.code
        self.reason = reason or (self.reasons[0] if self.reasons else "")
        self.details = details if details is not None else StatusDetails()
        self.retry_after = retry_after

    def has_cause(self, reason: str) -> bool:
        """Whether the server listed a cause of that reason."""
        return any(cause.reason == reason for cause in self.details.causes)


class BadRequest(ApiError):
    """400: the request itself makes no sense."""

    code, reasons = 400, ("BadRequest",)


class Unauthorized(ApiError):
    """401: the credentials are missing or not accepted."""

    code, reasons = 401, ("Unauthorized",)


class Forbidden(ApiError):
    """403: the credentials are known and may not do this."""

    code, reasons = 403, ("Forbidden",)


class NotFound(ApiError):
    """404: no such object, or no such resource."""

    code, reasons = 404, ("NotFound",)


class MethodNotAllowed(ApiError):
    """405: the resource does not have that verb."""

    code, reasons = 405, ("MethodNotAllowed",)


class NotAcceptable(ApiError):
    """406: the server has no form of the answer that was asked for."""

    code, reasons = 406, ("NotAcceptable",)


class Conflict(ApiError):
    """409: the object changed since it was read, or an apply conflicts with another manager."""

    code, reasons = 409, ("Conflict",)


class AlreadyExists(ApiError):
    """409: an object of that name is there already."""

    code, reasons = 409, ("AlreadyExists",)


class Gone(ApiError):
    """410: what was asked for is not kept any more."""

    code, reasons = 410, ("Gone",)


class Expired(Gone):
    """410: the resourceVersion or continue token is too old; list again."""

    code, reasons = 410, ("Expired",)


class RequestEntityTooLarge(ApiError):
    """413: the object is larger than the server takes."""

    code, reasons = 413, ("RequestEntityTooLarge",)


class UnsupportedMediaType(ApiError):
    """415: the server does not know that kind of patch."""

    code, reasons = 415, ("UnsupportedMediaType",)


class Invalid(ApiError):
    """422: the object breaks a rule; `details.causes` names the fields."""

    code, reasons = 422, ("Invalid",)


class TooManyRequests(ApiError):
    """429: come back after `retry_after` seconds."""

    code, reasons = 429, ("TooManyRequests",)


class InternalError(ApiError):
    """500: the server failed."""

    code, reasons = 500, ("InternalError",)


class ServiceUnavailable(ApiError):
    """503: the server is not ready."""

    code, reasons = 503, ("ServiceUnavailable",)


class Timeout(ApiError):
    """504: the server did not finish in time; the write may have happened."""

    code, reasons = 504, ("Timeout",)


class ServerTimeout(ApiError):
    """500 or 504 with reason ServerTimeout: the server asks to try again later."""

    code, reasons = 500, ("ServerTimeout",)


_CLASSES: tuple[type[ApiError], ...] = (
    BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, Conflict, AlreadyExists, Gone,
    Expired, RequestEntityTooLarge, UnsupportedMediaType, Invalid, TooManyRequests, InternalError, ServiceUnavailable,
    Timeout, ServerTimeout,
)  # fmt: skip
_BY_REASON = {reason: cls for cls in _CLASSES for reason in cls.reasons}
# Where two classes share a code, the more general one stands for it: a bare 409 is a Conflict, a bare 410 is Expired,
# because servers before reasons were added meant that by it.
_BY_CODE = {cls.code: cls for cls in _CLASSES if cls not in (AlreadyExists, Gone, ServerTimeout)}

_STATUS = msgspec.json.Decoder(Status)


def api_error(status: Status, *, retry_after: float | None = None) -> ApiError:
    """The error a Status stands for."""
    cls = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code) or ApiError
    if retry_after is None and status.details is not None and status.details.retry_after_seconds:
        retry_after = _seconds(str(status.details.retry_after_seconds))
    return cls(status.message, code=status.code, reason=status.reason, details=status.details, retry_after=retry_after)


def error_from_response(code: int, body: bytes, headers: Mapping[str, str]) -> ApiError:
    """The error an HTTP answer of `code` stands for, whether its body is a Status or not."""
    retry_after = _seconds(headers.get("Retry-After") or headers.get("retry-after"))
    status = decode_status(body)
    if status.reason or status.message:
        return api_error(msgspec.structs.replace(status, code=status.code or code), retry_after=retry_after)
    text = body[:200].decode("utf-8", "replace").strip()
    cls = _BY_CODE.get(code, ApiError)
    return cls(f"the server answered {code}: {text or cls.__name__}", code=code, retry_after=retry_after)


def decode_status(data: bytes | Any) -> Status:
    """The Status in `data`; an empty one if it holds none."""
    try:
        return _STATUS.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):  # the last for nesting deeper than Python's stack
        return Status()


def _seconds(text: str | None) -> float | None:
    # Up to nine digits, as no server means more: longer numbers are no times, and too long ones no float.
    return float(text) if text is not None and re.fullmatch("[0-9]{1,9}", text.strip(" ")) else None
