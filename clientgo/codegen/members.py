"""The fields of a class as its JSON has them: of a dataclass, or of a Struct that a dataclass holds."""

import dataclasses
import enum
import types
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from clientgo.codegen.source import camel
from clientgo.meta.constraints import Meta


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """One field; `default` is a scalar, or None when the schema can't or need not say it."""

    name: str
    json_name: str
    hint: Any
    required: bool
    default: str | int | float | None


def members(cls: type[Any]) -> Iterator[Member]:
    """The fields in their order.

    Raises:
        NameError, TypeError: the annotations can't be read.
    """
    hints = get_type_hints(cls, include_extras=True)
    if issubclass(cls, msgspec.Struct):
        for part in msgspec.structs.fields(cls):
            yield Member(part.name, part.encode_name, hints[part.name], part.required, None)
        return
    for field in dataclasses.fields(cls):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        yield Member(field.name, camel(field.name), hints[field.name], required, _scalar(field.default))


def _scalar(default: Any) -> str | int | float | None:
    if isinstance(default, enum.Enum):
        default = default.value
    return default if isinstance(default, str | int | float) else None


def unwrap(hint: Any) -> tuple[Any, list[Meta], bool]:
    """The bare type, its constraints (inner ones first, so that outer ones win), and whether None is allowed."""
    metas: list[Meta] = []
    nullable = False
    while True:
        origin = get_origin(hint)
        if origin is Annotated:
            metas = [*(note for note in hint.__metadata__ if isinstance(note, Meta)), *metas]
            hint = hint.__origin__
        elif origin in (Union, types.UnionType) and type(None) in get_args(hint):
            rest = tuple(arg for arg in get_args(hint) if arg is not type(None))
            hint, nullable = Union[rest], True  # noqa: UP007  # built from a tuple of types
        else:
            return hint, metas, nullable
