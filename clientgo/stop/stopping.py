"""Stop events, and the requests and waits that end with each of them.

A stop event is a `threading.Event`. A wait in the library waits for the event itself; what blocks elsewhere, such
as a request that reads from a socket, registers a callback in the event's `StopScope`. A request belongs to the scopes
of its thread: those of the thread's `Group` (`clientgo.stop.lifecycle`), or of the `ends_with` block that it is in.
"""

import math
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal import forks
from clientgo.internal.callbacks import run_callback
from clientgo.log import get_logger

log = get_logger(__name__)

GRACE = 0.25
"""Seconds that a server has after the stop to answer a write in progress, or a new request.

A program that stops waits for its workers' writes, then for the last events, and `RELEASE_SECONDS` for the release of
its lease: together less than a second.
"""

RELEASE_SECONDS = 0.4
"""Seconds that a server has after the stop to release a lease: without, the next replica waits for the lease's end."""

NOT_SENT = "stopping: request not sent"
INTERRUPTED = "stopping: request interrupted"

TICK = 0.02
"""Seconds between two looks at the callbacks that become due after a stop."""


class StopEvent(threading.Event):
    """Stop event that needs no thread to notice that it was set. `set` may be called by a signal handler."""

    def __init__(self) -> None:
        super().__init__()
        self.scope = StopScope(self)

    def set(self) -> None:
        """Set the event, and have the callbacks of its scope called."""
        was_set = self.is_set()
        super().set()
        if not was_set:
            self.scope.stopped()


