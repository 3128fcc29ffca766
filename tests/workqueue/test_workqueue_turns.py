"""A lock that many want: tried for as long as it is held for moments, waited for when it is held for longer."""

import sys
import threading

from clientgo.workqueue import WorkQueue
from clientgo.workqueue.turns import take


class Held:
    """A lock that is free when it is asked for the so many-th time; infinity: only to whoever waits for it."""

    def __init__(self, turns: float) -> None:
        self.turns = turns
        self.asked: list[bool] = []

    def acquire(self, blocking: bool = True) -> bool:
        self.asked.append(blocking)
        return blocking or len(self.asked) >= self.turns


def asked(turns: float) -> list[bool]:
    lock = Held(turns)
    take(lock)  # type: ignore[arg-type]  # all that is asked of a lock
    return lock.asked


def test_it_is_taken_as_soon_as_it_is_free() -> None:
    assert asked(1) == [False]
    assert asked(7) == [False] * 7


def test_a_holder_that_waits_for_something_itself_is_waited_for() -> None:
    assert asked(float("inf")) == [False] * 101 + [True]


def test_it_is_held_until_it_is_released() -> None:
    lock = threading.Lock()
    take(lock)
    assert lock.locked()


def test_many_threads_on_one_queue_each_get_their_keys_through() -> None:
    queue: WorkQueue[tuple[int, int]] = WorkQueue()
    seen: list[tuple[int, int]] = []

    def turn(number: int) -> None:
        for n in range(500):
            queue.add((number, n))
            with queue.taking() as key:
                seen.append(key)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=turn, args=(n,)) for n in range(8)]  # noqa: TID251  # joined right here
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    finally:
        sys.setswitchinterval(before)
    assert sorted(seen) == [(number, n) for number in range(8) for n in range(500)]
    assert len(queue) == 0
