"""Event loop that runs coroutine functions of a program in one of its threads, such as an `async def reconcile`."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from clientgo.errors import Cancelled
from clientgo.internal.callbacks import interrupts_program
from clientgo.internal.calloutcome import CallOutcome
from clientgo.log import get_logger
from clientgo.stop.stopping import current_scopes

log = get_logger(__name__)

R = TypeVar("R")


class EventLoop:
    """Event loop of one thread, which it runs only while the thread waits for a coroutine.

    Tasks that outlive the coroutine continue with the next one, and are cancelled at the end. An exception concerns
    only the coroutine that raises it or awaits its task, SystemExit too, which elsewhere ends an event loop.
    """

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def __enter__(self) -> "EventLoop":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        try:
            self._finish(_cancelled(asyncio.all_tasks(self._runner.get_loop())))
        finally:
            self._runner.close()

    def run(self, coroutine: Coroutine[Any, Any, R], timeout: float | None, grace: float | None) -> R:
        """Return the result of the coroutine; cancel it after `timeout` seconds, or `grace` seconds after the stop.

        The default of `grace` is that of the scope.

        Raises:
            Cancelled: it was cancelled.
            Exception: the error of the coroutine.
        """
        return self._finish(_limited(coroutine, timeout, grace)).get()

    def _finish(self, coroutine: Coroutine[Any, Any, CallOutcome[R]]) -> CallOutcome[R]:
        task = self._runner.get_loop().create_task(coroutine)
        while True:
            try:
                return self._runner.run(_joined(task))
            except BaseException as error:
                if not isinstance(error, SystemExit | KeyboardInterrupt) or interrupts_program(error):
                    task.cancel()  # if the loop was stopped: the task must not go on in the next run
                    raise
                # Of a callback, or of another task, which has it for those who await it: this one has an outcome.
                log.warning("exception in a background task or callback of an event loop", extra={"err": error})


async def _joined(task: "asyncio.Task[R]") -> R:
    return await task


async def _outcome(coroutine: Coroutine[Any, Any, R]) -> CallOutcome[R]:
    try:
        return CallOutcome(await coroutine)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001  # a task that raises SystemExit ends the loop with it
        return CallOutcome(error=error)


async def _limited(coroutine: Coroutine[Any, Any, R], timeout: float | None, grace: float | None) -> CallOutcome[R]:
    reason: Cancelled | None = None

    def cancel(because: Cancelled) -> None:
        nonlocal reason
        reason = reason or because
        task.cancel()

    def stop() -> None:
        call_in_loop(loop, cancel, Cancelled("cancelled: the program stops", stopping=True))

    task, loop = asyncio.ensure_future(_outcome(coroutine)), asyncio.get_running_loop()
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
        reason.__cause__ = error
        return CallOutcome(error=reason)
    finally:
        for scope in scopes:
            scope.remove(task)
        if timer is not None:
            timer.cancel()


async def _cancelled(tasks: Collection["asyncio.Task[Any]"]) -> CallOutcome[None]:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    await asyncio.get_running_loop().shutdown_asyncgens()
    return CallOutcome()


def check_not_nested(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Raise RuntimeError, and close the coroutine, if an event loop already runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    coroutine.close()
    raise RuntimeError("cannot wait for a coroutine: an event loop already runs in this thread; await it instead")


def call_in_loop(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *args: Any) -> None:
    """Call a function in the thread of the loop, from any thread, unless the loop is closed."""
    try:
        loop.call_soon_threadsafe(callback, *args)
    except RuntimeError:
        if not loop.is_closed():
            raise
