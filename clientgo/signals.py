"""How a process is told to end: once politely, and then for good."""

import logging
import os
import signal
import threading
from types import FrameType

from clientgo.clock import attentive

log = logging.getLogger(__name__)

_asked: list[threading.Event] = []
"""The event of the one call there may be."""


class _Asked(threading.Event):
    """An event for which the main thread waits in such a way that it notices the signal that sets it."""

    def wait(self, timeout: float | None = None) -> bool:
        return attentive(super().wait, timeout)


def stop_on_signals() -> threading.Event:
    """An event that the first SIGINT or SIGTERM sets; the second ends the program at once, with exit code 1.

    For the main thread (controller-runtime's SetupSignalHandler).

    Raises:
        RuntimeError: it was called before: the first caller's event would never be set.
    """
    if _asked:
        raise RuntimeError("the program's signals have an event already: call stop_on_signals once, and pass it on")
    stop = _Asked()
    _asked.append(stop)

    def handle(number: int, _: FrameType | None) -> None:
        if stop.is_set():
            os._exit(1)
        # Set first: the second signal may come while the first is still being told of.
        stop.set()
        log.info("stopping; once more to stop at once", extra={"signal": signal.Signals(number).name})

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    return stop
