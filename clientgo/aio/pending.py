"""Pending calls of an event loop: their owner, and the delivery of their outcomes to coroutines."""

import asyncio
import weakref
from typing import Any, TypeVar

from clientgo.internal.calloutcome import CallOutcome
from clientgo.stop.eventloop import call_in_loop
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import TaskScope, start_dispatcher

R = TypeVar("R")

CALLS = 16
"""Calls of one event loop in progress at a time. Between any two of a thousand, the loop has other turns."""

_LONG = 365 * 24 * 3600.0

_CONTROL_FLOW = (StopIteration, StopAsyncIteration, GeneratorExit, asyncio.CancelledError)
"""Exceptions that would end or cancel a coroutine, or its `async for`, as if it had finished."""


class LoopCalls:
    """Owner of the pending calls of one event loop: their scope, their threads, and the turns that they take.

    Only a timer of the loop refers to it. A loop drops its timers when it is closed, and tells nothing else of its end.
    So the pending calls end with their loop, even if its program forgets them.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        start_dispatcher()
        self.scope = TaskScope()
        self.threads = Group(stop=self.scope.event)
        self.turns = asyncio.Semaphore(CALLS)
        self._keep(weakref.ref(loop))

    def __del__(self) -> None:
        self.scope.stop_soon()

    def _keep(self, loop: "weakref.ref[asyncio.AbstractEventLoop]") -> None:
        if (kept_by := loop()) is not None:
            kept_by.call_later(_LONG, self._keep, loop)


# By the loop's id, and not by the loop in a WeakKeyDictionary: the timer of the loop would keep the value, and that the
# loop. An id is not used again before the loop has gone, and its `LoopCalls` with it.
_of_loops: "weakref.WeakValueDictionary[int, LoopCalls]" = weakref.WeakValueDictionary()


def calls_of_running_loop() -> LoopCalls:
    """Return the owner of the running loop's calls. Coroutines must not keep it."""
    loop = asyncio.get_running_loop()
    calls = _of_loops.get(id(loop))
    if calls is None:
        calls = _of_loops[id(loop)] = LoopCalls(loop)
    return calls


def deliver(waiting: "weakref.ref[asyncio.Future[CallOutcome[R]]]", outcome: CallOutcome[R]) -> None:
    """Set the result of a future from any thread, unless its coroutine has been cancelled or its loop closed.

    A weak reference, because a thread that waits must not keep a loop that its program has dropped.
    """
    if (future := waiting()) is not None:
        call_in_loop(future.get_loop(), _set, future, outcome)


def _set(future: "asyncio.Future[CallOutcome[R]]", outcome: CallOutcome[R]) -> None:
    if not future.done():
        future.set_result(outcome)


def returned(outcome: CallOutcome[R], function: Any) -> R:
    """Return the result of a call to its coroutine, or raise its exception.

    Raises:
        RuntimeError: the exception means something else in a coroutine, such as StopIteration or CancelledError.
    """
    try:
        return outcome.get()
    except _CONTROL_FLOW as error:
        name = getattr(function, "__qualname__", None) or type(function).__qualname__
        raise RuntimeError(f"{name} raised {type(error).__name__}") from error
    finally:
        del outcome  # as in `CallOutcome.get`
