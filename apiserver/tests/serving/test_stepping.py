"""Scheduler of a server whose clock a test steps."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.api.limits import LOOP_SECONDS
from clientgo_apiserver.serving.stepping import ClockScheduler

Play = Callable[[ClockScheduler], Coroutine[Any, Any, None]]


@pytest.fixture
def run() -> Iterator[Callable[[Play], None]]:
    """Run a coroutine with a scheduler whose clock stands still."""
    group = Group()
    started: list[ClockScheduler] = []

    async def started_play(play: Play) -> None:
        started.append(ClockScheduler(asyncio.get_running_loop(), FakeClock(), group))
        await play(started[0])

    yield lambda play: asyncio.run(started_play(play))
    group.stop_event.set()
    started[0].wake()
    group.join(5.0)


def test_calls_run_in_order_at_their_time(run: Callable[[Play], None]) -> None:
    ran: list[str] = []

    async def play(scheduler: ClockScheduler) -> None:
        def first() -> None:
            scheduler.call_soon(ran.append, "soon")
            ran.append("first")

        scheduler.call_later(1, first)
        scheduler.call_later(2, ran.append, "second")
        scheduler.call_later(3, ran.append, "third")
        await scheduler._advance(2)

    run(play)
    assert ran == ["first", "soon", "second"]


def test_other_tasks_run_while_much_happens_at_one_time(run: Callable[[Play], None]) -> None:
    turns: list[int] = []

    async def play(scheduler: ClockScheduler) -> None:
        remaining = [6]

        def work() -> None:
            end = SYSTEM_CLOCK.now() + LOOP_SECONDS
            while SYSTEM_CLOCK.now() <= end:
                pass
            remaining[0] -= 1
            if remaining[0]:
                scheduler.call_soon(work)

        async def other_task() -> None:
            while remaining[0]:
                turns.append(remaining[0])
                await asyncio.sleep(0)

        scheduler.call_later(1, work)
        task = asyncio.create_task(other_task())
        await scheduler._advance(1)
        await task

    run(play)
    assert len(set(turns)) > 2


def test_error_ends_the_advance_and_drops_no_call(run: Callable[[Play], None]) -> None:
    ran: list[str] = []

    async def play(scheduler: ClockScheduler) -> None:
        def fail() -> None:
            scheduler.call_soon(ran.append, "later")
            raise ValueError("simulated")

        scheduler.call_later(1, scheduler.call_soon, fail)
        with pytest.raises(ValueError, match="simulated"):
            await scheduler._advance(1)
        await scheduler.settle()

    run(play)
    assert ran == ["later"]
