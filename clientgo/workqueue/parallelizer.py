"""Parallel execution of independent pieces of work (client-go's ParallelizeUntil)."""

import threading
from collections.abc import Callable

from clientgo.lifecycle import Group


def parallelize_until(
    stop: threading.Event,
    workers: int,
    pieces: int,
    fn: Callable[[int], object],
    *,
    chunk_size: int = 1,
) -> None:
    """Call `fn(0)` ... `fn(pieces - 1)`, each once, in up to `workers` threads; return when all have returned.

    No piece is started after `stop` is set. An exception stops the other threads and is raised here. A thread takes
    `chunk_size` adjacent pieces at a time: larger chunks have less overhead, smaller ones distribute better.

    Raises:
        ValueError: `workers` or `chunk_size` is below 1, or `pieces` below 0.
    """
    if workers < 1 or chunk_size < 1 or pieces < 0:
        raise ValueError(f"invalid {pieces=}, {workers=} or {chunk_size=}: must be at least 0, 1 and 1 respectively")
    starts = iter(range(0, pieces, chunk_size))
    lock = threading.Lock()
    group = Group()

    def work() -> None:
        while True:
            with lock:
                start = next(starts, None)
            if start is None:
                return
            for piece in range(start, min(start + chunk_size, pieces)):
                if stop.is_set() or group.stop_event.is_set():
                    return
                fn(piece)

    for number in range(min(workers, -(-pieces // chunk_size))):
        group.start(work, name=f"parallelize-{number}")
    group.join()
