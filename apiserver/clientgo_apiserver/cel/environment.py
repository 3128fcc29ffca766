"""Compilation and evaluation of CEL expressions in Kubernetes' environment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
    most_cost: Callable[[Sizes], int]
    constant_error: str
    """The error of a constant that is converted before the first evaluation."""


def no_fields(_: str, __: str) -> None:
    """Return None: the environment has no structs."""


def compile_expression(source: str, variables: Mapping[str, ExprType], fields: Fields = no_fields) -> Expression:
    """Compile an expression with these variables.

    Raises:
        InvalidExpression: the expression has errors.
    """
    # Imported at the first expression: most servers have none, and the compiler takes 40 ms.
    from clientgo_apiserver.cel.compiler import compiled  # noqa: PLC0415

    return compiled(source, variables, fields)


def convert(kind: str, value: Any) -> Any:
    """Return a value as another type, such as a text as a timestamp."""
    from clientgo_apiserver.cel.functions.operators import OPERATORS  # noqa: PLC0415 (see above)

    return OPERATORS[kind](value)
