"""Streams of coroutines: no item is lost or repeated, and what is abandoned ends, with its thread and sockets."""

import asyncio
import gc
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clientgo.aio import AsyncClient, AsyncStream, in_own_thread, in_thread, streaming
from clientgo.errors import ConnectionFailed
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.stop.stopping import StopEvent, ends_with, on_stop
from clientgo.testing.client import FakeClient
from clientgo.testing.eventually import eventually

MAP = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
ITEMS = 1000


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("aio-")]


def silent() -> Iterator[int]:
    """Wait, as a watch without events, until the reader is to end."""
    ended = threading.Event()
    with on_stop(ended.set):
        ended.wait(60)
    yield from ()


async def numbers_despite_cancellation(stream: AsyncStream[int], turns: Callable[[], int]) -> list[int]:
    """Read all items by `anext` calls that are cancelled after some turns of the loop, or not at all."""
    read: list[int] = []

    async def one() -> None:
        read.append(await anext(stream))

    async with stream:
        while True:
            task = asyncio.create_task(one())
            for _ in range(turns()):
                await asyncio.sleep(0)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                pass
            except StopAsyncIteration:
                return read


@pytest.mark.parametrize("most", [0, 3, 30])
def test_anext_cancelled_at_any_moment_loses_and_repeats_no_item(most: int) -> None:
    random_ = random.Random(most)  # chooses the moments

    def turns() -> int:
        return 100 if random_.random() < 0.2 else random_.randint(0, most)

    read = asyncio.run(numbers_despite_cancellation(AsyncStream(lambda: iter(range(ITEMS))), turns))
    assert read == list(range(ITEMS))


def test_anext_cancelled_in_the_turn_in_which_the_item_arrives_loses_none() -> None:
    async def program() -> int:
        go = threading.Semaphore(0)

        def items() -> Iterator[int]:
            go.acquire(timeout=60)
            yield 1

        async with AsyncStream(items) as stream:
            task = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            stream_pending = stream._pending  # the moment at which it is done
            assert stream_pending is not None
            stream_pending.add_done_callback(lambda _: task.cancel())
            go.release()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await anext(stream)

    assert asyncio.run(program()) == 1


def test_error_that_arrives_while_anext_is_cancelled_is_raised_by_the_next_one() -> None:
    async def program() -> None:
        go = threading.Event()

        def items() -> Iterator[int]:
            if go.wait(60):
                raise ConnectionFailed("lost")
            yield 1

        async with AsyncStream(items) as stream:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await anext(stream)
            go.set()
            with pytest.raises(ConnectionFailed, match="lost"):
                await anext(stream)

    asyncio.run(program())


def test_each_item_goes_to_one_of_several_readers() -> None:
    async def program() -> list[int]:
        stream = AsyncStream(lambda: iter(range(ITEMS)))
        read = await asyncio.gather(*(items_of(stream) for _ in range(4)))
        assert all(read)
        return sorted(item for items in read for item in items)

    assert asyncio.run(program()) == list(range(ITEMS))


async def items_of(stream: AsyncStream[Any]) -> list[Any]:
    return [item async for item in stream]


def test_closing_a_stream_ends_all_its_readers_though_its_source_does_not_end() -> None:
    async def program() -> None:
        go = threading.Event()
        stream = AsyncStream(lambda: (go.wait(60) for _ in range(9)))
        readers = [asyncio.create_task(items_of(stream)) for _ in range(3)]
        await asyncio.sleep(0.01)
        await stream.aclose()
        async with asyncio.timeout(20):
            assert await asyncio.gather(*readers) == [[], [], []]
        go.set()

    asyncio.run(program())
    eventually(lambda: not threads())


ENDS = [StopIteration, StopAsyncIteration, GeneratorExit, asyncio.CancelledError]


@pytest.mark.parametrize("wrapped", [in_thread, in_own_thread])
@pytest.mark.parametrize("error", [*ENDS, SystemExit, KeyboardInterrupt, ConnectionFailed])
def test_exception_of_a_call_reaches_its_coroutine(wrapped: Any, error: type[BaseException]) -> None:
    def function() -> None:
        raise error("boom")

    async def program() -> BaseException | None:
        try:
            async with asyncio.timeout(20):
                await wrapped(function)()
        except BaseException as raised:  # noqa: BLE001
            return raised
        return None

    raised = asyncio.run(program())
    if error in ENDS:  # which mean something else in a coroutine
        assert isinstance(raised, RuntimeError)
        raised = raised.__cause__
    assert type(raised) is error


@pytest.mark.parametrize("error", [*ENDS, SystemExit, KeyboardInterrupt])
def test_exception_of_a_source_does_not_look_like_the_end_of_its_stream(error: type[BaseException]) -> None:
    def opened() -> Iterator[int]:
        raise error

    async def program() -> None:
        async with asyncio.timeout(20):
            with pytest.raises(RuntimeError if error in ENDS else error):
                await items_of(streaming(opened)())

    asyncio.run(program())


def test_stream_that_only_anext_refers_to_is_not_abandoned() -> None:
    async def program() -> int:
        gc.collect()
        return await anext(AsyncStream(lambda: iter([1])))

    assert asyncio.run(program()) == 1


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, pytest.importorskip("uvloop").new_event_loop])
@pytest.mark.parametrize(
    "wrapped", [streaming(silent), in_thread(lambda: list(silent())), in_own_thread(lambda: list(silent()))]
)
def test_pending_calls_of_a_loop_end_when_it_is_closed(loop_factory: Any, wrapped: Any) -> None:
    before = threading.active_count()
    loop = loop_factory()
    pending = wrapped()
    task = loop.create_task(anext(pending) if isinstance(pending, AsyncStream) else pending)
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    eventually(lambda: threading.active_count() <= before + 1)  # one serves all stops
    del task, pending
    gc.collect()  # "Task was destroyed but it is pending", which is what happened


def test_stream_cannot_be_read_in_another_loop() -> None:
    stream = AsyncStream(lambda: iter(range(9)))
    assert asyncio.run(anext_of(stream)) == 0
    with pytest.raises(RuntimeError, match="another event loop"):
        asyncio.run(anext_of(stream))


async def anext_of(stream: AsyncStream[int]) -> int:
    return await anext(stream)


def test_watch_of_a_fake_ends_when_it_is_closed_or_stopped() -> None:
    stop = StopEvent()

    async def program() -> None:
        async with asyncio.timeout(20):
            watch = AsyncClient(FakeClient(MAP)).typed(ConfigMap, "default").watch()
            assert (await anext(watch)).object.metadata.name == "a"
            waiting = asyncio.create_task(items_of(watch))
            await asyncio.sleep(0.01)
            await watch.aclose()
            assert await waiting == []
            with ends_with(stop):
                other = AsyncClient(FakeClient()).typed(ConfigMap, "default").watch()
                asyncio.get_running_loop().call_later(0.01, stop.set)
                with pytest.raises(ConnectionFailed, match="stopping"):
                    await anext(other)

    asyncio.run(program())
    eventually(lambda: not threads())


def test_cancelled_wait_on_a_fake_gives_back_its_thread() -> None:
    async def program() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await AsyncClient(FakeClient(MAP)).wait(MAP, condition="delete", timeout=600)
        await in_thread(eventually)(lambda: not threads())

    asyncio.run(program())
