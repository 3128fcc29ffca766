"""Deduplicating queue and workers, which the other client libraries lack."""

import logging
import signal
import threading
from collections.abc import Callable

log = logging.getLogger("controller")


class Queue:
    """Queue of keys that waits with a key once only, and gives it to one worker at a time."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._waiting: dict[str, None] = {}
        self._busy: set[str] = set()
        self._again: set[str] = set()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._busy)

    def add(self, key: str) -> None:
        """Add a key."""
        with self._ready:
            if key in self._busy:
                self._again.add(key)
            elif key not in self._waiting:
                self._waiting[key] = None
                self._ready.notify()

    def get(self) -> str:
        """Return the next key."""
        with self._ready:
            while not self._waiting:
                self._ready.wait()
            key = next(iter(self._waiting))
            del self._waiting[key]
            self._busy.add(key)
            return key

    def done(self, key: str) -> None:
        """Mark a key as processed; it is requeued if it was added meanwhile."""
        with self._ready:
            self._busy.discard(key)
            if key in self._again:
                self._again.discard(key)
                self._waiting[key] = None
                self._ready.notify()


def work(queue: Queue, sync: Callable[[str], None], workers: int = 2) -> None:
    """Let a number of threads sync keys until a signal."""
    for number in range(workers):
        threading.Thread(target=_work, args=(queue, sync), name=f"worker-{number}", daemon=True).start()  # noqa: TID251


def _work(queue: Queue, sync: Callable[[str], None]) -> None:
    while True:
        key = queue.get()
        try:
            sync(key)
        except Exception:  # as controllers do: said, and tried again
            log.exception("sync of %s failed", key)
            threading.Timer(0.1, queue.add, (key,)).start()
        finally:
            queue.done(key)


def until_signal() -> None:
    """Wait for SIGTERM or SIGINT."""
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    logging.basicConfig(level=logging.INFO)
    over.wait()
