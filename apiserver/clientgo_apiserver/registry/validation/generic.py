"""General rules of single values: presence, choices, bounds, formats, immutability."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from clientgo.meta.jsonvalues import canonical, is_among, same
from clientgo_apiserver.api import names
from clientgo_apiserver.api.limits import MAX_ANNOTATION_BYTES
from clientgo_apiserver.api.status import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    omitted_value,
    too_long,
    too_many,
)
from clientgo_apiserver.api.status import required as required_value
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule
from clientgo_apiserver.releases.release import current

_NOTHING: tuple[Any, ...] = (None, "", [], {})
IMMUTABLE = "field is immutable"


def text(value: Any) -> str:
    """Return a value as conditions and choices write it; an absent one is empty."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def reader(path: str) -> Callable[[Any], Any]:
    """Return a function that reads a dotted path of a value, None if a field on it is absent."""
    fields = path.split(".")

    def read(value: Any) -> Any:
        for field in fields:
            value = value.get(field) if isinstance(value, dict) else None
        return value

    return read


@rule(empty=True)
def required(value: Any, _: FieldScope, detail: str = "") -> Iterator[Cause]:
    """Reject an absent or empty value."""
    if value in _NOTHING:
        yield required_value("", detail)


@rule(empty=True)
def required_number(value: Any, _: FieldScope, detail: str = "") -> Iterator[Cause]:
    """Reject an absent number or zero."""
    if not value:
        yield required_value("", detail)


@rule(empty=True)
def set_required(value: Any, _: FieldScope, detail: str = "") -> Iterator[Cause]:
    """Reject an absent value; an empty one is allowed (a pointer in Go)."""
    if value is None:
        yield required_value("", detail)


