"""Waits of code that is not the library's: in which functions of the standard library a thread waits.

A thread waits if it is inside `threading.Condition.wait`, on which events and queues are built, and was not notified:
its lock is still among the condition's waiters. So does an event loop that selects from files of which none is ready.

This module imports only the standard library: its test runs it on each version of Python.
"""

import concurrent.futures.thread
import select
import selectors
import threading
from types import CodeType, FrameType

_WAIT: CodeType = threading.Condition.wait.__code__
_EVENT_WAIT: CodeType = threading.Event.wait.__code__
_THREAD = threading.Thread  # noqa: TID251  # starts none
_START: CodeType = _THREAD.start.__code__
_JOINS = frozenset(
    method.__code__
    for name in ("join", "_wait_for_tstate_lock")
    if (method := getattr(_THREAD, name, None)) is not None
)
_SELECT: CodeType = selectors.EpollSelector.select.__code__
_WORKER: CodeType = concurrent.futures.thread._worker.__code__

LONG_SECONDS = 1.0
"""Timeout of an event loop that counts as none: real time is none in a run."""


def is_condition(frame: FrameType) -> bool:
    """Return whether a thread is inside `threading.Condition.wait`, notified or not."""
    return frame.f_code is _WAIT


def waits(frame: FrameType) -> bool:
    """Return whether a thread waits in the standard library, as far as that can be read."""
    if frame.f_code in _JOINS:
        return bool(frame.f_locals.get("block", True))  # `is_alive` does not wait
    if frame.f_code is _SELECT:
        return _selects_nothing(frame)
    if frame.f_code is not _WAIT:
        return False
    values = frame.f_locals
    if values.get("waiter") not in values["self"]._waiters:
        return False  # notified, and about to run
    caller = frame.f_back
    # A thread that starts another one: the new one may not be listed yet.
    return not (
        caller is not None
        and caller.f_code is _EVENT_WAIT
        and caller.f_back is not None
        and caller.f_back.f_code is _START
    )


def is_idle_worker(frame: FrameType) -> bool:
    """Return whether a thread is an executor's worker that waits for work, or is about to."""
    return frame.f_code is _WORKER and bool(frame.f_locals["work_queue"].empty())


def _selects_nothing(frame: FrameType) -> bool:
    """Return whether an event loop waits without an end, and nothing that it waits for has happened."""
    timeout = frame.f_locals.get("timeout")
    if timeout is not None and 0 <= timeout <= LONG_SECONDS:
        return False
    files = select.poll()
    try:
        files.register(frame.f_locals["self"].fileno(), select.POLLIN)
    except ValueError:
        return False  # closed
    return not files.poll(0)
