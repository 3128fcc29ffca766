"""Errors of API requests, connections, configuration and callbacks.

    ClientGoError
    ├── ApiError(code, reason, message, details, retry_after)   the server responded with a Status
    │   ├── BadRequest 400            ├── Gone 410
    │   ├── Unauthorized 401          │   └── Expired 410, reason Expired
    │   ├── Forbidden 403             ├── RequestEntityTooLarge 413
    │   ├── NotFound 404              ├── UnsupportedMediaType 415
    │   ├── MethodNotAllowed 405      ├── Invalid 422
    │   ├── NotAcceptable 406         ├── TooManyRequests 429
    │   ├── Conflict 409              ├── InternalError 500
    │   ├── AlreadyExists 409         ├── ServerTimeout 500/504, reason ServerTimeout
    │   ├── ServiceUnavailable 503    └── Timeout 504
    ├── ConnectionFailed              no valid response; the cause is kept
    │   └── InvalidResponse           the response is not what was requested
    ├── LeaseNotHeld                  not sent: the lease was lost
    ├── CallbackFailed                a function that the program supplies raised; the cause is kept
    ├── Cancelled                     a coroutine of the program took too long, or the program stops
    └── ConfigError                   missing or invalid configuration

AlreadyExists is not a Conflict, although both are 409: reading the object again resolves only a conflict. The classes
are independent of the HTTP library, so that callers do not change with the transport. A class is chosen by the Status'
`reason`, then by its code: an unknown reason with a known code has the code's class.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

MAX_RETRY_AFTER = 300.0
"""Maximum seconds of a server's Retry-After; the server may ask for more time again. kube-apiserver asks for at most a
minute."""


class Restorable:
    """Base class of exceptions whose constructor takes more than a message: they are pickled and copied without it."""

    __slots__ = ()
    args: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args), vars(self)


def _restored(cls: type[Any], args: tuple[Any, ...]) -> Any:
    return cls.__new__(cls, *args)


class ClientGoError(Restorable, Exception):
    """Base class of errors about the server, the network or the configuration.

    `request` is the verb and URL path of the request that failed, such as `GET /api/v1/pods`; empty if there was none.
    """

    request: str = ""


class ConfigError(ClientGoError):
    """The configuration is missing or invalid; the message tells the user in one line what to change."""


class LeaseNotHeld(ClientGoError):
    """The request was not sent: this process does not hold the lease that permits writes."""


class CallbackFailed(ClientGoError):
    """A function that the program supplies raised; `__cause__` is its exception, which the message describes."""


class Cancelled(ClientGoError):
    """A coroutine of the program was cancelled: its time limit has passed or, with `stopping`, the program stops."""

    def __init__(self, message: str, *, stopping: bool = False) -> None:
        super().__init__(message)
        self.stopping = stopping


class ConnectionFailed(ClientGoError):
    """No valid response was received; `__cause__` is the underlying error.

    `sent` is True if the server may have received the request, so that a write may have been carried out. `broken` is
    True if the peer closed or reset the connection or broke the protocol, so that a read can be retried at once; by
    default it is True for every failure after sending, except timeouts. `stopping` is True if this program ended the
    request because it stops; a retry would fail in the same way.
    """

    def __init__(
        self,
        message: str,
        *,
        sent: bool = True,
        refused: bool = False,
        timeout: bool = False,
        broken: bool | None = None,
        stopping: bool = False,
    ) -> None:
        super().__init__(message)
        self.sent = sent
        self.refused = refused
        self.timeout = timeout
        self.stopping = stopping
        self.broken = (sent and not refused and not timeout and not stopping) if broken is None else broken

    def with_message(self, message: str) -> "ConnectionFailed":
        """Return the same failure with another message."""
        error: ConnectionFailed = _restored(type(self), (message,))
        vars(error).update(vars(self))
        return error


class InvalidResponse(ConnectionFailed):
    """The response is not what an API server sends to this request: a proxy's HTML, `{}`, an object of another kind.

    A write may have been carried out. A retry may help: the next response may come from the server itself.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, broken=False)


class StatusCause(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One cause of an error, usually with a field (metav1.StatusCause)."""

    reason: str | None = ""
    message: str | None = ""
    field: str | None = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Object and causes of an error (metav1.StatusDetails)."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Body of an error response (metav1.Status)."""

    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0


_BY_REASON: "dict[str, type[ApiError]]" = {}


class ApiError(ClientGoError):
    """The server rejected the request; `retry_after` is in seconds, at most `MAX_RETRY_AFTER`, or None."""

    code: int = 0
    reasons: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, code: int = 0) -> None:
        # Classes with a code are those of the API; their names are the reasons.
        if code:
            cls.code, cls.reasons = code, (cls.__name__,)
            _BY_REASON.setdefault(cls.__name__, cls)

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
        self.retry_after = None if retry_after is None else min(retry_after, MAX_RETRY_AFTER)

    def has_cause(self, reason: str) -> bool:
        """Return True if `details` has a cause of that reason."""
        return any(cause.reason == reason for cause in self.details.causes)

    @property
    def is_resource_version_too_large(self) -> bool:
        """True if the requested version is newer than the server's; servers behind others respond so."""
        if self.has_cause("ResourceVersionTooLarge"):
            return True
        # Before Kubernetes 1.18.6 only a message contains it: that of a cause, before 1.17 that of the error.
        messages = (self.message, *(cause.message or "" for cause in self.details.causes))
        return any("Too large resource version" in message for message in messages)


