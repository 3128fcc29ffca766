"""Answers kept for a short time, and never more of them than a bound: what strangers ask must not fill the memory."""

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

from clientgo.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Thread-safe; an answer is forgotten after `ttl` seconds, or when it is the oldest of more than `size`."""

    def __init__(self, ttl: float, size: int, clock: Clock) -> None:
        self._ttl = ttl
        self._size = size
        self._clock = clock
        self._lock = threading.Lock()
        # One time to live for all: the order of insertion is that of expiry.
        self._answers: dict[K, tuple[float, V]] = {}

    def __repr__(self) -> str:
        return f"<BoundedCache {len(self)} of {self._size}>"

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: K) -> V | None:
        """The answer, if it is known and young enough."""
        with self._lock:
            until, answer = self._answers.get(key, (0.0, None))
            return answer if answer is not None and self._clock.now() < until else None

    def put(self, key: K, answer: V) -> None:
        """Keep an answer from now on."""
        now = self._clock.now()
        with self._lock:
            self._answers.pop(key, None)
            self._answers[key] = now + self._ttl, answer
            while len(self._answers) > self._size or next(iter(self._answers.values()))[0] <= now:
                del self._answers[next(iter(self._answers))]
