"""Processing of queued names: results, retries and priorities, with a fake clock and no threads."""

import threading
from collections.abc import Callable

import pytest

from clientgo.errors import ConfigError, ConnectionFailed
from clientgo.log.fields import current_fields
from clientgo.manager import Controller, ControllerOptions, FuncSource, Result, TerminalError
from clientgo.manager.cache import CacheNotSynced
from clientgo.manager.controllers import reconcile_of
from clientgo.meta import ObjectName
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import RecordedMetrics, recorded_metrics
from clientgo.workqueue import LOW, RateLimitingQueue

A, B = ObjectName("ns", "a"), ObjectName("ns", "b")


class Fixture:
    """Controller whose reconciler returns one given result after another, then None."""

    def __init__(self, *answers: Result | Exception | None, **options: object) -> None:
        self.clock, self.requests = FakeClock(), list[ObjectName]()
        self._answers = iter(answers)
        with recorded_metrics() as self.kept:
            self.controller = Controller(
                "foos",
                "Foo",
                self.reconcile,
                (),
                options=ControllerOptions(**options),  # type: ignore[arg-type]
                clock=self.clock,
            )
        self.queue = self.controller.queue

    def reconcile(self, request: ObjectName) -> Result | None:
        self.requests.append(request)
        response = next(self._answers, None)
        if isinstance(response, Exception):
            raise response
        return response

    def process(self, request: ObjectName = A) -> None:
        self.controller.enqueue(request)
        self.controller.process_next()

    def waits(self) -> float | None:
        """Return the seconds until the name is due; None if it is not in the queue."""
        return dict(self.queue.state().waiting).get(A, 0.0 if len(self.queue) else None)


def counted(stored: RecordedMetrics, name: str, *labels: str) -> float:
    return stored[f"controller_runtime_{name}", "foos", *labels].value


@pytest.mark.feature("A-12")
@pytest.mark.parametrize("response", [None, Result(), Result(requeue_after=-1.0)])
def test_success_resets_the_backoff(response: Result | None) -> None:
    fixture = Fixture(ConnectionFailed("refused"), response)
    fixture.process()
    assert fixture.queue.num_requeues(A) == 1
    fixture.clock.step(1.0)
    fixture.controller.process_next()
    assert fixture.queue.num_requeues(A) == 0
    assert fixture.waits() is None
    assert counted(fixture.kept, "reconcile_total", "success") == 1
    assert fixture.requests == [A, A]


@pytest.mark.feature("A-12")
@pytest.mark.feature("B-CR-09")
def test_error_is_retried_with_backoff() -> None:
    fixture = Fixture(*[ConnectionFailed("refused")] * 3)
    delays = []
    for _ in range(3):
        fixture.process()
        delays.append(fixture.waits())
        fixture.clock.step(1.0)
        assert fixture.queue.get() == A
        fixture.queue.done(A)
    assert delays == pytest.approx([0.005, 0.01, 0.02])
    assert counted(fixture.kept, "reconcile_total", "error") == 3
    assert counted(fixture.kept, "reconcile_errors_total") == 3
    assert counted(fixture.kept, "reconcile_panics_total") == 0


@pytest.mark.feature("A-12")
def test_bug_is_an_error_with_its_own_counter(caplog: pytest.LogCaptureFixture) -> None:
    fixture = Fixture(KeyError("a bug"))
    fixture.process()
    assert fixture.waits() == 0.005
    assert counted(fixture.kept, "reconcile_panics_total") == 1
    assert caplog.records[0].exc_info is not None


def test_expected_error_is_not_a_bug() -> None:
    fixture = Fixture(KeyError("known"), expected=(KeyError,))
    fixture.process()
    assert fixture.waits() == 0.005
    assert counted(fixture.kept, "reconcile_panics_total") == 0


@pytest.mark.feature("B-CR-09")
def test_bug_ends_the_program_without_recover_panic() -> None:
    fixture = Fixture(ConnectionFailed("refused"), KeyError("a bug"), recover_panic=False)
    fixture.process()
    with pytest.raises(KeyError, match="a bug"):
        fixture.process(B)


@pytest.mark.feature("A-12")
def test_terminal_error_is_counted_and_not_retried(caplog: pytest.LogCaptureFixture) -> None:
    fixture = Fixture(ConnectionFailed("refused"), TerminalError("no such region"))
    fixture.process()
    fixture.clock.step(1.0)
    fixture.controller.process_next()
    assert fixture.waits() is None
    assert fixture.queue.num_requeues(A) == 0
    assert counted(fixture.kept, "terminal_reconcile_errors_total") == 1
    assert counted(fixture.kept, "reconcile_errors_total") == 2
    assert "waiting for a change" in caplog.text


@pytest.mark.feature("A-12")
def test_requeue_after_resets_the_backoff() -> None:
    fixture = Fixture(ConnectionFailed("refused"), Result(requeue_after=60.0))
    fixture.process()
    fixture.clock.step(1.0)
    fixture.controller.process_next()
    assert fixture.waits() == 60.0
    assert fixture.queue.num_requeues(A) == 0
    assert counted(fixture.kept, "reconcile_total", "requeue_after") == 1


@pytest.mark.parametrize("priority_queue", [True, False])
def test_event_replaces_a_pending_requeue(*, priority_queue: bool) -> None:
    fixture = Fixture(Result(requeue_after=60.0), priority_queue=priority_queue)
    fixture.process()
    assert fixture.waits() == 60.0
    fixture.process()
    assert fixture.waits() is None
    fixture.clock.step(60.0)
    assert len(fixture.queue) == 0


