"""Threads with an owner, a name and one stop event.

Every thread of the library is started by a `Group`. The group's event asks all of them to end; a thread that dies of an
exception asks the others to end too, and whoever joins the group gets that exception raised. So no thread is ever lost
silently, and none outlives its owner unnoticed.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.clock import SYSTEM_CLOCK, Clock, waitable
from clientgo.errors import ClientGoError

log = logging.getLogger(__name__)


class StillRunning(RuntimeError):
    """Some threads of the group did not end within the time given."""


class Group:
    """Owns named threads that stop together; a crash of one stops all and is raised by `join`."""

    def __init__(self, *, stop: threading.Event | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.stop_event = stop if stop is not None else threading.Event()
        self._clock = clock
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._crash: BaseException | None = None

    def __repr__(self) -> str:
        return f"<Group {', '.join(self.alive()) or 'empty'}>"

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.join()

    def start(self, target: Callable[..., object], *args: Any, name: str) -> None:
        """Run `target(*args)` in a thread called `name`, until it returns; it must watch `stop_event` itself."""
        thread = threading.Thread(target=self._run, args=(target, args), name=name, daemon=True)
        with self._lock:
            # Started under the lock: whoever joins must find no thread that can't be joined yet.
            thread.start()
            # Ended threads are forgotten here, so that a long-lived group that starts many stays small.
            self._threads = [*(t for t in self._threads if t.is_alive()), thread]

    def stop(self) -> None:
        """Ask every thread to end; returns at once."""
        self.stop_event.set()

    def alive(self) -> list[str]:
        """The names of the threads that have not ended."""
        with self._lock:
            return [t.name for t in self._threads if t.is_alive()]

    def join(self, timeout: float | None = None) -> None:
        """Wait until every thread has ended, those started meanwhile included; the calling thread is left out.

        Raises:
            StillRunning: some had not after `timeout` seconds; the message names them.
            BaseException: whatever a thread died of.
        """
        deadline = None if timeout is None else self._clock.now() + timeout
        while others := self._others():
            for thread in others:
                thread.join(None if deadline is None else waitable(deadline - self._clock.now()))
            if late := [thread.name for thread in others if thread.is_alive()]:
                raise StillRunning(f"still running after {timeout} s: {', '.join(late)}") from self._crash
        self.raise_crash()

    @contextmanager
    def ending_within(self, seconds: float) -> Iterator["Group"]:
        """Stop every thread when the block ends, and wait for them as `join(seconds)` does, raising what it raises."""
        try:
            yield self
        finally:
            self.stop()
            self.join(seconds)

    def raise_crash(self) -> None:
        """Raise what the first crashed thread died of, if one did."""
        if self._crash is not None:
            raise self._crash

    def _others(self) -> list[threading.Thread]:
        me = threading.current_thread()
        with self._lock:
            return [t for t in self._threads if t.is_alive() and t is not me]

    def _run(self, target: Callable[..., object], args: tuple[Any, ...]) -> None:
        try:
            target(*args)
        except BaseException as error:
            # BaseException: a SystemExit inside a thread would otherwise end it without a word. Logged last: whatever
            # a log handler does, the crash is known and the others are told to end.
            with self._lock:
                if self._crash is None:
                    self._crash = error
            self.stop_event.set()
            log.exception("thread died; stopping its group")


def exit_code(main: Callable[[], object]) -> int:
    """Run `main` and return the exit code of the program: 0, or 1 after an error that was logged.

    Logged are errors of the cluster, the network and the configuration; other exceptions are bugs and propagate.
    """
    try:
        main()
    except (ClientGoError, OSError, StillRunning) as error:
        log.error(str(error))
        return 1
    return 0
