"""Calls of blocking functions by coroutines: in threads, which the cancellation of a task ends."""

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from clientgo.aio.pending import calls_of_running_loop, deliver, returned
from clientgo.internal.calloutcome import CallOutcome
from clientgo.stop.stopping import TaskScope, end_also_with

P = ParamSpec("P")
R = TypeVar("R")

_Call = Callable[[], CallOutcome[R]]


def in_thread(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that calls `function` in a thread of its event loop (the default executor)."""

    @wraps(function)
    async def called(*args: P.args, **kwargs: P.kwargs) -> R:
        async with calls_of_running_loop().turns:
            return await _called(partial(function, *args, **kwargs), _in_executor)

    return called


def in_own_thread(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that calls `function` in a thread of its own, because it takes long."""

    @wraps(function)
    async def called(*args: P.args, **kwargs: P.kwargs) -> R:
        return await _called(partial(function, *args, **kwargs), _in_own_thread)

    return called


async def _called(function: "partial[R]", start: "Callable[[_Call[R]], asyncio.Future[CallOutcome[R]]]") -> R:
    scope, of_loop, context = TaskScope(), calls_of_running_loop().scope, copy_context()
    context.run(end_also_with, scope)
    of_loop.add(scope, scope.stop)
    try:
        outcome = await start(partial(context.run, CallOutcome.of, function))
    except BaseException:
        # The task was cancelled, or its coroutine collected as garbage: then locks may be held.
        scope.stop_soon()
        raise
    finally:
        of_loop.remove(scope)
    try:
        return returned(outcome, function.func)
    finally:
        del outcome  # as in `CallOutcome.get`


def _in_executor(call: _Call[R]) -> "asyncio.Future[CallOutcome[R]]":
    return asyncio.get_running_loop().run_in_executor(None, call)


def _in_own_thread(call: _Call[R]) -> "asyncio.Future[CallOutcome[R]]":
    future: asyncio.Future[CallOutcome[R]] = asyncio.get_running_loop().create_future()
    calls_of_running_loop().threads.start(_deliver_outcome, call, weakref.ref(future), name="aio-call")
    return future


def _deliver_outcome(call: _Call[R], waiting: "weakref.ref[asyncio.Future[CallOutcome[R]]]") -> None:
    deliver(waiting, call())