@pytest.mark.feature("C-31")
def test_requeue_keeps_or_sets_the_priority() -> None:
    fixture = Fixture(Result(requeue_after=1.0), Result(requeue_after=1.0, priority=5))
    fixture.controller.enqueue(A, LOW)
    fixture.controller.process_next()
    fixture.clock.step(1.0)
    fixture.controller.enqueue(B)
    fixture.controller.process_next()
    fixture.clock.step(1.0)
    fixture.controller.process_next()
    assert fixture.requests == [A, B, B]


@pytest.mark.feature("B-CR-09")
def test_defaults_are_controller_runtimes_except_for_warm_up() -> None:
    assert ControllerOptions() == ControllerOptions(
        workers=1, priority_queue=True, needs_leader_election=True, recover_panic=True, cache_sync_timeout=120.0,
        reconciliation_timeout=0.0, warm_up=True,
    )  # fmt: skip
    fixture, waited = Fixture(*[ConnectionFailed("refused")] * 20), []
    for _ in range(20):
        fixture.process()
        waited.append(fixture.waits())
        fixture.clock.step(1000.0)
        fixture.queue.done(fixture.queue.get())
    assert waited == pytest.approx([min(0.005 * 2**failures, 1000.0) for failures in range(20)])


@pytest.mark.feature("B-CR-05")
def test_log_fields_are_added_to_lines_of_a_reconciliation() -> None:
    seen: list[dict[str, object]] = []
    options = ControllerOptions(log_fields=lambda request: {"tenant": request.namespace})
    controller = Controller("foos", "Foo", lambda _: seen.append(current_fields()), (), options=options)
    controller.enqueue(A)
    controller.process_next()
    assert [(fields["name"], fields["tenant"]) for fields in seen] == [("a", "ns")]


def test_plain_queue_is_available() -> None:
    fixture = Fixture(Result(requeue_after=5.0, priority=7), priority_queue=False)
    assert type(fixture.queue) is RateLimitingQueue
    fixture.process()
    assert fixture.waits() == 5.0


class FailingOnce(FuncSource):
    """Source that raises at its first start."""

    def __init__(self, failures: int) -> None:
        super().__init__(lambda *_: None)
        self.starts = 0
        self._failures = failures

    def start(self, *_: object) -> None:
        self.starts += 1
        if self.starts <= self._failures:
            raise LookupError("no informer")


def test_source_that_failed_to_start_is_started_again_and_the_others_are_not() -> None:
    sources = (FailingOnce(0), FailingOnce(1), FailingOnce(0))
    controller = Controller("foos", "Foo", lambda _: None, sources)
    with pytest.raises(LookupError):
        controller.warm_up(threading.Event())
    controller.warm_up(threading.Event())
    controller.warm_up(threading.Event())
    assert [source.starts for source in sources] == [1, 2, 1]


def test_source_that_is_added_starts_with_the_others_or_at_once() -> None:
    first, second = FailingOnce(0), FailingOnce(0)
    controller = Controller("foos", "Foo", lambda _: None, ())
    controller.watch(first)
    assert first.starts == 0
    controller.warm_up(threading.Event())
    controller.watch(second)
    assert [first.starts, second.starts] == [1, 1]


class Never:
    """Source that never syncs."""

    has_synced = False

    def __str__(self) -> str:
        return "never"

    def start(self, *_: object) -> "Never":
        return self


@pytest.mark.feature("B-CR-09")
@pytest.mark.feature("C-37")
def test_workers_wait_until_the_sources_have_synced() -> None:
    clock = FakeClock(auto=True)
    controller = Controller(
        "foos", "Foo", lambda _: None, (Never(), Never()), describe_unsynced=lambda: "foos: refused", clock=clock
    )
    with pytest.raises(CacheNotSynced, match=r"foos: not synced within 120 s: never, never \(1\); foos: refused"):
        controller.start(threading.Event())
    assert clock.now() >= 120.0


def test_controller_stopped_before_its_sources_sync_ends() -> None:
    stop = threading.Event()
    stop.set()
    Controller("foos", "Foo", lambda _: None, (Never(),), clock=FakeClock()).start(stop)


@pytest.mark.feature("B-CR-09")
def test_workers_reconcile_concurrently() -> None:
    barrier = threading.Barrier(3, timeout=10.0)

    def reconcile(_: ObjectName) -> None:
        barrier.wait()

    controller = Controller("foos", "Foo", reconcile, (), options=ControllerOptions(workers=2))
    with Group() as group:
        group.start(controller.start, group.stop_event, name="foos")
        controller.enqueue(A)
        controller.enqueue(B)
        barrier.wait()


@pytest.mark.feature("A-11")
def test_stopped_controller_finishes_only_the_current_object() -> None:
    began, release, done = threading.Event(), threading.Event(), list[ObjectName]()

    def reconcile(request: ObjectName) -> None:
        began.set()
        release.wait(10.0)
        done.append(request)

    controller = Controller("foos", "Foo", reconcile, ())
    for request in (A, B):
        controller.enqueue(request)
    with Group() as group:
        group.start(controller.start, group.stop_event, name="foos")
        assert began.wait(10.0)
        group.stop()
        release.set()
    assert done == [A]


def test_reconciler_is_an_object_or_a_function() -> None:
    fixture = Fixture()
    assert reconcile_of(fixture) == fixture.reconcile
    function: Callable[[ObjectName], None] = lambda _: None  # noqa: E731
    assert reconcile_of(function) is function
    with pytest.raises(ConfigError, match="str is not a reconciler: it has no method reconcile"):
        reconcile_of("reconcile")  # type: ignore[arg-type]