class BadRequest(ApiError, code=400):
    """400: the request is invalid."""


class Unauthorized(ApiError, code=401):
    """401: the credentials are missing or invalid."""


class Forbidden(ApiError, code=403):
    """403: the user is not permitted to do this."""


class NotFound(ApiError, code=404):
    """404: the object or the resource does not exist."""


class MethodNotAllowed(ApiError, code=405):
    """405: the resource does not support the verb."""


class NotAcceptable(ApiError, code=406):
    """406: the server supports none of the accepted media types."""


class Conflict(ApiError, code=409):
    """409: the object changed since it was read, or an apply conflicts with another manager."""


class AlreadyExists(ApiError, code=409):
    """409: an object of that name already exists."""


class Gone(ApiError, code=410):
    """410: the requested version is no longer available."""


class Expired(Gone, code=410):
    """410: the resourceVersion or continue token is too old; list again."""


class RequestEntityTooLarge(ApiError, code=413):
    """413: the object exceeds the server's limit."""


class UnsupportedMediaType(ApiError, code=415):
    """415: the server does not support the type of the body, for example of a patch."""


class Invalid(ApiError, code=422):
    """422: the object is invalid; `details.causes` names the fields."""


class TooManyRequests(ApiError, code=429):
    """429: retry after `retry_after` seconds."""


class InternalError(ApiError, code=500):
    """500: the server failed."""


class ServiceUnavailable(ApiError, code=503):
    """503: the server is not ready."""


class Timeout(ApiError, code=504):
    """504: the request timed out; a write may have been carried out."""


class ServerTimeout(ApiError, code=500):
    """500 or 504 with reason ServerTimeout: retry later."""


# Of two classes with a code, the one that older servers mean, which send no reason: Conflict for 409, Expired for 410.
_BY_CODE = {cls.code: cls for cls in _BY_REASON.values() if cls not in (AlreadyExists, Gone, ServerTimeout)}

_STATUS = msgspec.json.Decoder(Status)


def api_error(status: Status, *, retry_after: float | None = None) -> ApiError:
    """Return the error for a Status."""
    cls = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code) or ApiError
    if retry_after is None and status.details is not None:
        retry_after = parse_retry_after(str(status.details.retry_after_seconds)) or None
    message = status.message or status.reason or "the server sent a Status that is not a success"
    return cls(message, code=status.code, reason=status.reason, details=status.details, retry_after=retry_after)


def error_from_response(code: int, body: bytes, headers: Mapping[str, str]) -> ApiError:
    """Return the error for an HTTP response, whose body may or may not be a Status."""
    retry_after = parse_retry_after(headers.get("Retry-After") or headers.get("retry-after") or "")
    status = decode_status(body)
    if status.reason or status.message:
        # A code of success does not explain a response that is none.
        code = status.code if status.code >= 400 else code
        return api_error(msgspec.structs.replace(status, code=code), retry_after=retry_after)
    text = body[:200].decode("utf-8", "replace").strip()
    cls = _BY_CODE.get(code, ApiError)
    return cls(f"the server answered {code}: {text or cls.__name__}", code=code, retry_after=retry_after)


def decode_status(data: bytes | Any) -> Status:
    """Return the Status in `data`, without fields of another type; empty if it is not a JSON object."""
    try:
        return _STATUS.decode(data)
    except (ValueError, RecursionError):  # invalid types, JSON or UTF-8; nesting deeper than Python's stack
        return _valid_part(data)


def _valid_part(data: bytes | Any) -> Status:
    try:
        fields = msgspec.json.decode(data, type=dict[str, Any])
    except (ValueError, RecursionError):
        return Status()
    valid: dict[str, Any] = {}
    for field in msgspec.structs.fields(Status):
        try:
            valid[field.name] = msgspec.convert(fields[field.encode_name], field.type)
        except (KeyError, msgspec.ValidationError):
            continue  # the default
    return Status(**valid)


def parse_retry_after(text: str) -> float | None:
    """Return the seconds of a Retry-After header, at most `MAX_RETRY_AFTER`; None if it is not a plausible number."""
    # Up to nine digits: longer numbers are not plausible, and very long ones overflow a float.
    text = text.strip(" ")
    return min(float(text), MAX_RETRY_AFTER) if re.fullmatch("[0-9]{1,9}", text) else None
