"""What a queue held at one moment, for debugging pages, health checks and people.

A copy: it is made under the queue's lock in one go, so that no key is missing or shown twice, and read without it.
"""

from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

K = TypeVar("K")


class QueueState(msgspec.Struct, Generic[K], frozen=True):
    """Keys with seconds (or counts), the longest waiting first; a key that waits in two ways is told of in both.

    `queued`: for how long a key has needed work, those out with a worker and needing it again included. `processing`:
    for how long a worker has had it. `waiting`: in how many seconds it falls due. `retries`: how many failures in a
    row a rate limiting queue has counted, for keys that are in the queue and have any.
    """

    name: str
    queued: tuple[tuple[K, float], ...] = ()
    processing: tuple[tuple[K, float], ...] = ()
    waiting: tuple[tuple[K, float], ...] = ()
    retries: tuple[tuple[K, int], ...] = ()
    shutting_down: bool = False

    @property
    def keys(self) -> tuple[K, ...]:
        """Every key of the queue, once."""
        return tuple(dict.fromkeys(key for key, _ in (*self.processing, *self.queued, *self.waiting)))


def since(times: Mapping[K, float], now: float) -> tuple[tuple[K, float], ...]:
    """How long ago each of these times was, the longest ago first; one in the future counts as now."""
    return tuple((key, max(now - at, 0.0)) for key, at in sorted(times.items(), key=_by_time))


def until(times: Mapping[K, float], now: float) -> tuple[tuple[K, float], ...]:
    """How far ahead each of these times is, the nearest first; one that has passed counts as now."""
    return tuple((key, max(at - now, 0.0)) for key, at in sorted(times.items(), key=_by_time))


def _by_time(item: tuple[object, float]) -> float:
    return item[1]
