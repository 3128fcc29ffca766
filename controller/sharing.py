"""Several replicas work, each on its share of the Foos: `--shard-count`.

A replica may write about a Foo only inside a block in which the Foo is its own; that a Foo comes to be its own is told,
so that it is looked at then, and one that is somebody else's is dropped until then.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.lifecycle import Group
from clientgo.sharding import Shards
from clientgo.typed.clientset import BaseClientset
from controller.options import Options
from controller.turns import Work


class Sharing:
    """Takes one of the shares; further replicas than there are shares stand by for one.

    Raises:
        ConfigError: the flags can't work together.
    """

    def __init__(self, target: BaseClientset, namespace: str, options: Options, *, clock: Clock = SYSTEM_CLOCK) -> None:
        times = options.election
        self._changed: Callable[[], object] = lambda: None
        try:
            self._shards = Shards(
                target,
                namespace=namespace,
                lease_prefix=options.shard_lease_prefix,
                count=options.shard_count,
                lease_duration=times.leader_elect_lease_duration,
                renew_deadline=times.leader_elect_renew_deadline,
                retry_period=times.leader_elect_retry_period,
                on_change=lambda: self._changed(),
                clock=clock,
            )
        except ValueError as error:
            raise ConfigError(f"the --shard-... and --leader-elect-... flags can't work together: {error}") from error

    def run(self, work: Work, stop: threading.Event) -> None:
        """Do `work` until `stop` is set, and give the share up only then, when it has ended."""
        resigned = threading.Event()
        with Group(stop=stop) as group:
            group.start(self._shards.run, resigned, name="shards")
            try:
                work(stop)
            finally:
                resigned.set()
                group.join()

    def may_write(self) -> bool:
        """Whether the share is still held; of a Foo in hand, whether it is still this replica's."""
        return self._shards.may_write()

    def taking(self, uid: str) -> AbstractContextManager[bool]:
        """Whether the object is in this replica's share, in which it then stays for the length of the block."""
        return self._shards.taking(uid)

    def when_changed(self, changed: Callable[[], object]) -> None:
        """Call `changed` whenever this replica's share has grown."""
        self._changed = changed

    def check(self) -> None:
        """Raises when the share should have been renewed long ago."""
        self._shards.check()

    def describe(self) -> str:
        """Which share, of how many members."""
        share = f"this replica has share {self._shards.slot}" if self._shards.slot >= 0 else "standing by for a share"
        return f"{share}; the members are {', '.join(self._shards.members) or 'not known yet'}"
