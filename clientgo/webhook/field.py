"""What is wrong with an object's fields, in the words and the shape of Kubernetes' own validation.

    problems = []
    spec = Path("spec")
    if home.spec.rooms < 1:
        problems.append(invalid(spec / "rooms", home.spec.rooms, "must be at least 1"))
    raise_if_any(problems)

A user reads the sentence; a program reads `details.causes`, where each problem has its field, reason and message.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from clientgo.errors import StatusCause
from clientgo.meta.codec import encode_value


@dataclass(frozen=True, slots=True)
class Path:
    """Where a field stands: `str(Path("spec") / "ports" / 0 / "name")` is `spec.ports[0].name`."""

    text: str = ""

    def __truediv__(self, step: str | int) -> "Path":
        """A member by its name, or an item by its index."""
        if isinstance(step, int):
            return Path(f"{self.text}[{step}]")
        return Path(f"{self.text}.{step}" if self.text else step)

    def key(self, name: str) -> "Path":
        """An entry of a map."""
        return Path(f"{self.text}[{name}]")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Error:
    """One problem; `reason` is one of metav1's causes, `message` what comes behind the field."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message

    @property
    def cause(self) -> StatusCause:
        """The problem as a Status lists it."""
        return StatusCause(reason=self.reason, message=self.message, field=self.field)


class Errors(Exception):
    """An object is refused for these problems: 422, reason Invalid."""

    def __init__(self, problems: Iterable[Error], *, warnings: Sequence[str] = ()) -> None:
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)
        if not self.problems:
            raise ValueError("an object is refused for a problem at least")
        super().__init__(str(self))

    def __str__(self) -> str:
        told = list(dict.fromkeys(map(str, self.problems)))
        return told[0] if len(told) == 1 else f"[{', '.join(told)}]"


def raise_if_any(problems: Sequence[Error], *, warnings: Sequence[str] = ()) -> None:
    """Refuse the object if there is a problem; raises `Errors`."""
    if problems:
        raise Errors(problems, warnings=warnings)


def invalid(path: Path | str, value: Any, detail: str) -> Error:
    """The value breaks a rule."""
    return _error("FieldValueInvalid", path, f"Invalid value: {_shown(value)}", detail)


def type_invalid(path: Path | str, value: Any, detail: str) -> Error:
    """The value is of the wrong type."""
    return _error("FieldValueTypeInvalid", path, f"Invalid value: {_shown(value)}", detail)


def required(path: Path | str, detail: str = "") -> Error:
    """The field must be given."""
    return _error("FieldValueRequired", path, "Required value", detail)


def forbidden(path: Path | str, detail: str) -> Error:
    """The field may not be given, or not be changed so."""
    return _error("FieldValueForbidden", path, "Forbidden", detail)


def not_found(path: Path | str, value: Any) -> Error:
    """The value names what is not there."""
    return _error("FieldValueNotFound", path, f"Not found: {_shown(value)}")


def duplicate(path: Path | str, value: Any) -> Error:
    """The value stands elsewhere already, where each may stand once."""
    return _error("FieldValueDuplicate", path, f"Duplicate value: {_shown(value)}")


def not_supported(path: Path | str, value: Any, supported: Iterable[Any]) -> Error:
    """The value is none of the few that are allowed."""
    allowed = ", ".join(_shown(one) for one in supported)
    detail = f"supported values: {allowed}" if allowed else ""
    return _error("FieldValueNotSupported", path, f"Unsupported value: {_shown(value)}", detail)


def too_long(path: Path | str, limit: int) -> Error:
    """The text has more than `limit` bytes."""
    return _error(
        "FieldValueTooLong", path, "Too long", f"may not be more than {limit} byte{'' if limit == 1 else 's'}"
    )


def too_many(path: Path | str, actual: int, limit: int) -> Error:
    """The list or map has more than `limit` members."""
    detail = f"must have at most {limit} item{'' if limit == 1 else 's'}"
    return _error("FieldValueTooMany", path, f"Too many: {actual}", detail)


def internal_error(path: Path | str, error: Exception) -> Error:
    """The field could not be judged."""
    return _error("InternalError", path, "Internal error", str(error))


def _error(reason: str, path: Path | str, body: str, detail: str = "") -> Error:
    return Error(reason, str(path), f"{body}: {detail}" if detail else body)


def _shown(value: Any) -> str:
    """A value as messages have it: text in quotes, numbers plain, what has members as JSON."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping | list | tuple | msgspec.Struct):
        return encode_value(value).decode()
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value)
