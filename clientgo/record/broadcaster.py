"""Event broadcaster: fan-out of recorded events to sinks, logs and other consumers.

Recording never waits for a consumer, and consumers do not wait for each other. Each has a queue of 1000 events and a
thread; a full queue drops the event for that consumer alone, and counts it. `shutdown` accepts no more events and sends
the queued ones within a time limit.
"""

import json
import queue
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Self

from clientgo.backoff import Random
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.internal.forks import fork_safe
from clientgo.kubernetes.types.core_events import Event, EventSource, ObjectReference
from clientgo.log import get_logger
from clientgo.metrics import safe_provider
from clientgo.record.correlator import CorrelatorOptions, EventCorrelator
from clientgo.record.events import Occurrence, UniqueTimestamps
from clientgo.record.recorder import BroadcastRecorder, EventRecorder
from clientgo.record.sender import PAUSE, EventSender
from clientgo.record.series import SeriesCache
from clientgo.record.sinks import EventSink
from clientgo.stop.lifecycle import Group, StillRunning

log = get_logger(__name__)

QUEUE_LENGTH = 1000
"""Maximum number of events queued for one consumer (client-go)."""

LAST_EVENTS_SECONDS = 0.5
"""Default time limit for queued events at a shutdown."""

RECENT = 500
"""Default number of events kept by `keep_recent`."""

EventCallback = Callable[[Event], object]


class EventWatcher:
    """One consumer: a bounded queue and the thread that calls `handle` with each event; `dropped` counts the others."""

    def __init__(self, name: str, group: Group, handle: EventCallback, *, limit: int = QUEUE_LENGTH) -> None:
        self.name = name
        self.dropped = 0
        self.closed = False
        self._group = group
        self._handle = handle
        self._limit = limit
        # Implemented in C: putting takes well under a microsecond and none of our locks.
        self._queue: queue.SimpleQueue[Occurrence | None] = queue.SimpleQueue()
        self._abandoned = False
        self._lock = fork_safe(threading.Lock())
        self._drops = safe_provider().counter(
            "event_recorder_dropped_total", "Events that found their queue full.", {"watcher": name}
        )
        group.start(self._run, name=name)

    def __repr__(self) -> str:
        return f"<EventWatcher {self.name}, {self._queue.qsize()} queued, {self.dropped} dropped>"

    def offer(self, occurrence: Occurrence) -> bool:
        """Queue the event; return False, at once, if the watcher is closed or its queue is full. Never blocks.

        Concurrent callers may exceed the limit by one each. An event offered while the watcher closes may be lost.
        """
        if self.closed:
            return False
        if self._queue.qsize() >= self._limit:
            self._drop()
            return False
        self._queue.put(occurrence)
        return True

    def close(self) -> None:
        """Accept no more events, and end once the queued ones are handled; interrupts waits for a retry."""
        self.closed = True
        self._group.stop()
        self._queue.put(None)

    def join(self, timeout: float) -> None:
        """Wait up to `timeout` seconds for the thread to end; drop events still queued then."""
        try:
            self._group.join(timeout)
        except StillRunning:
            self._abandoned = True
            # One queued item is the end marker.
            lost = self._queue.qsize() - 1
            log.warning("events were dropped at the end", extra={"watcher": self.name, "events": lost})

    def stop(self, *, timeout: float = LAST_EVENTS_SECONDS) -> None:
        """Close and join."""
        self.close()
        self.join(timeout)

    def _run(self) -> None:
        while (occurrence := self._queue.get()) is not None and not self._abandoned:
            # Both may run foreign code, of the object and of the handler; later events must still be delivered.
            try:
                event = run_callback(occurrence.event)
            except CallbackFailed as error:
                log.error("cannot record event", extra={"err": error})
                continue
            try:
                run_callback(self._handle, event)
            except CallbackFailed:
                log.exception("event handler failed", extra={"watcher": self.name})

    def _drop(self) -> None:
        with self._lock:
            self.dropped += 1
            first = self.dropped == 1
        self._drops.inc()
        if first:
            # Once, not per event: a flood of events would become a flood of log lines.
            log.warning("events are dropped: the queue is full", extra={"watcher": self.name})