@rule()
def forbidden(value: Any, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject a value that is not empty."""
    if value not in _NOTHING:
        yield forbidden_field("", detail)


@rule()
def forbidden_if_set(_: Any, __: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject a value that is present, even if it is empty."""
    yield forbidden_field("", detail)


@rule()
def missing(_: Any, __: FieldScope, detail: str) -> Iterator[Cause]:
    """Require what is absent; for rules with a condition."""
    yield required_value("", detail)


@rule()
def invalid_as(_: Any, __: FieldScope, text: str, detail: str) -> Iterator[Cause]:
    """Reject any value that is present; the message has this text, or `null`, instead. For rules with a condition."""
    yield invalid_value("", None if text == "null" else text, detail)


@rule()
def omitted(_: Any, __: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject any value that is present, which the message does not show; for rules with a condition."""
    yield omitted_value("", detail)


@rule()
def invalid_struct(value: Any, _: FieldScope, name: str, detail: str) -> Iterator[Cause]:
    """Reject a struct of this internal type, which the message shows; for rules with a condition."""
    yield invalid_value("", go_struct(name, value), detail)


@rule()
def invalid(value: Any, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject any value that is present; for rules with a condition."""
    yield invalid_value("", value, detail)


@rule(absent=True)
def invalid_or_absent(value: Any, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject any value; an absent one is the empty string."""
    yield invalid_value("", "" if value is None else value, detail)


@rule()
def supported(value: Any, _: FieldScope, choices: str) -> tuple[Cause, ...]:
    """Reject a value that is not one of the comma-separated ones; an empty one is left to `required`."""
    valid = value == "" or value in choices.split(",")
    return () if valid else (not_supported("", value, choices.split(",")),)


@rule()
def only(value: Any, _: FieldScope, choices: str) -> Iterator[Cause]:
    """Reject a value that is not one of the comma-separated ones, even the empty one."""
    if (value or "") not in choices.split(","):
        yield not_supported("", value or "", choices.split(","))


@rule()
def reject(value: Any, _: FieldScope, choices: str) -> Iterator[Cause]:
    """Reject any value, with the comma-separated ones as the supported ones; for rules with a condition."""
    yield not_supported("", value, choices.split(","))


@rule()
def apart_from(value: list[Any], scope: FieldScope, field: str, detail: str) -> Iterator[Cause]:
    """Reject items that another list of the type has."""
    other_items = scope.value.get(field) or ()
    yield from (invalid_value(f"[{index}]", item, detail) for index, item in enumerate(value) if item in other_items)


@rule()
def matching(value: str, _: FieldScope, pattern: str, detail: str) -> Iterator[Cause]:
    """Reject a text that the whole pattern does not match."""
    if re.fullmatch(pattern, value, re.DOTALL) is None:
        yield invalid_value("", value, detail)


@rule()
def least(value: Any, _: FieldScope, limit: int) -> tuple[Cause, ...]:
    """Reject a number below the limit."""
    return () if value >= limit else (invalid_value("", value, f"must be greater than or equal to {limit}"),)


@rule(absent=True)
def positive(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Reject a number that is not positive; an absent one is zero."""
    if (value or 0) <= 0:
        yield invalid_value("", value or 0, "must be greater than zero")


@rule()
def between(value: Any, _: FieldScope, low: int, high: int) -> Iterator[Cause]:
    """Reject a number outside of the limits."""
    if not low <= value <= high:
        yield invalid_value("", value, f"must be between {low} and {high}, inclusive")


@rule()
def outside(value: Any, _: FieldScope, low: int, high: int, detail: str) -> Iterator[Cause]:
    """Reject a number outside of the limits with this message."""
    if not low <= value <= high:
        yield invalid_value("", value, detail)


@rule()
def limited(value: str, _: FieldScope, limit: int, detail: str) -> Iterator[Cause]:
    """Require a text no longer than the limit, with this message."""
    if len(value) > limit:
        yield required_value("", detail)


@rule()
def at_most(value: Any, _: FieldScope, limit: int, detail: str) -> Iterator[Cause]:
    """Reject a text or list longer than the limit with this message."""
    if len(value) > limit:
        yield invalid_value("", value, detail)


@rule(absent=True)
def single(value: Any, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Require a list of exactly one item."""
    if len(value or ()) != 1:
        yield required_value("", detail)


@rule()
def items(value: Any, _: FieldScope, limit: int) -> Iterator[Cause]:
    """Reject a list or map with more members than the limit."""
    if len(value) > limit:
        yield too_many("", len(value), limit)


@rule()
def size(value: Any, _: FieldScope, limit: int, reported: int = 0) -> Iterator[Cause]:
    """Reject a text of more bytes than the limit; an error may name another one."""
    if len(value.encode()) > limit:
        yield too_long("", reported or limit)


@rule()
def named(value: Any, _: FieldScope, form: str) -> tuple[Cause, ...]:
    """Reject a text that is not of this form, one of `names.FORMS`; an empty one is allowed."""
    return tuple(invalid_value("", value, reason) for reason in names.FORMS[form](value)) if value else ()


@rule()
def formed(value: Any, _: FieldScope, form: str) -> Iterator[Cause]:
    """Reject a text that is not of this form, even the empty one."""
    for reason in names.FORMS[form](value or ""):
        yield invalid_value("", value or "", reason)


@rule(absent=True)
def required_subdomain(value: Any, scope: FieldScope) -> Iterable[Cause]:
    """Reject a text that is not a subdomain; an absent one is empty."""
    return formed(value, scope, "subdomain")


@rule(absent=True)
def port(value: Any, scope: FieldScope) -> Iterable[Cause]:
    """Reject an invalid port number or name; an absent one is 0."""
    return named(value, scope, "port_name") if isinstance(value, str) and value else _port(value)


def _port(value: Any) -> Iterator[Cause]:
    if value == "":
        for reason in names.port_name_errors(""):
            yield invalid_value("", "", reason)
    elif not 1 <= (value or 0) <= 65535:
        yield invalid_value("", value or 0, "must be between 1 and 65535, inclusive")


@rule()
def labels(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Reject invalid keys and values of labels."""
    for key, member in sorted(value.items()):
        for reason in names.qualified_errors(key):
            yield invalid_value("", key, reason)
        for reason in names.label_value_errors(member):
            yield invalid_value("", member, reason)


@rule()
def unique(value: Any, _: FieldScope, field: str = "") -> Iterator[Cause]:
    """Reject items of a list that occur twice, or whose field does."""
    seen: set[bytes] = set()
    for index, item in enumerate(value):
        key = item.get(field) if field else item
        text = canonical(key)
        if text in seen and not is_among(key, _NOTHING):
            yield duplicate(f"[{index}]" + (f".{field}" if field else ""), key)
        seen.add(text)


@rule()
def annotations(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Reject invalid keys of annotations, and annotations that are too large."""
    for key in sorted(value):
        for reason in names.qualified_errors(key.lower()):
            yield invalid_value("", key, reason)
    if sum(len(key) + len(member) for key, member in value.items()) > MAX_ANNOTATION_BYTES:
        yield too_long("", MAX_ANNOTATION_BYTES)


@rule()
def ip_address(value: Any, _: FieldScope | None = None) -> Iterator[Cause]:
    """Reject a text that is not an IP address."""
    is_strict = current().enabled("StrictIPCIDRValidation")  # otherwise the address has a warning
    for reason in names.ip_errors(value):
        if is_strict or reason == names.NO_IP_ADDRESS:
            yield invalid_value("", value, reason)


@rule()
def one_type(value: Any, scope: FieldScope, fields: str, word: str, *further: str) -> Iterator[Cause]:
    """Reject more than one of the comma-separated fields, and none if a further text says what is required.

    The first is checked by the rules of the type that the last text names. A field with a plus sign is accepted beside
    earlier ones.
    """
    detail, name = (*further, "", "")[:2]
    set_fields = [field for field in fields.split(",") if value.get(field.removeprefix("+")) is not None]
    rejected = [field for field in set_fields[1:] if not field.startswith("+")]
    if name:
        yield from scope.errors_of(name, {key: member for key, member in value.items() if key not in rejected})
    for field in rejected:
        yield forbidden_field(_SHOWN.get(field, field), f"may not specify more than 1 {word}")
    if not set_fields and detail:
        yield required_value("", detail)


_SHOWN = {"cephfs": "cephFS"}
"""Fields that messages name otherwise."""


@rule(update=True)
def immutable(new: Any, old: Any, _: FieldScope, detail: str = IMMUTABLE) -> Iterator[Cause]:
    """Reject a change; absent and empty are the same."""
    if not same(new, old) and not (is_among(new, _NOTHING) and is_among(old, _NOTHING)):
        yield invalid_value("", new, detail)


@rule(update=True)
def immutable_struct(new: Any, old: Any, _: FieldScope, name: str, detail: str = IMMUTABLE) -> Iterator[Cause]:
    """Reject a change of a struct of this internal type, which the message shows."""
    if not same(new, old):
        yield invalid_value("", go_struct(name, new), detail)


@rule(update=True)
def immutable_forbidden(new: Any, old: Any, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject a change as forbidden, with this message."""
    if not same(new, old) and not (is_among(new, _NOTHING) and is_among(old, _NOTHING)):
        yield forbidden_field("", detail)
