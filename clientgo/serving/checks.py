"""Checks for liveness and readiness probes, each decided at once from the state of this process.

No check depends on the API server: while it is down or refuses requests, a restart heals nothing, and the restarts of
all controllers end in as many lists at once. A liveness check fails only if a thread of this process hangs or has died.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from clientgo.cache.state import InformerState
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.lifecycle import Group
from clientgo.workqueue.state import QueueState

Check = Callable[[], None]
"""Returns while all is well; raises `Unhealthy`, or anything else, otherwise. Safe for several threads; never waits."""

SILENT_SECONDS = 900.0
"""A watch is ended by the server after ten minutes at most, and each attempt to open the next one counts."""


class Unhealthy(Exception):
    """Something is not well; the message is one sentence."""


class Informer(Protocol):
    """What a check asks of an informer."""

    def state(self) -> InformerState:
        """How it stands."""


class Queue(Protocol):
    """What a check asks of a queue."""

    def state(self) -> QueueState[Any]:
        """What is in it."""


def ping() -> None:
    """Well as long as the program answers at all."""


def not_shutting_down(stop: threading.Event) -> Check:
    """Fails from the moment `stop` is set: whoever asks sends no more work, while what was begun is ended."""

    def check() -> None:
        if stop.is_set():
            raise Unhealthy("shutting down")

    return check


def informers_synced(informers: Iterable[Informer]) -> Check:
    """Fails until each informer has put its first list into its store."""

    def check() -> None:
        if late := [state.name for state in (informer.state() for informer in informers) if not state.synced]:
            raise Unhealthy(f"informers not synced: {', '.join(late)}")

    return check


def informers_alive(
    informers: Iterable[Informer], *, silent_seconds: float = SILENT_SECONDS, clock: Clock = SYSTEM_CLOCK
) -> Check:
    """Fails when an informer neither made a request nor got an answer for `silent_seconds`, and so hangs; for liveness.

    A request that failed or was refused counts, and an informer that has not been started is well.
    """

    def check() -> None:
        now = clock.now()
        active = [(state.name, state.last_active) for state in (informer.state() for informer in informers)]
        silent = [(name, now - last) for name, last in active if last is not None]
        if late := [f"{name} for {seconds:.0f} s" for name, seconds in silent if seconds > silent_seconds]:
            raise Unhealthy(f"informers neither list nor watch: {', '.join(late)}")

    return check


def threads_alive(group: Group, *names: str) -> Check:
    """Fails when one of these threads of the group has ended."""

    def check() -> None:
        alive = group.alive()
        if gone := [name for name in names if name not in alive]:
            raise Unhealthy(f"threads have ended: {', '.join(gone)}")

    return check


def keys_not_stuck(queues: Iterable[Queue], *, seconds: float) -> Check:
    """Fails when a worker has had one key for more than `seconds`, and so hangs."""

    def check() -> None:
        for state in (queue.state() for queue in queues):
            if stuck := [item for item, since in state.processing if since > seconds]:
                keys = "1 key is" if len(stuck) == 1 else f"{len(stuck)} keys are"
                raise Unhealthy(f"{state.name}: {keys} in process for more than {seconds:g} s")

    return check
