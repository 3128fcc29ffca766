"""Lines of the program that called the library: where an error came from, and where a thread is."""

import sys
import traceback
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import FrameType


def line_of_error(error: BaseException) -> str:
    """Return file and line of the program's innermost call that the error passed, or an empty text."""
    return _line(origin_of_error(error))


def origin_of_error(error: BaseException) -> tuple[str, int] | None:
    """Return file and line number of the program's innermost call that the error passed, or None."""
    return _own_call(reversed(list(traceback.walk_tb(error.__traceback__))))


def line_of_thread(ident: int) -> str:
    """Return file and line of the program's innermost call in a running thread, or an empty text."""
    frame = sys._current_frames().get(ident)
    return _line(_own_call(traceback.walk_stack(frame))) if frame is not None else ""


def _own_call(innermost_first: Iterable[tuple[FrameType, int]]) -> tuple[str, int] | None:
    lines = [(frame.f_code.co_filename, line) for frame, line in innermost_first if not _is_library(frame)]
    # Other packages may call back, too; but the program itself may be installed as one.
    program_lines = [(file, line) for file, line in lines if "site-packages" not in file] or lines
    return program_lines[0] if program_lines else None


def _line(call: tuple[str, int] | None) -> str:
    return f"{_short(call[0])}:{call[1]}" if call is not None else ""


def _is_library(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    return package in ("clientgo", "clientgo_apiserver") or package in sys.stdlib_module_names


@lru_cache(maxsize=256)
def _short(file: str) -> str:
    """Return the path from the folder that Python imports it from."""
    path = Path(file)
    folders = [folder for folder in sys.path if folder and path.is_relative_to(folder)]
    return str(path.relative_to(max(folders, key=len))) if folders else file
