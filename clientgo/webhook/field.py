"""Errors of fields, with the messages and the structure of Kubernetes' own validation.

    problems = []
    spec = Path("spec")
    if home.spec.rooms < 1:
        problems.append(invalid(spec / "rooms", home.spec.rooms, "must be at least 1"))
    raise_if_any(problems)

Users see the message; programs read `details.causes`, which has field, reason and message of each problem.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from clientgo.errors import Restorable, StatusCause
from clientgo.meta.codec import encode_value


@dataclass(frozen=True, slots=True)
class Path:
    """Path of a field: `str(Path("spec") / "ports" / 0 / "name")` is `spec.ports[0].name`."""

    text: str = ""

    def __truediv__(self, step: str | int) -> "Path":
        """Return the path of a member by its name, or of an item by its index."""
        if isinstance(step, int):
            return Path(f"{self.text}[{step}]")
        return Path(f"{self.text}.{step}" if self.text else step)

    def key(self, name: str) -> "Path":
        """Return the path of a map entry."""
        return Path(f"{self.text}[{name}]")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Error:
    """One problem; `reason` is a metav1 cause, `message` follows the field."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message

    @property
    def cause(self) -> StatusCause:
        """Problem as a cause in a Status."""
        return StatusCause(reason=self.reason, message=self.message, field=self.field)


class Errors(Restorable, Exception):
    """The object is invalid because of these problems: 422, reason Invalid."""

    def __init__(self, problems: Iterable[Error], *, warnings: Sequence[str] = ()) -> None:
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)
        if not self.problems:
            raise ValueError("Errors needs at least one problem")
        super().__init__(str(self))

    def __str__(self) -> str:
        messages = list(dict.fromkeys(map(str, self.problems)))
        return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


def raise_if_any(problems: Sequence[Error], *, warnings: Sequence[str] = ()) -> None:
    """Raise `Errors` if there are problems."""
    if problems:
        raise Errors(problems, warnings=warnings)


def invalid(path: Path | str, value: Any, detail: str) -> Error:
    """Report a value that breaks a rule."""
    return _error("FieldValueInvalid", path, f"Invalid value: {_format_value(value)}", detail)


def type_invalid(path: Path | str, value: Any, detail: str) -> Error:
    """Report a value of the wrong type."""
    return _error("FieldValueTypeInvalid", path, f"Invalid value: {_format_value(value)}", detail)


def required(path: Path | str, detail: str = "") -> Error:
    """Report a missing field."""
    return _error("FieldValueRequired", path, "Required value", detail)


def forbidden(path: Path | str, detail: str) -> Error:
    """Report a field that must not be set or changed."""
    return _error("FieldValueForbidden", path, "Forbidden", detail)


def not_found(path: Path | str, value: Any) -> Error:
    """Report a reference to something that does not exist."""
    return _error("FieldValueNotFound", path, f"Not found: {_format_value(value)}")


def duplicate(path: Path | str, value: Any) -> Error:
    """Report a value that must be unique and is not."""
    return _error("FieldValueDuplicate", path, f"Duplicate value: {_format_value(value)}")


def not_supported(path: Path | str, value: Any, supported: Iterable[Any]) -> Error:
    """Report a value outside the supported ones."""
    allowed = ", ".join(_format_value(choice) for choice in supported)
    detail = f"supported values: {allowed}" if allowed else ""
    return _error("FieldValueNotSupported", path, f"Unsupported value: {_format_value(value)}", detail)


def too_long(path: Path | str, limit: int) -> Error:
    """Report a text of more than `limit` bytes."""
    return _error(
        "FieldValueTooLong", path, "Too long", f"may not be more than {limit} byte{'' if limit == 1 else 's'}"
    )


def too_many(path: Path | str, actual: int, limit: int) -> Error:
    """Report a list or map with more than `limit` members."""
    detail = f"must have at most {limit} item{'' if limit == 1 else 's'}"
    return _error("FieldValueTooMany", path, f"Too many: {actual}", detail)


def internal_error(path: Path | str, error: Exception) -> Error:
    """Report a field whose validation failed."""
    return _error("InternalError", path, "Internal error", str(error))


def _error(reason: str, path: Path | str, body: str, detail: str = "") -> Error:
    return Error(reason, str(path), f"{body}: {detail}" if detail else body)


def _format_value(value: Any) -> str:
    """Return a value as messages show it: text in quotes, numbers plain, structures as JSON."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping | list | tuple | msgspec.Struct):
        return encode_value(value).decode()
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value)
