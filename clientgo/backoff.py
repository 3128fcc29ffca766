"""Growing delays between tries: `Backoff` says how they grow, the other two remember how far they have.

The rules are Kubernetes': those of wait.Backoff (factor, jitter, steps, cap), and for one delay a key those of
util/flowcontrol.Backoff, where a key that nothing was heard of for long begins anew.
"""

import random
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock

K = TypeVar("K", bound=Hashable)

Random = Callable[[], float]
"""Gives a float in [0, 1)."""


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """How delays grow: `duration`, then times `factor`, never above `cap`, each stretched by up to `jitter` of itself.

    Seconds throughout. `steps` is the number of attempts of a bounded retry (no delay follows the last one).
    """

    duration: float
    factor: float = 1.0
    jitter: float = 0.0
    steps: int = 1
    cap: float | None = None

    def delay(self, attempt: int, rand: Random = random.random) -> float:
        """The delay after failed attempt number `attempt` (0 for the first), jitter included."""
        return jittered(self.base(attempt), self.jitter, rand)

    def base(self, attempt: int) -> float:
        """The delay after attempt number `attempt` before jitter; never overflows."""
        try:
            delay = self.duration * self.factor**attempt
        except OverflowError:
            delay = float("inf")
        return delay if self.cap is None else min(delay, self.cap)


def jittered(seconds: float, factor: float, rand: Random = random.random) -> float:
    """`seconds` plus a random part of up to `factor` times itself."""
    return seconds * (1.0 + rand() * factor) if factor > 0 else seconds


class ResettingBackoff:
    """Hands out growing delays and starts anew after `reset` seconds without being asked.

    Not safe for several threads: each user owns one.
    """

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
        """The delay to wait now, in seconds."""
        now = self._clock.now()
        if self._last is not None and now - self._last > self._reset_after:
            self._attempt = 0
        self._last = now
        delay = self._backoff.delay(self._attempt, self._rand)
        self._attempt += 1
        return delay

    def reset(self) -> None:
        """Begin again with the first delay."""
        self._attempt = 0


HasExpired = Callable[[float, float, float], bool]
"""Whether an entry is forgotten, from now, the time of its last failure and the longest delay."""


class _Entry(msgspec.Struct, frozen=True):
    delay: float
    updated: float


class KeyedBackoff(Generic[K]):
    """One growing delay for each key: `initial`, then doubled with every failure up to `maximum`. Safe for threads.

    `jitter` adds a random part of up to that many times the last delay to each new one, before the maximum is applied.
    A key whose last failure is more than twice the maximum ago begins anew; `has_expired` may say otherwise. Times are
    the clock's `now()`. Only `gc` frees what expired keys hold.
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
        self._lock = threading.Lock()
        self._entries: dict[K, _Entry] = {}

    def __repr__(self) -> str:
        return f"<KeyedBackoff {self._initial:g} to {self._maximum:g} s, {len(self._entries)} keys>"

    def get(self, key: K) -> float:
        """The delay after the key's last failure, in seconds, however long ago that was; 0 for an unknown key."""
        entry = self._entries.get(key)
        return entry.delay if entry is not None else 0.0

    def next(self, key: K) -> float:
        """Note a failure now; return the delay that follows it."""
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
        """Seconds until the delay after the key's last failure is over; 0 when it is."""
        entry = self._entries.get(key)
        return 0.0 if entry is None else max(0.0, entry.updated + entry.delay - self._clock.now())

    def is_in_backoff_since(self, key: K, since: float) -> bool:
        """Whether less than the key's delay has passed since the time `since`."""
        entry = self._entries.get(key)
        if entry is None or self._has_expired(since, entry.updated, self._maximum):
            return False
        return self._clock.now() - since < entry.delay

    def is_in_backoff_since_update(self, key: K, at: float) -> bool:
        """Whether the time `at` is less than the key's delay after its last failure."""
        entry = self._entries.get(key)
        if entry is None or self._has_expired(at, entry.updated, self._maximum):
            return False
        return at - entry.updated < entry.delay

    def reset(self, key: K) -> None:
        """Begin again with the first delay, as after a success."""
        with self._lock:
            self._entries.pop(key, None)

    def gc(self) -> None:
        """Forget the keys that have expired."""
        now = self._clock.now()
        with self._lock:
            for key in [k for k, e in self._entries.items() if self._has_expired(now, e.updated, self._maximum)]:
                del self._entries[key]

    def _extra(self, delay: float) -> float:
        return self._rand() * self._jitter * delay if self._jitter > 0 else 0.0


def _idle_for_twice_the_maximum(now: float, updated: float, maximum: float) -> bool:
    return now - updated > 2.0 * maximum


REFLECTOR_BACKOFF = Backoff(duration=0.8, factor=2.0, jitter=1.0, cap=30.0)
"""client-go's reflector: 800 ms doubling to 30 s, fully jittered."""

REFLECTOR_BACKOFF_RESET = 120.0
"""client-go's reflector: a quiet time of 2 min starts the delays anew."""
