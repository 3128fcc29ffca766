"""Compiler of CEL expressions: parser, type checker, cost estimator and interpreter."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from clientgo_apiserver.cel.checker import check
from clientgo_apiserver.cel.cost import max_cost
from clientgo_apiserver.cel.environment import Expression, Fields, InvalidExpression, no_fields
from clientgo_apiserver.cel.functions.patterns import syntax_error
from clientgo_apiserver.cel.interpreter import Evaluator, program
from clientgo_apiserver.cel.literals import instantiation_error
from clientgo_apiserver.cel.parser import parse
from clientgo_apiserver.cel.syntax import CompileError
from clientgo_apiserver.cel.types import ExprType
from clientgo_apiserver.cel.values import CelError


def compile_expression(source: str, variables: Mapping[str, ExprType], fields: Fields = no_fields) -> Expression:
    """Compile an expression with these variables.

    Raises:
        InvalidExpression: the expression has errors.
    """
    try:
        checked = check(parse(source), variables, fields)
    except CompileError as error:
        raise InvalidExpression(_message(source, error)) from None
    except RecursionError:
        raise InvalidExpression("ERROR: <input>:-1:0: expression recursion limit exceeded: 250") from None

    @cache
    def evaluator() -> Evaluator:
        return program(checked)

    def evaluate(values: dict[str, Any]) -> Any:
        try:
            return evaluator()(values)
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            # A value is not of its declared type.
            raise CelError("no such overload") from error

    used = frozenset(checked.names.values())
    cost = partial(max_cost, checked)
    return Expression(source, checked.result, used, evaluate, cost, instantiation_error(checked.root))


def _message(source: str, error: CompileError) -> str:
    if error.errors:
        return error.text(source)
    return syntax_error(source) or CompileError([(error.offset, "Syntax error")]).text(source)
