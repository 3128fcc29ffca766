"""Work queue with deduplication: each key waits at most once and is processed by one worker at a time.

A key is *dirty* while it needs work, and *processing* while a worker has it. A key that is dirty and not processing is
ready; a key that becomes dirty while processing is requeued by `done`. So any number of changes to one object become
one key, and two workers never process the same object.
"""

import heapq
import threading
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.metrics import Provider
from clientgo.workqueue.fairlock import acquire_fairly
from clientgo.workqueue.metrics import QueueMetrics, metrics_of
from clientgo.workqueue.state import KeyState, QueueLoad, QueueState, since, until

K = TypeVar("K")


class ShutDown(Exception):
    """The queue is shut down and empty; the worker should end."""


class Storage(Protocol[K]):
    """Order of the ready keys; always called with the queue's lock held."""

    def push(self, item: K, /) -> None:
        """Add a key that is not in the storage."""

    def pop(self) -> K:
        """Remove and return the next key; called only when there is one."""

    def touch(self, item: K, /) -> None:
        """Note that a key in the storage was added again, for orders that depend on it."""

    def __len__(self) -> int:
        """Return the number of stored keys."""


class FIFO(deque[K]):
    """First in, first out: the default order."""

    # A deque under other names instead of a wrapper: no Python code runs for a push or a pop.
    __slots__ = ()
    push = deque.append
    pop = deque.popleft

    def touch(self, item: K, /) -> None:
        """Keep the position of a key that was added again."""


