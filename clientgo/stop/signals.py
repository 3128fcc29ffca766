"""Delivery of operating-system signals to callbacks in a thread of their own.

A Python signal handler runs in the main thread between two instructions, possibly while that thread holds the very lock
the handler would need, and not at all while the thread is about to block on a lock. So the handlers here do nothing:
the interpreter's C handler writes each signal's number to a socket (`signal.set_wakeup_fd`), and the thread `signals`
reads it and calls back, free to take locks and to log. Go's `os/signal` is built the same way.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from types import FrameType

from clientgo.log import get_logger
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import StopEvent, end_with

log = get_logger(__name__)

Callback = Callable[[int], object]


class _Receiver:
    """The process's one reader of the wake-up socket, and the callback of each signal."""

    def __init__(self) -> None:
        self.callbacks: dict[int, Callback] = {}
        self._reading, self._writing = socket.socketpair()
        self._writing.setblocking(False)
        self._group = Group()

    def start(self) -> None:
        """Take the process's wake-up descriptor, and start the thread.

        Raises:
            RuntimeError: something else has the descriptor, such as an asyncio event loop in the main thread.
        """
        if (other := signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)) != -1:
            signal.set_wakeup_fd(other)
            raise RuntimeError(
                "an event loop in the main thread already receives this process's signals: "
                "call stop_on_signals before it starts"
            )
        self._group.start(self._read, name="signals")
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def handle(self, number: int, _: FrameType | None) -> None:
        """Do nothing, unless an event loop started since has taken the wake-up descriptor: then write in its place."""
        mine = self._writing.fileno()
        if (current := signal.set_wakeup_fd(mine, warn_on_full_buffer=False)) not in (mine, -1):
            signal.set_wakeup_fd(current)
        if current != mine:
            self._writing.send(bytes([number]))

    def _read(self) -> None:
        while numbers := self._reading.recv(64):
            for number in numbers:
                self._call(number)

    def _call(self, number: int) -> None:
        try:
            if callback := self.callbacks.get(number):
                callback(number)
        except Exception:
            # The thread must survive: without it no later signal would end the program.
            log.exception("signal callback failed", extra={"signal": signal.Signals(number).name})

    def _forget(self) -> None:
        # In a forked child, which shares the socket and lacks the thread: its signals must not stop the parent.
        signal.set_wakeup_fd(-1)
        for number in self.callbacks:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        _receivers.clear()
        _stops.clear()


_receivers: list[_Receiver] = []
"""The receiver, once one was needed; never more than one."""

_stops: list[threading.Event] = []
"""The event of the one call to `stop_on_signals` there may be."""


def on_signals(numbers: Iterable[int], callback: Callback) -> Callable[[], None]:
    """Call `callback(number)` in the thread `signals` for each of these signals the process receives.

    For the main thread. Return a function, for the main thread too, that restores the previous handlers.

    Raises:
        RuntimeError: an event loop in the main thread already receives the process's signals.
        ValueError: called from another thread.
    """
    if not _receivers:
        receiver = _Receiver()
        receiver.start()
        _receivers.append(receiver)
    receiver = _receivers[0]
    previous = [(n, receiver.callbacks.get(n), signal.getsignal(n)) for n in numbers]
    for number, _, _ in previous:
        receiver.callbacks[number] = callback
        signal.signal(number, receiver.handle)

    def restore() -> None:
        for number, former, handler in previous:
            signal.signal(number, handler)
            if former is None:
                del receiver.callbacks[number]
            else:
                receiver.callbacks[number] = former

    return restore


def stop_on_signals() -> threading.Event:
    """Return an event that the first SIGINT or SIGTERM sets; the second exits the process at once, with code 1.

    For the main thread (controller-runtime's SetupSignalHandler), whose requests end with the event from now on.

    Raises:
        RuntimeError: called a second time: only one event can be set, so call it once and pass the event on. Or an
            event loop in the main thread already receives the process's signals.
    """
    if _stops:
        raise RuntimeError("stop_on_signals was already called: call it once, and pass its event on")
    stop = StopEvent()

    def stop_or_exit(number: int) -> None:
        if stop.is_set():
            os._exit(1)
        stop.set()
        log.info("shutting down; a second signal exits at once", extra={"signal": signal.Signals(number).name})

    on_signals((signal.SIGINT, signal.SIGTERM), stop_or_exit)
    end_with(stop)
    _stops.append(stop)
    return stop
