"""Runnables of a manager, in groups that start one after another and stop in the opposite order."""

import math
import threading
from collections.abc import Callable
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.log import get_logger
from clientgo.stop.lifecycle import Group, StillRunning, finished, is_stopped_request
from clientgo.stop.stopping import scope_of

log = get_logger(__name__)

SERVERS, WEBHOOKS, CACHES, OTHERS, LEADER = "servers", "webhooks", "caches", "others", "leader"
ORDER = (SERVERS, WEBHOOKS, CACHES, OTHERS, LEADER)
"""Order in which the groups start: conversion webhooks before the caches that list through them, writers last."""


class Startable(Protocol):
    """Runnable that works until its stop event is set.

    Three attributes are optional. `needs_leader_election` (default: True): only the leader runs it. `stage`: "servers",
    "webhooks", "caches" or "others", for runnables of every replica. `ready`, an event: the next stage starts once it
    is set.
    """

    def start(self, stop: threading.Event) -> object:
        """Run until `stop` is set; an exception ends the program."""


Runnable = Startable | Callable[[threading.Event], object]
"""Object with `start(stop)`, or a function of `stop`; either may be a coroutine function, which the stop cancels."""


def stage_of(runnable: Runnable) -> str:
    """Return the stage of a runnable; ValueError if it does not exist."""
    if (stage := getattr(runnable, "stage", None)) is not None:
        if stage not in ORDER:
            raise ValueError(f"invalid stage {stage!r}: expected one of {', '.join(ORDER)}")
        return str(stage)
    return LEADER if getattr(runnable, "needs_leader_election", True) else OTHERS


def function_of(runnable: Runnable) -> Callable[[threading.Event], object]:
    """Return the function that runs a runnable; TypeError if it has no `start` and cannot be called."""
    start = getattr(runnable, "start", None)
    if callable(start):
        function: Callable[[threading.Event], object] = start
        return function
    if not callable(runnable):
        raise TypeError(f"{type(runnable).__qualname__} is not a runnable: it has no start(stop)")
    return runnable


def name_of(runnable: Runnable) -> str:
    """Return the name of a runnable and its thread."""
    name = getattr(runnable, "name", None) or getattr(runnable, "__name__", None)
    return str(name or type(runnable).__name__)


class RunnableGroup:
    """Runnables that start and stop together, each in a thread of its own."""

    def __init__(
        self,
        name: str,
        failed: Callable[[BaseException], None],
        *,
        grace: float | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`failed` is called with the exception of a runnable, in its thread; coroutines end within `grace` seconds."""
        self.name = name
        self._failed = failed
        self._clock = clock
        self._group = Group(clock=clock)
        scope_of(self._group.stop_event).cancel_within(grace)
        self._lock = threading.Lock()
        # Guarded by _lock: runnables added before the start; None afterwards.
        self._waiting: list[Runnable] | None = []

    def __repr__(self) -> str:
        return f"<RunnableGroup {self.name} {self._group!r}>"

    @property
    def stop_event(self) -> threading.Event:
        """Event that is set when the group stops."""
        return self._group.stop_event

    def add(self, runnable: Runnable) -> None:
        """Run it with the group: at once if the group has started, never if it has stopped."""
        with self._lock:
            if self._waiting is not None:
                self._waiting.append(runnable)
                return
        self._run(runnable)

    def begin(self, stop: threading.Event) -> None:
        """Start all runnables and wait until they are ready, or `stop` is set."""
        with self._lock:
            runnables, self._waiting = self._waiting or [], None
        for runnable in runnables:
            self._run(runnable)
        for runnable in runnables:
            self._wait_until_ready(runnable, stop)

    def end(self, timeout: float) -> list[str]:
        """Stop all and wait at most `timeout` seconds, infinity for no limit; return the threads still running."""
        self._group.stop()
        try:
            self._group.join(None if timeout == math.inf else timeout)
        except StillRunning:
            return self._group.alive()
        return []

    def _run(self, runnable: Runnable) -> None:
        if not self.stop_event.is_set():
            self._group.start(self._guarded, runnable, name=name_of(runnable))

    def _guarded(self, runnable: Runnable) -> None:
        try:
            finished(function_of(runnable)(self.stop_event), grace=0.0)
        except BaseException as error:  # noqa: BLE001  # passed to the manager, which ends the program with it
            if not is_stopped_request(error):
                self._failed(error)

    def _wait_until_ready(self, runnable: Runnable, stop: threading.Event) -> None:
        ready = getattr(runnable, "ready", None)
        while isinstance(ready, threading.Event) and not ready.is_set() and not stop.is_set():
            self._clock.poll(stop, 0.01)
