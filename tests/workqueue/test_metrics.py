"""Metrics of named queues."""

import gc
import threading
from typing import Any

import pytest

import clientgo.metrics
from clientgo.metrics import NoMetrics
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import RecordedMetrics
from clientgo.workqueue import (
    DelayingQueue,
    RateLimitingQueue,
    WorkQueue,
    keep_unfinished_work_updated,
    update_unfinished_work,
)
from clientgo.workqueue.metrics import BUCKETS, UPDATE_PERIOD


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(time=0.0)


@pytest.fixture
def recorded() -> RecordedMetrics:
    return RecordedMetrics()


@pytest.mark.feature("B-WQ-09")
def test_named_queue_has_seven_metrics_with_kubernetes_names(clock: FakeClock, recorded: RecordedMetrics) -> None:
    WorkQueue[str](name="test", clock=clock, metrics=recorded)
    assert {name for name, *_ in recorded.metrics} == {
        "workqueue_depth",
        "workqueue_adds_total",
        "workqueue_queue_duration_seconds",
        "workqueue_work_duration_seconds",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
        "workqueue_retries_total",
    }
    assert {(key[0], recorded.labels[key[0]], key[1]) for key in recorded.metrics} == {
        (name, ("name", "priority") if name == "workqueue_depth" else ("name",), "test") for name in recorded.labels
    }
    assert list(recorded.buckets.values()) == [BUCKETS, BUCKETS]


@pytest.mark.feature("B-WQ-09")
def test_histograms_have_12_buckets_from_10_ns_to_1000_s() -> None:
    assert pytest.approx([1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000]) == BUCKETS
    assert UPDATE_PERIOD == 0.5


@pytest.mark.feature("B-WQ-09")
def test_queue_without_name_has_no_metrics(clock: FakeClock, recorded: RecordedMetrics) -> None:
    queue: RateLimitingQueue[str] = RateLimitingQueue(clock=clock, metrics=recorded)
    queue.add("foo")
    queue.done(queue.get())
    assert recorded.metrics == {}


class Ticker:
    """The thread that keeps unfinished work up to date, every millisecond of a fake clock."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.stop, self.group = clock, threading.Event(), Group()
        self.group.start(self._run, name="unfinished-work")
        clock.wait_for_waiters()

    def _run(self) -> None:
        keep_unfinished_work_updated(self.stop, period=0.001, clock=self.clock)

    def step(self, seconds: float) -> None:
        self.clock.step(seconds)
        self.clock.wait_for_waiters()

    def end(self) -> None:
        self.stop.set()
        self.group.join(10)


@pytest.mark.behaviour("WQ-22")
def test_unfinished_work_is_updated_each_period_until_shut_down(clock: FakeClock, recorded: RecordedMetrics) -> None:
    queue: WorkQueue[str] = WorkQueue(name="test", clock=clock, metrics=recorded)
    ticker = Ticker(clock)
    ticker.step(0.001)
    assert recorded["workqueue_unfinished_work_seconds", "test"].times == 1
    queue.shut_down()
    ticker.step(3600.0)
    assert recorded["workqueue_unfinished_work_seconds", "test"].times == 1
    ticker.end()


@pytest.mark.behaviour("WQ-23")
def test_each_step_of_a_key_is_counted_and_measured(clock: FakeClock, recorded: RecordedMetrics) -> None:
    queue: WorkQueue[str] = WorkQueue(name="test", clock=clock, metrics=recorded)
    ticker = Ticker(clock)
    queue.add("foo")
    assert (recorded["workqueue_adds_total", "test"].value, recorded["workqueue_depth", "test", ""].value) == (1, 1)
    clock.step(50e-6)
    assert queue.get() == "foo"
    assert recorded["workqueue_queue_duration_seconds", "test"].observed == pytest.approx([5e-05])
    assert recorded["workqueue_depth", "test", ""].value == 0
    for _ in range(5):
        queue.add("foo")
    assert (recorded["workqueue_adds_total", "test"].value, recorded["workqueue_depth", "test", ""].value) == (2, 1)
    clock.step(25e-6)
    queue.done("foo")
    assert recorded["workqueue_work_duration_seconds", "test"].observed == pytest.approx([7.5e-05 - 5e-05])
    assert recorded["workqueue_depth", "test", ""].value == 1
    assert queue.get() == "foo"
    assert recorded["workqueue_queue_duration_seconds", "test"].observed == pytest.approx([5e-05, 2.5e-05])
    ticker.step(0.001)
    assert recorded["workqueue_unfinished_work_seconds", "test"].value == pytest.approx(0.001)
    assert recorded["workqueue_longest_running_processor_seconds", "test"].value == pytest.approx(0.001)
    queue.done("foo")
    assert recorded["workqueue_work_duration_seconds", "test"].observed == pytest.approx([2.5e-05, 0.001])
    ticker.end()


def test_unfinished_work_is_the_sum_and_longest_running_the_maximum(
    clock: FakeClock, recorded: RecordedMetrics
) -> None:
    queue: WorkQueue[str] = WorkQueue(name="test", clock=clock, metrics=recorded)
    for key in ("a", "b"):
        queue.add(key)
        queue.get()
        clock.step(1.0)
    update_unfinished_work()
    assert recorded["workqueue_unfinished_work_seconds", "test"].value == 3.0
    assert recorded["workqueue_longest_running_processor_seconds", "test"].value == 2.0
    queue.done("a")
    queue.done("b")
    update_unfinished_work()
    assert recorded["workqueue_unfinished_work_seconds", "test"].value == 0.0
    assert recorded["workqueue_longest_running_processor_seconds", "test"].value == 0.0


def test_key_added_with_any_delay_counts_as_a_retry(clock: FakeClock, recorded: RecordedMetrics) -> None:
    queue: DelayingQueue[str] = DelayingQueue(name="test", clock=clock, metrics=recorded)
    queue.add_after("foo", 1.0)
    queue.add_after("bar", 0.0)
    assert recorded["workqueue_retries_total", "test"].value == 2
    assert recorded["workqueue_adds_total", "test"].value == 1
    clock.step(1.0)
    assert len(queue) == 2
    assert recorded["workqueue_adds_total", "test"].value == 2
    queue.shut_down()
    queue.add_after("baz", 1.0)
    assert recorded["workqueue_retries_total", "test"].value == 2


def test_queue_dropped_without_shut_down_is_not_updated(clock: FakeClock, recorded: RecordedMetrics) -> None:
    queue: Any = WorkQueue(name="test", clock=clock, metrics=recorded)
    del queue
    gc.collect()
    update_unfinished_work()
    assert recorded["workqueue_unfinished_work_seconds", "test"].times == 0


@pytest.mark.feature("B-WQ-09", "B-WQ-10")
def test_provider_of_the_program_is_the_default(clock: FakeClock, recorded: RecordedMetrics) -> None:
    clientgo.metrics.set_provider(recorded)
    try:
        queue: WorkQueue[str] = WorkQueue(name="test", clock=clock)
    finally:
        clientgo.metrics.set_provider(NoMetrics())
    queue.add("foo")
    assert recorded["workqueue_adds_total", "test"].value == 1
