"""Creation of the coordinator that a program's options describe."""

from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.coordination.coordinator import Coordinator
from clientgo.coordination.options import LeaderElectionOptions, ShardingOptions
from clientgo.record import EventRecorder
from clientgo.rest.config import Config
from clientgo.rest.request import Requester


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
