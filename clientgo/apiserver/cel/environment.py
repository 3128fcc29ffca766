"""Compilation of CEL expressions in Kubernetes' environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clientgo.apiserver.cel.checker import CheckedExpression, Fields, check
from clientgo.apiserver.cel.functions.patterns import syntax_error
from clientgo.apiserver.cel.interpreter import Evaluator, program
from clientgo.apiserver.cel.parser import parse
from clientgo.apiserver.cel.syntax import CompileError
from clientgo.apiserver.cel.types import ExprType


class InvalidExpression(Exception):
    """An expression that does not compile; the message has all errors with their lines."""


@dataclass(frozen=True)
class Expression:
    """A compiled expression."""

    source: str
    checked: CheckedExpression

    @property
    def result(self) -> ExprType:
        """The type of the value."""
        return self.checked.result

    def uses(self, variable: str) -> bool:
        """Return whether the expression refers to a variable."""
        return self.checked.uses(variable)

    @cached_property
    def _program(self) -> Evaluator:
        return program(self.checked)

    def evaluate(self, values: dict[str, Any]) -> Any:
        """Return the value of the expression.

        Raises:
            CelError: the evaluation failed.
        """
        return self._program(values)


def no_fields(_: str, __: str) -> None:
    """Return None: the environment has no structs."""


def compile_expression(source: str, variables: Mapping[str, ExprType], fields: Fields = no_fields) -> Expression:
    """Compile an expression with these variables.

    Raises:
        InvalidExpression: the expression has errors.
    """
    try:
        return Expression(source, check(parse(source), variables, fields))
    except CompileError as error:
        raise InvalidExpression(error.text(source) if error.errors else syntax_error(source)) from None
