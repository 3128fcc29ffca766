"""Field errors in Kubernetes' wording: one constructor for each of its kinds of cause."""

from collections.abc import Iterable
from typing import Any

import msgspec

from clientgo.apiserver.http.status import Cause

_encode = msgspec.json.Encoder().encode


def go_float(value: float) -> str:
    """A float as Go's %v prints it: shortest digits, an exponent from 1e+21 on in integers' place only below 1e-4."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent and abs(value) < 1e6 and abs(value) >= 1e-4:
        return mantissa
    digits, _, power = f"{value:.17e}".partition("e")
    for precision in range(18):
        text = f"{value:.{precision}e}"
        if float(text) == value:
            digits, _, power = text.partition("e")
            break
    return f"{digits}e{power}"


def shown(value: Any) -> str:
    """A value as it stands in a message: strings quoted, numbers plain, the rest as JSON."""
    if isinstance(value, float):
        return go_float(value)
    return _encode(value).decode()


def required(field: str, detail: str = "") -> Cause:
    """The field must be given."""
    return Cause("FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value")


def invalid_value(field: str, value: Any, detail: str) -> Cause:
    """The field's value breaks a rule."""
    return Cause("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def invalid_hidden(field: str, detail: str) -> Cause:
    """The field's value breaks a rule; the value itself is not repeated."""
    return Cause("FieldValueInvalid", field, f"Invalid value: {detail}")


def type_invalid(field: str, value: Any, detail: str) -> Cause:
    """The field's value is of the wrong type."""
    return Cause("FieldValueTypeInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def not_supported(field: str, value: Any, supported: Iterable[Any]) -> Cause:
    """The field's value is none of the few that are allowed."""
    allowed = ", ".join(shown(one) for one in supported)
    return Cause("FieldValueNotSupported", field, f"Unsupported value: {shown(value)}: supported values: {allowed}")


def duplicate(field: str, value: Any) -> Cause:
    """The value stands elsewhere in the list already."""
    return Cause("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def forbidden_field(field: str, detail: str) -> Cause:
    """The field may not be given, or not be changed so."""
    return Cause("FieldValueForbidden", field, f"Forbidden: {detail}")


def too_long(field: str, limit: int) -> Cause:
    """The text has more than `limit` bytes."""
    return Cause("FieldValueTooLong", field, f"Too long: may not be more than {limit} byte{'' if limit == 1 else 's'}")


def too_many(field: str, actual: int, limit: int) -> Cause:
    """The list or map has more than `limit` members."""
    items = "item" if limit == 1 else "items"
    return Cause("FieldValueTooMany", field, f"Too many: {actual}: must have at most {limit} {items}")
