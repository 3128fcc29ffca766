"""Growth cases of loops that keep state: queues, events, metrics, caches of results, groups of threads."""

import math
from collections.abc import Callable
from typing import Any

from clientgo.cache.listener import Added, HandlerRetries
from clientgo.internal.delayheap import DelayHeap
from clientgo.kubernetes.types.core_events import Event, EventSource, ObjectReference
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.log.repeats import Repeats
from clientgo.meta import from_dict
from clientgo.meta.names import object_name
from clientgo.record.correlator import CorrelatorOptions, EventCorrelator
from clientgo.record.events import make_event
from clientgo.record.series import SeriesCache
from clientgo.rest.headers import WarningLogger
from clientgo.serving import ServingRequest
from clientgo.serving.authorization import BoundedCache
from clientgo.serving.prometheus import PrometheusProvider, metrics_route
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import WorkQueue

BOUND = 200
"""Entries that the bounded cases may keep, or more than they keep."""

SOURCE = EventSource(component="c")


def event(name: int, message: int = 0, action: str = "") -> Event:
    about = ObjectReference(kind="Pod", api_version="v1", namespace="n", name=f"p{name}")
    text = f"m{message}"
    at = 10**18 + name
    return make_event(about, event_type="Normal", reason="R", message=text, at=at, source=SOURCE, action=action)


def correlate(events: list[Event], options: CorrelatorOptions | None = None) -> EventCorrelator:
    correlator = EventCorrelator(options, clock=FakeClock())
    for each in events:
        result = correlator.correlate(each)
        if not result.skip:
            correlator.update_state(result.event, result.key)
    return correlator


def series(events: list[Event]) -> SeriesCache:
    cache = SeriesCache()
    for each in events:
        cache.correlate(each)
    return cache


def counted(count: int) -> PrometheusProvider:
    provider = PrometheusProvider(process=False)
    for number in range(count):
        provider.counter("growth_total", "growth", {"label": str(number)}).inc()
    return provider


def scraped(provider: PrometheusProvider) -> object:
    return metrics_route(provider.registry)(ServingRequest("GET", "/metrics"))


def queued(count: int) -> WorkQueue[int]:
    queue = WorkQueue[int](clock=FakeClock(auto=True))
    for number in range(count):
        queue.add(number)
        queue.add(number, after=1.0)
    for _ in range(count):
        queue.done(queue.get())
    return queue


def failing_and_delayed(count: int) -> WorkQueue[str]:
    """Process one key again and again: it fails, then it is to be processed later."""
    queue = WorkQueue[str](clock=FakeClock(auto=True), merge_delays=True)
    queue.add("a")
    for _ in range(count):
        key = queue.get()
        queue.add_rate_limited(key)
        queue.done(key)
        key = queue.get()
        queue.forget(key)
        queue.add(key, after=3600.0)
        queue.add(key)
        queue.done(key)
    return queue


def prioritized(count: int) -> object:
    provider = PrometheusProvider(process=False)
    queue = WorkQueue[int](name="growth", clock=FakeClock(), metrics=provider)
    for number in range(count):
        queue.add(0, priority=number)
        queue.done(queue.get())
    return provider, queue


def delayed(count: int) -> DelayHeap[int]:
    heap = DelayHeap[int]()
    for number in range(count):
        heap.push(number % 7, float(count - number))
    heap.pop_due(float(count))
    return heap


def failed_one_by_one(count: int) -> tuple[FakeClock, HandlerRetries[ConfigMap]]:
    """Return the retries of many objects, each due at a time of its own, and their clock."""
    clock = FakeClock()
    retries = HandlerRetries[ConfigMap](clock)
    for number in range(count):
        obj = from_dict(ConfigMap, {"metadata": {"name": f"a{number}", "namespace": "b"}})
        retries.add(object_name(obj), Added(obj, False), "no")
        clock.step(1e-6)
    return clock, retries


def retried(failed: tuple[FakeClock, HandlerRetries[ConfigMap]]) -> None:
    clock, retries = failed
    while retries.next_due < math.inf:
        clock.step(max(0.0, retries.next_due - clock.now()))
        for notification in retries.due():
            assert isinstance(notification, Added)
            retries.succeeded(object_name(notification.obj))


def started(count: int) -> Group:
    group = Group()
    for number in range(count):
        group.start(int, name=f"growth-{number}")
        if number % 8 == 0:
            group.join()
    group.join()
    return group


def warned(count: int) -> WarningLogger:
    logger = WarningLogger()
    for number in range(5 * count):  # it remembers a thousand
        logger(f"{number}")
    return logger


def reviewed(count: int) -> BoundedCache[int, int]:
    cache = BoundedCache[int, int](60.0, BOUND, FakeClock())
    for number in range(count):
        cache.put(number, number)
    return cache


def repeated(count: int) -> Repeats:
    repeats = Repeats(60.0, size=BOUND, clock=FakeClock())
    for number in range(count):
        repeats.due(number)
    return repeats


CASES: dict[str, tuple[Any, ...]] = {
    "events about many objects": (lambda n: [event(i) for i in range(n)], correlate),
    "events with many messages": (lambda n: [event(0, i) for i in range(n)], correlate),
    "equal events": (lambda n: [event(0)] * n, correlate),
    "series about many objects": (lambda n: [event(i, action="A") for i in range(n)], series),
    "equal events of a series": (lambda n: [event(0, action="A")] * n, series),
    "metrics with many labels": (lambda n: n, counted),
    "metrics that are scraped": (counted, scraped),
    "keys of a queue": (lambda n: n, queued),
    "delays of a few keys": (lambda n: n, delayed, 120),
    "failures of one key": (lambda n: n, failing_and_delayed),
    "retries of a handler": (failed_one_by_one, retried),
}

BOUNDED: dict[str, Callable[[int], object]] = {
    "delays of a few keys": delayed,
    "failures of one key": failing_and_delayed,
    "priorities of a queue": prioritized,
    "events about many objects": lambda n: correlate([event(i) for i in range(n)], CorrelatorOptions(cache_size=BOUND)),
    "subjects of log lines": repeated,
    "warnings of the server": warned,
    "results of reviews": reviewed,
    "threads of a group": started,
}
"""Loops whose state must not grow with the number of rounds."""
