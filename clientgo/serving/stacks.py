"""Where every thread is at this moment, by name: what to look at first when a controller hangs.

    on_signals([signal.SIGUSR1], lambda _: dump_stacks(sys.stderr))

Lines of code only, never values: a variable may hold a token.
"""

import contextlib
import os
import sys
import threading
import traceback
from typing import TextIO

from clientgo.serving.message import Response, ServingRequest
from clientgo.serving.routing import Access, Route


def stacks() -> str:
    """The stack of each thread, its innermost call last, the main thread's first and the others by name."""
    frames = sys._current_frames()
    threads = sorted(threading.enumerate(), key=lambda one: (one is not threading.main_thread(), one.name))
    parts = []
    for thread in threads:
        frame = frames.get(thread.ident or 0)
        if frame is None:
            continue  # ended, or not begun, between the two looks
        ends = ", ends with the program" if thread.daemon else ""
        parts.append(f'"{thread.name}" {thread.native_id}{ends}\n{"".join(traceback.format_stack(frame))}')
    return "\n".join(parts)


def dump_stacks(stream: TextIO) -> None:
    """Write the stacks to `stream` in one piece, without waiting for a thread that is writing to it."""
    text = f"--- stacks of {threading.active_count()} threads\n{stacks()}--- end of stacks\n"
    try:
        descriptor = stream.fileno()
    except OSError:  # it is no file, and in memory nothing gets in each other's way
        stream.write(text)
        return
    # Past the stream's buffer: that raises if one thread enters it twice, and whatever was interrupted would fail.
    rest = text.encode("utf-8", "backslashreplace")
    # Nobody is there to be told that nobody reads, and it must not end the program.
    with contextlib.suppress(OSError):
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def stacks_route() -> Route:
    """Shows the stacks of all threads."""

    def show(_: ServingRequest) -> Response:
        return Response(200, stacks())

    return Route(show, access=Access.PRIVATE)
