"""One replica's moves: take a slot, keep it, announce what it takes for the truth, let go. No loop and no thread.

The rules that make two owners of one key impossible are argued in docs/decisions/017. In short: a member raises its
flag on a key (it writes a view in which the key is its own), then looks, and begins only if nobody else's flag is up;
it lowers the flag (writes a view in which the key is another's) only after it has finished with the key. What was
written and not confirmed may or may not be seen by others, so it counts as both.
"""

import logging
import math
import random
import threading

from clientgo.backoff import Random, jittered
from clientgo.clock import Clock, utc
from clientgo.errors import AlreadyExists, Conflict
from clientgo.leaderelection.candidate import FAILURES
from clientgo.leaderelection.record import claim, released
from clientgo.leaderelection.timing import JITTER_FACTOR, Timing
from clientgo.meta.objects import MicroTime
from clientgo.sharding.ownership import NOTHING, Ownership, View
from clientgo.sharding.slots import Sightings, Slots

log = logging.getLogger(__name__)

HURRY = 4
"""While keys are on the move, looks are this many times as frequent as renewals."""


class Member:
    """`tick`, `leave` and `release` are for one thread; everything else for any."""

    def __init__(
        self, slots: Slots, identity: str, *, count: int, timing: Timing, clock: Clock, rand: Random = random.random
    ) -> None:
        self._slots = slots
        self._identity = identity
        self._count = count
        self._timing = timing
        self._clock = clock
        self._rand = rand
        self._sightings = Sightings()
        # Views that others may see, the last one written being the last. Confirmed: it is the one that they see.
        self._announced: tuple[View, ...] = ()
        self._confirmed = False
        # What it takes for the truth, and would announce if nothing in flight stood against it.
        self._wanted: View = frozenset()
        self._lock = threading.Lock()
        # Under the lock: what may be begun, until when work may go on, and what is worked on, since which session.
        self._ownership = NOTHING
        self._until = -math.inf
        self._leaving = False
        self._in_flight: dict[str, tuple[int, int]] = {}

    def __repr__(self) -> str:
        return f"<Member {self._identity} in slot {self.slot}, {len(self._in_flight)} in flight>"

    @property
    def ownership(self) -> Ownership:
        """What may be begun while the lease is good; another object whenever that has changed, be it there and back."""
        return self._ownership

    @property
    def slot(self) -> int:
        """The slot it holds; -1 for none."""
        return self._ownership.slot

    def members(self) -> tuple[str, ...]:
        """Who holds a slot, in the order of slots, as last seen."""
        return tuple(seen.holder for seen in self._sightings.held(self._clock.now()).values())

    def allows(self, key: str) -> bool:
        """Whether `begin` would say yes."""
        with self._lock:
            return self._allows(key)

    def begin(self, key: str) -> bool:
        """Whether work on the key may begin; if so, `end` must follow."""
        with self._lock:
            if not self._allows(key):
                return False
            # Taken twice, it goes on as long as the elder session would.
            session, times = self._in_flight.get(key, (self._ownership.session, 0))
            self._in_flight[key] = (session, times + 1)
            return True

    def end(self, key: str) -> None:
        """Work on the key has ended; `KeyError` if it had not begun."""
        with self._lock:
            session, times = self._in_flight.pop(key)
            if times > 1:
                self._in_flight[key] = (session, times - 1)

    def valid(self, key: str) -> bool:
        """Whether begun work on the key may go on: the lease has been good all the time since it began."""
        with self._lock:
            session, _ = self._in_flight.get(key, (-1, 0))
            return self._is_current(session)

    def has_lost_work(self) -> bool:
        """Return whether begun work on some key must not go on."""
        with self._lock:
            return not all(self._is_current(session) for session, _ in self._in_flight.values())

    def idle(self) -> bool:
        """Whether nothing is worked on."""
        with self._lock:
            return not self._in_flight

    def tick(self) -> None:
        """Renew, look, and act upon what is seen: at most two writes and two reads. Failures are logged."""
        if self.slot >= 0:
            self._prepare()
            self._write(self.slot)
        if not self._look():
            return
        if self._join() if self.slot < 0 else self._catch_up():
            self._look()

    def pause(self) -> float:
        """Seconds until the next `tick` is due."""
        now, usual = self._clock.now(), self._timing.retry_period
        if self.slot < 0:
            usual = jittered(usual, JITTER_FACTOR, self._rand)
        elif self._wanted != self._announced[-1] or not self._ownership.settled or self._ownership.rivals:
            usual /= HURRY
        return max(0.0, min(usual, self._sightings.next_expiry(self.slot, now) - now))

    def leave(self) -> float:
        """Begin nothing more; returns until when what has begun may go on, in monotonic seconds."""
        with self._lock:
            self._leaving = True
            return self._until

    def release(self) -> None:
        """Give the slot to whoever wants it, if nothing is worked on; otherwise, and on failure, it has to expire."""
        seen = self._sightings.last(self.slot)
        if seen is None or not self.idle():
            return
        number = self.slot
        self._lose()
        try:
            self._slots.write(number, released(seen.record, self._date()), frozenset(), seen)
        except FAILURES as error:
            log.warning("a shard slot can't be released", extra={"slot": number, "err": error})

    def _is_current(self, session: int) -> bool:
        return session == self._ownership.session and self._clock.now() < self._until

    def _allows(self, key: str) -> bool:
        return not self._leaving and self._clock.now() < self._until and self._ownership.allows(key)

    def _prepare(self) -> bool:
        """Whether there is a new view to announce: the slots held, unless something in flight stands against it."""
        target = frozenset(self._sightings.held(self._clock.now())) | {self.slot}
        with self._lock:
            # First nothing more is begun that the target takes away, then it is seen what of it has begun.
            self._wanted = target
            self._publish()
            if target == self._announced[-1] or any(self._ownership.loses(key, target) for key in self._in_flight):
                return False
            self._announced = (*(view for view in self._announced if view != target), target)
            return True

    def _write(self, number: int) -> bool:
        """Whether the lease could be written, with the view announced last."""
        seen = self._sightings.last(number)
        self._confirmed = False
        # The time before the request, not after: others may see the lease the moment it is sent.
        before = self._clock.now()
        record = claim(
            seen.record if seen is not None else None, self._identity, self._timing.lease_duration, self._date()
        )
        try:
            slot = self._slots.write(number, record, self._announced[-1], seen)
        except (Conflict, AlreadyExists) as error:
            log.debug("a shard slot was changed by another", extra={"slot": number, "err": error})
            return False
        except FAILURES as error:
            log.warning("a shard slot can't be written", extra={"slot": number, "err": error})
            return False
        self._confirmed = True
        now = self._clock.now()
        self._sightings.note(number, slot, now)
        with self._lock:
            # Out of time for a while: others may have begun what was in flight, so that must not go on, and whoever
            # took over has to be looked for as after joining.
            lapsed = now >= self._until
            self._until = before + self._timing.renew_deadline
            if lapsed:
                self._publish(slot=number, settled=False, session=self._ownership.session + 1)
        return True

    def _look(self) -> bool:
        confirmed = self._confirmed
        try:
            found = self._slots.read()
        except FAILURES as error:
            log.warning("shard slots can't be read", extra={"err": error})
            return False
        # The time after the answer, not before: what it says may be that young.
        self._sightings.look(found, self._clock.now())
        if self.slot >= 0 and self._sightings.holder(self.slot) != self._identity:
            log.error("the shard slot is lost", extra={"slot": self.slot, "to": self._sightings.holder(self.slot)})
            self._lose()
        with self._lock:
            # Read after a write that was confirmed: no older one can come to effect any more, and whoever wrote before
            # was seen. From here on the keys of that view are this member's.
            if confirmed and self.slot >= 0:
                self._announced = self._announced[-1:]
                self._publish(settled=True)
        return True

    def _catch_up(self) -> bool:
        # With what was just read, also what could not be written before can be.
        return (self._prepare() or not self._confirmed) and self._write(self.slot)

    def _join(self) -> bool:
        # Old work may still be under way if a slot was lost; what it holds on to is not known to the new session.
        now = self._clock.now()
        number = self._sightings.free(self._identity, self._count, now, self._rand)
        if number is None or not self.idle() or self._leaving:
            return False
        self._wanted = frozenset(self._sightings.held(now)) | {number}
        self._announced = (self._wanted,)
        if not self._write(number):
            return False
        log.info("took a shard slot", extra={"slot": number, "identity": self._identity})
        return True

    def _lose(self) -> None:
        self._confirmed = False
        with self._lock:
            self._until = -math.inf
            self._ownership = Ownership(session=self._ownership.session + 1)

    def _publish(self, *, slot: int | None = None, settled: bool | None = None, session: int | None = None) -> None:
        """Let what may be begun follow from what is known; called under the lock."""
        old = self._ownership
        number = slot if slot is not None else old.slot
        if number < 0:
            return
        views = tuple(dict.fromkeys((*self._announced, self._wanted)))
        rivals = self._sightings.rivals(number, self._clock.now())
        new = Ownership(
            slot=number,
            views=views,
            rivals=tuple((rival, view) for rival, view in rivals if view not in views),
            settled=old.settled if settled is None else settled,
            session=old.session if session is None else session,
        )
        if new != old:
            self._ownership = new

    def _date(self) -> MicroTime:
        return MicroTime.of(utc(self._clock))
