"""Keywords of methods, derived from a dataclass of options: no signature repeats its fields."""

import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")


def keywords_of(
    options: Callable[P, object],
) -> Callable[[Callable[Concatenate[S, ...], R]], Callable[Concatenate[S, P], R]]:
    """Give a method with `**keywords` the keywords of a dataclass, for type checkers, editors and `inspect`."""

    def derive(method: Callable[Concatenate[S, ...], R]) -> Callable[Concatenate[S, P], R]:
        signature = inspect.signature(method)
        first = next(iter(signature.parameters.values()))
        derived = signature.replace(parameters=[first, *inspect.signature(options).parameters.values()])
        cast(Any, method).__signature__ = derived
        return method

    return derive
