"""Outcome of a call: its result or its exception, on the way to the thread or task that waits for it."""

from collections.abc import Callable
from typing import Generic, TypeVar, cast

R = TypeVar("R")


class CallOutcome(Generic[R]):
    """Result of a call that has returned, or the exception that it raised, of any class."""

    __slots__ = ("_error", "_result")

    def __init__(self, result: R | None = None, error: BaseException | None = None) -> None:
        self._result = result
        self._error = error

    def __repr__(self) -> str:
        return f"<CallOutcome {self._result!r}>" if self._error is None else f"<CallOutcome raised {self._error!r}>"

    @classmethod
    def of(cls, call: Callable[[], R]) -> "CallOutcome[R]":
        """Make the call and return its outcome."""
        try:
            return cls(call())
        except BaseException as error:  # noqa: BLE001  # `get` raises it where the call is waited for
            return cls(error=error)

    def get(self) -> R:
        """Return the result, or raise the exception."""
        if self._error is None:
            return cast(R, self._result)
        try:
            raise self._error
        finally:
            del self  # the exception refers to this frame: a cycle would keep all that its traceback refers to
