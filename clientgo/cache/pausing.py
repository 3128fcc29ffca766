"""How long a reflector waits between two tries, by how the last one went.

    nobody listens ─▶ 0.75 to 1.5 s, for as long as it takes
    it is back, and only a list helps ─▶ 0.2 to 0.4 s, once; then, as after all other trouble:
    0.8 to 1.6 s, doubled with each try up to 30 to 60 s; never less than the server asks for

A server that was restarted has forgotten its history, or what it had: nearly every reflector needs a list then, and is
at work on a stale cache until it has one. So the first list is had soon, but not by all reflectors at once.
"""

import random

from clientgo.backoff import REFLECTOR_BACKOFF, REFLECTOR_BACKOFF_RESET, Backoff, Random, ResettingBackoff, jittered
from clientgo.cache.listing import out_of_range
from clientgo.cache.watching import WentBack
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ApiError, ConnectionFailed, TooManyRequests

AWAY_SECONDS = 0.75
"""A server nobody listens at is tried again after this, or up to twice this, at the latest: it costs the server nothing
and lets its return be noticed within two seconds, where client-go's delays grow to a minute."""

BACK_SECONDS = 0.2
"""Once it listens again, and if nothing else is wrong, the first list is had after this, or up to twice this."""


class Pauses:
    """The pauses of one reflector, and what it has to remember for them. For one thread."""

    def __init__(
        self, backoff: Backoff = REFLECTOR_BACKOFF, *, clock: Clock = SYSTEM_CLOCK, rand: Random = random.random
    ) -> None:
        self._backoff = ResettingBackoff(backoff, reset=REFLECTOR_BACKOFF_RESET, clock=clock, rand=rand)
        self._rand = rand
        self._away = False  # the last try found nobody listening

    def __repr__(self) -> str:
        return f"<Pauses{', the server is away' if self._away else ''}, {self._backoff!r}>"

    def after(self, error: Exception | None) -> float:
        """Seconds to wait now that a try ended with `error`, or, with None, in a way that another round mends."""
        away = nobody_listens(error)
        back = self._away and not away
        if back:
            self._backoff.reset()  # it owes nothing for having been away
        self._away = away
        seconds = self._backoff.next()
        if away:
            return min(seconds, jittered(AWAY_SECONDS, 1.0, self._rand))
        if back and _only_a_list_helps(error):
            return min(seconds, jittered(BACK_SECONDS, 1.0, self._rand))
        return max(seconds, error.retry_after or 0.0) if isinstance(error, ApiError) else seconds


def nobody_listens(error: Exception | None) -> bool:
    """Whether no server took the connection."""
    return isinstance(error, ConnectionFailed) and error.refused


def busy(error: Exception) -> bool:
    """Whether the server takes no requests just now, and an unchanged one may do later."""
    return isinstance(error, TooManyRequests) or nobody_listens(error)


def _only_a_list_helps(error: Exception | None) -> bool:
    return error is None or isinstance(error, WentBack) or out_of_range(error)
