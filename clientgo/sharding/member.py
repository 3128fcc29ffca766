"""Steps of one member: acquire a slot, keep it, announce its view, release it. It has neither a loop nor a thread.

docs/decisions/replicas.md proves that no key has two owners. A member claims a key (it writes a view in which it
owns the key), then lists, and starts only if no other member claims the key; it withdraws the claim (writes a view in
which another slot owns the key) only after it has finished with the key. Other members may or may not see a write
that was not confirmed, so it counts as both.
"""

import math
import random
import threading

from clientgo.backoff import Random, jittered
from clientgo.clock import Clock, utc
from clientgo.errors import AlreadyExists, Conflict
from clientgo.leaderelection.candidate import FAILURES
from clientgo.leaderelection.record import claim, released
from clientgo.leaderelection.timing import JITTER_FACTOR, Timing
from clientgo.log import get_logger
from clientgo.meta.objects import MicroTime
from clientgo.sharding.ownership import NOTHING, Ownership, View
from clientgo.sharding.slots import ObservedSlots, Slots

log = get_logger(__name__)

MOVING_FACTOR = 4
"""While keys move, slots are read this many times as often as leases are renewed."""


class ShardMember:
    """One thread calls `tick`, `leave` and `release`; other methods are thread-safe."""

    def __init__(
        self, slots: Slots, identity: str, *, count: int, timing: Timing, clock: Clock, rand: Random = random.random
    ) -> None:
        self._slots = slots
        self._identity = identity
        self._count = count
        self._timing = timing
        self._clock = clock
        self._rand = rand
        self._observed = ObservedSlots()
        # Views that others may see; the last one is the one written last. If confirmed, others see that one.
        self._announced: tuple[View, ...] = ()
        self._confirmed = False
        # The held slots, which it announces unless work in progress prevents it.
        self._target: View = frozenset()
        self._lock = threading.Lock()
        # Guarded by _lock: what may start, until when work may continue, and the keys in progress with their session.
        self._ownership = NOTHING
        self._until = -math.inf
        self._leaving = False
        self._in_flight: dict[str, tuple[int, int]] = {}

    def __repr__(self) -> str:
        return f"<ShardMember {self._identity} in slot {self.slot}, {len(self._in_flight)} in flight>"

    @property
    def ownership(self) -> Ownership:
        """Ownership while the lease is valid; each change, even back and forth, gives a new object."""
        return self._ownership

    @property
    def slot(self) -> int:
        """Number of the slot that this process holds; -1 for a standby."""
        return self._ownership.slot

    @property
    def members(self) -> tuple[str, ...]:
        """Identities of all members as last seen, sorted by slot."""
        return tuple(seen.holder for seen in self._observed.held(self._clock.now()).values())

    def owns(self, key: str) -> bool:
        """Return whether `begin` would return True: for status pages, not for guarding work."""
        with self._lock:
            return self._allows(key)

    def begin(self, key: str) -> bool:
        """Start work on the key if that is allowed, and return whether it is; then `end` must follow."""
        with self._lock:
            if not self._allows(key):
                return False
            # A key that is started twice keeps the older session.
            session, times = self._in_flight.get(key, (self._ownership.session, 0))
            self._in_flight[key] = (session, times + 1)
            return True

    def end(self, key: str) -> None:
        """End work on the key; `KeyError` if it was not started."""
        with self._lock:
            session, times = self._in_flight.pop(key)
            if times > 1:
                self._in_flight[key] = (session, times - 1)

    def valid(self, key: str) -> bool:
        """Return whether work in progress on the key may continue; once False, it stays False until the work ends."""
        with self._lock:
            session, _ = self._in_flight.get(key, (-1, 0))
            return self._is_current(session)

    def has_lost_work(self) -> bool:
        """Return whether work in progress on some key must not continue."""
        with self._lock:
            return not all(self._is_current(session) for session, _ in self._in_flight.values())

    def idle(self) -> bool:
        """Return whether no work is in progress."""
        with self._lock:
            return not self._in_flight

    def tick(self) -> None:
        """Renew, read and react: at most two writes and two reads. Failures are logged."""
        if self.slot >= 0:
            self._prepare()
            self._write(self.slot)
        if not self._look():
            return
        if self._join() if self.slot < 0 else self._catch_up():
            self._look()

    def pause(self) -> float:
        """Return the seconds until the next `tick` is due."""
        now, usual = self._clock.now(), self._timing.retry_period
        if self.slot < 0:
            usual = jittered(usual, JITTER_FACTOR, self._rand)
        elif self._target != self._announced[-1] or not self._ownership.settled or self._ownership.other_views:
            usual /= MOVING_FACTOR
        return max(0.0, min(usual, self._observed.next_expiry(self.slot, now) - now))

    def leave(self) -> float:
        """Start no more work; return the monotonic time until which work in progress may continue."""
        with self._lock:
            self._leaving = True
            return self._until

    def release(self) -> None:
        """Release the slot if no work is in progress; otherwise, and on failure, it must expire."""
        seen = self._observed.last(self.slot)
        if seen is None or not self.idle():
            return
        number = self.slot
        self._lose()
        try:
            self._slots.write(number, released(seen.record, self._date()), frozenset(), seen)
        except FAILURES as error:
            log.warning("cannot release the shard slot", extra={"slot": number, "err": error})

    def _is_current(self, session: int) -> bool:
        return session == self._ownership.session and self._clock.now() < self._until

    def _allows(self, key: str) -> bool:
        return not self._leaving and self._clock.now() < self._until and self._ownership.allows(key)

    def _prepare(self) -> bool:
        """Return whether there is a new view to announce: the held slots, unless work in progress prevents it."""
        target = frozenset(self._observed.held(self._clock.now())) | {self.slot}
        with self._lock:
            # First stop starting keys that the target takes away, then check which of them are in progress.
            self._target = target
            self._publish()
            if target == self._announced[-1] or any(self._ownership.loses(key, target) for key in self._in_flight):
                return False
            self._announced = (*(view for view in self._announced if view != target), target)
            return True

    def _write(self, number: int) -> bool:
        """Write the lease with the view announced last, and return whether that succeeded."""
        seen = self._observed.last(number)
        self._confirmed = False
        # The time before the request, not after: others may see the lease as soon as it is sent.
        before = self._clock.now()
        record = claim(
            seen.record if seen is not None else None, self._identity, self._timing.lease_duration, self._date()
        )
        try:
            slot = self._slots.write(number, record, self._announced[-1], seen)
        except (Conflict, AlreadyExists) as error:
            log.debug("another replica changed the shard slot", extra={"slot": number, "err": error})
            return False
        except FAILURES as error:
            log.warning("cannot write the shard slot", extra={"slot": number, "err": error})
            return False
        self._confirmed = True
        now = self._clock.now()
        self._observed.observe(number, slot, now)
        with self._lock:
            # The lease had lapsed: others may have started keys in progress, so that work must not continue, and new
            # holders must be looked for as after joining.
            lapsed = now >= self._until
            self._until = before + self._timing.renew_deadline
            if lapsed:
                self._publish(slot=number, settled=False, session=self._ownership.session + 1)
        return True

    def _look(self) -> bool:
        confirmed = self._confirmed
        try:
            slots = self._slots.read()
        except FAILURES as error:
            log.warning("cannot read shard slots", extra={"err": error})
            return False
        # The time after the response, not before: its contents may be that recent.
        self._observed.observe_all(slots, self._clock.now())
        if self.slot >= 0 and self._observed.holder(self.slot) != self._identity:
            log.error("shard slot lost", extra={"slot": self.slot, "to": self._observed.holder(self.slot)})
            self._lose()
        with self._lock:
            # This read followed a confirmed write: no older write can take effect now, and all earlier writers were
            # seen. From now on this member owns the keys of that view.
            if confirmed and self.slot >= 0:
                self._announced = self._announced[-1:]
                self._publish(settled=True)
        return True

    def _catch_up(self) -> bool:
        # A write that failed before can succeed with the state just read.
        return (self._prepare() or not self._confirmed) and self._write(self.slot)

    def _join(self) -> bool:
        # After a slot was lost, old work may still be in progress, which the new session does not know.
        now = self._clock.now()
        number = self._observed.free(self._identity, self._count, now, self._rand)
        if number is None or not self.idle() or self._leaving:
            return False
        self._target = frozenset(self._observed.held(now)) | {number}
        self._announced = (self._target,)
        if not self._write(number):
            return False
        log.info("acquired a shard slot", extra={"slot": number, "identity": self._identity})
        return True

    def _lose(self) -> None:
        self._confirmed = False
        with self._lock:
            self._until = -math.inf
            self._ownership = Ownership(session=self._ownership.session + 1)

    def _publish(self, *, slot: int | None = None, settled: bool | None = None, session: int | None = None) -> None:
        """Derive the ownership from the current state; called under the lock."""
        old = self._ownership
        number = slot if slot is not None else old.slot
        if number < 0:
            return
        views = tuple(dict.fromkeys((*self._announced, self._target)))
        holders = self._observed.other_holders(number, self._clock.now())
        new = Ownership(
            slot=number,
            views=views,
            other_views=tuple((rival, view) for rival, view in holders if view not in views),
            settled=old.settled if settled is None else settled,
            session=old.session if session is None else session,
        )
        if new != old:
            self._ownership = new

    def _date(self) -> MicroTime:
        return MicroTime.of(utc(self._clock))
