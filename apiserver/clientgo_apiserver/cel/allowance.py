"""Allowance of a caller that must not wait long: a part of the cost limits, after which the caller tries elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


class AllowanceUsed(Exception):
    """Expressions take longer than their caller can wait; not a CelError, which rules and policies handle."""


@contextmanager
def allowance(cost: int) -> Iterator[None]:
    """Let the expressions of the block raise `AllowanceUsed` once their loops have cost more together."""
    token = _left.set([cost])
    try:
        yield
    finally:
        _left.reset(token)


def use_allowance(cost: int) -> None:
    """Count the cost of a loop's iteration; raise `AllowanceUsed` if the caller's allowance is used."""
    left = _left.get()
    if left is not None:
        left[0] -= cost
        if left[0] < 0:
            raise AllowanceUsed
