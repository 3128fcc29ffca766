"""Keys that wait for a worker, each at most once and never in two workers at a time.

A key is *dirty* while something has to be done for it, *processing* while a worker has it. Only what is dirty and not
processing is ready to be handed out; a key that becomes dirty while processing is handed out again after `done`. So any
number of changes to one object collapse into one key, and two workers never touch the same object.
"""

import threading
from collections import deque
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.metrics import Provider
from clientgo.workqueue.metrics import QueueMetrics, metrics_of
from clientgo.workqueue.state import QueueState, since, until
from clientgo.workqueue.turns import take

K = TypeVar("K")


class ShutDown(Exception):
    """The queue is shut down and has nothing left to hand out; the worker should end."""


class Storage(Protocol[K]):
    """The order in which ready keys are handed out; always called under the queue's lock."""

    def push(self, item: K, /) -> None:
        """Take in a key that is not in the storage."""

    def pop(self) -> K:
        """Remove and return the next key; called only when there is one."""

    def touch(self, item: K, /) -> None:
        """A key that is in the storage was added again; a priority order may want to know."""

    def __len__(self) -> int:
        """How many keys are stored."""


class FIFO(deque[K]):
    """First come, first served: the default order."""

    # A deque under other names, and not an object with a deque inside: no Python code then runs for a push or a pop.
    __slots__ = ()
    push = deque.append
    pop = deque.popleft

    def touch(self, item: K, /) -> None:
        """Being added again does not change a key's turn."""


class WorkQueue(Generic[K]):
    """Hands out added keys one worker at a time; safe for any number of threads.

    Only a queue with a `name` has metrics; they are kept by `metrics`, or by the provider set in `clientgo.metrics`.
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
        # for every key takes it by `take`, so that many threads do not hinder each other; all else by `with`.
        self._lock = threading.Lock()
        # Notified once for every key that becomes ready while a consumer waits, and to all on shutdown.
        self._wake = threading.Condition(self._lock)
        # Notified when nothing is ready or processing any more, and on shutdown.
        self._idle = threading.Condition(self._lock)
        # Keys for which something has to be done, since when. In _dirty and not in _processing = in _ready.
        self._dirty: dict[K, float] = {}
        # Keys handed out and not yet done, since when. In _processing and in _dirty = goes back to _ready when done.
        self._processing: dict[K, float] = {}
        # The keys of _dirty - _processing, each once, in the order they will be handed out.
        self._ready: Storage[K] = storage if storage is not None else FIFO()
        # Consumers blocked in get(). While it is 0 nobody needs to be notified, which saves most of add's time.
        self._waiting = 0
        # Once True, never False again; nothing is added any more.
        self._shutting_down = False
        # A thread is to be kept in shut_down(drain=True) until all work is done.
        self._draining = False
        # None for a queue without name, or when nobody keeps metrics.
        self._metrics: QueueMetrics[K] | None = metrics_of(name, self._lock, self._processing, clock, metrics)

    def __repr__(self) -> str:
        # Without the lock: a log line or a debugger must never block here.
        name = f" {self.name!r}" if self.name else ""
        state = ", shutting down" if self._shutting_down else ""
        return f"<{type(self).__name__}{name} {self._counts()}{state}>"

    def __len__(self) -> int:
        """How many keys are ready to be handed out; those being processed do not count."""
        with self._lock:
            return len(self._ready)

    def __bool__(self) -> bool:
        """Always True: an empty queue is a queue."""
        return True

    @property
    def shutting_down(self) -> bool:
        """Whether `shut_down` was called: what is added now is dropped."""
        return self._shutting_down

    def add(self, item: K) -> None:
        """Mark a key as needing work; dropped if it is marked already or the queue is shutting down."""
        take(self._lock)
        try:
            self._add(item)
        finally:
            self._lock.release()

    def get(self) -> K:
        """The next key, waited for if there is none; `done` must be called with it afterwards.

        Raises:
            ShutDown: the queue is shut down and empty.
        """
        take(self._lock)
        try:
            if not self._ready:
                self._wait_until_ready()
            return self._take()
        finally:
            self._lock.release()

    def done(self, item: K) -> None:
        """Give back a key from `get`; it is handed out again if it was added in the meantime.

        A key that is not out is ignored.
        """
        take(self._lock)
        try:
            taken_at = self._processing.pop(item, None)
            if taken_at is None:
                return
            if self._metrics is not None:
                self._metrics.finished(self._clock.now() - taken_at)
            if item in self._dirty:
                self._push(item)
            elif self._draining and not self._busy():
                self._idle.notify_all()
        finally:
            self._lock.release()

    def taking(self) -> "Taking[K]":
        """Hand out one key and mark it done, whatever becomes of it: `with queue.taking() as key`.

        Raises:
            ShutDown: on entry; the queue is shut down and empty.
        """
        return Taking(self)

    def shut_down(self, *, drain: bool = False) -> None:
        """Take no more keys; what is ready is still handed out, then `get` raises `ShutDown`.

        With `drain`, return only when everything ready or handed out is done. A later call without `drain` releases it.
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
        """What the queue holds at this moment; a copy, safe to take from any thread at any time."""
        with self._lock:
            now = self._clock.now()
            dirty, processing, delayed = self._dirty.copy(), self._processing.copy(), self._due_times()
            shutting_down = self._shutting_down
        return QueueState(
            self.name, since(dirty, now), since(processing, now), until(delayed, now), shutting_down=shutting_down
        )

    # What follows is called with the lock held.

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
            # Whatever interrupts a wait may have swallowed the notification of a key: pass it on.
            if self._waiting > 1:
                self._wake.notify()
            raise
        finally:
            self._waiting -= 1

    def _drop_delayed(self) -> None:
        """Forget what is not due yet; here nothing is."""

    def _due_times(self) -> dict[K, float]:
        """When each delayed key falls due; here none is."""
        return {}

    def _busy(self) -> bool:
        return bool(self._processing) or len(self._ready) > 0

    def _counts(self) -> str:
        return f"{len(self._ready)} ready, {len(self._processing)} processing"


class Taking(Generic[K]):
    """One key handed out for the length of a `with` block."""

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
