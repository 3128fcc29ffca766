"""Deterministic cost of a call: executed lines and allocated bytes, in place of seconds.

Time in C that allocates nothing is not seen. Regular expressions are checked without running them, by
`tests/project/test_patterns.py`.
"""

import gc
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple

Step = Callable[[], object]


class Cost(NamedTuple):
    """Executed lines of Python, and bytes that were allocated, also if they were freed again."""

    lines: int
    allocated: int


def cost_of(run: Step) -> Cost:
    """Return the cost of a call in this thread."""
    counter = _Counter()
    former, enabled = sys.gettrace(), gc.isenabled()
    gc.collect()
    gc.disable()  # its callbacks and finalizers would count for the line at which it happens to run
    tracemalloc.start()
    sys.settrace(counter.trace)
    try:
        run()
    finally:
        sys.settrace(former)
        tracemalloc.stop()
        if enabled:
            gc.enable()
    return Cost(counter.lines, counter.allocated)


class _Counter:
    def __init__(self) -> None:
        self.lines = 0
        self.allocated = 0
        self._current = 0

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        # At each line: what the line before allocated at most at once, so that a copy that is freed counts as well.
        current, peak = tracemalloc.get_traced_memory()
        self.allocated += max(0, peak - self._current)
        self._current = current
        tracemalloc.reset_peak()
        self.lines += event == "line"
        return self.trace


def growth(costs: Sequence[float]) -> float:
    """Return the growth from n, 2n and 4n: 2 for linear and 4 for quadratic cost; a constant part does not count."""
    small, middle, large = costs
    return (large - middle) / max(middle - small, 1.0)
