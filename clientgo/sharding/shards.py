"""Ownership of keys by this process, updated in the background.

Guarantees, as long as clocks run at the same speed: a key is worked on in one process at a time; after members join or
leave, every key soon has an owner; members that stay keep their keys. A member that cannot renew its lease starts
nothing more after `renew_deadline`, and may not write for the work in progress (`may_write`), before another member may
start.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from clientgo.backoff import Random
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.leaderelection import new_identity
from clientgo.leaderelection.timing import Timing
from clientgo.log import get_logger
from clientgo.metrics import safe_provider
from clientgo.rest.request import Requester
from clientgo.sharding.member import ShardMember
from clientgo.sharding.ownership import MOST_SLOTS, Ownership
from clientgo.sharding.slots import LeaseSlots
from clientgo.stop.stopping import ends_with
from clientgo.typed.clientset import BaseClientset

log = get_logger(__name__)

WORK_POLL_SECONDS = 0.05
"""Seconds between checks whether work has ended before the slot is released."""

TOLERANCE = 1800.0
"""Seconds beyond a lease's duration after which its thread counts as stuck, even if the API server rejects requests.

One step makes at most four requests, each with its retries within the timeout of `config_for_lock`. Other members do
not wait for it: by then the lease has long expired, and nothing is written without it.
"""


class NotRenewed(ClientGoError):
    """The thread that keeps this process's slot has been inactive for too long."""


_HELD: ContextVar[tuple[tuple[ShardMember, str], ...]] = ContextVar("held", default=())
"""Keys that the running code works on, each with its member."""


class Shards(ShardMember):
    """Decides which keys this process owns. One thread calls `run`, once; other methods are thread-safe.

    At most `count` replicas are members, each with a slot; others stand by. `on_change()` is called in the thread of
    `run` whenever this process may have gained keys: check all of them again. If it returns False, it is called again
    after the next renewal. `target` needs connections of its own (`leaderelection.config_for_lock`) and permission to
    list, get, create and update leases.

    All times are seconds with the meaning they have in leader election. `identity` must be unique.

    Raises:
        ValueError: the times are inconsistent, or the count or the prefix is invalid.
    """

    def __init__(
        self,
        target: BaseClientset | Requester,
        *,
        namespace: str = "default",
        lease_prefix: str = "shard",
        count: int,
        identity: str = "",
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        on_change: Callable[[], object] = lambda: None,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        if not 1 <= count <= MOST_SLOTS:
            raise ValueError(f"invalid number of shards {count}: expected 1 to {MOST_SLOTS}")
        timing = Timing(lease_duration=lease_duration, renew_deadline=renew_deadline, retry_period=retry_period)
        self.name = f"{namespace}/{lease_prefix}"
        self.identity = identity or new_identity()
        slots = LeaseSlots(target, namespace, lease_prefix)
        super().__init__(slots, self.identity, count=count, timing=timing, clock=clock, rand=rand)
        self._on_change = on_change
        self._metrics = ShardingMetrics(self.name)
        self._reported: Ownership | None = None
        self._call_again = False
        self._ticked: float | None = None

    def __repr__(self) -> str:
        return f"<Shards {self.name}, slot {self.slot} of {len(self.members)} held>"

    @contextmanager
    def owning(self, key: str) -> Iterator[bool]:
        """Yield whether this process owns the key, which it then keeps until the block ends."""
        if not self.begin(key):
            yield False
            return
        token = _HELD.set((*_HELD.get(), (self, key)))
        try:
            yield True
        finally:
            _HELD.reset(token)
            self.end(key)

    def may_write(self) -> bool:
        """Return whether the running code may write; for a FencedRequester.

        Code inside `owning` may write while this process still owns each of its keys. Other code (a helper thread of a
        reconciler, the sender of events) may write unless some key in progress has been lost, because the code may be
        about that one. A thread started with `contextvars.copy_context().run` counts as inside the block.
        """
        keys = [key for member, key in _HELD.get() if member is self]
        return all(map(self.valid, keys)) if keys else not self.has_lost_work()

    def check(self, tolerance: float = TOLERANCE) -> None:
        """Return while the thread of `run` is active, even if the API server fails; for a liveness probe.

        A standby, and a replica that was not started, is healthy.

        Raises:
            NotRenewed: the thread has been inactive for `tolerance` seconds beyond the lease's duration.
        """
        ticked = self._ticked
        if ticked is not None and (silent := self._clock.now() - ticked) > self._timing.lease_duration + tolerance:
            raise NotRenewed(f"the shards of {self.name} have not been renewed for {silent:.0f} s")

    def run(self, stop: threading.Event) -> None:
        """Acquire a slot and keep it until `stop` is set; then wait for work to end, and release the slot. Blocks.

        Raises:
            BaseException: the exception of `on_change`.
        """
        with ends_with(stop):
            try:
                while not stop.is_set():
                    self.step()
                    self._clock.sleep(stop, self.pause())
            finally:
                self._leave()

    def step(self) -> None:
        """Run one round of `run`: renew, read and report changes."""
        self.tick()
        self._ticked = self._clock.now()
        self._report()

    def _report(self) -> None:
        ownership = self.ownership
        self._metrics.stand(slot=ownership.slot, members=len(self.members))
        # Not "==": keys rejected under another ownership in between must be checked again.
        if ownership is self._reported:
            if self._call_again:
                self._call_again = self._on_change() is False
            return
        self._metrics.moves.inc()
        log.info(
            "shards moved" if ownership.settled else "shards are moving",
            extra={"shards": self.name, "slot": ownership.slot, "members": len(self.members)},
        )
        # Until it is settled nothing is allowed, so rejected keys need no check.
        self._call_again = ownership.settled and self._on_change() is False
        self._reported = ownership

    def _leave(self) -> None:
        until, never = self.leave(), threading.Event()
        deadline = min(until, self._clock.now() + self._timing.renew_deadline)
        while not self.idle() and self._clock.now() < deadline:
            self._clock.sleep(never, WORK_POLL_SECONDS)
        if self.idle():
            self.release()
        else:
            log.error("work has not ended: leaving the shard slot to expire", extra={"shards": self.name})
        self._ticked = None
        self._metrics.stand(slot=-1, members=0)


class ShardingMetrics:
    """Metrics of a member, kept by the provider at the time of creation."""

    def __init__(self, name: str) -> None:
        labels = {"name": name}
        registry = safe_provider()
        self._members = registry.gauge("sharding_members", "Replicas that share the work, as seen by this one", labels)
        self._slot = registry.gauge("sharding_slot", "Number of the slot this process holds, -1 for none", labels)
        self.moves = registry.counter("sharding_moves_total", "Changes of the keys that this process owns", labels)
        self.stand(slot=-1, members=0)

    def stand(self, *, slot: int, members: int) -> None:
        """Record the current slot and the number of members."""
        self._slot.set(float(slot))
        self._members.set(float(members))
