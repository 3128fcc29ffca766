"""No source may flood the server with events about one object."""

from collections.abc import Callable

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.kubernetes.types.core_v1 import Event
from clientgo.record.keys import spam_key
from clientgo.record.lru import LRU
from clientgo.tokenbucket import TokenBucket

BURST = 25
"""Events of one source about one object that may be sent at once (client-go)."""

QPS = 1 / 300
"""How many a second may follow: one every five minutes (client-go)."""


class EventSpamFilter:
    """A token bucket for each key, by default source, object and type. Owned by one thread."""

    def __init__(
        self,
        *,
        cache_size: int,
        burst: int = BURST,
        qps: float = QPS,
        key: Callable[[Event], str] = spam_key,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._buckets: LRU[str, TokenBucket] = LRU(cache_size)
        self._burst = burst
        self._qps = qps
        self._key = key
        self._clock = clock

    def filter(self, event: Event) -> bool:
        """Whether the event is one too many and must not be sent; asking takes a token."""
        now = self._clock.now()
        key = self._key(event)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = TokenBucket(self._qps, self._burst, now)
            self._buckets.put(key, bucket)
        return not bucket.try_take(now)
