"""Groups of named threads with an owner and one stop event, and coroutines that run to their end in a thread.

A `Group` starts every thread of the library but the watchers of stop events (`clientgo.stop.stopping`). An exception
that ends a thread sets the group's stop event, and `join` raises it. So no thread is lost silently, and none outlives
its owner unnoticed. Requests of a thread end with the stop event of its group.
"""

import math
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union, cast

from clientgo.clock import SYSTEM_CLOCK, Clock, waitable
from clientgo.errors import Cancelled, ClientGoError, ConnectionFailed
from clientgo.internal import forks
from clientgo.internal.calloutcome import CallOutcome
from clientgo.log import get_logger
from clientgo.stop.stopping import StopEvent, TaskScope, ends_with, scope_of

if TYPE_CHECKING:
    from clientgo.stop.eventloop import EventLoop

log = get_logger(__name__)

R = TypeVar("R")

MaybeCoroutine = Union[R, Coroutine[Any, Any, R]]  # noqa: UP007  # an alias with a parameter
"""Result of a function that is defined with `def` or `async def`."""


class StillRunning(RuntimeError):
    """Some threads of the group have not ended within the timeout."""


class Group:
    """Named threads that stop together; an exception that ends one of them stops all and is raised by `join`."""

    def __init__(self, *, stop: threading.Event | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.stop_event = stop if stop is not None else StopEvent()
        self._scope = scope_of(self.stop_event)
        self._clock = clock
        self._lock = forks.fork_safe(threading.Lock())
        self._threads: deque[threading.Thread] = deque()
        self._crash: BaseException | None = None

    def __repr__(self) -> str:
        return f"<Group {', '.join(self.alive()) or 'empty'}>"

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.join()

    def start(self, target: Callable[..., object], *args: Any, name: str) -> None:
        """Run `target(*args)` in a thread called `name`; the target must return once `stop_event` is set."""
        thread = threading.Thread(target=self._run, args=(target, args), name=name, daemon=True)
        with self._lock:
            # Started under the lock: join() cannot join a thread that has not started.
            thread.start()
            # Ended threads are removed, so that a long-lived group does not grow. Two are looked at, in turn:
            # looking at all of them at each start would take quadratic time.
            for _ in range(min(2, len(self._threads))):
                earlier = self._threads.popleft()
                if earlier.is_alive():
                    self._threads.append(earlier)
            self._threads.append(thread)

    def stop(self) -> None:
        """Set the stop event; do not wait."""
        self.stop_event.set()

    def alive(self) -> list[str]:
        """Return the names of the threads that have not ended."""
        with self._lock:
            return [t.name for t in self._threads if t.is_alive()]

    def join(self, timeout: float | None = None) -> None:
        """Wait until every thread has ended, including those started in the meantime, except for the calling thread.

        Raises:
            StillRunning: some threads have not ended after `timeout` seconds; the message names them.
            BaseException: an exception ended a thread.
        """
        deadline = None if timeout is None else self._clock.now() + timeout
        while threads := self._other_threads():
            for thread in threads:
                thread.join(None if deadline is None else waitable(deadline - self._clock.now()))
            if late := [thread.name for thread in threads if thread.is_alive()]:
                raise StillRunning(f"still running after {timeout} s: {', '.join(late)}") from self._crash
        self.raise_crash()

    @contextmanager
    def ending_within(self, seconds: float) -> Iterator["Group"]:
        """Call `stop` and `join(seconds)` at the end of the block."""
        try:
            yield self
        finally:
            self.stop()
            self.join(seconds)

    def raise_crash(self) -> None:
        """Raise the first exception that ended a thread, if any."""
        if self._crash is not None:
            raise self._crash

    def _other_threads(self) -> list[threading.Thread]:
        me = threading.current_thread()
        with self._lock:
            return [t for t in self._threads if t.is_alive() and t is not me]

    def _run(self, target: Callable[..., object], args: tuple[Any, ...]) -> None:
        try:
            with ends_with(self._scope), ExitStack() as _thread.resources:
                target(*args)
        except BaseException as error:
            if is_stopped_request(error) and self.stop_event.is_set():
                return
            # BaseException: a SystemExit would otherwise end the thread silently. Logged last, because a log handler
            # may fail: the exception is recorded and the group stopped before.
            with self._lock:
                if self._crash is None:
                    self._crash = error
            self.stop_event.set()
            log.exception("thread died; stopping its group")


class _Thread(threading.local):
    """Resources of the running thread, closed at its end, if a group started it; among them its event loop."""

    resources: ExitStack | None = None
    loop: "EventLoop | None" = None


_thread = _Thread()


def finished(result: MaybeCoroutine[R], *, timeout: float | None = None, grace: float | None = None) -> R:
    """Return the result of a function of the program; if it is a coroutine, run it to its end in this thread.

    The threads of a `Group` have an event loop each, for all their coroutines. A coroutine is cancelled after `timeout`
    seconds, or `grace` seconds after the stop, by default those of the `StopScope`.

    Raises:
        Cancelled: it was cancelled.
        RuntimeError: an event loop already runs in this thread.
    """
    if not isinstance(result, CoroutineType):
        return cast(R, result)
    coroutine: Coroutine[Any, Any, R] = result
    # Loaded here: `asyncio` takes 8 ms, which a program without coroutines does not need.
    from clientgo.stop.eventloop import EventLoop, check_not_nested  # noqa: PLC0415

    check_not_nested(coroutine)
    if _thread.resources is None:
        with EventLoop() as loop:
            return loop.run(coroutine, timeout, grace)
    if _thread.loop is None:
        _thread.loop = _thread.resources.enter_context(EventLoop())
    return _thread.loop.run(coroutine, timeout, grace)


def is_stopped_request(error: BaseException) -> bool:
    """Return whether a stop ended the request or coroutine that failed; a program that stops does not report it."""
    return isinstance(error, ConnectionFailed | Cancelled) and error.stopping


class Detached(Generic[R]):
    """A call in a thread of its own, for which the caller may stop waiting.

    For what cannot be interrupted: name resolution, other programs and libraries, a user's lock. `cancel` ends the
    requests of the call, and sets the event of its scope.
    """

    def __init__(self, call: Callable[[], R], *, name: str, clock: Clock = SYSTEM_CLOCK) -> None:
        self.name = name
        self.ended = False
        self._call = call
        self._clock = clock
        self._scope = TaskScope()
        self._changed = threading.Condition()
        self._outcome: CallOutcome[R] = CallOutcome()

    def __repr__(self) -> str:
        return f"<Detached {self.name}{' ended' if self.ended else ''}>"

    def run(self) -> None:
        """Make the call, in the thread that a group starts for it."""
        with ends_with(self._scope):
            self._outcome = CallOutcome.of(self._call)
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def wait(self, seconds: float, given_up: Callable[[], bool]) -> bool:
        """Wait until the call has ended, at most `seconds` or until `given_up()`; return whether it has.

        `given_up` is evaluated again after each `wake`.
        """
        deadline = self._clock.now() + seconds
        with self._changed:
            while not self.ended and not given_up() and self._clock.now() < deadline:
                self._clock.wait(self._changed, None if deadline == math.inf else deadline)
            return self.ended

    def wake(self) -> None:
        """Make waiting threads evaluate `given_up`."""
        with self._changed:
            self._changed.notify_all()

    def cancel(self) -> None:
        """End the requests of the call; its thread may go on."""
        self._scope.stop()

    def result(self) -> R:
        """Return the result of the call that has ended, or raise its exception."""
        return self._outcome.get()


def exit_code(main: Callable[[], object]) -> int:
    """Run `main` and return the exit code of the program: 0, or 1 after an error that was logged.

    Logged are errors of the cluster, the network and the configuration; other exceptions are bugs and propagate. A
    request that was ended by the stop is not an error.
    """
    try:
        main()
    except (ClientGoError, OSError, StillRunning) as error:
        if is_stopped_request(error):
            log.info(str(error))
            return 0
        for each in (*_hidden(error), error):
            log.error(str(each))
        return 1
    return 0


def _hidden(error: BaseException) -> list[BaseException]:
    """Return what was still running before, whose exception another one has replaced while blocks ended."""
    earlier = error.__context__
    return [*_hidden(earlier), earlier] if isinstance(earlier, StillRunning) else []
