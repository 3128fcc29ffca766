"""Detection of idle threads: whether all threads of an operator wait, so that the engine may act.

A thread waits if it is inside `threading.Condition.wait`, on which events and queues are built, and was not notified:
its lock is still among the condition's waiters. Nothing is assumed about the operator's own code. A thread that waits
in C code, such as `SimpleQueue.get`, looks like one that runs; it counts as waiting once it has not moved for a while,
and the system says that it sleeps.
"""

import sys
import threading
import time
from pathlib import Path
from types import CodeType, FrameType

import clientgo.lifecycle
import clientgo.record
import clientgo.stopping
from clientgo.clock import SYSTEM_CLOCK
from clientgo.perturb.clock import WorldTime

_WAIT: CodeType = threading.Condition.wait.__code__
_EVENT_WAIT: CodeType = threading.Event.wait.__code__
_THREAD = threading.Thread  # noqa: TID251  # starts none
_START: CodeType = _THREAD.start.__code__
_JOINS = frozenset(
    method.__code__
    for name in ("join", "_wait_for_tstate_lock")
    if (method := getattr(_THREAD, name, None)) is not None
)
# Threads that only send events, which the gate answers at once, and that only call what ends at a stop.
_SENDERS = (str(Path(clientgo.record.__file__).parent), str(clientgo.stopping.__file__))
_STARTERS = (str(threading.__file__), str(clientgo.lifecycle.__file__))

STUCK_SECONDS = 0.1
"""Real seconds without a move after which a thread counts as waiting in C code."""

KNOWN_SECONDS = 0.01
"""The same, where a thread has waited in C code before."""


class OperatorThreads:
    """The threads that were started since this was created, except for those that were given up; a `Pace`."""

    pause = 0.0
    """Seconds after the last action until the operator is idle."""

    def __init__(self) -> None:
        # Threads and not their identifiers, which later threads may get.
        self._ignored = threading.enumerate()
        self._known: set[tuple[CodeType, int]] = set()

    def wait_until_idle(self) -> None:
        """Return once every thread waits."""
        moved: dict[int, tuple[int, int, float]] = {}
        while not self._are_idle(moved):
            time.sleep(0)  # noqa: TID251  # yields the interpreter

    def advance(self, time: WorldTime, until: float) -> None:
        """Step the time to `until`."""
        time.step(max(0.0, until - time.now()))

    def give_up(self, seconds: float) -> None:
        """Wait until the threads have ended, at most this time; ignore the others from now on."""
        deadline = SYSTEM_CLOCK.now() + seconds
        while any(not _is_sender(frame) for _, frame in self._frames()) and SYSTEM_CLOCK.now() < deadline:
            time.sleep(0)  # noqa: TID251
        self._ignored = threading.enumerate()

    def _frames(self) -> list[tuple[int, FrameType]]:
        frames = sys._current_frames()
        for thread in self._ignored:
            if thread.is_alive():
                frames.pop(thread.ident or 0, None)
        return list(frames.items())

    def _are_idle(self, moved: dict[int, tuple[int, int, float]]) -> bool:
        idle = True
        for ident, frame in self._frames():
            if not _waits(frame) and not _is_sender(frame) and not self._is_stuck(ident, frame, moved):
                idle = False
        return idle

    def _is_stuck(self, ident: int, frame: FrameType, moved: dict[int, tuple[int, int, float]]) -> bool:
        at, now = (id(frame), frame.f_lasti), SYSTEM_CLOCK.now()
        before = moved.get(ident)
        if before is None or before[:2] != at:
            moved[ident] = (*at, now)
            return False
        position = (frame.f_code, frame.f_lasti)
        if now - before[2] < (KNOWN_SECONDS if position in self._known else STUCK_SECONDS):
            return False
        if _is_running(ident):
            moved[ident] = (*at, now)
            return False
        self._known.add(position)
        return True


def _waits(frame: FrameType) -> bool:
    if frame.f_code in _JOINS:
        return True
    if frame.f_code is not _WAIT:
        return False
    values = frame.f_locals
    if values.get("waiter") not in values["self"]._waiters:
        return False  # notified, and about to run
    caller = frame.f_back
    # A thread that starts another one: the new one may not be listed yet.
    return not (
        caller is not None
        and caller.f_code is _EVENT_WAIT
        and caller.f_back is not None
        and caller.f_back.f_code is _START
    )


def _is_running(ident: int) -> bool:
    """Return whether the system runs a thread, or would if it had a processor; False where that is not known."""
    native = next((thread.native_id for thread in threading.enumerate() if thread.ident == ident), None)
    try:
        status = Path(f"/proc/self/task/{native}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return status.rpartition(") ")[2][:1] != "S"


def _is_sender(frame: FrameType | None) -> bool:
    target = ""  # file of the function that the thread runs
    while frame is not None:
        if frame.f_code.co_filename not in _STARTERS:
            target = frame.f_code.co_filename
        frame = frame.f_back
    return target.startswith(_SENDERS)
