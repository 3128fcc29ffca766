"""Limits of the current request: checks before it is sent, and its deadline.

They apply to each transmission, including retries and new connections. They are set where a request enters (a fence, a
timeout) and checked where its bytes are sent. A context variable carries them, so that the layers in between, which may
be a user's own `Requester` or `Transport`, need no parameter for them.
"""

import math
import threading
from collections.abc import Callable
from contextvars import ContextVar, Token

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, ConnectionFailed

Check = Callable[[], object]
"""Raises a `ClientGoError` if the request must not be sent."""

CHECK_INTERVAL = 0.5
"""Seconds between checks while a request waits: the end of a lease triggers no event."""

_CHECKS: ContextVar[tuple[Check, ...]] = ContextVar("checks", default=())
_DEADLINE: ContextVar["Deadline | None"] = ContextVar("deadline", default=None)


class Deadline:
    """The deadline of the requests in its `with` block; None for `seconds` means no limit."""

    __slots__ = ("_at", "_clock", "_seconds", "_token")

    def __init__(self, seconds: float | None, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._at = math.inf
        self._token: Token[Deadline | None] | None = None

    def __repr__(self) -> str:
        return f"<Deadline {self.left():g} s left>"

    def __enter__(self) -> "Deadline":
        self._token = _DEADLINE.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _DEADLINE.reset(self._token)

    def start(self) -> None:
        """Start the countdown; later calls have no effect."""
        if self._seconds is not None and self._at == math.inf:
            self._at = self._clock.now() + self._seconds

    def left(self) -> float:
        """Return the seconds left: infinity without a limit, negative after the deadline."""
        return self._at - self._clock.now()


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


def time_left() -> float:
    """Return the seconds left for the current request, infinity without a deadline."""
    deadline = _DEADLINE.get()
    return math.inf if deadline is None else deadline.left()


def start_deadline() -> None:
    """Start the deadline of the current request, if it has one that was not started."""
    deadline = _DEADLINE.get()
    if deadline is not None:
        deadline.start()


def before_sending(timeout: float) -> float:
    """Check the limits right before bytes are sent; return `timeout`, or the time left if that is less.

    Raises:
        LeaseNotHeld: the process must not write any more.
        ConnectionFailed: the deadline has passed.
    """
    for check in _CHECKS.get():
        check()
    deadline = _DEADLINE.get()
    if deadline is None:
        return timeout
    left = deadline.left()
    if left <= 0:
        raise ConnectionFailed("request not sent: timeout exceeded", sent=False, timeout=True)
    return min(timeout, left)


def stop_of_request(stop: threading.Event) -> threading.Event:
    """Return an event for a wait of this request: set if `stop` is, or if the request must not be sent any more."""
    checks = _CHECKS.get()
    return _RequestStop(stop, checks) if checks else stop


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
            left = end - SYSTEM_CLOCK.now()
            if left <= 0:
                return False
            self._stop.wait(min(left, CHECK_INTERVAL))
        return True

    def _permitted(self) -> bool:
        try:
            for check in self._checks:
                check()
        except ClientGoError:
            # Nothing is lost: `before_sending` raises it to the caller.
            return False
        return True
