"""Event loops of threads: one coroutine's SystemExit, cancellation or background task concerns no other."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from clientgo.errors import Cancelled
from clientgo.stop.eventloop import EventLoop
from clientgo.stop.lifecycle import Group, MaybeCoroutine, finished
from clientgo.stop.stopping import StopEvent, ends_with


async def exits() -> None:
    await asyncio.sleep(0)
    raise SystemExit(3)


async def exits_in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(600))
        group.create_task(exits())


async def exits_in_a_gather() -> None:
    await asyncio.gather(exits(), asyncio.sleep(600))


async def good() -> int:
    await asyncio.sleep(0.001)
    return 1


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, ValueError])
def test_exception_of_one_coroutine_is_not_raised_by_the_next(error: type[BaseException]) -> None:
    async def failing() -> None:
        await asyncio.sleep(0)
        raise error

    with EventLoop() as loop:
        for _ in range(3):
            with pytest.raises(error):
                loop.run(failing(), None, None)
            assert loop.run(good(), None, None) == 1


@pytest.mark.parametrize("function", [exits, exits_in_a_group, exits_in_a_gather])
def test_system_exit_of_a_task_is_raised_where_the_task_is_awaited_and_nowhere_else(function: Any) -> None:
    with EventLoop() as loop:
        for _ in range(3):
            with pytest.raises(SystemExit) as caught:
                loop.run(function(), None, None)
            assert caught.value.code == 3
            assert [loop.run(good(), None, None) for _ in range(3)] == [1, 1, 1]


def test_system_exit_of_a_background_task_fails_no_coroutine(caplog: pytest.LogCaptureFixture) -> None:
    tasks = list[asyncio.Task[None]]()

    async def starting() -> int:
        tasks.append(asyncio.create_task(exits()))
        return 1

    with EventLoop() as loop:
        assert loop.run(starting(), None, None) == 1
        assert loop.run(good(), None, None) == 1
        assert isinstance(tasks[0].exception(), SystemExit)
    assert "background task" in caplog.text


def test_system_exit_of_a_cancelled_task_does_not_leave_the_end_of_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    ended = list[str]()

    async def exiting(name: str) -> None:
        try:
            await asyncio.sleep(600)
        finally:
            ended.append(name)
            raise SystemExit(3)

    async def items() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            ended.append("generator")

    generator = items()
    tasks = list[asyncio.Task[None]]()

    async def starting() -> None:
        tasks.extend(asyncio.create_task(exiting(name)) for name in "abc")
        await asyncio.sleep(0)
        await anext(generator)

    with EventLoop() as loop:
        loop.run(starting(), None, None)
    assert sorted(ended) == ["a", "b", "c", "generator"]
    assert {type(task.exception()) for task in tasks} == {SystemExit}


def test_coroutine_that_finishes_while_it_is_cancelled_has_finished() -> None:
    async def stubborn() -> int:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            return 2
        return 1

    with EventLoop() as loop:
        assert loop.run(stubborn(), 0.001, None) == 2
        with pytest.raises(Cancelled, match="still running") as caught:
            loop.run(asyncio.sleep(600), 0.001, None)
        assert isinstance(caught.value.__cause__, asyncio.CancelledError)


def test_coroutine_that_stops_its_loop_does_not_go_on_with_the_next_one() -> None:
    ended = list[str]()

    async def stopping() -> None:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        ended.append("wrong")

    with EventLoop() as loop:
        with pytest.raises(RuntimeError, match="stopped before"):
            loop.run(stopping(), None, None)
        assert [loop.run(good(), None, None) for _ in range(3)] == [1, 1, 1]
    assert not ended


def test_stop_after_the_end_of_the_loop_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    stop, callbacks = StopEvent(), list[Any]()
    with ends_with(stop), EventLoop() as loop:

        async def record() -> None:
            await asyncio.sleep(0)
            callbacks.extend(callback for callback, _ in stop.scope._callbacks.values())

        loop.run(record(), None, None)
    for callback in callbacks:  # as a stop that comes at this moment calls them
        callback()
    assert (len(callbacks), caplog.text) == (1, "")


def test_coroutine_cannot_be_run_within_another_one() -> None:
    async def outer() -> None:
        inner: MaybeCoroutine[int] = good()
        with pytest.raises(RuntimeError, match="already runs"):
            finished(inner)
        assert asyncio.all_tasks() == tasks

    async def record() -> None:
        tasks.update(asyncio.all_tasks())
        await outer()

    tasks, recorded = set[asyncio.Task[Any]](), record()

    def run() -> None:
        running: MaybeCoroutine[None] = recorded
        finished(running)

    with Group() as group:
        group.start(run, name="outer")
