"""Waits reported to the engine: those of the operator by its clock, and for deliveries of the engine."""

import threading
from contextlib import suppress
from typing import Any

# By thread. Changed by single operations of a dict, which are atomic.
_waits: dict[int, tuple[threading.Condition, Any]] = {}
# Released once a thread begins to wait, for the engine that waits for it.
_begun = threading.Lock()
_begun.acquire()


def wait_reported(condition: threading.Condition) -> None:
    """Wait for a condition, which is held; until it is notified, `is_waiting` is true of this thread.

    It is `Condition.wait`, which does not tell which of the condition's waiters is whose.
    """
    ident, waiter, details = threading.get_ident(), threading.Lock(), condition_details(condition)
    waiter.acquire()
    details._waiters.append(waiter)
    _waits[ident] = condition, waiter
    report_move()
    state = details._release_save()
    try:
        waiter.acquire()
    finally:
        details._acquire_restore(state)
        del _waits[ident]


def condition_details(condition: threading.Condition) -> Any:
    """Return a condition, whose waiters and lock are private."""
    return condition


def report_move() -> None:
    """Let the engine look again."""
    if _begun.locked():
        with suppress(RuntimeError):  # another thread was faster
            _begun.release()


def expect_move() -> None:
    """Forget what has begun so far, before a look at the threads."""
    _begun.acquire(blocking=False)


def has_moved(seconds: float) -> bool:
    """Wait until a thread begins a reported wait, at most this time; return whether one has since `expect_move`."""
    return _begun.acquire(timeout=seconds)


def is_reported(ident: int) -> bool:
    """Return whether the wait of a thread is reported, although it may be about to end."""
    return ident in _waits


def is_waiting(ident: int) -> bool:
    """Return whether a thread is in a reported wait, and was not notified."""
    condition, waiter = _waits.get(ident, (None, None))
    return condition is not None and waiter in condition_details(condition)._waiters
