"""Many independent pieces of work done by a few threads."""

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
    """Call `fn(0)` ... `fn(pieces - 1)`, each once, in up to `workers` threads; return when all are done.

    No piece is begun once `stop` is set. A piece that raises ends the others' work, and its exception is raised here.
    Threads take `chunk_size` neighbouring pieces at a time: larger chunks cost less, smaller ones spread better.

    Raises:
        ValueError: `workers` or `chunk_size` is below 1, or `pieces` below 0.
    """
    if workers < 1 or chunk_size < 1 or pieces < 0:
        raise ValueError(f"can't do {pieces} pieces by {workers} workers in chunks of {chunk_size}")
    starts = iter(range(0, pieces, chunk_size))
    taking = threading.Lock()
    group = Group()

    def work() -> None:
        while True:
            with taking:
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
