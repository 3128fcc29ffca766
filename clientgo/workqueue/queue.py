"""Work queue with deduplication, delays and rate limits: a key is never processed by two workers at a time.

A key is *dirty* while it needs work, and *processing* while a worker has it. A key that is dirty and not processing is
ready; a key that becomes dirty while processing is requeued by `done`. So any number of changes to one object become
one key, and two workers never process the same object.

A *delayed* key becomes dirty at a later time. No extra thread waits for it: the consumers blocked in `get` are the
timer. One of them, the timekeeper, waits until the earliest key is due; the others wait for a notification. A consumer
that wakes checks all conditions again, so an extra notification does no harm; the invariant at `_watched` prevents a
lost one. While no consumer waits, no wake-up is needed: `get` and `len` promote the keys that are due.
"""

import math
import threading
from typing import Generic, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.internal.delayheap import DelayHeap
from clientgo.metrics import Provider
from clientgo.workqueue.fairlock import acquire_fairly
from clientgo.workqueue.metrics import QueueMetrics, metrics_of
from clientgo.workqueue.order import FIFO, LOW, NORMAL, Storage, checked_priority
from clientgo.workqueue.processing import Processing
from clientgo.workqueue.ratelimiters import RateLimiter, guarded
from clientgo.workqueue.state import KeyState, QueueLoad, QueueState, first_keys, snapshot

K = TypeVar("K")


class ShutDown(Exception):
    """The queue is shut down and empty; the worker should end."""


