"""Growing delays between tries, with the rules of Kubernetes' wait.Backoff: factor, jitter, steps, cap."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from clientgo.clock import SYSTEM_CLOCK, Clock

Random = Callable[[], float]
"""Gives a float in [0, 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
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


REFLECTOR_BACKOFF = Backoff(duration=0.8, factor=2.0, jitter=1.0, cap=30.0)
"""client-go's reflector: 800 ms doubling to 30 s, fully jittered."""

REFLECTOR_BACKOFF_RESET = 120.0
"""client-go's reflector: a quiet time of 2 min starts the delays anew."""
