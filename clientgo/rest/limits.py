"""Limits of a request: checks before it is sent (a fence), its deadline, and the stop events that end it.

They apply to each transmission, including retries and new connections: `before_sending` checks them right before bytes
are sent. The client passes the `InFlightRequest` on as an argument. Two things travel in context variables, because the
layers in between may be a user's own: the checks, through a `Requester`, and the request, through a `Transport` and the
source of credentials.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token
from typing import Generic, Protocol, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, ConnectionFailed
from clientgo.stop.lifecycle import Detached
from clientgo.stop.stopping import GRACE, INTERRUPTED, NOT_SENT, Scopes, TaskScope

R = TypeVar("R")
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)

Check = Callable[[], object]
"""Raises a `ClientGoError` if the request must not be sent."""

CHECK_INTERVAL = 0.5
"""Seconds between checks while a request waits: the end of a lease triggers no event."""

_LEAST_PATIENCE = 0.005
_NEVER = threading.Event()

_CHECKS: ContextVar[tuple[Check, ...]] = ContextVar("checks", default=())
_REQUEST: ContextVar["InFlightRequest | None"] = ContextVar("request", default=None)


class Deadline:
    """A point in time at most `seconds` after `start`; None means no limit."""

    __slots__ = ("_at", "_clock", "_seconds")

    def __init__(self, seconds: float | None, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._at = math.inf

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.remaining():g} s left>"

    def __str__(self) -> str:
        return "no limit" if self._seconds is None else f"{self._seconds:g} s"

    def start(self) -> None:
        """Start the countdown; later calls have no effect."""
        if self._seconds is not None:
            self._at = min(self._at, self._clock.now() + self._seconds)

    @property
    def passed(self) -> bool:
        """True if the deadline has passed."""
        return self.remaining() <= 0

    @property
    def timeout(self) -> float | None:
        """Timeout for the next step, in seconds: the time left, 0 after the deadline; None without a limit."""
        return None if self._at == math.inf else max(0.0, self.remaining())

    def remaining(self) -> float:
        """Return the seconds left: infinity without a limit, negative after the deadline."""
        return self._at - self._clock.now()


def started_deadline(seconds: float | None, clock: Clock = SYSTEM_CLOCK) -> Deadline:
    """Return a deadline that begins now; all steps of an operation share it.

    Raises ValueError for NaN, which would compare as no limit.
    """
    if seconds is not None and math.isnan(seconds):
        raise ValueError(f"a timeout must be a number of seconds, got {seconds}")
    deadline = Deadline(seconds, clock)
    deadline.start()
    return deadline


class InFlightRequest(Deadline):
    """One request of the running thread: its deadline, and what the stop events of `scopes` do to it.

    A stop ends the waits of the request at once, and its input and output by `abort`: a read's at once, a write's after
    `grace` seconds. A request that begins after a stop has as long as the scope's patience, and does not wait.
    """

    # Attributes of the class, because most requests end without setting them.
    stopping = False
    """True once one of the stop events was set."""
    aborted = False
    """True once `abort` was called, which is the cause of later failures."""
    _abort: Callable[[], object] | None = None  # guarded by _lock
    _wake: threading.Event | None = None
    _judged = False  # the scopes learn whether it is answered
    _outlasts_block = False
    _token: Token["InFlightRequest | None"] | None = None

    def __init__(
        self, seconds: float | None, clock: Clock, scopes: Scopes = (), *, reads: bool = True, grace: float = GRACE
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._at = math.inf
        self._scopes = scopes
        self._reads = reads
        self._grace = grace
        self._lock = threading.Lock()

    def __enter__(self) -> "InFlightRequest":
        for scope in self._scopes:
            if scope.event.is_set():
                self._begin_late()
                break
        else:
            for scope in self._scopes:
                scope.add(self, self._stop)
        self._token = _REQUEST.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _REQUEST.reset(self._token)
        if not self._outlasts_block:
            self.end()

    def keep(self, abort: Callable[[], object]) -> None:
        """Let the request outlast the block, as a stream that `abort` ends; `end` must follow."""
        if self._judged:
            self._judge()
        self._outlasts_block = True
        self.abort_with(abort)

    def end(self) -> None:
        """End the request: a stop does nothing to it any more."""
        for scope in self._scopes:
            scope.remove(self)
        if self._judged:
            self._judge()

    def abort_with(self, abort: Callable[[], object] | None) -> None:
        """Let `abort` interrupt what the thread does next; None for nothing. It must not block.

        Once this returns, the previous function is not called any more.
        """
        with self._lock:
            self._abort = abort
            if abort is not None and self.aborted:
                abort()

    def abort(self) -> None:
        """Interrupt the request; called from any thread."""
        with self._lock:
            self.aborted = True
            if self._abort is not None:
                self._abort()

    def at_stop(self, owner: object, callback: Callable[[], object]) -> None:
        """Have the callback called at the stop of the program or of the thread, which may have happened; not before.

        A time limit ends only the request. The scope of a task that goes on ends without a stop, and has no callback.
        """
        for scope in self._scopes:
            if scope.event.is_set() or not isinstance(scope, TaskScope):
                scope.add(owner, callback)

    def stop_event(self) -> threading.Event:
        """Return an event for a wait, set once one of the stop events is."""
        if not self._scopes:
            return _NEVER
        if len(self._scopes) == 1:
            return self._scopes[0].event
        if self._wake is None:
            self._wake = threading.Event()
            if self.stopping:
                self._wake.set()
        return self._wake

    def stop_for_wait(self) -> threading.Event:
        """Return an event for a wait: set if the request is to stop, or must not be sent any more."""
        stop, checks = self.stop_event(), _CHECKS.get()
        return _RequestStop(stop, checks) if checks else stop

    def before_sending(self, timeout: float) -> float:
        """Check the limits right before bytes are sent; return `timeout`, or the time left if that is less.

        Raises:
            LeaseNotHeld: the process must not write any more.
            ConnectionFailed: the deadline has passed, or the request was ended by a stop.
        """
        require_permission()
        if self.aborted:
            raise ConnectionFailed(NOT_SENT, sent=False, stopping=True)
        remaining = self.remaining()
        if remaining <= 0:
            raise ConnectionFailed("request not sent: timeout exceeded", sent=False, timeout=True)
        return min(timeout, remaining)

    def stopped(self, error: ConnectionFailed) -> ConnectionFailed | None:
        """Return the error to raise if the request failed because of the stop; None for another reason."""
        if error.stopping or not self.stopping or not (self.aborted or error.timeout):
            return None
        return ConnectionFailed(INTERRUPTED if error.sent else NOT_SENT, sent=error.sent, stopping=True)

    def _begin_late(self) -> None:
        now = self._clock.now()
        stopped = [scope for scope in self._scopes if scope.event.is_set()]
        patience = min(scope.patience(now, self._grace) for scope in stopped)
        if patience < _LEAST_PATIENCE:
            raise ConnectionFailed(NOT_SENT, sent=False, stopping=True)
        self.stopping = self._judged = True
        self._at = now + patience
        stopped[0].add(self, self.abort, after=patience)

    def _stop(self) -> None:
        if self.stopping:  # by another scope
            return
        self.stopping = True
        if self._wake is not None:
            self._wake.set()
        if self._reads:
            self.abort()
        else:
            self._judged = True
            stopped = next(scope for scope in self._scopes if scope.event.is_set())
            stopped.add(self, self.abort, after=self._grace)

    def _judge(self) -> None:
        self._judged = False
        now = self._clock.now()
        for scope in self._scopes:
            scope.answered(now, yes=not self.aborted and now < self._at)


class Checked:
    """A block whose requests call `check` before each transmission, besides the checks of outer blocks."""

    __slots__ = ("_check", "_token")

    def __init__(self, check: Check) -> None:
        self._check = check
        self._token: Token[tuple[Check, ...]] | None = None

    def __enter__(self) -> None:
        self._token = _CHECKS.set((*_CHECKS.get(), self._check))

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _CHECKS.reset(self._token)


def require_permission() -> None:
    """Run the checks of this request, which may raise `LeaseNotHeld`, for example."""
    for check in _CHECKS.get():
        check()


def current_request() -> InFlightRequest:
    """Return the request that a `RESTClient` is sending in the running thread; one without limits if there is none."""
    request = _REQUEST.get()
    return InFlightRequest(None, SYSTEM_CLOCK) if request is None else request


def wait_for(task: Detached[R], seconds: float = math.inf) -> R:
    """Return the result of a call in another thread, within `seconds` and the limits of the current request.

    Raises:
        TimeoutError: it did not end in time, or the request was ended by a stop.
    """
    request = current_request()
    request.abort_with(task.wake)
    try:
        if not task.wait(min(seconds, request.remaining()), lambda: request.aborted):
            raise TimeoutError(f"{task.name} did not end in time")
    finally:
        request.abort_with(None)
    return task.result()


class _RequestStop(threading.Event):
    def __init__(self, stop: threading.Event, checks: tuple[Check, ...]) -> None:
        super().__init__()
        self._stop = stop
        self._checks = checks

    def is_set(self) -> bool:
        return self._stop.is_set() or not self._permitted()

    def wait(self, timeout: float | None = None) -> bool:
        end = math.inf if timeout is None else SYSTEM_CLOCK.now() + timeout
        while not self.is_set():
            remaining = end - SYSTEM_CLOCK.now()
            if remaining <= 0:
                return False
            self._stop.wait(min(remaining, CHECK_INTERVAL))
        return True

    def _permitted(self) -> bool:
        try:
            for check in self._checks:
                check()
        except ClientGoError:
            # Nothing is lost: `before_sending` raises it to the caller.
            return False
        return True


class OpenStream(Protocol[S_co]):
    """An open stream: an iterator over its items as they arrive.

    Iterating raises `ConnectionFailed` if the connection breaks or an item is invalid, and stops when the server ends
    the stream.
    """

    def __iter__(self) -> Iterator[S_co]:
        """Iterate over the items as they arrive."""

    def close(self) -> None:
        """End the stream from any thread; a blocked reader returns at once, without an error. May be called again."""


class Stoppable(Generic[S]):
    """Stream that ends with its request.

    After a stop, reading raises `ConnectionFailed`, and its `stopping` is True: a stream that only ended would look
    complete. A stream that its program forgets is closed, as a file is.
    """

    def __init__(self, stream: OpenStream[S], request: InFlightRequest) -> None:
        self._stream = stream
        self._request = request
        self._items = iter(stream)
        request.keep(stream.close)

    def __repr__(self) -> str:
        return repr(self._stream)

    def __del__(self) -> None:
        # Until then, the scopes of the request refer to its connection. No thread reads, so its locks are free.
        self.close()

    def __iter__(self) -> Iterator[S]:
        return self

    def __next__(self) -> S:
        try:
            return next(self._items)
        except StopIteration:
            self._request.end()
            if self._request.aborted:
                raise ConnectionFailed(INTERRUPTED, stopping=True) from None
            raise
        except ConnectionFailed as error:
            self._request.end()
            if (stopped := self._request.stopped(error)) is not None:
                raise stopped from error
            raise
        except BaseException:  # such as the error that a test gives to a fake
            self._request.end()
            raise

    def close(self) -> None:
        """End the stream from any thread; a blocked reader returns at once, without an error."""
        self._request.end()
        self._stream.close()