class WorkQueue(Generic[K]):
    """Work queue that gives each added key to one worker at a time; thread-safe.

    A worker calls `add_rate_limited` if a key failed, `forget` if it succeeded, and `done` in both cases; `limiter`
    determines the delays. `storage` determines the order of the ready keys. Only a queue with a `name` has metrics, in
    the provider `metrics` or else in that of `clientgo.metrics`.

    A delayed key that is also added directly is processed twice, as in client-go. With `merge_delays`, a key is either
    delayed or dirty, and the earlier time counts, as in controller-runtime's priority queue: an event replaces a delay.
    """

    def __init__(
        self,
        limiter: RateLimiter[K] | None = None,
        *,
        name: str = "",
        clock: Clock = SYSTEM_CLOCK,
        storage: Storage[K] | None = None,
        metrics: Provider | None = None,
        merge_delays: bool = False,
    ) -> None:
        self.name = name
        self._clock, self._now = clock, clock.now
        self._limiter: RateLimiter[K] = guarded(limiter, clock)
        self._merge_delays = merge_delays
        # Guards every field below. Not reentrant: storage and metrics must not call back into the queue. What is done
        # for every key uses `acquire_fairly`, so that many threads do not slow each other down, and calls it only if
        # the lock is taken: the call alone is a tenth of the time. The rest uses `with`.
        self._lock = threading.Lock()
        # Notified once for every key that becomes ready while a consumer waits, and for all on shutdown.
        self._wake = threading.Condition(self._lock)
        # Notified when nothing is ready or processing any more, and on shutdown.
        self._idle = threading.Condition(self._lock)
        # Keys that need work, and since when. In _dirty and not in _processing = in _ready.
        self._dirty: dict[K, float] = {}
        # Keys that workers have, and since when. In _processing and in _dirty = returns to _ready when done.
        self._processing: dict[K, float] = {}
        # Keys that are not due yet, and due keys that are not promoted yet; _delays is its content, for fast checks.
        self._delayed: DelayHeap[K] = DelayHeap()
        self._delays = self._delayed.entries
        # Keys of _dirty, and of _processing, that came from a delay and not from an event.
        self._dirty_by_delay: set[K] = set()
        self._processing_by_delay: set[K] = set()
        # The keys of _dirty - _processing, each once, in the order of processing.
        self._ready: Storage[K] = storage if storage is not None else FIFO()
        # Priorities of the keys that are dirty or delayed; None if the order does not depend on them.
        self._priorities: dict[K, int] | None = getattr(self._ready, "priorities", None)
        # Priorities with which the keys of _processing were taken, if the order depends on priorities.
        self._taken_priorities: dict[K, int] = {}
        # Consumers blocked in get(). While it is 0 no notification is needed, which saves most of add's time.
        self._blocked_getters = 0
        # The time until which the timekeeper waits; infinity without one. Whenever the lock is free, keys are delayed
        # and consumers wait, either _watched <= the earliest time, or a notified consumer is about to check.
        self._watched = math.inf
        # Once True, never False again; no key is added any more.
        self._shutting_down = False
        # A thread waits in shut_down(drain=True) until all work is done.
        self._draining = False
        self._metrics: QueueMetrics[K] | None = metrics_of(
            name, self._lock, self._processing, clock, metrics, by_priority=self._priorities is not None
        )

    def __repr__(self) -> str:
        # Without the lock: a log line or a debugger must never block here.
        name = f" {self.name!r}" if self.name else ""
        counts = f"{len(self._ready)} ready, {len(self._processing)} processing, {len(self._delayed)} delayed"
        state = ", shutting down" if self._shutting_down else ""
        return f"<{type(self).__name__}{name} {counts}{state}>"

    def __len__(self) -> int:
        """Return the number of ready keys, including those whose delay has passed, without those being processed."""
        with self._lock:
            self._promote()
            return len(self._ready)

    def __bool__(self) -> bool:
        """Return True, also for an empty queue."""
        return True

    @property
    def shutting_down(self) -> bool:
        """True after `shut_down` was called; keys added now are dropped."""
        return self._shutting_down

    def add(self, item: K, *, after: float = 0.0, priority: int = NORMAL) -> None:
        """Add a key now, or after some seconds, with at least this priority; ignored after `shut_down`.

        A key that is waiting already is not added again. Only an order by priority depends on the priority.
        """
        if after:
            self.add_after(item, after, priority=priority)
            return
        if not self._lock.acquire(False):
            acquire_fairly(self._lock)
        try:
            if self._delays:
                # Keys that became due earlier come first.
                self._promote()
            self._add(item, priority)
        finally:
            self._lock.release()

    def add_after(self, item: K, delay: float, *, priority: int | None = None) -> float:
        """Add a key after `delay` seconds, at once if that is not positive; ignored after `shut_down`.

        By default a key that is being processed keeps the priority with which it was taken; others are `NORMAL`.
        Returns the seconds until the key is due, which are less if it was added before.
        """
        if not self._lock.acquire(False):
            acquire_fairly(self._lock)
        try:
            if self._shutting_down:
                return delay
            now = self._now()
            due = now + delay
            self._promote()
            dirty, processing = item in self._dirty, item in self._processing
            if self._metrics is not None:
                self._metrics.retries.inc()
            if priority is None:
                priority = self._taken_priorities.get(item, NORMAL)
            # "not >" instead of "<=": NaN must not get into the heap.
            if not delay > 0:
                self._add(item, priority)
                return 0.0
            if self._priorities is not None:
                self._raise_priority(self._priorities, item, priority)
                if dirty and not processing:
                    self._ready.touch(item)
            if self._merge_delays and dirty:
                return 0.0
            earlier = self._delayed.push(item, due)
            if self._blocked_getters and self._delayed.earliest < self._watched:
                self._wake.notify()
            return delay if earlier is None else earlier - now
        finally:
            self._lock.release()

    def add_rate_limited(self, item: K, *, priority: int | None = None) -> float:
        """Count a failure of the key, add it after the limiter's delay, and return the seconds until it is due."""
        return self.add_after(item, self._limiter.when(item), priority=priority)

    def forget(self, item: K) -> None:
        """Reset the failures of the key; does not remove it from the queue."""
        self._limiter.forget(item)

    def num_requeues(self, item: K) -> int:
        """Return the number of failures of the key."""
        return self._limiter.num_requeues(item)

    def get(self) -> K:
        """Return the next key, blocking until there is one; call `done` with it afterwards.

        Raises:
            ShutDown: the queue is shut down and empty; keys that are not due yet are dropped.
        """
        if not self._lock.acquire(False):
            acquire_fairly(self._lock)
        try:
            if self._delays:
                self._promote()
            if not self._ready:
                self._wait_until_ready()
            item = self._ready.pop()
            added_at = self._dirty.pop(item)
            self._processing[item] = now = self._now()
            if self._priorities is not None:
                self._taken_priorities[item] = self._priorities.pop(item)
            if self._dirty_by_delay and item in self._dirty_by_delay:
                self._dirty_by_delay.discard(item)
                self._processing_by_delay.add(item)
            if self._metrics is not None:
                self._metrics.key_taken(self._taken_priorities.get(item), now - added_at)
            return item
        finally:
            self._lock.release()

    def done(self, item: K) -> None:
        """Mark a key from `get` as processed; it is requeued if it was added in the meantime.

        A key that is not being processed is ignored.
        """
        if not self._lock.acquire(False):
            acquire_fairly(self._lock)
        try:
            taken_at = self._processing.pop(item, None)
            if taken_at is None:
                return
            if self._metrics is not None:
                self._metrics.work.observe(self._now() - taken_at)
            if self._taken_priorities:
                self._taken_priorities.pop(item, None)
            if self._processing_by_delay:
                self._processing_by_delay.discard(item)
            if item in self._dirty:
                self._ready.push(item)
                if self._blocked_getters:
                    self._wake.notify()
            elif self._draining and not self._busy():
                self._idle.notify_all()
        finally:
            self._lock.release()

    def processing(self) -> Processing[K]:
        """Return a context manager that gets a key and always marks it done: `with queue.processing() as key`.

        Raises:
            ShutDown: on entry; the queue is shut down and empty.
        """
        return Processing(self)

    def shut_down(self, *, drain: bool = False) -> None:
        """Accept no more keys; ready keys are still returned, then `get` raises `ShutDown`.

        With `drain`, wait until all ready keys are processed. A later call without `drain` ends that wait.
        """
        with self._lock:
            self._shutting_down = True
            self._draining = drain
            self._delayed.clear()
            if self._priorities is not None:
                for item in self._priorities.keys() - self._dirty.keys():
                    del self._priorities[item]
            if self._metrics is not None:
                self._metrics.stop_updates()
            self._wake.notify_all()
            self._idle.notify_all()
            while self._draining and self._busy():
                self._clock.wait(self._idle, None)

    def state(self) -> QueueState[K]:
        """Return a consistent copy of the queue's state, with the failures of each of its keys."""
        with self._lock:
            now, phases, shutting_down = self._now(), self._phases(), self._shutting_down
        return snapshot(self.name, phases, now, self.num_requeues, shutting_down=shutting_down)

    def load(self) -> QueueLoad:
        """Return the numbers of keys; fast for any number."""
        with self._lock:
            self._promote()
            oldest = next(iter(self._dirty.values()), None)
            return QueueLoad(len(self._ready), oldest, len(self._delayed), len(self._processing))

    def first_keys(self, limit: int, matching: str = "") -> list[KeyState[K]]:
        """Return the keys of each phase, at most `limit`: those queued for longest, and those due next.

        With `matching`, only keys whose text contains it, in upper or lower case.
        """
        with self._lock:
            self._promote()
            phases = self._phases()
        return first_keys(phases, limit, matching, self.num_requeues)

    def states_of(self, item: K) -> list[KeyState[K]]:
        """Return the states of one key: none, or several if it was added while it is processed or delayed."""
        with self._lock:
            self._promote()
            processing, queued, delayed = self._processing.get(item), self._dirty.get(item), self._delayed.time_of(item)
        times = {"processing": processing, "queued": queued, "delayed": delayed}
        return [KeyState(item, phase, at, self.num_requeues(item)) for phase, at in times.items() if at is not None]

    def trigger(self, item: K) -> str:
        """Return why a key that is being processed was queued: "event", "resync", "retry" or "requeue".

        A key of `LOW` priority comes from a resync or the initial list. After a delay it is a retry if it has failed,
        and otherwise a requeue.
        """
        if item in self._processing_by_delay:
            return "retry" if self.num_requeues(item) else "requeue"
        return "resync" if self._taken_priorities.get(item) == LOW else "event"

    # The methods below are called with the lock held.

    def _phases(self) -> dict[str, dict[K, float]]:
        return {"processing": self._processing.copy(), "queued": self._dirty.copy(), "delayed": self._delayed.times}

    def _promote(self) -> None:
        """Make the keys ready whose delay has passed."""
        if self._delays and self._delayed.earliest <= (now := self._now()):
            for item in self._delayed.pop_due(now):
                if item not in self._dirty:
                    self._dirty_by_delay.add(item)
                self._add(item, None)

    def _add(self, item: K, priority: int | None) -> None:
        """Make a key dirty; None is the priority with which it was delayed."""
        if self._shutting_down:
            return
        # All lookups come before the first change: a key whose __hash__ or __eq__ raises gets nowhere.
        processing = item in self._processing
        if self._priorities is not None:
            priority = self._raise_priority(self._priorities, item, priority)
        if item in self._dirty:
            if not processing:
                self._ready.touch(item)
            return
        is_delayed = item in self._delays if self._delays else False
        if not processing:
            self._ready.push(item)
            if self._blocked_getters:
                self._wake.notify()
        self._dirty[item] = self._now()
        if is_delayed and self._merge_delays:
            self._delayed.remove(item)
        if self._metrics is not None:
            self._metrics.added(priority)

    def _raise_priority(self, priorities: dict[K, int], item: K, priority: int | None) -> int:
        """Return the priority of a key, which is at least the given one from now on."""
        before, after = priorities.get(item), NORMAL if priority is None else checked_priority(priority)
        if before is not None and (priority is None or after <= before):
            return before
        priorities[item] = after
        if before is not None and self._metrics is not None and item in self._dirty:
            self._metrics.raised(before, after)
        return after

    def _wait_until_ready(self) -> None:
        try:
            while not self._ready:
                if self._shutting_down:
                    raise ShutDown
                self._wait_for_earliest()
                self._promote()
        finally:
            # This consumer stops waiting. If it was the timekeeper, or was notified to become it, another one must.
            if self._blocked_getters and self._delayed.earliest < self._watched:
                self._wake.notify()

    def _wait_for_earliest(self) -> None:
        earliest = self._delayed.earliest
        if earliest >= self._watched:
            # The timekeeper waits for it. (Also if nothing is delayed: infinity is not watched.)
            self._wait(None)
            return
        self._watched = earliest
        try:
            self._wait(earliest)
        finally:
            # Another consumer may have begun to watch for an earlier key; keep its time.
            if self._watched == earliest:
                self._watched = math.inf

    def _wait(self, deadline: float | None) -> None:
        self._blocked_getters += 1
        try:
            self._clock.wait(self._wake, deadline)
        except BaseException:
            # The interrupted wait may have consumed the notification of a key: pass it on.
            if self._blocked_getters > 1:
                self._wake.notify()
            raise
        finally:
            self._blocked_getters -= 1

    def _busy(self) -> bool:
        return bool(self._processing) or len(self._ready) > 0


class DelayingQueue(WorkQueue[K]):
    """Work queue under client-go's name for one with delays."""


class RateLimitingQueue(DelayingQueue[K]):
    """Work queue under client-go's name for one with delays and rate limits."""
