"""Snapshot of a queue for debug pages and health checks.

It is copied under the queue's lock at once, so no key is missing or duplicated, and read without the lock.
"""

from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

K = TypeVar("K")


class QueueLoad(msgspec.Struct, frozen=True):
    """Numbers of keys in a queue: `depth` wait for a worker, the first of them since `oldest` by the queue's clock."""

    depth: int = 0
    oldest: float | None = None
    delayed: int = 0
    processing: int = 0


class KeyState(msgspec.Struct, Generic[K], frozen=True):
    """State of a key: processing or queued since, or delayed until, a time of the queue's clock; and its failures."""

    key: K
    phase: str
    at: float
    retries: int = 0


class QueueState(msgspec.Struct, Generic[K], frozen=True):
    """Keys of a queue with seconds or counts, the oldest first; a key in two states is in both lists.

    `queued`: seconds since the key needs work, including keys to be requeued after processing. `processing`: seconds
    since a worker got the key. `waiting`: seconds until the key is due. `retries`: failures in a row counted by a rate
    limiting queue, for keys in the queue that have any.
    """

    name: str
    queued: tuple[tuple[K, float], ...] = ()
    processing: tuple[tuple[K, float], ...] = ()
    waiting: tuple[tuple[K, float], ...] = ()
    retries: tuple[tuple[K, int], ...] = ()
    shutting_down: bool = False

    @property
    def keys(self) -> tuple[K, ...]:
        """All keys of the queue, without duplicates."""
        return tuple(dict.fromkeys(key for key, _ in (*self.processing, *self.queued, *self.waiting)))


def since(times: Mapping[K, float], now: float) -> tuple[tuple[K, float], ...]:
    """Return the seconds since each of the times, the earliest first; 0 for a time in the future."""
    return tuple((key, max(now - at, 0.0)) for key, at in sorted(times.items(), key=_by_time))


def until(times: Mapping[K, float], now: float) -> tuple[tuple[K, float], ...]:
    """Return the seconds until each of the times, the earliest first; 0 for a time in the past."""
    return tuple((key, max(at - now, 0.0)) for key, at in sorted(times.items(), key=_by_time))


def _by_time(item: tuple[object, float]) -> float:
    return item[1]