class EventBroadcaster:
    """Broadcaster of events: a context manager that shuts down at its end. Thread-safe.

    `pause` is the number of seconds between tries of an event that could not be sent.
    """

    def __init__(
        self,
        *,
        correlator: CorrelatorOptions | None = None,
        pause: float = PAUSE,
        queue_length: int = QUEUE_LENGTH,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self._correlator_options = correlator
        self._pause = pause
        self._queue_length = queue_length
        self._clock = clock
        self._rand = rand
        self._timestamps = UniqueTimestamps(clock)
        self._lock = fork_safe(threading.Lock())
        self._watchers: tuple[EventWatcher, ...] = ()
        self._started = 0
        self._closed = False
        # Without a lock: appending to a deque and copying it are atomic.
        self._recent: deque[Occurrence] | None = None

    def __repr__(self) -> str:
        return f"<EventBroadcaster {len(self._watchers)} watchers{', shut down' if self._closed else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def new_recorder(self, *, component: str, host: str = "") -> EventRecorder:
        """Return a recorder of events from `component` on `host`.

        Events with an action are reported by its instance `<component>-<host, or this host's name>`.
        """
        return BroadcastRecorder(self.publish, EventSource(component=component, host=host or None), self._timestamps)

    def start_recording_to_sink(self, sink: EventSink) -> EventWatcher:
        """Send every event from now on to `sink`, counted and aggregated; stop it alone by the result's `stop()`."""
        group = Group(clock=self._clock)
        correlator = EventCorrelator(self._correlator_options, clock=self._clock)
        sender = EventSender(
            sink, correlator, SeriesCache(), stop=group.stop_event,
            # Most programs have no series, and need no thread for them.
            at_first_series=lambda: group.start(
                sender.run_housekeeping, name=f"{threading.current_thread().name}-series"
            ),
            pause=self._pause, clock=self._clock, rand=self._rand,
        )  # fmt: skip
        return self._start("events-sink", sender.send, group)

    def start_event_watcher(self, handle: EventCallback) -> EventWatcher:
        """Call `handle` with every event from now on, in a separate thread; exceptions are logged."""
        return self._start("events-watch", handle, Group(clock=self._clock))

    def start_logging(self, write: Callable[[str], object] | None = None) -> EventWatcher:
        """Log every event from now on: through `logging`, or as one line of text in client-go's format to `write`."""
        handle = log_structured if write is None else lambda event: write(text_line(event))
        return self._start("events-log", handle, Group(clock=self._clock))

    def keep_recent(self, count: int = RECENT) -> None:
        """Keep the last `count` events from now on, for `recent_events`."""
        self._recent = deque(maxlen=count)

    def recent_events(self, namespace: str, name: str) -> list[Event]:
        """Return the kept events about objects of that name, of any kind, the oldest first."""
        events = (_built(recent) for recent in (self._recent.copy() if self._recent is not None else ()))
        return [event for event in events if event is not None and _is_about(event, namespace, name)]

    def publish(self, occurrence: Occurrence) -> None:
        """Queue an event for every consumer; returns at once."""
        if self._recent is not None:
            self._recent.append(occurrence)
        for watcher in self._watchers:
            watcher.offer(occurrence)

    def shutdown(self, *, timeout: float = LAST_EVENTS_SECONDS) -> None:
        """Accept no more events, handle the queued ones within `timeout` seconds in all, and end all threads.

        A failed event is not retried from here on. May be called again.
        """
        shut_down([self], timeout=timeout, clock=self._clock)

    def close(self) -> list[EventWatcher]:
        """Accept no more events, and return the consumers that still have queued ones."""
        with self._lock:
            self._closed = True
            watchers, self._watchers = self._watchers, ()
        for watcher in watchers:
            watcher.close()
        return list(watchers)

    def _start(self, name: str, handle: EventCallback, group: Group) -> EventWatcher:
        with self._lock:
            if self._closed:
                raise RuntimeError("the event broadcaster is shut down")
            watcher = EventWatcher(f"{name}-{self._started}", group, handle, limit=self._queue_length)
            self._started += 1
            self._watchers = (*(w for w in self._watchers if not w.closed), watcher)
            return watcher


def shut_down(broadcasters: Iterable[EventBroadcaster], *, timeout: float, clock: Clock = SYSTEM_CLOCK) -> None:
    """Shut several broadcasters down at once, within `timeout` seconds in all."""
    deadline = clock.now() + timeout
    for watcher in [watcher for broadcaster in broadcasters for watcher in broadcaster.close()]:
        watcher.join(max(0.0, deadline - clock.now()))


def log_structured(event: Event) -> None:
    """Log the event as key=value; its message is called `note`, because `logging` reserves the name `message`."""
    about = event.involved_object
    name = f"{about.namespace}/{about.name}" if about.namespace else about.name or ""
    fields = {
        "object": name, "fieldPath": about.field_path or "", "kind": about.kind or "",
        "apiVersion": about.api_version or "", "type": event.type or "", "reason": event.reason or "",
        "note": event.message or "",
    }  # fmt: skip
    log.info("Event occurred", extra=fields)


def _built(occurrence: Occurrence) -> Event | None:
    try:
        return run_callback(occurrence.event)
    except CallbackFailed:  # for example, its object has no kind; the consumers log it
        return None


def _is_about(event: Event, namespace: str, name: str) -> bool:
    about = event.involved_object
    return about.name == name and (about.namespace or "") == namespace


def text_line(event: Event) -> str:
    """Return the event as one line of text, as written by client-go's `StartLogging`."""
    about = _reference(event.involved_object)
    return f"Event({about}): type: '{event.type}' reason: '{event.reason}' {event.message}"


def _reference(about: ObjectReference) -> str:
    fields = (
        ("Kind", about.kind), ("Namespace", about.namespace), ("Name", about.name), ("UID", about.uid),
        ("APIVersion", about.api_version), ("ResourceVersion", about.resource_version), ("FieldPath", about.field_path),
    )  # fmt: skip
    inside = ", ".join(f"{name}:{json.dumps(value or '', ensure_ascii=False)}" for name, value in fields)
    return f"v1.ObjectReference{{{inside}}}"
