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
from clientgo.metrics import Gauge, NoMetrics, Provider, guarded, safe_provider
from clientgo.workqueue.order import LOW, NORMAL

K = TypeVar("K")

BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))
"""Upper bounds of both histograms in seconds: 10 ns, times ten, up to 1000 s (client-go's)."""

MAX_PRIORITIES = 25
"""Maximum number of priorities with a series of their own, for each queue (controller-runtime's)."""

OTHER_PRIORITIES = "exceeded_cardinality_limit"
"""Label of the series of all further priorities (controller-runtime's)."""

UPDATE_PERIOD = 0.5
"""Seconds between two updates of the unfinished work (client-go's)."""


class QueueMetrics(Generic[K]):
    """The metrics of one queue, which calls every method but `update` with its lock held."""

    def __init__(
        self,
        name: str,
        lock: threading.Lock,
        processing: Mapping[K, float],
        clock: Clock,
        registry: Provider,
        *,
        by_priority: bool,
    ) -> None:
        labels = {"name": name}
        self._name = name
        self._lock = lock
        self._clock = clock
        self._registry = registry
        # Start times of the keys being processed; owned by the queue and guarded by its lock.
        self._processing = processing
        # Series of a priority each; further priorities share one. A queue without priorities has only that one, whose
        # label is empty (to Prometheus: absent).
        self._depths: dict[int | None, Gauge] = {}
        self._max_depths = MAX_PRIORITIES if by_priority else 0
        self._shared_label = OTHER_PRIORITIES if by_priority else ""
        self._shared_depth: Gauge | None = None
        for priority in (NORMAL, LOW) if by_priority else (None,):  # series from the start
            self._depth(priority).set(0)
        self._adds = registry.counter("workqueue_adds_total", "Keys added", labels)
        self._latency = registry.histogram(
            "workqueue_queue_duration_seconds", "How long keys waited for a worker", labels, buckets=BUCKETS
        )
        self.work = registry.histogram(
            "workqueue_work_duration_seconds", "How long workers had a key", labels, buckets=BUCKETS
        )
        self._unfinished = registry.gauge(
            "workqueue_unfinished_work_seconds", "Sum of the time that keys have been in processing", labels
        )
        self._longest = registry.gauge(
            "workqueue_longest_running_processor_seconds", "How long the slowest worker has had its key", labels
        )
        self.retries = registry.counter("workqueue_retries_total", "Keys added with a delay", labels)

    def added(self, priority: int | None) -> None:
        """Count a key that became dirty; the priority of a queue without priorities is ignored."""
        self._adds.inc()
        self._depth(priority).inc()

    def raised(self, before: int, priority: int) -> None:
        """Count a dirty key under its new priority."""
        self._depth(before).dec()
        self._depth(priority).inc()

    def key_taken(self, priority: int | None, waited: float) -> None:
        """Record a key returned by `get`, `waited` seconds after it was added."""
        self._depth(priority).dec()
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

    def _depth(self, priority: int | None) -> Gauge:
        gauge = self._depths.get(priority)
        if gauge is not None:
            return gauge
        if len(self._depths) < self._max_depths:
            gauge = self._depths[priority] = self._new_depth(str(priority))
            return gauge
        if self._shared_depth is None:
            self._shared_depth = self._new_depth(self._shared_label)
        return self._shared_depth

    def _new_depth(self, priority: str) -> Gauge:
        labels = {"name": self._name, "priority": priority}
        return self._registry.gauge("workqueue_depth", "Keys that wait for a worker", labels)


class _Watched:
    # Weak references: the gauges must not keep a queue alive that was never shut down.
    queues: "weakref.WeakSet[QueueMetrics[Any]]" = weakref.WeakSet()
    lock = threading.Lock()


def metrics_of(
    name: str,
    lock: threading.Lock,
    processing: Mapping[K, float],
    clock: Clock,
    registry: Provider | None = None,
    *,
    by_priority: bool = False,
) -> "QueueMetrics[Any] | None":
    """Return the metrics of a queue, or None without a name or a provider."""
    registry = guarded(registry) if registry is not None else safe_provider()
    if not name or isinstance(registry, NoMetrics):
        return None
    metrics: QueueMetrics[Any] = QueueMetrics(name, lock, processing, clock, registry, by_priority=by_priority)
    with _Watched.lock:
        _Watched.queues.add(metrics)
    return metrics


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
