"""Snapshot of a queue for debug pages and health checks.

It is copied under the queue's lock at once, so no key is missing or duplicated, and read without the lock.
"""

import heapq
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from clientgo.internal.callbacks import text_of

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


Phases = Mapping[str, Mapping[K, float]]
"""Times of the keys in the phases "processing", "queued" and "delayed", by a queue's clock."""


def snapshot(
    name: str, phases: Phases[K], now: float, failures: Callable[[K], int], *, shutting_down: bool
) -> QueueState[K]:
    """Return the state of a queue; `failures` returns those of a key."""
    processing, queued, delayed = phases["processing"], phases["queued"], phases["delayed"]
    counts = ((key, failures(key)) for key in dict.fromkeys((*processing, *queued, *delayed)))
    return QueueState(
        name,
        queued=_since(queued, now),
        processing=_since(processing, now),
        waiting=tuple((key, max(at - now, 0.0)) for key, at in _by_time(delayed)),
        retries=tuple((key, count) for key, count in counts if count),
        shutting_down=shutting_down,
    )


def first_keys(phases: Phases[K], limit: int, matching: str, failures: Callable[[K], int]) -> list[KeyState[K]]:
    """Return the keys of each phase with the earliest times, at most `limit`, whose text contains `matching`."""
    text, states = matching.lower(), []
    for phase, times in phases.items():
        items = ((key, at) for key, at in times.items() if not text or text in text_of(key).lower())
        first = heapq.nsmallest(limit, items, key=_time)
        states += [KeyState(key, phase, at, failures(key)) for key, at in first]
    return states


def _since(times: Mapping[K, float], now: float) -> tuple[tuple[K, float], ...]:
    return tuple((key, max(now - at, 0.0)) for key, at in _by_time(times))


def _by_time(times: Mapping[K, float]) -> list[tuple[K, float]]:
    return sorted(times.items(), key=_time)


def _time(item: tuple[object, float]) -> float:
    return item[1]
