"""Main function of a controller program: log, signals, exit code, and the garbage collector's settings."""

import gc
import threading
from collections.abc import Callable
from typing import TypeVar

from clientgo.program.commandline import LoggingFlags, setup_logging
from clientgo.stop.lifecycle import exit_code
from clientgo.stop.signals import stop_on_signals

F = TypeVar("F", bound=LoggingFlags)


def run_program(start: Callable[[F, threading.Event], object], flags: F) -> int:
    """Call `start(flags, stop)` and return the exit code; the first SIGINT or SIGTERM sets `stop`, a second one exits.

    For the main thread. The log is configured by the flags. Errors of the cluster, the network and the configuration
    are logged in one line, and the exit code is 1.

    Raises:
        RuntimeError: an event loop in the main thread already receives the process's signals.
    """
    collect_rarely()  # in particular while `start` loads its modules, which would take a twentieth longer
    setup_logging(flags)
    stop = stop_on_signals()
    return exit_code(lambda: start(flags, stop))


def collect_rarely() -> None:
    """Let Python's garbage collector run rarely; for programs with large caches, once their modules are loaded.

    Cached objects are values without cycles, and the collector would look at all of them again and again.
    """
    gc.enable()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
