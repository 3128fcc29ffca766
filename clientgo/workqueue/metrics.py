"""Metrics of named queues, with the names used by Kubernetes' dashboards.

Two gauges grow while nothing happens (unfinished work, longest running processor) and need updates. No queue has a
thread for that: `update_unfinished_work` updates all queues. It is called before a scrape, or every half second by the
one thread of `keep_unfinished_work_updated`.
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
"""Also has the label priority, which is empty (to Prometheus: absent) except for priority queues."""

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
        # Start times of the keys being processed; owned by the queue and guarded by its lock.
        self._processing = processing
        self._depth = kept_by.gauge(DEPTH, DEPTH_HELP, {**labels, "priority": ""})
        self._adds = kept_by.counter("workqueue_adds_total", "Keys added", labels)
        self._latency = kept_by.histogram(
            "workqueue_queue_duration_seconds", "How long keys waited for a worker", labels, buckets=BUCKETS
        )
        self.work = kept_by.histogram(
            "workqueue_work_duration_seconds", "How long workers had a key", labels, buckets=BUCKETS
        )
        self._unfinished = kept_by.gauge(
            "workqueue_unfinished_work_seconds", "How long the keys being processed have been so, in sum", labels
        )
        self._longest = kept_by.gauge(
            "workqueue_longest_running_processor_seconds", "How long the slowest worker has had its key", labels
        )
        self.retries = kept_by.counter("workqueue_retries_total", "Keys added with a delay", labels)

    def added(self) -> None:
        """Count a key that became dirty."""
        self._adds.inc()
        self._depth.inc()

    def taken(self, waited: float) -> None:
        """Record a key returned by `get`, `waited` seconds after it was added."""
        self._depth.dec()
        self._latency.observe(waited)

    def update(self) -> None:
        """Update the gauges of the keys being processed; called without the lock."""
        with self._lock:
            started = list(self._processing.values())
        now = self._clock.now()
        self._unfinished.set(sum(now - since for since in started))
        self._longest.set(now - min(started) if started else 0.0)

    def stop_updates(self) -> None:
        """Exclude the queue from `update_unfinished_work` after it is shut down."""
        with _Watched.lock:
            _Watched.queues.discard(self)


class _Watched:
    # Weak references: the gauges must not keep a queue alive that was never shut down.
    queues: "weakref.WeakSet[QueueMetrics[Any]]" = weakref.WeakSet()
    lock = threading.Lock()


def metrics_of(
    name: str,
    lock: threading.Lock,
    processing: Mapping[K, float],
    clock: Clock,
    kept_by: Provider | None = None,
) -> "QueueMetrics[Any] | None":
    """Return the metrics of a queue, or None without a name or a provider."""
    kept_by = kept_by if kept_by is not None else provider()
    if not name or isinstance(kept_by, NoMetrics):
        return None
    made: QueueMetrics[Any] = QueueMetrics(name, lock, processing, clock, kept_by)
    with _Watched.lock:
        _Watched.queues.add(made)
    return made


def update_unfinished_work() -> None:
    """Update the gauges of every named queue; queues that are shut down keep their last values."""
    with _Watched.lock:
        queues = list(_Watched.queues)
    for queue in queues:
        queue.update()


def keep_unfinished_work_updated(
    stop: threading.Event, *, period: float = UPDATE_PERIOD, clock: Clock = SYSTEM_CLOCK
) -> None:
    """Update the gauges of all queues every `period` seconds until `stop` is set; run it in a thread."""
    while not clock.sleep(stop, period):
        update_unfinished_work()
