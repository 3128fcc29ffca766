"""Growth of cost with the size of untrusted input: twice the input costs twice as much.

The cost is counted (`tests.growth.cost`), so that the result is the same on each machine. Each case of the tables is
one parser, or one loop that keeps state.
"""

import gc
import logging
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest

from tests.growth import loops, network, objects, texts
from tests.growth.cost import Cost, cost_of

SLACK = Cost(60, 8192)
"""Differences that are no growth: a cache that is filled once, a dict that is resized."""

MOST = 2.25
"""Growth from n to 2n to 4n: 2 for linear cost, 4 for quadratic cost, between them if both have a share."""


class Case(NamedTuple):
    """Parser or loop: `build` returns an input of size n, `run` reads it, or raises `error` if that is not None."""

    build: Callable[[int], Any]
    run: Callable[[Any], object]
    size: int = 30
    error: type[Exception] | None = None

    def attempt(self, value: Any) -> None:
        """Read an input, or reject it."""
        if self.error is None:
            self.run(value)
            return
        with pytest.raises(self.error):
            self.run(value)


CASES = {
    f"{module.__name__.rpartition('.')[2]}: {name}": Case(*case)
    for module in (network, texts, objects, loops)
    for name, case in module.CASES.items()
}


@pytest.fixture(autouse=True)
def _no_log() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_cost_is_proportional_to_the_size_of_the_input(case: Case) -> None:
    case.attempt(case.build(case.size))  # what is imported, compiled and cached at first use
    inputs = [case.build(case.size * factor) for factor in (1, 2, 4)]
    small, middle, large = [cost_of(partial(case.attempt, each)) for each in inputs]
    for kind in (0, 1):
        assert large[kind] - middle[kind] <= MOST * max(0, middle[kind] - small[kind]) + SLACK[kind], Cost._fields[kind]


@pytest.mark.parametrize("fill", loops.BOUNDED.values(), ids=loops.BOUNDED)
def test_state_of_a_loop_is_bounded(fill: Callable[[int], object]) -> None:
    fill(loops.BOUND)
    sizes = [retained(partial(fill, loops.BOUND * factor)) for factor in (2, 8)]
    assert sizes[1] <= sizes[0] * 1.2 + SLACK.allocated


def retained(fill: Callable[[], object]) -> int:
    """Return the bytes that the result of a call keeps allocated."""
    gc.collect()
    tracemalloc.start()
    try:
        result = fill()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] if result is not None else 0
    finally:
        tracemalloc.stop()


def quadratic_copies(size: int) -> None:
    remainder = bytes(size)
    while remainder:
        remainder = remainder[1:]


def quadratic_search(size: int) -> None:
    values = list(range(size))
    for value in values:
        next(other for other in values if other == value)


def doubled(size: int) -> None:
    value: list[Any] = [1]
    for _ in range(size):
        value = [*value, *value]


@pytest.mark.parametrize(("run", "size"), [(quadratic_copies, 400), (quadratic_search, 60), (doubled, 4)])
def test_cost_out_of_proportion_is_found(run: Callable[[int], object], size: int) -> None:
    with pytest.raises(AssertionError):
        test_cost_is_proportional_to_the_size_of_the_input(Case(lambda n: n, run, size))


def test_state_without_a_bound_is_found() -> None:
    with pytest.raises(AssertionError):
        test_state_of_a_loop_is_bounded(lambda count: [str(number) for number in range(count)])
