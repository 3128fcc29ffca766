"""Giving way to whoever holds a lock: for as long as it is held, but not for ever."""

import sys
import threading

from clientgo.workqueue import WorkQueue
from clientgo.workqueue.turns import give_way


class Held:
    """A lock that is found free when it has been asked for so many times; infinity: never."""

    def __init__(self, turns: float) -> None:
        self.turns = turns
        self.asked = 0

    def locked(self) -> bool:
        self.asked += 1
        return self.asked < self.turns


def asked(turns: float) -> int:
    lock = Held(turns)
    give_way(lock)  # type: ignore[arg-type]  # all that is asked of a lock
    return lock.asked


def test_it_goes_on_as_soon_as_the_lock_is_free() -> None:
    assert asked(1) == 1
    assert asked(7) == 7


def test_a_holder_that_waits_for_something_itself_is_not_waited_for_here() -> None:
    assert asked(float("inf")) == 100


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
