"""Checks for liveness and readiness probes, decided at once from the state of this process.

No check depends on the API server: while it is down or rejects requests, restarts would not help, and the restarted
controllers would all list at once. A liveness check fails only if a thread of this process is stuck or has died.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from clientgo.cache.state import InformerState
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.stop.lifecycle import Group, MaybeCoroutine
from clientgo.workqueue.state import QueueState

Check = Callable[[], MaybeCoroutine[None]]
"""Returns if healthy; otherwise raises `Unhealthy` or any other exception. Thread-safe; never blocks; maybe `async`."""

SILENT_SECONDS = 900.0
"""Seconds without activity: the server ends a watch after at most ten minutes, and each attempt to reopen it counts."""


class Unhealthy(ClientGoError):
    """A check failed; the message is one sentence."""


class Informer(Protocol):
    """Informer, as far as checks and debug pages need it."""

    def state(self) -> InformerState:
        """Return its state."""


class Queue(Protocol):
    """Queue, as far as checks and debug pages need it."""

    def state(self) -> QueueState[Any]:
        """Return its state."""


def ping() -> None:
    """Succeed if the program answers at all."""


def not_shutting_down(stop: threading.Event) -> Check:
    """Return a check that fails once `stop` is set, so that clients send no more requests during the shutdown."""

    def check() -> None:
        if stop.is_set():
            raise Unhealthy("shutting down")

    return check


def informers_synced(informers: Iterable[Informer]) -> Check:
    """Return a check that fails until each informer has stored its first list."""

    def check() -> None:
        if late := [state.name for state in (informer.state() for informer in informers) if not state.synced]:
            raise Unhealthy(f"informers not synced: {', '.join(late)}")

    return check


def informers_alive(
    informers: Iterable[Informer], *, silent_seconds: float = SILENT_SECONDS, clock: Clock = SYSTEM_CLOCK
) -> Check:
    """Return a liveness check that fails if an informer had neither a request nor a response for `silent_seconds`.

    Failed and rejected requests count as activity; informers that were not started are healthy.
    """

    def check() -> None:
        now = clock.now()
        active = [(state.name, state.last_active) for state in (informer.state() for informer in informers)]
        silent = [(name, now - last) for name, last in active if last is not None]
        if late := [f"{name} for {seconds:.0f} s" for name, seconds in silent if seconds > silent_seconds]:
            raise Unhealthy(f"informers neither list nor watch: {', '.join(late)}")

    return check


def threads_alive(group: Group, *names: str) -> Check:
    """Return a check that fails if one of these threads of the group has ended."""

    def check() -> None:
        alive = group.alive()
        if gone := [name for name in names if name not in alive]:
            raise Unhealthy(f"threads have ended: {', '.join(gone)}")

    return check


def keys_not_stuck(queues: Iterable[Queue], *, seconds: float) -> Check:
    """Return a check that fails if a worker has been processing one key for more than `seconds`."""

    def check() -> None:
        for state in (queue.state() for queue in queues):
            if stuck := [item for item, since in state.processing if since > seconds]:
                keys = "1 key is" if len(stuck) == 1 else f"{len(stuck)} keys are"
                raise Unhealthy(f"{state.name}: {keys} in process for more than {seconds:g} s")

    return check
