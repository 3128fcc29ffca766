"""Log of failed reconciliations, which leaves out what is repeated."""

import logging
import re
from collections.abc import Hashable
from typing import Any

from clientgo.clock import Clock
from clientgo.errors import CallbackFailed, ClientGoError, Conflict, LeaseNotHeld
from clientgo.internal.callbacks import run_callback, text_of
from clientgo.log import Repeats, get_logger
from clientgo.log.callers import line_of_error
from clientgo.log.tracebacks import exception_lines, traceback_id
from clientgo.meta.names import ObjectName
from clientgo.reconcile.history import ERROR_LENGTH
from clientgo.stop.lifecycle import is_stopped_request

log = get_logger(__name__)

REPEAT_SECONDS = 300.0
"""Seconds between two warnings about the same failure of an object."""

TRACEBACK_SECONDS = 3600.0
"""Seconds after which the same traceback is printed again."""


class FailureLog:
    """Log of one controller's failures: one line per period for equal ones of an object, one traceback for all.

    Errors that are not `expected`, nor groups of such ones, are bugs.
    """

    def __init__(self, expected: tuple[type[BaseException], ...], clock: Clock) -> None:
        self._expected = expected
        self._repeats = Repeats(REPEAT_SECONDS, clock=clock)
        self._tracebacks = Repeats(TRACEBACK_SECONDS, clock=clock)

    def is_bug(self, error: BaseException) -> bool:
        """Return whether an error is not an expected one."""
        try:
            return not run_callback(_only, error, self._expected)
        except CallbackFailed:  # a group that cannot be split
            return True

    def forget(self, key: ObjectName) -> None:
        """Forget the failures of an object, so that the next one is logged."""
        self._repeats.forget(key)

    def log_terminal(self, key: ObjectName, failure: str, error: BaseException) -> bool:
        """Log a failure that is not retried; return whether it is worth a report."""
        self.forget(key)
        cause = {"cause": error.__cause__} if error.__cause__ is not None else {}
        log.error(f"{failure}; waiting for a change", extra={"err": error, **cause, **_origin(error)})
        return True

    def log_retry(self, key: ObjectName, failure: str, error: BaseException, retry: dict[str, Any]) -> bool:
        """Log a failure; return whether it is worth a report: neither normal operation nor left out in the log."""
        facts = {"err": _described(error), **retry, **_origin(error)}
        if is_stopped_request(error):
            log.debug("cannot finish before the stop", extra=facts)
            return False
        if self.is_bug(error):
            return self._log_bug(key, failure, error, facts)
        if _only(error, (Conflict, LeaseNotHeld)):
            # Normal operation: another client or replica was faster.
            log.info("conflict or lost lease; will retry", extra=facts)
            return False
        left_out = self._repeats.due(key, _reason(failure, facts["err"]))
        level = logging.DEBUG if left_out is None else logging.WARNING
        log.log(level, f"{failure}; will retry", extra=facts | _nonzero(left_out=left_out))
        return left_out is not None

    def _log_bug(self, key: ObjectName, failure: str, error: BaseException, facts: dict[str, Any]) -> bool:
        same = traceback_id(error)
        left_out = self._repeats.due(key, same)
        facts |= {"err": f"{type(error).__name__}: {text_of(facts['err'])}", **_nonzero(left_out=left_out)}
        if hints := [hint for text, hint in _HINTS.items() if text in facts["err"]]:
            facts["hint"] = hints[0]
        if self._tracebacks.due(same) is not None:
            list(exception_lines(error))  # raises here, and not in a handler of the program, which would lose the line
            log.error(f"bug: {failure}; will retry", exc_info=error, extra=facts)
            return left_out is not None
        seconds, times = self._tracebacks.last(same)
        facts["traceback"] = f"same as {round(seconds, 1):g} s ago, {times} times"
        level = logging.DEBUG if left_out is None else logging.ERROR
        log.log(level, f"bug: {failure}; will retry", extra=facts)
        return left_out is not None


_HINTS = {
    "in LogRecord": "logging reserves that name in extra: add _ to it, which is not printed",
    "replace() should be called on dataclass instances": "clientgo.meta.replace copies objects of all classes",
}
"""Hints for bugs by a part of the message of Python, which does not name the remedy."""


def _reason(failure: str, described: BaseException | str) -> Hashable:
    """Return what tells failures apart: their text without numbers, because ports, versions and counts vary."""
    return failure, re.sub(r"[0-9]+", "0", text_of(described)[:ERROR_LENGTH])


def _nonzero(**facts: int | None) -> dict[str, int]:
    return {key: value for key, value in facts.items() if value}


def _origin(error: BaseException) -> dict[str, str]:
    """Return the failed request of the error or of its causes, and the line of the reconciler that it came from."""
    request, cause = "", error.__cause__
    for candidate in (error, cause, cause and cause.__cause__):
        if isinstance(candidate, ClientGoError):
            request = request or candidate.request
    facts = {"request": request, "at": line_of_error(error)}
    return {key: value for key, value in facts.items() if value}


def _only(error: BaseException, kinds: tuple[type[BaseException], ...]) -> bool:
    if isinstance(error, BaseExceptionGroup) and not isinstance(error, kinds):
        return error.split(kinds)[1] is None
    return isinstance(error, kinds)


def error_text(error: BaseException, is_bug: bool) -> str:
    """Return the text of an error for the history and for reports; that of a bug begins with its class."""
    name, text = type(error).__name__, text_of(_described(error))
    return ((f"{name}: {text}" if is_bug else text) or name)[:ERROR_LENGTH]


def _described(error: BaseException) -> BaseException | str:
    # The text of a group contains only the number of its errors.
    if not isinstance(error, BaseExceptionGroup):
        return error
    return f"{error.message}: {'; '.join(text_of(_described(member)) for member in error.exceptions)}"
