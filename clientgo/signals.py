"""How a process is told to end: once politely, and then for good."""

import logging
import os
import signal
import threading
from types import FrameType

log = logging.getLogger(__name__)


def stop_on_signals() -> threading.Event:
    """An event that the first SIGINT or SIGTERM sets; the second ends the program at once, with exit code 1.

    For the main thread, once (controller-runtime's SetupSignalHandler).
    """
    stop = threading.Event()

    def handle(number: int, _: FrameType | None) -> None:
        if stop.is_set():
            os._exit(1)
        # Set first: the second signal may come while the first is still being told of.
        stop.set()
        log.info("stopping; once more to stop at once", extra={"signal": signal.Signals(number).name})

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    return stop
