"""Tracebacks as lines, and the comparison of tracebacks."""

import traceback
from collections.abc import Callable, Hashable, Iterator

from clientgo.internal.callbacks import text_of

MAX_EXCEPTIONS = 20
"""Maximum number of exceptions shown of one chain or group."""


def exception_lines(error: BaseException) -> Iterator[str]:
    """Yield the lines of the traceback, causes first, each message in one item; may contain credentials."""
    return _lines(error, _description, seen=set())


def traceback_id(error: BaseException) -> Hashable:
    """Return a value that is equal for errors of the same types from the same lines, whatever their messages."""
    return tuple(_lines(error, lambda error: [type(error).__qualname__], seen=set()))


def _lines(error: BaseException, describe: Callable[[BaseException], list[str]], seen: set[int]) -> Iterator[str]:
    # A chain of exceptions may have a cycle, and may be arbitrarily long.
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen and len(seen) < MAX_EXCEPTIONS:
        yield from _lines(before, describe, seen)
        yield "which was the cause of:" if before is error.__cause__ else "and while that was handled:"
    if error.__traceback__ is not None:
        yield "Traceback (most recent call last):"
        for entry in traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__)).format():
            yield from entry.splitlines()
    yield from describe(error)
    if isinstance(error, BaseExceptionGroup):
        for number, member in enumerate(error.exceptions, 1):
            if len(seen) >= MAX_EXCEPTIONS:
                return
            yield f"  {number} of {len(error.exceptions)}:"
            yield from (f"    {line}" for line in _lines(member, describe, seen))


def _description(error: BaseException) -> list[str]:
    message = text_of(error)
    notes = [f"  {text_of(note)}" for note in getattr(error, "__notes__", ())]
    return [f"{type(error).__qualname__}: {message}" if message else type(error).__qualname__, *notes]
