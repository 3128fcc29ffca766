"""Fields of dataclasses and Structs with their JSON names, types and defaults."""

import dataclasses
import enum
from collections.abc import Iterator
from typing import Any, get_type_hints

import msgspec

from clientgo.codegen.problems import field_docs
from clientgo.meta.classes.hints import camel
from clientgo.meta.classes.wire import to_wire
from clientgo.meta.jsonvalues import Unencodable, encode_value

_ZEROS = (str, int, float, bool, bytes)


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A field; `default` is a JSON value, UNSET if the schema has none."""

    name: str
    json_name: str
    hint: Any
    required: bool
    default: Any = msgspec.UNSET
    doc: str = ""


def members(cls: type[Any]) -> Iterator[Member]:
    """Yield the fields in order; NameError or TypeError if the annotations cannot be read."""
    hints = get_type_hints(cls, include_extras=True)
    docs = field_docs(cls)
    if issubclass(cls, msgspec.Struct):
        for part in msgspec.structs.fields(cls):
            # A zero from a factory is always sent: generated types mark required fields so.
            required = part.required or part.default_factory in _ZEROS
            yield Member(part.name, part.encode_name, hints[part.name], required, doc=docs.get(part.name, ""))
        return
    for field in dataclasses.fields(cls):
        has_factory = field.default_factory is not dataclasses.MISSING
        required = field.default is dataclasses.MISSING and not has_factory
        default = field.default_factory() if callable(field.default_factory) else field.default
        yield Member(
            field.name, camel(field.name), hints[field.name], required, _json(default), docs.get(field.name, "")
        )


def _json(default: Any) -> Any:
    """Return a default as JSON, or the error if it has no JSON form; empty defaults are left out of schemas."""
    if default is dataclasses.MISSING or default is None:
        return msgspec.UNSET
    if isinstance(default, enum.Enum):
        default = default.value
    is_scalar = isinstance(default, str | int | float)
    if dataclasses.is_dataclass(default) and not isinstance(default, type):
        default = to_wire(default)
    try:
        decoded = msgspec.json.decode(encode_value(default))
    except Unencodable as error:
        return error  # reported with the field, unless its type is what has no JSON form
    return decoded if decoded or is_scalar else msgspec.UNSET
