"""Event loop that runs coroutine functions of a program in one of its threads, such as an `async def reconcile`."""

import asyncio
from collections.abc import Coroutine
from contextvars import copy_context
from types import TracebackType
from typing import Any, TypeVar

from clientgo.errors import Cancelled
from clientgo.stopping import current_scopes

R = TypeVar("R")


class EventLoop:
    """Event loop of one thread, which it runs only while the thread waits for a coroutine.

    Tasks that outlive the coroutine continue with the next one, and are cancelled at the end.
    """

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def __enter__(self) -> "EventLoop":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._runner.close()

    def run(self, coroutine: Coroutine[Any, Any, R], timeout: float | None, grace: float | None) -> R:
        """Return the result of the coroutine; cancel it after `timeout` seconds, or `grace` seconds after the stop.

        The default of `grace` is that of the scope.

        Raises:
            Cancelled: it was cancelled.
            Exception: the error of the coroutine.
        """
        return self._runner.run(_limited(coroutine, timeout, grace), context=copy_context())


async def _limited(coroutine: Coroutine[Any, Any, R], timeout: float | None, grace: float | None) -> R:
    reason: Cancelled | None = None

    def cancel(because: Cancelled) -> None:
        nonlocal reason
        reason = reason or because
        task.cancel()

    def stop() -> None:
        loop.call_soon_threadsafe(cancel, Cancelled("cancelled: the program stops", stopping=True))

    task, loop = asyncio.ensure_future(coroutine), asyncio.get_running_loop()
    timer = None
    if timeout is not None:
        timer = loop.call_later(timeout, cancel, Cancelled(f"cancelled: still running after {timeout:g} s"))
    scopes = current_scopes()
    for scope in scopes:
        scope.add(task, stop, after=scope.grace if grace is None else grace)
    try:
        return await task
    except asyncio.CancelledError as error:
        if reason is None:
            raise
        raise reason from error
    finally:
        for scope in scopes:
            scope.remove(task)
        if timer is not None:
            timer.cancel()
