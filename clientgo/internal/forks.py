"""State that a forked child process must not share with its parent: locks and connections.

A child has the objects of its parent but none of its threads. A lock that another thread held at the fork would stay
locked for ever, and two processes on one connection would read each other's responses. So objects register here, and
start afresh in the child.
"""

import os
import weakref
from typing import Protocol, TypeVar

L = TypeVar("L")


class ForkAware(Protocol):
    """Object with state that a child process must not share."""

    def after_fork(self) -> None:
        """Discard that state; called in a child process before anything else runs there."""


_objects: "weakref.WeakSet[ForkAware]" = weakref.WeakSet()
_locks: "weakref.WeakSet[object]" = weakref.WeakSet()


def register(fork_aware: ForkAware) -> None:
    """Call `after_fork` of this object in each child process, for as long as the object exists."""
    _objects.add(fork_aware)


def fork_safe(lock: L) -> L:
    """Return the lock (of `threading`), and free it in each child process, where no thread is left that could."""
    _locks.add(lock)
    return lock


def _reset() -> None:
    for lock in list(_locks):
        # As the standard library does with its own; a new lock would have to replace this one everywhere.
        lock._at_fork_reinit()  # type: ignore[attr-defined]
    for fork_aware in list(_objects):
        fork_aware.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)
