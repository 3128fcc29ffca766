"""Fair acquisition of a lock, without lock convoys, for locks acquired often and held briefly.

A thread that waits for a lock in the kernel may be given it while another thread has the interpreter. That thread then
blocks on the lock too, and so does the next: from there on each operation costs two context switches (a convoy), and
sixteen threads together get a nineteenth of the throughput of one. A thread that yields the interpreter instead, and
tries again when it is scheduled, never holds the lock without the interpreter; the holder uses its whole time slice.

Checking `locked()` before a `with` is not enough: it returns False while the lock has been given to a thread that waits
for the interpreter.
"""

import threading
import time

_ATTEMPTS = 100


def acquire_fairly(lock: threading.Lock) -> None:
    """Acquire the lock, yielding to other threads before blocking; the caller releases it.

    A function and not a lock class: its methods would cost the queue a tenth of its speed.
    """
    if lock.acquire(False):  # by position: a keyword doubles the time
        return
    for _ in range(_ATTEMPTS):
        time.sleep(0)  # noqa: TID251  # no waiting: it yields the interpreter
        if lock.acquire(False):
            return
    # The holder itself is blocked.
    lock.acquire()
