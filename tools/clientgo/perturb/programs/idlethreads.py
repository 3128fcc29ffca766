"""Detection of idle threads: whether all threads of an operator wait, so that the engine may act.

The waits of the operator by its clock and for the engine are reported (`waits`); those of other code are read from
frames of the standard library (`frames`). Nothing is assumed about the operator's own code. A thread that waits in
other C code looks like one that runs; it counts as waiting once it has not moved for a while, and the system says that
it sleeps: soon for an idle worker of an executor.
"""

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

import clientgo.record
import clientgo.stop.lifecycle
import clientgo.stop.stopping
from clientgo.clock import SYSTEM_CLOCK
from clientgo.perturb.programs.clock import WorldTime
from clientgo.perturb.programs.frames import is_condition, is_idle_worker, waits
from clientgo.perturb.programs.waits import expect_move, has_moved, is_reported, is_waiting

# Threads that only send events, which the gate answers at once, and that only call what ends at a stop.
_SENDERS = (str(Path(clientgo.record.__file__).parent), str(clientgo.stop.stopping.__file__))
_STARTERS = (str(threading.__file__), str(clientgo.stop.lifecycle.__file__))

STUCK_LOOKS = 60
"""Looks, each after a pause, without a move after which a thread counts as waiting in C code.

Not a time: while this whole process has no processor, no thread moves either.
"""

KNOWN_LOOKS = 6
"""The same, where a thread has waited in C code before."""

WORKER_LOOKS = 2
"""The same, of an executor's worker whose queue is empty."""

FIRST_PAUSE, PAUSE_SECONDS = 0.0001, 0.001
"""Seconds between the looks at threads that are not in a reported wait: at first, and at most."""


class OperatorThreads:
    """The threads that were started since this was created, except for those that were given up; a `Pace`."""

    pause = 0.0
    """Seconds after the last action until the operator is idle."""

    def __init__(self) -> None:
        # Threads and not their identifiers, which later threads may get.
        self._ignored = threading.enumerate()
        # Threads of others that `threading` does not list, such as the receiver of a pytest-xdist worker.
        self._foreign = sys._current_frames().keys() - {thread.ident for thread in self._ignored}
        self._known: set[tuple[CodeType, int]] = set()

    def wait_until_idle(self) -> None:
        """Return once every thread waits."""
        looks: dict[int, _Looks] = {}
        pause = FIRST_PAUSE
        expect_move()
        while any(True for _ in self._active()):
            if has_moved(pause):
                continue
            stuck = [self._is_stuck(ident, frame, looks) for ident, frame in self._active()]
            if all(stuck):
                return
            pause = min(2 * pause, PAUSE_SECONDS)

    def advance(self, time: WorldTime, until: float) -> None:
        """Step the time to `until`."""
        time.step(max(0.0, until - time.now()))

    def give_up(self, seconds: float) -> None:
        """Wait until the threads have ended, at most this time; ignore the others from now on."""
        deadline = SYSTEM_CLOCK.now() + seconds
        while (threads := self._others()) and SYSTEM_CLOCK.now() < deadline:
            for thread in threads:
                if thread.is_alive():  # not one that is being started
                    thread.join(max(0.0, deadline - SYSTEM_CLOCK.now()))
            time.sleep(0)  # noqa: TID251  # yields the interpreter
        self._ignored = threading.enumerate()

    def _others(self) -> list[threading.Thread]:  # noqa: TID251  # starts none
        senders = {ident for ident, frame in self._frames() if _is_sender(frame)}
        threads = threading.enumerate()
        return [thread for thread in threads if thread not in self._ignored and thread.ident not in senders]

    def _frames(self) -> list[tuple[int, FrameType]]:
        frames = sys._current_frames()
        for thread in self._ignored:
            if thread.is_alive():
                frames.pop(thread.ident or 0, None)
        if self._foreign:
            for ident in self._foreign - {thread.ident for thread in threading.enumerate()}:
                frames.pop(ident, None)
        return list(frames.items())

    def _active(self) -> Iterator[tuple[int, FrameType]]:
        for ident, frame in self._frames():
            if not _waits(ident, frame) and not _is_sender(frame):
                yield ident, frame

    def _is_stuck(self, ident: int, frame: FrameType, looks: dict[int, "_Looks"]) -> bool:
        if is_condition(frame):
            return False  # notified, or starts a thread that has no processor yet
        position = (frame.f_code, frame.f_lasti)
        last = looks.get(ident)
        if last is None or last.frame is not frame or last.position != position or _is_running(ident):
            looks[ident] = _Looks(frame, position)
            return False
        if is_idle_worker(frame):
            last.count = min(last.count + 1, WORKER_LOOKS)
            return last.count == WORKER_LOOKS
        last.count += 1
        if last.count < (KNOWN_LOOKS if position in self._known else STUCK_LOOKS):
            return False
        self._known.add(position)
        return True


@dataclass
class _Looks:
    """Number of looks at a thread in which it has not moved."""

    frame: FrameType
    position: tuple[CodeType, int]
    count: int = 0


def _waits(ident: int, frame: FrameType) -> bool:
    return is_waiting(ident) if is_reported(ident) else waits(frame)


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
