"""Python's cycle collector, which is off while large lists are received."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.internal.forks import fork_safe, register

MANY = 100_000
"""Number of new objects that the collector takes 20 ms to look at, three times, until it takes them for old."""


class _Collector:
    """Cycle collector of this process, off while a list is received in any thread."""

    def __init__(self) -> None:
        self._lock = fork_safe(threading.Lock())
        self._lists = 0  # guarded by _lock
        self._lasting = False  # guarded by _lock
        self._was_on = True  # guarded by _lock
        register(self)

    def pause(self, *, lasting: bool) -> None:
        with self._lock:
            if not self._lists:
                self._was_on = gc.isenabled()
                gc.disable()
            self._lists += 1
            self._lasting |= lasting

    def resume(self) -> None:
        with self._lock:
            if self._lists == 1:
                if self._was_on:
                    if self._lasting and gc.get_count()[0] > MANY:
                        gc.freeze()
                    gc.enable()
                self._lasting = False
            self._lists = max(0, self._lists - 1)  # 0 in a process that was forked inside the block

    def after_fork(self) -> None:
        """Forget the lists of threads that this process does not have."""
        if self._lists:
            self._lists, self._lasting = 0, False
            if self._was_on:
                gc.enable()


_collector = _Collector()


@contextmanager
def without_collection(*, lasting: bool = False) -> Iterator[None]:
    """Turn the cycle collector off while a list is received: a context manager, and a decorator when called.

    It starts after every 700 new objects, and now and then looks at all there are: a fifth to two thirds of what a
    large list costs, for nothing, since objects are values and no part of any cycle. It is off for every thread until
    all lists have ended. A program that has turned it off keeps it so.

    With `lasting`, for a list that fills a cache, what exists after a large one is frozen (`gc.freeze`): the collector
    does not look at it again, which would block all threads for half a second with a million objects. It is freed as
    ever when nothing refers to it; only a cycle that exists at that moment stays.
    """
    _collector.pause(lasting=lasting)
    try:
        yield
    finally:
        _collector.resume()
