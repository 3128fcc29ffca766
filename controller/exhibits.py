"""What the controller has to show of itself: filled while it comes up, read by whoever asks."""

import threading
from collections.abc import Callable

from clientgo.serving import (
    Check,
    Server,
    Unhealthy,
    informers_synced,
    keys_not_stuck,
    not_shutting_down,
    watches_heard,
)
from clientgo.serving.checks import Informer, Queue
from controller.turns import Turn

STUCK_SECONDS = 600.0
"""A sync takes milliseconds, and no request longer than two minutes: a worker that has one Foo so long hangs."""


class Exhibits:
    """The checks behind `/healthz` and `/readyz`, and what the debug pages tell of; all of it may grow."""

    def __init__(self, stop: threading.Event) -> None:
        self.servers: list[Server] = []
        self.turn: Callable[[], str] = lambda: "not started yet"
        self.informers: list[Informer] = []
        self.queues: list[Queue] = []
        self.alive: dict[str, Check] = {
            "workers": keys_not_stuck(self.queues, seconds=STUCK_SECONDS),
            "watches": watches_heard(self.informers),
        }
        self.ready: dict[str, Check] = {
            "shutdown": not_shutting_down(stop),
            "informers": self._informers_synced,
        }

    def show(self, queue: Queue, *informers: Informer, turn: Turn) -> None:
        """Show these from now on."""
        self.queues.append(queue)
        self.informers.extend(informers)
        self.alive["leaderElection"] = turn.check
        self.turn = turn.describe

    def _informers_synced(self) -> None:
        if not self.informers:
            raise Unhealthy("the API server is not ready yet")
        informers_synced(self.informers)()
