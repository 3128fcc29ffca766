"""Reporting of subjects; imports nothing that a subject would not import anyway."""

import json
import sys
import time
from collections.abc import Callable, Mapping


def report(figures: Mapping[str, float]) -> None:
    """Report figures, then wait until the benchmark has inspected this process."""
    tell(figures)
    sys.stdin.readline()


def tell(figures: Mapping[str, float]) -> None:
    """Report figures."""
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def run(pieces: Mapping[str, Callable[[list[str]], None]]) -> None:
    """Perform the part named by the first argument."""
    pieces[sys.argv[1]](sys.argv[2:])


def microseconds(work: Callable[[], object], *, seconds: float = 0.4, turns: int = 5) -> float:
    """Return the CPU time of one call in microseconds: the best of several rounds."""
    count = 1
    while _cpu(work, count) < seconds / turns / 4:
        count *= 2
    return 1e6 * min(_cpu(work, count) for _ in range(turns)) / count


def _cpu(work: Callable[[], object], count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        work()
    return time.process_time() - began
