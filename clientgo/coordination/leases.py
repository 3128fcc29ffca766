"""Coordinators that depend on Leases: leader election and sharding. Loaded only for programs with several replicas."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager

from clientgo.clock import Clock
from clientgo.coordination.coordinator import Coordinator, Work
from clientgo.coordination.options import LeaderElectionOptions, ShardingOptions
from clientgo.errors import CallbackFailed, ConfigError
from clientgo.internal.callbacks import run_callback
from clientgo.leaderelection import Leadership, LeaseLock, config_for_lock, new_identity
from clientgo.log import get_logger
from clientgo.record import EventRecorder
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Requester
from clientgo.sharding import Shards
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import RELEASE_SECONDS, StopEvent

log = get_logger(__name__)


class LeaderElected(Leadership, Coordinator):
    """Coordinator that lets one elected replica work on all objects while the others stand by.

    Ownership never changes: the queue of a standby already holds the objects of a new leader.
    """

    def describe(self) -> str:
        """Return which replica leads."""
        if self.may_write():
            return "this replica leads"
        return f"standing by; {self.leader or 'no replica'} leads"


class Sharded(Coordinator):
    """Coordinator that shares objects among replicas; replicas beyond the shard count wait as standbys.

    Raises:
        ValueError: the options are invalid.
    """

    def __init__(self, target: Requester, namespace: str, options: ShardingOptions, *, clock: Clock) -> None:
        self._callback: Callable[[], object] = lambda: None
        self._clock = clock
        self._shards = Shards(
            target,
            namespace=namespace,
            lease_prefix=options.lease_prefix,
            count=options.count,
            lease_duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
            retry_period=options.retry_period,
            on_change=self._changed,
            clock=clock,
        )

    def run(self, work: Work, stop: threading.Event) -> None:
        """Call `work` until `stop` is set, and release the shard after it has returned."""
        resigned = StopEvent()
        with Group(stop=stop, clock=self._clock) as group:
            group.start(self._shards.run, resigned, name="shards")
            try:
                work(stop)
            finally:
                resigned.set()
                group.join()

    def may_write(self) -> bool:
        """Return whether the shard is still held; inside `owning`, whether the object is still this replica's."""
        return self._shards.may_write()

    def owning(self, uid: str) -> AbstractContextManager[bool]:
        """Yield whether the object belongs to this replica's shard; if so, it stays there until the block ends."""
        return self._shards.owning(uid)

    def on_change(self, callback: Callable[[], object]) -> None:
        """Call `callback` whenever this replica's shard has grown; again after a moment if it raises."""
        self._callback = callback

    def _changed(self) -> bool:
        # Called by the thread that renews the lease, which must go on; after False, it calls again in its next round.
        try:
            run_callback(self._callback)
        except CallbackFailed as error:
            log.error("callback of a change of shards failed; will retry", exc_info=error.__cause__)
            return False
        return True

    def check(self) -> None:
        """Raise `NotRenewed` if the thread that renews the shard's lease hangs."""
        self._shards.check()

    def describe(self) -> str:
        """Return this replica's shard and the members."""
        shard = f"this replica has shard {self._shards.slot}" if self._shards.slot >= 0 else "standing by for a shard"
        return f"{shard}; members: {', '.join(self._shards.members) or 'not known yet'}"


@contextmanager
def leased_coordinator(
    options: LeaderElectionOptions | ShardingOptions,
    target: Config | Requester,
    recorder: EventRecorder | None,
    clock: Clock,
) -> Iterator[Coordinator]:
    """Yield the coordinator that `options` describe, until its connections are closed at the end of the block.

    Raises:
        ConfigError: the options are invalid.
    """
    with ExitStack() as stack:
        namespace = options.namespace
        if isinstance(target, Config):
            namespace = namespace or target.namespace
            lock_config = config_for_lock(target, renew_deadline=options.renew_deadline)
            target = stack.enter_context(closing(RESTClient(lock_config, stop_grace=RELEASE_SECONDS)))
        yield _create(options, target, namespace or "default", recorder, clock=clock)


def _create(
    options: LeaderElectionOptions | ShardingOptions,
    target: Requester,
    namespace: str,
    recorder: EventRecorder | None,
    *,
    clock: Clock,
) -> Coordinator:
    try:
        if isinstance(options, ShardingOptions):
            return Sharded(target, namespace, options, clock=clock)
        identity, labels = new_identity(), options.labels
        return LeaderElected(
            LeaseLock(target, namespace, options.id, identity, labels=labels, recorder=recorder),
            lease_duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
            retry_period=options.retry_period,
            name=options.id,
            clock=clock,
        )
    except ValueError as error:
        kind = "sharding" if isinstance(options, ShardingOptions) else "leader election"
        raise ConfigError(f"invalid {kind} options: {error}") from error
