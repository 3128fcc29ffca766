"""Processor time of calls that can't be repeated at will, as requests can't: the mean of many."""

import threading
import time
from collections.abc import Callable


def each(work: Callable[[int], object], count: int) -> float:
    """Microseconds of processor time of one of `count` calls, after a few to warm up."""
    for n in range(10):
        work(n)
    began = time.process_time()
    for n in range(count):
        work(10 + n)
    return 1e6 * (time.process_time() - began) / count


def rate(turn: Callable[[int], None], threads: int, cycles: int, *, turns: int = 3) -> float:
    """How many of `cycles` a second so many threads get through together, in real time: the best of turns."""
    return cycles / min(_seconds(turn, threads) for _ in range(turns))


def _seconds(turn: Callable[[int], None], threads: int) -> float:
    group = [threading.Thread(target=turn, args=(n,)) for n in range(threads)]  # noqa: TID251  # joined right here
    began = time.perf_counter()
    for thread in group:
        thread.start()
    for thread in group:
        thread.join()
    return time.perf_counter() - began
