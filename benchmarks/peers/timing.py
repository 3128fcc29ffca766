"""CPU time of calls that cannot be repeated arbitrarily, such as requests: the mean of many."""

import threading
import time
from collections.abc import Callable


def each(work: Callable[[int], object], count: int) -> float:
    """Return the CPU time of one of `count` calls in microseconds, after warming up."""
    for n in range(10):
        work(n)
    began = time.process_time()
    for n in range(count):
        work(10 + n)
    return 1e6 * (time.process_time() - began) / count


def rate(turn: Callable[[int], None], threads: int, cycles: int, *, turns: int = 3) -> float:
    """Return the calls per second of a number of threads, in elapsed time: the best of several rounds."""
    return cycles / min(_seconds(turn, threads) for _ in range(turns))


def _seconds(turn: Callable[[int], None], threads: int) -> float:
    group = [threading.Thread(target=turn, args=(n,)) for n in range(threads)]  # noqa: TID251  # joined right here
    began = time.perf_counter()
    for thread in group:
        thread.start()
    for thread in group:
        thread.join()
    return time.perf_counter() - began
