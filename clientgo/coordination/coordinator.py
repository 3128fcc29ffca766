"""Coordinator of replicas: decides when a controller may work, and on which objects."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.coordination.options import LeaderElectionOptions, ShardingOptions
from clientgo.record import EventRecorder
from clientgo.rest.config import Config
from clientgo.rest.request import Requester

Work = Callable[[threading.Event], object]
"""Function that works until the event is set, and returns soon afterwards."""


class Coordinator:
    """Decides when this replica may work, and on which objects; this class, that a single replica always may."""

    def run(self, work: Work, stop: threading.Event) -> None:
        """Call `work` when this replica may work, until `stop` is set; raise if the work had to end earlier."""
        work(stop)

    def may_write(self) -> bool:
        """Return whether this replica may write now; checked before each write."""
        return True

    def owning(self, uid: str) -> AbstractContextManager[bool]:
        """Yield whether this replica owns the object of that uid, which it then keeps until the block ends."""
        return nullcontext(True)

    def on_change(self, callback: Callable[[], object]) -> None:
        """Call `callback` whenever this replica gains objects that it did not own before.

        A callback that raises is called again after a moment.
        """

    def check(self) -> None:
        """Return if this replica is healthy; raise an error otherwise."""

    def describe(self) -> str:
        """Return this replica's role as a text for people."""
        return "there are no other replicas"


@contextmanager
def coordinator_for(
    options: LeaderElectionOptions | ShardingOptions | None,
    target: Config | Requester,
    *,
    recorder: EventRecorder | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> Iterator[Coordinator]:
    """Yield the coordinator that `options` describe; None stands for a single replica.

    With a `Config`, leases have connections of their own until the block ends, so that other requests cannot delay
    them.

    Raises:
        ConfigError: the options are invalid.
    """
    if options is None:
        yield Coordinator()
        return
    # Loaded here: leader election and sharding take 10 ms, which a single replica need not spend.
    from clientgo.coordination.leases import leased_coordinator  # noqa: PLC0415

    with leased_coordinator(options, target, recorder, clock) as coordinator:
        yield coordinator
