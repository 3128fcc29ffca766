"""Stack traces of all threads: the first thing to look at when a controller hangs.

    on_signals([signal.SIGUSR1], lambda _: dump_stacks(sys.stderr))

They contain lines of code but no values, because a variable may hold a token.
"""

import contextlib
import os
import sys
import threading
import traceback
from typing import TextIO


def stacks() -> str:
    """Return the stack of each thread, innermost call last; the main thread first, the others by name."""
    frames = sys._current_frames()
    threads = sorted(threading.enumerate(), key=lambda entry: (entry is not threading.main_thread(), entry.name))
    texts = []
    for thread in threads:
        frame = frames.get(thread.ident or 0)
        if frame is None:
            continue  # ended or not yet started
        ends = ", ends with the program" if thread.daemon else ""
        texts.append(f'"{thread.name}" {thread.native_id}{ends}\n{"".join(traceback.format_stack(frame))}')
    return "\n".join(texts)


def dump_stacks(stream: TextIO) -> None:
    """Write the stacks to `stream` at once, without waiting for a thread that is writing to it."""
    text = f"--- stacks of {threading.active_count()} threads\n{stacks()}--- end of stacks\n"
    try:
        descriptor = stream.fileno()
    except OSError:  # in memory, where writers do not block each other
        stream.write(text)
        return
    # Bypasses the stream's buffer, which raises on reentry: the interrupted code would fail.
    unwritten = text.encode("utf-8", "backslashreplace")
    # A closed pipe must not end the program.
    with contextlib.suppress(OSError):
        while unwritten:
            unwritten = unwritten[os.write(descriptor, unwritten) :]
