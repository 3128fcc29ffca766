"""Waiting until caches are filled."""

import threading
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock

POLL = 0.01
"""Seconds between looks; client-go takes 100 ms, which at start-up is longer than the list itself."""


class Synced(Protocol):
    """Anything that becomes synced once: an informer, or a handler's registration."""

    @property
    def has_synced(self) -> bool:
        """Whether it has."""


def wait_for_cache_sync(
    stop: threading.Event, *synced: Synced, timeout: float | None = None, clock: Clock = SYSTEM_CLOCK
) -> bool:
    """Wait until all of them have synced; False if `stop` was set or `timeout` seconds passed before."""
    deadline = None if timeout is None else clock.now() + timeout
    while not all(one.has_synced for one in synced):
        if deadline is not None and clock.now() >= deadline:
            return False
        if clock.sleep(stop, POLL):
            return False
    return True
