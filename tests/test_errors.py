"""Errors of responses: class, code, message and delay."""

import copy
import json
import pickle
from asyncio import CancelledError
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from clientgo import errors
from clientgo.errors import (
    ApiError,
    CallbackFailed,
    ConfigError,
    Status,
    StatusCause,
    StatusDetails,
    api_error,
    decode_status,
    error_from_response,
)
from clientgo.internal.callbacks import MAX_DESCRIPTION, describe_error, run_callback, text_of

REASONS = {
    "BadRequest": (errors.BadRequest, 400),
    "Unauthorized": (errors.Unauthorized, 401),
    "Forbidden": (errors.Forbidden, 403),
    "NotFound": (errors.NotFound, 404),
    "MethodNotAllowed": (errors.MethodNotAllowed, 405),
    "NotAcceptable": (errors.NotAcceptable, 406),
    "Conflict": (errors.Conflict, 409),
    "AlreadyExists": (errors.AlreadyExists, 409),
    "Gone": (errors.Gone, 410),
    "Expired": (errors.Expired, 410),
    "RequestEntityTooLarge": (errors.RequestEntityTooLarge, 413),
    "UnsupportedMediaType": (errors.UnsupportedMediaType, 415),
    "Invalid": (errors.Invalid, 422),
    "TooManyRequests": (errors.TooManyRequests, 429),
    "InternalError": (errors.InternalError, 500),
    "ServerTimeout": (errors.ServerTimeout, 500),
    "ServiceUnavailable": (errors.ServiceUnavailable, 503),
    "Timeout": (errors.Timeout, 504),
}


def body(**status: Any) -> bytes:
    return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", **status}).encode()


@pytest.mark.parametrize("reason", REASONS)
def test_reason_determines_the_class(reason: str) -> None:
    cls, code = REASONS[reason]
    error = error_from_response(code, body(reason=reason, code=code, message="no"), {})
    assert type(error) is cls
    assert (error.code, error.reason, error.message, str(error)) == (code, reason, "no", "no")


def test_reason_takes_precedence_over_the_code() -> None:
    assert type(api_error(Status(reason="ServerTimeout", code=504))) is errors.ServerTimeout


@pytest.mark.parametrize(
    ("code", "cls"),
    [
        (404, errors.NotFound),
        (409, errors.Conflict),
        (410, errors.Expired),
        (500, errors.InternalError),
        (504, errors.Timeout),
        (418, ApiError),
    ],
)
def test_code_determines_the_class_for_unknown_reasons(code: int, cls: type[ApiError]) -> None:
    error = error_from_response(code, body(reason="SomethingNew", code=code, message="no"), {})
    assert type(error) is cls
    assert error.reason == "SomethingNew"


def test_body_that_is_not_a_status_is_quoted() -> None:
    error = error_from_response(503, b"<html>upstream is gone</html>", {})
    assert type(error) is errors.ServiceUnavailable
    assert str(error) == "the server answered 503: <html>upstream is gone</html>"


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[]", b'{"code":"x"}', b"null"])
def test_every_body_is_accepted(data: bytes) -> None:
    error = error_from_response(502, data, {})
    assert (type(error), error.code) == (ApiError, 502)
    assert str(error).startswith("the server answered 502: ")


def test_long_body_is_truncated() -> None:
    assert len(str(error_from_response(500, b"x" * 10_000, {}))) < 300


def test_status_without_a_code_has_that_of_the_response() -> None:
    assert error_from_response(403, body(message="no"), {}).code == 403


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        pytest.param({}, None, None, id="none named"),
        pytest.param({"Retry-After": "3"}, None, 3.0, id="header"),
        pytest.param({"retry-after": "3"}, None, 3.0, id="header in lower case"),
        pytest.param({}, {"retryAfterSeconds": 7}, 7.0, id="details"),
        pytest.param({"Retry-After": "3"}, {"retryAfterSeconds": 7}, 3.0, id="header wins"),
        pytest.param({"Retry-After": "Fri, 21 Nov 2025 10:00:00 GMT"}, None, None, id="a date is not supported"),
    ],
)
def test_retry_after_is_read_from_header_and_details(
    headers: dict[str, str], details: dict[str, Any] | None, seconds: float | None
) -> None:
    data = body(reason="TooManyRequests", code=429, **({"details": details} if details else {}))
    assert error_from_response(429, data, headers).retry_after == seconds


