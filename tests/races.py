"""Threads that switch between any two instructions of the library, for tests of thread safety."""

import random
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import clientgo
from clientgo.stop.lifecycle import Group

LIBRARY = tuple(f"{folder}/" for folder in clientgo.__path__)

THREADS = 4
CALLS = 100
"""Calls of each thread."""

TOTAL = THREADS * CALLS
SWITCHES = 0.1
"""Part of the library's instructions before which the threads switch."""

SECONDS = 90.0
"""Real seconds after which threads that wait for each other have failed; a busy machine takes 30 for some races."""


def switch_anywhere(frame: FrameType, _event: str, _arg: object) -> Callable[..., Any] | None:
    """Trace function of a thread: let another thread run at some of the instructions of the library."""
    if not frame.f_code.co_filename.startswith(LIBRARY):
        return None
    frame.f_trace_opcodes = True
    return switch_sometimes


def switch_sometimes(_frame: FrameType, event: str, _arg: object) -> Callable[..., Any]:
    if event == "opcode" and random.random() < SWITCHES:
        select.select((), (), (), 0)  # releases the interpreter's lock
    return switch_sometimes


@contextmanager
def switching_anywhere() -> Iterator[None]:
    before = threading.gettrace()
    threading.settrace(switch_anywhere)
    try:
        yield
    finally:
        threading.settrace(before)


def race(call: Callable[[int], object], *other_items: Callable[[], object], calls: int = CALLS) -> None:
    """Call `call` with each number below `THREADS * calls` in several threads, and `others` repeatedly meanwhile."""
    together, ended = threading.Barrier(THREADS + len(other_items)), threading.Event()

    def work(first: int) -> None:
        together.wait()
        for number in range(first, first + calls):
            call(number)

    def accompany(other: Callable[[], object]) -> None:
        together.wait()
        while not ended.is_set():
            other()

    with switching_anywhere(), Group() as companions, Group() as group:
        for other in other_items:
            companions.start(accompany, other, name="companion")
        for thread in range(THREADS):
            group.start(work, thread * calls, name=f"worker-{thread}")
        try:
            group.join(SECONDS)
        finally:
            ended.set()
