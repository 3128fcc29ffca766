"""An exception as lines of text that hold nothing but what they seem to.

Python's own traceback prints an exception's message as it is, line breaks included; what a server said could then look
like a log line of ours. Here every message stays in its line.
"""

import traceback
from collections.abc import Iterator

MOST = 20
"""Exceptions of one chain or group that are shown."""


def described(error: BaseException) -> Iterator[str]:
    """The traceback, line by line, with what led to it before it, as Python orders them; may hold credentials."""
    yield from _described(error, seen=set())


def text_of(value: object) -> str:
    """`str(value)`; if that fails, what kind of thing it is."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001  # an object that can't say what it is must not keep a line from being written
        return f"<{type(value).__name__} that can't be shown>"


def _described(error: BaseException, seen: set[int]) -> Iterator[str]:
    # An exception may be its own cause, by a detour, and a chain of them may be as long as a program has run.
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen and len(seen) < MOST:
        yield from _described(before, seen)
        yield "which was the cause of:" if before is error.__cause__ else "and while that was handled:"
    if error.__traceback__ is not None:
        yield "Traceback (most recent call last):"
        for entry in traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__)).format():
            yield from entry.splitlines()
    said = text_of(error)
    yield f"{type(error).__qualname__}: {said}" if said else type(error).__qualname__
    for note in getattr(error, "__notes__", ()):
        yield f"  {text_of(note)}"
    if isinstance(error, BaseExceptionGroup):
        for number, one in enumerate(error.exceptions, 1):
            if len(seen) >= MOST:
                return
            yield f"  {number} of {len(error.exceptions)}:"
            yield from (f"    {line}" for line in _described(one, seen))
