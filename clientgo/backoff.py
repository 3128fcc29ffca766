"""Exponential backoff: `Backoff` has the parameters; `ResettingBackoff` and `KeyedBackoff` have state.

The rules are Kubernetes': those of wait.Backoff (factor, jitter, steps, cap), and per key those of
util/flowcontrol.Backoff, which resets a key without failures for some time.
"""

import math
import random
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.internal.forks import fork_safe

K = TypeVar("K", bound=Hashable)

Random = Callable[[], float]
"""Returns a float in [0, 1)."""


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters: `duration`, multiplied by `factor` after each attempt up to `cap`, plus up to `jitter` times itself.

    In seconds. `steps` is the number of attempts of a bounded retry (no delay follows the last one).
    """

    duration: float
    factor: float = 1.0
    jitter: float = 0.0
    steps: int = 1
    cap: float | None = None

    def delay(self, attempt: int, rand: Random = random.random) -> float:
        """Return the delay after failed attempt number `attempt` (0 for the first), with jitter."""
        return jittered(self.base(attempt), self.jitter, rand)

    def base(self, attempt: int) -> float:
        """Return the delay after attempt number `attempt` without jitter; never overflows."""
        try:
            delay = self.duration * float(self.factor) ** attempt
        except OverflowError:
            delay = math.inf if self.duration else 0.0
        return delay if self.cap is None else min(delay, self.cap)


def jittered(seconds: float, factor: float, rand: Random = random.random) -> float:
    """Return `seconds` plus a random part of up to `factor` times itself."""
    return seconds * (1.0 + rand() * factor) if factor > 0 else seconds


class ResettingBackoff:
    """Delays that grow with each call and are reset after `reset` seconds without a call; for one thread."""

    def __init__(
        self, backoff: Backoff, *, reset: float, clock: Clock = SYSTEM_CLOCK, rand: Random = random.random
    ) -> None:
        self._backoff = backoff
        self._reset_after = reset
        self._clock = clock
        self._rand = rand
        self._attempt = 0
        self._last: float | None = None

    def __repr__(self) -> str:
        return f"<ResettingBackoff attempt {self._attempt}>"

    def next(self) -> float:
        """Return the next delay in seconds."""
        now = self._clock.now()
        if self._last is not None and now - self._last > self._reset_after:
            self._attempt = 0
        self._last = now
        delay = self._backoff.delay(self._attempt, self._rand)
        self._attempt += 1
        return delay

    def reset(self) -> None:
        """Start again with the first delay."""
        self._attempt = 0


HasExpired = Callable[[float, float, float], bool]
"""Returns True if a key expires, for the current time, the time of its last failure and the maximum delay."""


class _Entry(msgspec.Struct, frozen=True):
    delay: float
    updated: float


class KeyedBackoff(Generic[K]):
    """One delay per key: `initial`, doubled with each failure up to `maximum`; thread-safe.

    `jitter` adds a random part of up to `jitter` times the last delay to each new one, before the maximum is applied. A
    key expires, and starts again, if its last failure is more than twice the maximum ago, or as `has_expired` returns.
    Times are the clock's `now()`. Only `gc` frees the memory of expired keys.
    """

    def __init__(
        self,
        initial: float,
        maximum: float,
        *,
        jitter: float = 0.0,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
        has_expired: HasExpired | None = None,
    ) -> None:
        self._initial = initial
        self._maximum = maximum
        self._jitter = jitter
        self._clock = clock
        self._rand = rand
        self._has_expired = has_expired or _idle_for_twice_the_maximum
        self._lock = fork_safe(threading.Lock())
        self._entries: dict[K, _Entry] = {}

    def __repr__(self) -> str:
        return f"<KeyedBackoff {self._initial:g} to {self._maximum:g} s, {len(self._entries)} keys>"

    def get(self, key: K) -> float:
        """Return the delay after the key's last failure in seconds, even if it has passed; 0 for an unknown key."""
        entry = self._entries.get(key)
        return entry.delay if entry is not None else 0.0

    def next(self, key: K) -> float:
        """Record a failure and return the delay after it."""
        now = self._clock.now()
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or self._has_expired(now, entry.updated, self._maximum):
                delay = self._initial + self._extra(self._initial)
            else:
                delay = 2.0 * entry.delay + self._extra(entry.delay)
            delay = min(delay, self._maximum)
            self._entries[key] = _Entry(delay, now)
        return delay

    def remaining(self, key: K) -> float:
        """Return the seconds until the delay after the key's last failure has passed; 0 if it has."""
        entry = self._entries.get(key)
        return 0.0 if entry is None else max(0.0, entry.updated + entry.delay - self._clock.now())

    def reset(self, key: K) -> None:
        """Start again with the first delay, after a success."""
        with self._lock:
            self._entries.pop(key, None)

    def gc(self) -> None:
        """Remove expired keys."""
        now = self._clock.now()
        with self._lock:
            for key in [k for k, e in self._entries.items() if self._has_expired(now, e.updated, self._maximum)]:
                del self._entries[key]

    def _extra(self, delay: float) -> float:
        return self._rand() * self._jitter * delay if self._jitter > 0 else 0.0


def _idle_for_twice_the_maximum(now: float, updated: float, maximum: float) -> bool:
    return now - updated > 2.0 * maximum