class StopScope:
    """Callbacks that are called when `event` is set. Thread-safe.

    Only a thread can wait for a plain event. So its scope has one, `stop-watcher`, from the first callback until the
    stop. One thread more, `stop-dispatcher`, serves every `StopEvent`.
    """

    def __init__(self, event: threading.Event, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.event = event
        self.grace = GRACE
        """Seconds after the stop until coroutines are cancelled; see `cancel_within`."""
        self._clock = clock
        # Changed without a lock: setting and removing a key are atomic; the thread that removes one calls its callback.
        self._callbacks: dict[object, tuple[Callable[[], object], float]] = {}
        self._lock = forks.fork_safe(threading.Lock())
        self._watched = False  # a thread calls the callbacks that are added, now or after the stop
        self._unanswered_at = -math.inf
        forks.register(self)

    def __repr__(self) -> str:
        state = "stopped" if self.event.is_set() else "not stopped"
        return f"<{type(self).__name__} {state}, {len(self._callbacks)} callbacks>"

    def add(self, owner: object, callback: Callable[[], object], *, after: float = 0.0) -> None:
        """Call `callback` once, `after` seconds after the stop or, if it was before, `after` seconds from now.

        It is called in another thread, unless it is due now, and must not block. An owner has one callback at a time.
        """
        self._callbacks[owner] = callback, after
        if not self._watched:
            self._begin(owner, after)

    def remove(self, owner: object) -> None:
        """Remove the owner's callback, which may be called at this moment."""
        self._callbacks.pop(owner, None)

    def cancel_within(self, seconds: float | None) -> None:
        """Cancel coroutines at the end of a grace period, early enough that they can clean up; None for never."""
        self.grace = math.inf if seconds is None else max(0.0, seconds - GRACE)

    def patience(self, now: float, grace: float = GRACE) -> float:
        """Return the seconds that a request may take which begins at `now`, after the stop.

        While a server does not answer, a request gets no more time than has passed since the last one failed. So any
        number of requests in a row takes little more than `grace` together, but a server that recovers is noticed.
        """
        return min(grace, now - self._unanswered_at)

    def answered(self, now: float, *, yes: bool) -> None:
        """Record whether a request after the stop was answered in time."""
        self._unanswered_at = -math.inf if yes else now

    def stopped(self) -> None:
        """Have the callbacks called; for `StopEvent`."""
        # First, so that a callback which is added meanwhile is either seen below or calls itself.
        self._watched = False
        if self._callbacks:
            _dispatcher.stopped.put(self)

    def call_due(self) -> None:
        """Call all callbacks, in a thread of its own; for the dispatcher."""
        with self._lock:
            if not self._watched:
                self._start()

    def after_fork(self) -> None:
        """Forget the callbacks, which belong to the parent's threads."""
        self._callbacks.clear()
        self._watched = False

    def _begin(self, owner: object, after: float) -> None:
        if after <= 0 and self.event.is_set():
            self._call(owner)
            return
        with self._lock:
            if self._watched:
                return
            if isinstance(self.event, StopEvent) and not self.event.is_set():
                _dispatcher.start()
                self._watched = True
                if not self.event.is_set():
                    return
            self._start()

    def _start(self) -> None:
        # No Group, which itself depends on this class. The thread ends once all is called after the stop.
        threading.Thread(target=self._run, name="stop-watcher", daemon=True).start()  # noqa: TID251
        self._watched = True

    def _run(self) -> None:
        self.event.wait()
        due: dict[object, float] = {}
        never = threading.Event()
        while True:
            now = self._clock.now()
            for owner, (_, after) in self._callbacks.copy().items():
                if now >= due.setdefault(owner, now + after):
                    del due[owner]
                    self._call(owner)
            with self._lock:
                # Callbacks are added before `_watched` is read: none is left behind.
                if not self._callbacks:
                    self._watched = False
                    return
            self._clock.sleep(never, TICK)

    def _call(self, owner: object) -> None:
        callback, _ = self._callbacks.pop(owner, (None, 0.0))
        try:
            if callback is not None:
                run_callback(callback)
        except CallbackFailed:
            # The other callbacks must still be called.
            log.exception("cannot end what the stop should end", extra={"owner": owner})


class TaskScope(StopScope):
    """Scope without a thread: `stop` sets its event, and calls the callbacks itself.

    The stop of a `parent` is also its own, from the first moment. It is to call `stop`, which ends the waits.
    """

    def __init__(self, parent: threading.Event | None = None) -> None:
        super().__init__(threading.Event() if parent is None else _ChildEvent(parent))
        _scopes[id(self.event)] = self

    def stop(self) -> None:
        """Set the event, and call all callbacks."""
        self.event.set()
        for owner in list(self._callbacks):
            self._call(owner)

    def stop_soon(self) -> None:
        """Have `stop` called by another thread, which `start_dispatcher` has started.

        A finalizer may call this. It must not call `stop`: it runs in any thread, which may hold any lock.
        """
        _dispatcher.stopped.put(self)

    def call_due(self) -> None:
        """Stop; for the dispatcher."""
        self.stop()

    def _begin(self, owner: object, after: float) -> None:
        if self.event.is_set():
            self._call(owner)


class _ChildEvent(threading.Event):
    def __init__(self, parent: threading.Event) -> None:
        super().__init__()
        self._parent = parent

    def is_set(self) -> bool:
        return super().is_set() or self._parent.is_set()


class _Dispatcher:
    """The thread that has the callbacks called of each `StopEvent` that was set, and of `TaskScope.stop_soon`."""

    def __init__(self) -> None:
        # Its put is safe in a signal handler, and in a finalizer.
        self.stopped: queue.SimpleQueue[StopScope] = queue.SimpleQueue()
        self._started = False
        forks.register(self)

    def start(self) -> None:
        """Start the thread unless it runs."""
        if not self._started:
            # Two threads that come first may start two, and both do their work.
            threading.Thread(target=self._run, name="stop-dispatcher", daemon=True).start()  # noqa: TID251
            self._started = True

    def after_fork(self) -> None:
        """Begin without the thread."""
        self.stopped = queue.SimpleQueue()
        self._started = False

    def _run(self) -> None:
        while True:
            self.stopped.get().call_due()


_dispatcher = _Dispatcher()


def start_dispatcher() -> None:
    """Start the thread that `TaskScope.stop_soon` needs, unless it runs; a finalizer cannot start one."""
    _dispatcher.start()


Scopes = tuple[StopScope, ...]

_CURRENT: ContextVar[Scopes] = ContextVar("stop scopes", default=())

# By the event's id, and not by the event in a WeakKeyDictionary: a scope refers to its event and would keep it alive.
_scopes: "weakref.WeakValueDictionary[int, StopScope]" = weakref.WeakValueDictionary()


def scope_of(event: threading.Event) -> StopScope:
    """Return the scope of an event, the same one each time."""
    if isinstance(event, StopEvent):
        return event.scope
    # Without a lock: two threads that come first may each create one, and both scopes do their work.
    scope = _scopes.get(id(event))
    if scope is None:
        scope = _scopes[id(event)] = StopScope(event)
    return scope


def current_scopes() -> Scopes:
    """Return the scopes of the running code."""
    return _CURRENT.get()


def end_with(stop: threading.Event) -> None:
    """End requests of this thread, from now on, when `stop` is set."""
    _CURRENT.set((scope_of(stop),))


def end_also_with(scope: StopScope) -> None:
    """End requests of the running code, from now on, also when this scope stops."""
    _CURRENT.set((*_CURRENT.get(), scope))


def is_stopping() -> bool:
    """Return whether the running code is to end."""
    return any(scope.event.is_set() for scope in _CURRENT.get())


@contextmanager
def on_stop(callback: Callable[[], object], *, after: float = 0.0) -> Iterator[None]:
    """Call `callback` while the block runs, `after` seconds after the running code is to end; it must not block."""
    owner, scopes = object(), _CURRENT.get()
    for scope in scopes:
        scope.add(owner, callback, after=after)
    try:
        yield
    finally:
        for scope in scopes:
            scope.remove(owner)


@contextmanager
def ends_also_with(scope: StopScope) -> Iterator[None]:
    """End requests in the block also when this scope stops."""
    token = _CURRENT.set((*_CURRENT.get(), scope))
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def ends_with(stop: threading.Event | StopScope) -> Iterator[None]:
    """End requests in the block when `stop` is set, and with no other event of this thread.

    For code that has a stop event of its own: it would only repeat a request that another event ended.
    """
    token = _CURRENT.set((stop if isinstance(stop, StopScope) else scope_of(stop),))
    try:
        yield
    finally:
        _CURRENT.reset(token)
