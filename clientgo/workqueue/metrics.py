"""What a named queue counts, under the names Kubernetes' dashboards know.

The two gauges that grow while nothing happens (unfinished work, longest running processor) need someone to look at
them. No queue has a thread for that: `update_unfinished_work` brings all queues up to date. It is called before a
scrape, or every half second by the one thread of `keep_unfinished_work_updated`.
"""

import threading
import weakref
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.metrics import NoMetrics, Provider, provider

K = TypeVar("K")

BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))
"""Upper bounds of both histograms in seconds: 10 ns, times ten, up to 1000 s (client-go's)."""

DEPTH, DEPTH_HELP = "workqueue_depth", "Keys that wait for a worker"
"""Has the label priority too, which is empty (to Prometheus: absent) but for queues that know priorities."""

UPDATE_PERIOD = 0.5
"""Seconds between two updates of the unfinished work (client-go's)."""


class QueueMetrics(Generic[K]):
    """The metrics of one queue, which calls every method but `update` with its lock held."""

    def __init__(
        self, name: str, lock: threading.Lock, processing: Mapping[K, float], clock: Clock, kept_by: Provider
    ) -> None:
        labels = {"name": name}
        self._lock = lock
        self._clock = clock
        # When each key that is being processed was handed out; the queue's own, guarded by its lock.
        self._processing = processing
        self._depth = kept_by.gauge(DEPTH, DEPTH_HELP, {**labels, "priority": ""})
        self._adds = kept_by.counter("workqueue_adds_total", "Keys added", labels)
        self._latency = kept_by.histogram(
            "workqueue_queue_duration_seconds", "How long keys waited for a worker", labels, buckets=BUCKETS
        )
        self._work = kept_by.histogram(
            "workqueue_work_duration_seconds", "How long workers had a key", labels, buckets=BUCKETS
        )
        self._unfinished = kept_by.gauge(
            "workqueue_unfinished_work_seconds", "How long the keys being processed have been so, in sum", labels
        )
        self._longest = kept_by.gauge(
            "workqueue_longest_running_processor_seconds", "How long the slowest worker has had its key", labels
        )
        self._retries = kept_by.counter("workqueue_retries_total", "Keys added with a delay", labels)

    def added(self) -> None:
        """A key became dirty."""
        self._adds.inc()
        self._depth.inc()

    def taken(self, waited: float) -> None:
        """A key was handed out, `waited` seconds after it was added first."""
        self._depth.dec()
        self._latency.observe(waited)

    def finished(self, worked: float) -> None:
        """A key was given back, `worked` seconds after it was handed out."""
        self._work.observe(worked)

    def retried(self) -> None:
        """A key was added with a delay, be it none."""
        self._retries.inc()

    def update(self) -> None:
        """Set the gauges of what is being processed to now; called without the lock."""
        with self._lock:
            started = list(self._processing.values())
        now = self._clock.now()
        self._unfinished.set(sum(now - since for since in started))
        self._longest.set(now - min(started) if started else 0.0)

    def stop_updates(self) -> None:
        """The queue is shut down: let `update_unfinished_work` pass it over from now on."""
        with _Watched.lock:
            _Watched.queues.discard(self)


class _Watched:
    # Weakly held: a queue that is dropped without being shut down must not live on for its gauges.
    queues: "weakref.WeakSet[QueueMetrics[Any]]" = weakref.WeakSet()
    lock = threading.Lock()


def metrics_of(
    name: str,
    lock: threading.Lock,
    processing: Mapping[K, float],
    clock: Clock,
    kept_by: Provider | None = None,
) -> "QueueMetrics[Any] | None":
    """The metrics of a queue; None if it has no name, or if the provider keeps nothing."""
    kept_by = kept_by if kept_by is not None else provider()
    if not name or isinstance(kept_by, NoMetrics):
        return None
    made: QueueMetrics[Any] = QueueMetrics(name, lock, processing, clock, kept_by)
    with _Watched.lock:
        _Watched.queues.add(made)
    return made


def update_unfinished_work() -> None:
    """Bring the gauges of every named queue up to date; queues that are shut down keep their last values."""
    with _Watched.lock:
        queues = list(_Watched.queues)
    for queue in queues:
        queue.update()


def keep_unfinished_work_updated(
    stop: threading.Event, *, period: float = UPDATE_PERIOD, clock: Clock = SYSTEM_CLOCK
) -> None:
    """Update the gauges of all queues every `period` seconds until `stop`; for a thread of the program's group."""
    while not clock.sleep(stop, period):
        update_unfinished_work()
