"""How this replica shares the work with others: not at all, by leading them, or by taking a share of the Foos."""

from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.record import EventRecorder
from clientgo.rest import Config
from controller.options import Options
from controller.turns import Alone, Turn


@contextmanager
def turn_of(options: Options, config: Config, recorder: EventRecorder) -> Iterator[Turn]:
    """What the flags ask for, as long as the block lasts.

    Raises:
        ConfigError: their times can't work together.
    """
    if not options.election.leader_elect and not options.shard_count:
        yield Alone()
        return
    # Loaded here: elections and shards are a twentieth of what the controller loads, and nothing to one that is alone.
    from controller.leases import leased_turn  # noqa: PLC0415

    with leased_turn(options, config, recorder) as turn:
        yield turn
