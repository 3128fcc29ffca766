"""Streams of coroutines: asynchronous iterators over iterables that block, such as watches."""

import asyncio
import queue
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, Generic, ParamSpec, Self, TypeVar

from clientgo.aio.pending import LoopCalls, calls_of_running_loop, deliver, returned
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.internal.calloutcome import CallOutcome
from clientgo.log import get_logger
from clientgo.stop.lifecycle import is_stopped_request
from clientgo.stop.stopping import TaskScope, end_also_with

log = get_logger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

_END: Any = object()


def streaming(function: Callable[P, Iterable[R]]) -> "Callable[P, AsyncStream[R]]":
    """Return a function that iterates over the result of `function`, in a thread of its own."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> AsyncStream[R]:
        return AsyncStream(partial(function, *args, **kwargs))

    return called


class AsyncStream(Generic[R]):
    """Asynchronous iterator over an iterable, such as a watch, which is opened by the first `anext`.

    No item is lost if `anext` is cancelled, for example by `asyncio.timeout`: the next one returns it. Several tasks
    may read: each item goes to one of them. The iteration and its request end with `async with` or `aclose`, when
    nothing refers to the stream any more, and when its event loop is closed.
    """

    def __init__(self, opened: Callable[[], Iterable[R]]) -> None:
        self._reader = _Reader(opened)
        self._turn = asyncio.Lock()
        self._pending: asyncio.Future[CallOutcome[R]] | None = None  # the item that no `anext` has returned yet
        self._closed = False

    def __del__(self) -> None:
        self._reader.abandon()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[R]:
        return self

    async def __anext__(self) -> R:
        outcome: CallOutcome[R] | None = None
        try:
            async with self._turn:
                if self._closed:
                    raise StopAsyncIteration
                self._pending = self._pending or self._reader.read()
                await asyncio.shield(self._pending)
                # Only here has `anext` finished. If it was cancelled, even after the item had arrived, the item
                # remains pending.
                outcome, self._pending = self._pending.result(), None
            item = returned(outcome, self._reader.opened)
            if item is _END:
                await self.aclose()
                raise StopAsyncIteration
            return item
        finally:
            del self, outcome  # a traceback that the program keeps must not keep the stream

    async def aclose(self) -> None:
        """End the iteration, from any task; a waiting `anext` ends too."""
        self._closed = True
        self._reader.scope.stop()
        if self._pending is not None and not self._pending.done():
            self._pending.set_result(CallOutcome(_END))


class _Reader(Generic[R]):
    """Thread that reads one item of an iterable for each demand. It does not refer to its stream, nor to the loop."""

    def __init__(self, opened: Callable[[], Iterable[R]]) -> None:
        self.opened = opened
        self.scope = TaskScope()
        self._owner: weakref.ref[LoopCalls] | None = None
        self._demands: queue.SimpleQueue[weakref.ref[asyncio.Future[CallOutcome[R]]] | None] = queue.SimpleQueue()
        self._iterable: Iterable[R] = ()
        self._iterator: Iterator[R] | None = None

    def read(self) -> "asyncio.Future[CallOutcome[R]]":
        """Demand the next item, in the loop in which the stream was opened."""
        calls = calls_of_running_loop()
        if self._owner is None:
            context = copy_context()
            context.run(end_also_with, self.scope)
            calls.threads.start(context.run, self._run, calls.scope, name="aio-stream")
            self._owner = weakref.ref(calls)
        elif self._owner() is not calls:
            raise RuntimeError("the stream belongs to another event loop, in which it was opened")
        future: asyncio.Future[CallOutcome[R]] = asyncio.get_running_loop().create_future()
        self._demands.put(weakref.ref(future))
        return future

    def abandon(self) -> None:
        """End the thread; a finalizer may call this."""
        if self._owner is not None:
            self.scope.stop_soon()

    def _run(self, of_loop: TaskScope) -> None:
        of_loop.add(self, self.scope.stop)
        self.scope.add(self, partial(self._demands.put, None))
        while (waiting := self._demands.get()) is not None:
            deliver(waiting, CallOutcome.of(self._next))
        of_loop.remove(self)
        for stream in (self._iterator, self._iterable):
            close = getattr(stream, "close", None)
            if close is not None:
                self._close(close)

    def _next(self) -> R:
        try:
            if self._iterator is None:
                self._iterable = self.opened()
                self._iterator = iter(self._iterable)
            return next(self._iterator, _END)
        except Exception as error:
            if self.scope.event.is_set() and is_stopped_request(error):
                return _END  # type: ignore[no-any-return]
            raise

    def _close(self, close: Callable[[], object]) -> None:
        try:
            run_callback(close)
        except CallbackFailed as failure:
            # The reader has ended: there is no `anext` to raise it.
            log.warning("cannot close a stream", extra={"err": failure})