class WorkQueue(Generic[K]):
    """Work queue that gives each added key to one worker at a time; thread-safe.

    Only a queue with a `name` has metrics, in the provider `metrics` or else in that of `clientgo.metrics`.
    """

    def __init__(
        self,
        *,
        name: str = "",
        clock: Clock = SYSTEM_CLOCK,
        storage: Storage[K] | None = None,
        metrics: Provider | None = None,
    ) -> None:
        self.name = name
        self._clock = clock
        # Guards every field below. Not reentrant: storage and metrics must not call back into the queue. What is done
        # for every key uses `acquire_fairly`, so that many threads do not slow each other down; the rest uses `with`.
        self._lock = threading.Lock()
        # Notified once for every key that becomes ready while a consumer waits, and for all on shutdown.
        self._wake = threading.Condition(self._lock)
        # Notified when nothing is ready or processing any more, and on shutdown.
        self._idle = threading.Condition(self._lock)
        # Keys that need work, and since when. In _dirty and not in _processing = in _ready.
        self._dirty: dict[K, float] = {}
        # Keys that workers have, and since when. In _processing and in _dirty = returns to _ready when done.
        self._processing: dict[K, float] = {}
        # Keys of _dirty, and of _processing, that came from a delay and not from an event.
        self._dirty_by_delay: set[K] = set()
        self._processing_by_delay: set[K] = set()
        # The keys of _dirty - _processing, each once, in the order of processing.
        self._ready: Storage[K] = storage if storage is not None else FIFO()
        # Consumers blocked in get(). While it is 0 no notification is needed, which saves most of add's time.
        self._waiting = 0
        # Once True, never False again; no key is added any more.
        self._shutting_down = False
        # A thread waits in shut_down(drain=True) until all work is done.
        self._draining = False
        # None for a queue without a name, or without a metrics provider.
        self._metrics: QueueMetrics[K] | None = metrics_of(name, self._lock, self._processing, clock, metrics)

    def __repr__(self) -> str:
        # Without the lock: a log line or a debugger must never block here.
        name = f" {self.name!r}" if self.name else ""
        state = ", shutting down" if self._shutting_down else ""
        return f"<{type(self).__name__}{name} {self._counts()}{state}>"

    def __len__(self) -> int:
        """Return the number of ready keys, without those being processed."""
        with self._lock:
            return len(self._ready)

    def __bool__(self) -> bool:
        """Return True, also for an empty queue."""
        return True

    @property
    def shutting_down(self) -> bool:
        """True after `shut_down` was called; keys added now are dropped."""
        return self._shutting_down

    def add(self, item: K) -> None:
        """Add a key; ignored if it is waiting already or the queue is shutting down."""
        acquire_fairly(self._lock)
        try:
            self._add(item)
        finally:
            self._lock.release()

    def get(self) -> K:
        """Return the next key, blocking until there is one; call `done` with it afterwards.

        Raises:
            ShutDown: the queue is shut down and empty.
        """
        acquire_fairly(self._lock)
        try:
            if not self._ready:
                self._wait_until_ready()
            return self._take()
        finally:
            self._lock.release()

    def done(self, item: K) -> None:
        """Mark a key from `get` as processed; it is requeued if it was added in the meantime.

        A key that is not being processed is ignored.
        """
        acquire_fairly(self._lock)
        try:
            taken_at = self._processing.pop(item, None)
            if taken_at is None:
                return
            if self._metrics is not None:
                self._metrics.work.observe(self._clock.now() - taken_at)
            if self._processing_by_delay:
                self._processing_by_delay.discard(item)
            if item in self._dirty:
                self._push(item)
            elif self._draining and not self._busy():
                self._idle.notify_all()
        finally:
            self._lock.release()

    def processing(self) -> "Processing[K]":
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
            self._drop_delayed()
            if self._metrics is not None:
                self._metrics.stop_updates()
            self._wake.notify_all()
            self._idle.notify_all()
            while self._draining and self._busy():
                self._clock.wait(self._idle, None)

    def state(self) -> QueueState[K]:
        """Return a consistent copy of the queue's state."""
        with self._lock:
            now = self._clock.now()
            dirty, processing, delayed = self._dirty.copy(), self._processing.copy(), dict(self._due_times())
            shutting_down = self._shutting_down
        return QueueState(
            self.name, since(dirty, now), since(processing, now), until(delayed, now), shutting_down=shutting_down
        )

    def load(self) -> QueueLoad:
        """Return the numbers of keys; fast for any number."""
        with self._lock:
            self._promote()
            oldest = next(iter(self._dirty.values()), None)
            return QueueLoad(len(self._ready), oldest, len(self._due_times()), len(self._processing))

    def first_keys(self, limit: int, matching: str = "") -> list[KeyState[K]]:
        """Return the keys of each phase, at most `limit`: those queued for longest, and those due next.

        With `matching`, only keys whose text contains it, in upper or lower case.
        """
        with self._lock:
            self._promote()
            phases = [(phase, dict(times)) for phase, times in self._phases()]
        wanted, found = matching.lower(), []
        for phase, times in phases:
            items = ((key, at) for key, at in times.items() if not wanted or wanted in str(key).lower())
            first = heapq.nsmallest(limit, items, key=lambda item: item[1])
            found += [KeyState(key, phase, at, self._retries(key)) for key, at in first]
        return found

    def states_of(self, item: K) -> list[KeyState[K]]:
        """Return the states of one key: none, or several if it was added while it is processed or delayed."""
        with self._lock:
            self._promote()
            found = [(phase, times[item]) for phase, times in self._phases() if item in times]
        return [KeyState(item, phase, at, self._retries(item)) for phase, at in found]

    def trigger(self, item: K) -> str:
        """Return why a key that is being processed was queued: "event", or "requeue" after a delay."""
        return "requeue" if item in self._processing_by_delay else "event"

    def _retries(self, item: K) -> int:
        """Return the failures of a key; this queue counts none."""
        return 0

    # The methods below are called with the lock held.

    def _phases(self) -> tuple[tuple[str, Mapping[K, float]], ...]:
        return ("processing", self._processing), ("queued", self._dirty), ("delayed", self._due_times())

    def _promote(self) -> None:
        """Make the keys ready whose delay has passed; this queue has none."""

    def _add(self, item: K) -> None:
        if self._shutting_down:
            return
        if item in self._dirty:
            if item not in self._processing:
                self._ready.touch(item)
            return
        if self._metrics is not None:
            self._metrics.added()
        self._dirty[item] = self._clock.now()
        if item not in self._processing:
            self._push(item)

    def _push(self, item: K) -> None:
        self._ready.push(item)
        if self._waiting:
            self._wake.notify()

    def _take(self) -> K:
        item = self._ready.pop()
        added_at = self._dirty.pop(item)
        self._processing[item] = now = self._clock.now()
        if self._dirty_by_delay and item in self._dirty_by_delay:
            self._dirty_by_delay.discard(item)
            self._processing_by_delay.add(item)
        if self._metrics is not None:
            self._metrics.taken(now - added_at)
        return item

    def _wait_until_ready(self) -> None:
        while not self._ready:
            if self._shutting_down:
                raise ShutDown
            self._wait(None)

    def _wait(self, deadline: float | None) -> None:
        self._waiting += 1
        try:
            self._clock.wait(self._wake, deadline)
        except BaseException:
            # The interrupted wait may have consumed the notification of a key: pass it on.
            if self._waiting > 1:
                self._wake.notify()
            raise
        finally:
            self._waiting -= 1

    def _drop_delayed(self) -> None:
        """Remove delayed keys; this queue has none."""

    def _due_times(self) -> Mapping[K, float]:
        """Return the due time of each delayed key; this queue has none."""
        return {}

    def _busy(self) -> bool:
        return bool(self._processing) or len(self._ready) > 0

    def _counts(self) -> str:
        return f"{len(self._ready)} ready, {len(self._processing)} processing"


class Processing(Generic[K]):
    """Context manager that has one key for the length of its block."""

    __slots__ = ("_item", "_queue")

    def __init__(self, queue: WorkQueue[K]) -> None:
        self._queue = queue
        self._item: K

    def __enter__(self) -> K:
        self._item = self._queue.get()
        return self._item

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.done(self._item)
