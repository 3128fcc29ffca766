"""Environment of an expression: the types of its structs, the sizes of its values, and what its compilation gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clientgo_apiserver.cel.syntax import keyword_field
from clientgo_apiserver.cel.types import ExprType

Fields = Callable[[str, str], ExprType | None]
"""Function from the name of a struct type and of a field to the type of the field."""

Sizes = Callable[[tuple[str, ...]], int | None]
"""Function from the path of a value, such as ("self", "items", "@items"), to its largest size."""


class InvalidExpression(Exception):
    """An expression that does not compile; the message has all errors with their lines."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression; `evaluate` raises CelError and CostLimitExceeded."""

    source: str
    result: ExprType
    used: frozenset[str]
    """Names of the variables and types that occur."""
    evaluate: Callable[[dict[str, Any]], Any]
    max_cost: Callable[[Sizes], int]
    constant_error: str
    """The error of a constant that is converted before the first evaluation."""


def no_fields(_: str, __: str) -> None:
    """Return None: the environment has no structs."""


def field_type(structs: Mapping[str, Mapping[str, ExprType]], struct: str, name: str) -> ExprType | None:
    """Return the type of a field of one of these structs, also of one named like a keyword; None if it has none."""
    fields = structs.get(struct, {})
    return fields.get(name) or fields.get(keyword_field(name))
