"""A lock taken so that threads that contend for it do not queue up behind it.

A thread that waits for a lock in the kernel may be handed it while another has the interpreter. Then that one, too,
runs into the lock, and the next, and from there on each operation costs two changes of threads (a convoy): sixteen
threads together get through a nineteenth of what one does alone. A thread that gives up the interpreter instead, and
tries again when it is its turn, never holds the lock without the interpreter, and whoever holds it goes on for its
whole slice of time.

Asking `locked()` before a `with` is not enough: it says no while the lock has been handed to a thread that waits for
the interpreter.
"""

import threading
import time

_TURNS = 100


def take(lock: threading.Lock) -> None:
    """Acquire a lock that is held for moments only, and again and again; the caller releases it."""
    if lock.acquire(False):  # by position: a name doubles the time
        return
    for _ in range(_TURNS):
        time.sleep(0)  # noqa: TID251  # no waiting: it lets others have the interpreter
        if lock.acquire(False):
            return
    # Its holder waits for something itself.
    lock.acquire()