def test_details_are_kept() -> None:
    data = body(
        reason="Invalid",
        code=422,
        message="no",
        details={"name": "foo", "kind": "Foo", "causes": [{"reason": "FieldValueRequired", "field": "spec.x"}]},
    )
    error = error_from_response(422, data, {})
    assert (error.details.name, error.details.kind) == ("foo", "Foo")
    assert error.details.causes == (StatusCause(reason="FieldValueRequired", field="spec.x"),)
    assert error.has_cause("FieldValueRequired")
    assert not error.has_cause("FieldValueInvalid")


def test_error_has_the_code_and_reason_of_its_class_by_default() -> None:
    error = errors.NotFound('foos "x" not found')
    assert (error.code, error.reason, error.details, error.retry_after) == (404, "NotFound", StatusDetails(), None)
    assert str(errors.NotFound()) == "NotFound"


def test_errors_can_be_copied_and_pickled() -> None:
    error = errors.Conflict("changed", details=StatusDetails(name="x"), retry_after=2.0)
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is errors.Conflict
        assert (str(twin), twin.code, twin.details.name, twin.retry_after) == ("changed", 409, "x", 2.0)


def test_connection_failure_is_not_an_api_error() -> None:
    error = errors.ConnectionFailed("refused", sent=False, refused=True)
    assert not isinstance(error, ApiError)
    assert (error.sent, error.refused, error.timeout) == (False, True, False)
    assert isinstance(error, errors.ClientGoError)


@pytest.mark.parametrize(
    "error", [errors.ConnectionFailed("refused", sent=False, refused=True), errors.InvalidResponse("HTML")], ids=repr
)
def test_connection_failure_with_another_message_is_otherwise_the_same(error: errors.ConnectionFailed) -> None:
    other = error.with_message("again")
    assert (type(other), str(other), vars(other)) == (type(error), "again", vars(error))


def test_status_is_decoded_leniently() -> None:
    assert decode_status(body(message="no", code=500, zzz=1)).message == "no"
    assert decode_status(b"nothing") == Status()


@pytest.mark.parametrize(
    ("body", "lagging"),
    [
        pytest.param(
            b'{"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]},"reason":"Timeout"}', True, id="by cause"
        ),
        pytest.param(b'{"message":"Timeout: Too large resource version: 11, current: 4"}', True, id="by message"),
        pytest.param(b'{"message":"Timeout: the request did not complete"}', False, id="another timeout"),
    ],
)
def test_too_large_resource_version_is_detected(body: bytes, lagging: bool) -> None:
    assert error_from_response(504, body, {}).is_resource_version_too_large is lagging


class Silent(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Unnamed(type):
    """Metaclass whose classes have no readable name."""

    __name__ = __module__ = property(lambda cls: 1 / 0)


class Hidden(Silent, metaclass=Unnamed):
    __module__ = 3  # type: ignore[assignment]


class Text(str):
    def __len__(self) -> int:
        raise SystemExit(3)

    __bool__ = __format__ = __getitem__ = __len__  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("team"), "KeyError: 'team'"),
        (ValueError(), "ValueError"),
        (SystemExit(2), "SystemExit: 2"),
        (errors.NotFound('pods "x" not found'), 'pods "x" not found'),
        (ConfigError(), "ConfigError"),
        (Silent(), "Silent: <Silent that cannot be shown>"),
        (Hidden(), "Hidden: <Hidden that cannot be shown>"),
        (ValueError(Text("no")), "ValueError: no"),
        (ValueError("x" * 10_000), f"ValueError: {'x' * (MAX_DESCRIPTION - 12)}…"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type.__repr__(type(value)),
)
def test_description_of_an_error_is_complete_and_never_raises(error: BaseException, text: str) -> None:
    assert describe_error(error) == text


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), CancelledError(), GeneratorExit(), Silent()])
def test_callback_that_raises_anything_fails_with_the_exception_as_cause(error: BaseException) -> None:
    def callback(value: int, *, factor: int) -> int:
        raise error

    with pytest.raises(CallbackFailed, match=type(error).__name__) as failure:
        run_callback(callback, 2, factor=3)
    assert failure.value.__cause__ is error


def test_callback_returns_its_result_and_the_user_can_interrupt_it() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert run_callback(int, "12", base=3) == 5
    with pytest.raises(KeyboardInterrupt):
        run_callback(interrupted)


def test_callback_of_another_thread_cannot_interrupt_the_program() -> None:
    class Interrupting:
        def __str__(self) -> str:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(text_of, Interrupting()).result() == "<Interrupting that cannot be shown>"
        with pytest.raises(CallbackFailed, match="KeyboardInterrupt"):
            pool.submit(run_callback, str, Interrupting()).result()


def test_error_has_the_code_of_the_response_if_its_status_is_a_success() -> None:
    assert error_from_response(500, body(message="no", code=200), {}).code == 500
