"""Fair acquisition of a lock: attempts, blocking, and many threads."""

import threading

from clientgo.workqueue.fairlock import acquire_fairly


class CountedLock:
    """Lock whose non-blocking attempts succeed from the `free_at`-th on; keeps the `blocking` of each attempt."""

    def __init__(self, free_at: float) -> None:
        self.free_at = free_at
        self.attempts: list[bool] = []

    def acquire(self, blocking: bool = True) -> bool:
        self.attempts.append(blocking)
        return blocking or len(self.attempts) >= self.free_at


def attempts(free_at: float) -> list[bool]:
    lock = CountedLock(free_at)
    acquire_fairly(lock)  # type: ignore[arg-type]  # uses no other method
    return lock.attempts


def test_lock_is_acquired_as_soon_as_it_is_free() -> None:
    assert attempts(1) == [False]
    assert attempts(7) == [False] * 7


def test_acquire_blocks_after_101_attempts() -> None:
    assert attempts(float("inf")) == [False] * 101 + [True]


def test_lock_is_held_until_it_is_released() -> None:
    lock = threading.Lock()
    acquire_fairly(lock)
    assert lock.locked()
