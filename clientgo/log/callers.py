"""Lines of the program that called the library: where an error came from, and where a thread is."""

import sys
import traceback
from collections.abc import Hashable, Iterable
from pathlib import Path
from types import FrameType

MAX_CAUSES = 20
"""Maximum number of causes of an error that distinguish its traceback from others."""


def line_of_error(error: BaseException) -> str:
    """Return file and line of the innermost call outside the library that the error passed, or an empty text."""
    return _own_line(reversed(list(traceback.walk_tb(error.__traceback__))))


def line_of_thread(ident: int) -> str:
    """Return file and line of the innermost call outside the library in a running thread, or an empty text."""
    frame = sys._current_frames().get(ident)
    return _own_line(traceback.walk_stack(frame)) if frame is not None else ""


def causes_of(error: BaseException) -> list[BaseException]:
    """Return the error and its causes, the error first, at most `MAX_CAUSES` of them."""
    found: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and len(found) < MAX_CAUSES:
        found.append(at)
        at = at.__cause__ or at.__context__
    return found


def traceback_id(error: BaseException) -> Hashable:
    """Return a value that is equal for errors of the same type from the same lines, with such causes and groups."""
    return tuple(_origin(one) for cause in causes_of(error) for one in (cause, *_members(cause)))


def _members(error: BaseException) -> tuple[BaseException, ...]:
    return error.exceptions[:MAX_CAUSES] if isinstance(error, BaseExceptionGroup) else ()


def _origin(error: BaseException) -> Hashable:
    return type(error), tuple((frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__))


def _own_line(innermost_first: Iterable[tuple[FrameType, int]]) -> str:
    for frame, line in innermost_first:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package != "clientgo" and package not in sys.stdlib_module_names:
            return f"{_short(frame.f_code.co_filename)}:{line}"
    return ""


def _short(file: str) -> str:
    """Return the path from the folder that Python imports it from."""
    path = Path(file)
    folders = [folder for folder in sys.path if folder and path.is_relative_to(folder)]
    return str(path.relative_to(max(folders, key=len))) if folders else file
