"""Python's cycle collector, kept from looking at a page of objects again and again while they are being made.

It starts after every 700 new objects, and now and then looks at all there are: two thirds of what a list of 32,000
objects costs, for nothing, since objects are values and no part of any cycle.
"""

import functools
import gc
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def without_collection(work: Callable[P, R]) -> Callable[P, R]:
    """`work`, during which nothing is collected unless somebody asks for it.

    For what holds the interpreter nearly all of its time, because the collector is off for every thread. A program
    that has turned it off keeps it so.
    """

    @functools.wraps(work)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> R:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return work(*args, **kwargs)
        finally:
            if was_on:
                gc.enable()

    return quiet
