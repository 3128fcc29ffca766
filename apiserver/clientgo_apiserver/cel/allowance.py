"""Allowance of a caller that must not wait long: a part of the cost limits, after which the caller tries elsewhere."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_remaining: ContextVar[list[int] | None] = ContextVar("remaining", default=None)


class AllowanceUsed(Exception):
    """Expressions take longer than their caller can wait; not a CelError, which rules and policies handle."""


def evaluate_within(cost: int, function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Call a function whose expressions raise `AllowanceUsed` once their loops and calls have cost more together."""
    token = _remaining.set([cost])
    try:
        return function(*args, **options)
    finally:
        _remaining.reset(token)


def use_allowance(cost: int) -> None:
    """Count the cost of a loop's iteration; raise `AllowanceUsed` if the caller's allowance is used."""
    remaining = _remaining.get()
    if remaining is not None:
        remaining[0] -= cost
        if remaining[0] < 0:
            raise AllowanceUsed
