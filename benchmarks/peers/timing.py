"""CPU time of calls that cannot be repeated arbitrarily, such as requests: the mean of many; pauses."""

import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def longest_pause() -> Callable[[], float]:
    """Return a function that tells the longest pause of the garbage collector from now on, in ms of CPU time."""
    began, longest = [0.0], [0.0]

    def note(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            began[0] = time.thread_time()
        else:
            longest[0] = max(longest[0], time.thread_time() - began[0])

    gc.callbacks.append(note)
    return lambda: 1e3 * longest[0]


def each(work: Callable[[int], object], count: int) -> float:
    """Return the CPU time of one of `count` calls in microseconds, after warming up."""
    for n in range(10):
        work(n)
    began = time.process_time()
    for n in range(count):
        work(10 + n)
    return 1e6 * (time.process_time() - began) / count


def streamed(
    transfer: Callable[[], object], command: Callable[[], object], count: int, parallel: int
) -> dict[str, float]:
    """Return the figures of streams: a transfer of some bytes, and commands one after the other and at once."""
    command()
    began, cpu = time.perf_counter(), time.process_time()
    transfer()
    figures = {"transfer": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    began, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        command()
    figures["stream"] = 1e3 * (time.perf_counter() - began) / count
    figures["stream_cpu"] = 1e3 * (time.process_time() - cpu) / count
    began = time.perf_counter()
    with ThreadPoolExecutor(parallel) as pool:
        list(pool.map(lambda _: command(), range(parallel)))
    return {**figures, "parallel": time.perf_counter() - began}


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
