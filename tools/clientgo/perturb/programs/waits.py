"""Waits reported to the engine: those of the operator by its clock, and for deliveries of the engine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# By thread. Changed by single operations of a dict, which are atomic.
_waits: dict[int, threading.Condition] = {}


@contextmanager
def reported_wait(condition: threading.Condition) -> Iterator[None]:
    """Report that this thread waits for a condition, which is held, in the block."""
    ident = threading.get_ident()
    _waits[ident] = condition
    try:
        yield
    finally:
        del _waits[ident]


def is_reported(ident: int) -> bool:
    """Return whether the wait of a thread is reported, although it may be about to end."""
    return ident in _waits


def is_waiting(ident: int) -> bool:
    """Return whether a thread is in a reported wait, and was not notified."""
    condition = _waits.get(ident)
    if condition is None:
        return False
    # A notified thread is not among the waiters any more, and still reported until it runs.
    reported = sum(each is condition for each in list(_waits.values()))
    return reported <= len(condition._waiters)  # type: ignore[attr-defined]
