"""What keeps threads that contend for a lock from queueing up behind it.

A thread that waits for a lock in the kernel may be handed it while another has the interpreter. Then that one, too,
runs into the lock, and the next, and from there on each operation costs two changes of threads (a convoy): sixteen
threads together get through a nineteenth of what one does alone. A thread that gives up the interpreter instead, until
it finds the lock free, never holds the lock without the interpreter, and whoever holds it goes on for its whole slice
of time.
"""

import threading
import time

_TURNS = 100


def give_way(lock: threading.Lock) -> None:
    """Let others run until the lock is free, or for so many turns: then its holder waits for something itself.

    For locks that are held for moments only, and again and again, before each `with`:
    `if lock.locked(): give_way(lock)`.
    """
    for _ in range(_TURNS):
        time.sleep(0)  # noqa: TID251  # no waiting: it lets others have the interpreter
        if not lock.locked():
            return
