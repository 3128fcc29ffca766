"""Callbacks: calls of functions that the program supplies, and descriptions of what they raise."""

import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from clientgo.errors import CallbackFailed

P = ParamSpec("P")
R = TypeVar("R")

MAX_DESCRIPTION = 4096
"""Maximum number of characters of a described error: caches and queues keep one per object."""


# Read from the class itself: a metaclass may define properties of these names.
_NAME, _VARS = type.__dict__["__name__"].__get__, type.__dict__["__dict__"].__get__


def text_of(value: object) -> str:
    """Return `str(value)`, or a placeholder with the name of its class if that fails.

    Never raises anything but the KeyboardInterrupt of the user, in the main thread.
    """
    try:
        return str.__str__(str(value))  # `__str__` may return a subclass, whose methods are the program's
    except BaseException as error:  # foreign code: a failing __str__ must not replace what it describes
        if interrupts_program(error):
            raise
        return f"<{_NAME(type(value))} that cannot be shown>"


def describe_error(error: BaseException) -> str:
    """Return the message of an exception in a form for logs, metrics and conditions; never empty.

    Never raises anything but the KeyboardInterrupt of the user, in the main thread. An error of this library is
    described by its message alone, any other by its class and its message, because the message of many is incomplete
    without it: `KeyError: 'team'`.
    """
    name, message = _NAME(type(error)), text_of(error)
    if not message or text_of(_VARS(type(error)).get("__module__")).partition(".")[0] != "clientgo":
        message = f"{name}: {message}" if message else name
    return message if len(message) <= MAX_DESCRIPTION else f"{message[:MAX_DESCRIPTION]}…"


def run_callback(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return `function(*args, **kwargs)`, a function that the program supplies and that may raise anything.

    It also catches exceptions that are not an `Exception`: a SystemExit or a CancelledError of a callback would
    otherwise end the thread that calls it, and the work of every other object.

    Raises:
        CallbackFailed: it raised; the message describes the exception, which is the cause.
        KeyboardInterrupt: the user interrupted the program, in the main thread.
    """
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        raise callback_failure(error) from error


def callback_failure(error: BaseException) -> CallbackFailed:
    """Return the failure for an exception of a callback; raise a KeyboardInterrupt of the user.

    For loops that call a function for each object, where the call of `run_callback` counts: they catch BaseException.
    """
    if interrupts_program(error):
        raise error
    return CallbackFailed(describe_error(error))


def interrupts_program(error: BaseException) -> bool:
    """Return whether the exception is the KeyboardInterrupt of the user, which ends the program."""
    # Python raises it in the main thread only; in another one, the callback itself did.
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
