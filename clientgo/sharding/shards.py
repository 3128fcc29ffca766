"""Which keys are this process' to work on, kept up to date in the background.

Promises, as far as clocks run equally fast: a key that is being worked on here is worked on nowhere else; every key is
allowed somewhere soon after members came or went; members that stay keep their keys. A member that can't renew its
lease begins nothing more after `renew_deadline`, and what it has begun may not be written any more
(`may_write`), before any other may begin.
"""

import logging
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
from clientgo.metrics import provider
from clientgo.rest.request import Requester
from clientgo.sharding.member import Member
from clientgo.sharding.ownership import MOST_SLOTS, Ownership
from clientgo.sharding.slots import LeaseSlots
from clientgo.typed.clientset import BaseClientset

log = logging.getLogger(__name__)

LOOK_AT_WORK = 0.05
"""Seconds between looks at work that has to end before the slot is released."""

TOLERANCE = 1800.0
"""Seconds beyond a lease's duration after which its thread is taken to hang, however often the API server refuses.

One step makes four requests at most, each of them repeated ten times, with up to 32 s between (an API server's longest
Retry-After). Other members need not wait for it: the lease has long expired then, and nothing is written without it.
"""


class NotRenewed(ClientGoError):
    """The thread that keeps this process' slot has done nothing for too long."""


_HELD: ContextVar[tuple[tuple[Member, str], ...]] = ContextVar("held", default=())
"""The keys that the running code works on, each with the member it was taken from."""


class Shards:
    """Decides which keys are this process' own. `run` is for one thread, once; everything else for any.

    At most `count` replicas are members, each in a slot of its own; further ones stand by. `on_change()` is called, on
    the thread of `run`, whenever keys that were refused may be allowed now: look at all of them again. `target` needs
    connections of its own (`leaderelection.config_for_lock`), and the rights to list, get, create and update leases.

    All times are seconds, and mean what they mean for leader election. `identity` must be nobody else's.

    Raises:
        ValueError: the times can't work together, or the count or the prefix can't be used.
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
            raise ValueError(f"the number of shards can't be {count}: give 1 to {MOST_SLOTS}")
        self._timing = Timing(lease_duration=lease_duration, renew_deadline=renew_deadline, retry_period=retry_period)
        self.name = f"{namespace}/{lease_prefix}"
        self.identity = identity or new_identity()
        slots = LeaseSlots(target, namespace, lease_prefix)
        self._member = Member(slots, self.identity, count=count, timing=self._timing, clock=clock, rand=rand)
        self._on_change = on_change
        self._clock = clock
        self._metrics = ShardingMetrics(self.name)
        self._told: Ownership | None = None
        self._ticked: float | None = None

    def __repr__(self) -> str:
        return f"<Shards {self.name}, slot {self.slot} of {len(self.members)} held>"

    @property
    def slot(self) -> int:
        """The number of the slot this process holds; -1 while it stands by."""
        return self._member.slot

    @property
    def members(self) -> tuple[str, ...]:
        """The identities of all members as last seen, in the order of their slots."""
        return self._member.members()

    def owns(self, key: str) -> bool:
        """Whether work on the key might begin here now: good for a status page, not for guarding work."""
        return self._member.allows(key)

    def begin(self, key: str) -> bool:
        """Whether work on the key may begin here; if so, `end` must follow. A refusal is no loss: see `on_change`."""
        return self._member.begin(key)

    def end(self, key: str) -> None:
        """Work on the key has ended; `KeyError` if it had not begun."""
        self._member.end(key)

    @contextmanager
    def owning(self, key: str) -> Iterator[bool]:
        """Whether work on the key may begin here; if so, it is this process' own until the end of the block."""
        if not self._member.begin(key):
            yield False
            return
        token = _HELD.set((*_HELD.get(), (self._member, key)))
        try:
            yield True
        finally:
            _HELD.reset(token)
            self._member.end(key)

    def valid(self, key: str) -> bool:
        """Whether work that has begun on the key may go on; once False, it stays so until that work has ended."""
        return self._member.valid(key)

    def may_write(self) -> bool:
        """Return whether the running code may write; for a FencedRequester.

        Code inside `owning` may while each key it has taken is still this process'. Other code (a helper thread of a
        reconciler, the sender of events) may unless some key that is being worked on here has been lost, because the
        code may be about that one. A thread started with `contextvars.copy_context().run` counts as inside the block.
        """
        keys = [key for member, key in _HELD.get() if member is self._member]
        return all(map(self._member.valid, keys)) if keys else not self._member.has_lost_work()

    def check(self, tolerance: float = TOLERANCE) -> None:
        """Return while the thread of `run` works, whatever the API server answers; for a liveness probe.

        A replica that stands by, or was not started, is well.

        Raises:
            NotRenewed: for `tolerance` seconds beyond the lease's duration nothing was done about the slot.
        """
        ticked = self._ticked
        if ticked is not None and (silent := self._clock.now() - ticked) > self._timing.lease_duration + tolerance:
            raise NotRenewed(f"the shards of {self.name} have not been looked after for {silent:.0f} s")

    def run(self, stop: threading.Event) -> None:
        """Take a slot and keep it until `stop` is set; then let work end, and release it. Blocks.

        Raises:
            BaseException: what `on_change` raised.
        """
        try:
            while not stop.is_set():
                self.step()
                self._clock.sleep(stop, self._member.pause())
        finally:
            self._leave()

    def step(self) -> None:
        """One round of `run`: renew, look, tell of changes."""
        self._member.tick()
        self._ticked = self._clock.now()
        self._tell()

    def _tell(self) -> None:
        ownership = self._member.ownership
        self._metrics.stand(slot=ownership.slot, members=len(self.members))
        # Not "==": what was refused while it was another in between has to be looked at again.
        if ownership is self._told:
            return
        self._told = ownership
        self._metrics.moved()
        log.info(
            "shards have moved" if ownership.settled else "shards are moving",
            extra={"shards": self.name, "slot": ownership.slot, "members": len(self.members)},
        )
        # Before it is settled nothing is allowed, and refused keys need not be looked at.
        if ownership.settled:
            self._on_change()

    def _leave(self) -> None:
        until, never = self._member.leave(), threading.Event()
        patience = min(until, self._clock.now() + self._timing.renew_deadline)
        while not self._member.idle() and self._clock.now() < patience:
            self._clock.sleep(never, LOOK_AT_WORK)
        if self._member.idle():
            self._member.release()
        else:
            log.error("work has not ended: the shard slot is left to expire", extra={"shards": self.name})
        self._ticked = None
        self._metrics.stand(slot=-1, members=0)


class ShardingMetrics:
    """How many share the work, which part is this process', how often parts moved; by the provider of its making."""

    def __init__(self, name: str) -> None:
        labels = {"name": name}
        self._members = provider().gauge(
            "sharding_members", "Replicas that share the work, as this one sees it", labels
        )
        self._slot = provider().gauge("sharding_slot", "Number of the slot this process holds, -1 for none", labels)
        self._moves = provider().counter(
            "sharding_moves_total", "Times that keys came to this process, or may have gone from it", labels
        )
        self.stand(slot=-1, members=0)

    def stand(self, *, slot: int, members: int) -> None:
        """How things stand."""
        self._slot.set(float(slot))
        self._members.set(float(members))

    def moved(self) -> None:
        """What this process owns has changed."""
        self._moves.inc()
