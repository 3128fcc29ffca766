"""Locks in a forked child process."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import os, threading
from clientgo.internal import forks

class Object:
    started_afresh = 0
    def after_fork(self):
        self.started_afresh += 1

objects = [Object(), Object()]
locks = [forks.fork_safe(threading.Lock()), forks.fork_safe(threading.RLock())]
for one in objects:
    forks.register(one)
del objects[0]
held, release = threading.Event(), threading.Event()

def hold():
    for lock in locks:
        lock.acquire()
    held.set()
    release.wait()

threading.Thread(target=hold, daemon=True).start()
held.wait()
if not os.fork():
    free = all(lock.acquire(timeout=5) for lock in locks)
    os._exit(0 if free and objects[0].started_afresh == 1 else 1)
_, status = os.wait()
print(status, any(lock.acquire(blocking=False) for lock in locks), objects[0].started_afresh)
"""


@pytest.mark.e2e
def test_child_process_begins_with_free_locks_and_its_parent_keeps_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(PROGRAM)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == "0 False 0\n"
