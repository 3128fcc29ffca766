"""Checks for probes: what is well or not with a controller, each decided from what is known at once.

No check asks the API server: if that is down, every controller of the cluster would be restarted for it.
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

SILENT_SECONDS = 600.0
"""A watch hears of a bookmark about every minute, and is ended by the server after ten at most."""


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


def watches_heard(
    informers: Iterable[Informer], *, silent_seconds: float = SILENT_SECONDS, clock: Clock = SYSTEM_CLOCK
) -> Check:
    """Fails when an informer has heard nothing of the server for more than `silent_seconds`, bookmarks included.

    One that has never heard anything is given as long, from now on.
    """
    began = clock.now()

    def check() -> None:
        now = clock.now()
        heard = {state.name: state.last_event for state in (informer.state() for informer in informers)}
        silent = {name: now - (last if last is not None else began) for name, last in heard.items()}
        if late := [f"{name} for {seconds:.0f} s" for name, seconds in silent.items() if seconds > silent_seconds]:
            raise Unhealthy(f"nothing heard of the server: {', '.join(late)}")

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
