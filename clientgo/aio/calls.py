"""Calls of blocking functions by coroutines: in threads, which the cancellation of a task ends."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, Generic, ParamSpec, Self, TypeVar

from clientgo.lifecycle import is_stopped_request
from clientgo.stopping import TaskScope, end_also_with

P = ParamSpec("P")
R = TypeVar("R")

CALLS = 16
"""Calls of one event loop in progress at a time. Between any two of a thousand, the loop has other turns."""

_END: Any = object()

_turns: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}


def in_thread(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that calls `function` in a thread of its event loop (the default executor)."""

    @wraps(function)
    async def called(*args: P.args, **kwargs: P.kwargs) -> R:
        async with _turn():
            return await _call(None, partial(function, *args, **kwargs), TaskScope())

    return called


def _turn() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    if loop not in _turns:
        for closed in [other for other in tuple(_turns) if other.is_closed()]:
            _turns.pop(closed, None)
        _turns[loop] = asyncio.Semaphore(CALLS)
    return _turns[loop]


def in_own_thread(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that calls `function` in a thread of its own, because it takes long."""

    @wraps(function)
    async def called(*args: P.args, **kwargs: P.kwargs) -> R:
        pool = ThreadPoolExecutor(1, thread_name_prefix="aio-call")
        try:
            return await _call(pool, partial(function, *args, **kwargs), TaskScope())
        finally:
            pool.shutdown(wait=False)

    return called


def streaming(function: Callable[P, Iterable[R]]) -> "Callable[P, AsyncStream[R]]":
    """Return a function that iterates over the result of `function`, in a thread of its own."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> AsyncStream[R]:
        return AsyncStream(partial(function, *args, **kwargs))

    return called


class AsyncStream(Generic[R]):
    """Asynchronous iterator over an iterable, such as a watch, which is opened by the first `anext`.

    No item is lost if `anext` is cancelled, for example by `asyncio.timeout`: the next one returns it. `async with` or
    `aclose` ends the iteration and the request.
    """

    def __init__(self, opened: Callable[[], Iterable[R]]) -> None:
        self._opened = opened
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="aio-stream")
        self._scope = TaskScope()
        self._iterable: Iterable[R] = ()
        self._iterator: Iterator[R] | None = None
        self._pending: asyncio.Future[R] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[R]:
        return self

    async def __anext__(self) -> R:
        if self._scope.event.is_set():
            raise StopAsyncIteration
        if self._pending is None:
            self._pending = asyncio.ensure_future(_call(self._pool, self._next, self._scope))
            self._pending.add_done_callback(_retrieve)
        try:
            item = await asyncio.shield(self._pending)
        finally:
            if self._pending.done():
                self._pending = None
        if item is _END:
            await self.aclose()
            raise StopAsyncIteration
        return item

    async def aclose(self) -> None:
        """End the iteration, from any task; a waiting `anext` ends too."""
        self._scope.stop()
        with suppress(RuntimeError):  # closed before
            self._pool.submit(self._close)
        self._pool.shutdown(wait=False)

    def _next(self) -> R:
        try:
            if self._iterator is None:
                self._iterable = self._opened()
                self._iterator = iter(self._iterable)
            return next(self._iterator, _END)
        except Exception as error:
            if self._scope.event.is_set() and is_stopped_request(error):
                return _END  # type: ignore[no-any-return]
            raise

    def _close(self) -> None:
        for stream in (self._iterator, self._iterable):
            close = getattr(stream, "close", None)
            if close is not None:
                close()


async def _call(pool: ThreadPoolExecutor | None, function: Callable[[], R], scope: TaskScope) -> R:
    context = copy_context()
    context.run(end_also_with, scope)
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, context.run, function)
    except asyncio.CancelledError:
        scope.stop()
        raise


def _retrieve(ended: asyncio.Future[Any]) -> None:
    # An error after the stream was closed needs no handling.
    if not ended.cancelled():
        ended.exception()
