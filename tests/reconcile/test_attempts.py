"""Logging and metrics of reconciliations."""

import dataclasses
import inspect
import logging
import threading
from contextlib import suppress

import pytest

from clientgo.errors import Conflict, ConnectionFailed, Forbidden, LeaseNotHeld, NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.log.fields import current_fields
from clientgo.meta import ObjectName
from clientgo.reconcile.attempts import RESULTS, Attempts, begin_finalizing
from clientgo.reconcile.failurelog import REPEAT_SECONDS
from clientgo.reconcile.workers import TerminalError
from clientgo.rest import Config, RESTClient
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import recorded_metrics
from clientgo.testing.transport import FakeTransport, reply

KEY = ObjectName("ns", "a")
PATH = "tests/reconcile/test_attempts.py"


def fail(attempts: Attempts, error: Exception, key: ObjectName = KEY) -> None:
    with attempts.at(key) as attempt:
        try:
            raise error
        except Exception as caught:  # noqa: BLE001
            attempt.failed(caught)


def test_lines_of_an_attempt_have_its_object_and_id() -> None:
    attempts, seen = Attempts("Foo"), []
    for _ in range(2):
        with attempts.at(KEY) as attempt:
            seen.append(current_fields())
            attempt.succeeded()
    assert [{**fields, "reconcile_id": ""} for fields in seen] == [
        {"kind": "Foo", "namespace": "ns", "name": "a", "reconcile_id": ""}
    ] * 2
    assert seen[0]["reconcile_id"] != seen[1]["reconcile_id"]
    assert current_fields() == {}


@pytest.mark.feature("B-CR-05")
def test_log_fields_are_added_or_replace_others() -> None:
    attempts = Attempts("Foo", log_fields=lambda request: {"tenant": f"of-{request.name}", "namespace": None})
    with attempts.at(KEY) as attempt:
        fields = current_fields()
        attempt.succeeded()
    assert {**fields, "reconcile_id": ""} == {"kind": "Foo", "name": "a", "tenant": "of-a", "reconcile_id": ""}


def test_log_fields_that_fail_are_logged_as_a_bug(caplog: pytest.LogCaptureFixture) -> None:
    tenants: dict[str, str] = {}
    attempts = Attempts("Foo", log_fields=lambda request: {"tenant": tenants[request.name]})
    with attempts.at(KEY) as attempt:
        assert current_fields()["name"] == "a"
        attempt.succeeded()
    assert "bug: log_fields failed" in caplog.text


@pytest.mark.parametrize(
    ("errors", "level", "messages"),
    [
        ((ConnectionFailed("refused"), Conflict("changed")), "WARNING", "two: refused; changed"),
        ((Conflict("changed"), LeaseNotHeld("lost")), "INFO", "two: changed; lost"),
        ((ConnectionFailed("refused"), KeyError("a bug")), "ERROR", "ExceptionGroup: two: refused; 'a bug'"),
    ],
)
def test_group_of_errors_is_a_bug_if_one_of_them_is(
    errors: tuple[Exception, ...], level: str, messages: str, caplog: pytest.LogCaptureFixture
) -> None:
    with recorded_metrics() as metrics, caplog.at_level(logging.INFO):
        fail(Attempts("Foo"), ExceptionGroup("two", errors))
    (record,) = caplog.records
    assert (record.levelname, str(vars(record)["err"])) == (level, messages)
    assert metrics["controller_runtime_reconcile_panics_total", "foo"].value == (level == "ERROR")


def test_repeated_failures_are_logged_once_per_period(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    attempts = Attempts("Foo", clock=clock)
    with caplog.at_level(logging.DEBUG):
        for seconds in (0.0, 1.0, 1.0, REPEAT_SECONDS):
            clock.step(seconds)
            fail(attempts, ConnectionFailed("refused"))
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG", "DEBUG", "WARNING"]
    assert "left_out" not in vars(caplog.records[0])
    assert vars(caplog.records[-1])["left_out"] == 2


def test_another_failure_of_the_object_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    attempts = Attempts("Foo", clock=FakeClock())
    for text in ("namespace ending", "Secret token not found", "Secret token not found"):
        fail(attempts, ConnectionFailed(text))
    assert [str(vars(record)["err"]) for record in caplog.records] == ["namespace ending", "Secret token not found"]


def test_failures_that_differ_only_in_numbers_are_equal(caplog: pytest.LogCaptureFixture) -> None:
    attempts = Attempts("Foo", clock=FakeClock())
    for port in (50123, 50124, 9):
        fail(attempts, ConnectionFailed(f"127.0.0.1:{port} refused"))
    assert [str(vars(record)["err"]) for record in caplog.records] == ["127.0.0.1:50123 refused"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectionFailed("no"), "cannot finalize; will retry"),
        (ValueError("no"), "bug: cannot finalize; will retry"),
        (TerminalError("no"), "cannot finalize; waiting for a change"),
    ],
)
def test_failed_cleanup_is_logged_as_such(error: Exception, message: str, caplog: pytest.LogCaptureFixture) -> None:
    begin_finalizing()  # outside an attempt, as in a unit test of a reconciler
    attempts = Attempts("Foo")
    with attempts.at(KEY) as attempt:
        begin_finalizing()
        if isinstance(error, TerminalError):
            attempt.failed_terminally(error)
        else:
            attempt.failed(error)
    fail(attempts, ConnectionFailed("no"))
    cleanup, reconciliation = caplog.records
    assert message in cleanup.message
    assert "cannot reconcile; will retry" in reconciliation.message


def test_failed_cleanup_is_reported_as_often_as_it_is_logged_and_conflicts_are_not() -> None:
    reports, clock = list[str](), FakeClock()
    attempts = Attempts("Foo", clock=clock)

    def clean_up(error: Exception) -> None:
        with attempts.at(KEY) as attempt:
            begin_finalizing(reports.append)
            if isinstance(error, TerminalError):
                attempt.failed_terminally(error)
            else:
                attempt.failed(error)

    first: list[Exception] = [Conflict("changed"), ConnectionFailed("no"), ConnectionFailed("no"), KeyError("x")]
    later: list[Exception] = [ConnectionFailed("no"), TerminalError("never")]
    for errors in (first, later):
        for error in errors:
            clean_up(error)
        clock.step(REPEAT_SECONDS)
    fail(attempts, ConnectionFailed("another attempt"))
    texts = ["no", "KeyError: 'x'", "no", "never"]
    assert reports == [f"cannot finalize: {text}" for text in texts]


def test_equal_traceback_is_printed_once_for_all_objects(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    attempts = Attempts("Foo", clock=clock)
    with caplog.at_level(logging.DEBUG):
        for name in ("a", "b", "b"):
            clock.step(2.0)
            fail(attempts, TypeError(f"wrong {name}"), ObjectName("ns", name))
    lines = [(r.levelname, bool(r.exc_info), vars(r).get("traceback"), vars(r)["err"]) for r in caplog.records]
    assert lines == [
        ("ERROR", True, None, "TypeError: wrong a"),
        ("ERROR", False, "same as 2 s ago, 1 times", "TypeError: wrong b"),
        ("DEBUG", False, "same as 4 s ago, 2 times", "TypeError: wrong b"),
    ]


def test_another_traceback_of_the_object_is_printed_at_once(caplog: pytest.LogCaptureFixture) -> None:
    attempts = Attempts("Foo", clock=FakeClock())
    for error in (ConnectionFailed("refused"), TypeError("wrong"), KeyError("x"), KeyError("x")):
        fail(attempts, error)
    assert [(record.levelname, bool(record.exc_info)) for record in caplog.records] == [
        ("WARNING", False),
        ("ERROR", True),
        ("ERROR", True),
    ]


@pytest.mark.parametrize("extra", [{"name": "a"}, {"args": 1}])
def test_reserved_name_in_extra_is_explained(caplog: pytest.LogCaptureFixture, extra: dict[str, object]) -> None:
    with pytest.raises(KeyError) as raised:
        logging.getLogger("program").error("reconciled", extra=extra)
    fail(Attempts("Foo"), raised.value)
    (record,) = caplog.records
    assert vars(record)["hint"] == "logging reserves that name in extra: add _ to it, which is not printed"


def test_copy_by_dataclasses_of_another_class_is_explained(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(TypeError) as raised:
        dataclasses.replace(ConfigMap(), data={})  # type checkers accept it
    fail(Attempts("Foo"), raised.value)
    (record,) = caplog.records
    assert vars(record)["hint"] == "clientgo.meta.replace copies objects of all classes"


def test_failure_has_its_retry_its_request_and_the_line_of_the_reconciler(caplog: pytest.LogCaptureFixture) -> None:
    client = RESTClient(Config(host="http://fake"), transport=FakeTransport(reply(b"no", status=403)))
    with Attempts("Foo").at(KEY) as attempt:
        try:
            client.raw("GET", "/api/v1/pods", query={"limit": "1"})
        except Forbidden as error:
            attempt.failed(error, failures=3, retry_in=0.02)
    (record,) = caplog.records
    line = inspect.currentframe().f_lineno - 4  # type: ignore[union-attr]
    facts = {key: vars(record).get(key) for key in ("attempt", "retry_in", "request", "at")}
    assert facts == {
        "attempt": 3,
        "retry_in": "0.02s",
        "request": "GET /api/v1/pods",
        "at": f"{PATH}:{line}",
    }


def test_request_of_the_cause_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    cause = NotFound("no pod")
    cause.request = "GET /api/v1/namespaces/ns/pods/x"
    error = LookupError("no pod yet")
    error.__cause__ = cause
    fail(Attempts("Foo", expected=(LookupError,)), error)
    assert vars(caplog.records[0])["request"] == "GET /api/v1/namespaces/ns/pods/x"


def test_attempt_that_blocks_its_worker_is_logged_after_a_minute_and_then_less_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    attempts, begun, end = Attempts("Foo", clock=clock), threading.Event(), threading.Event()

    def reconcile() -> None:
        with attempts.at(KEY) as attempt:
            begun.set()
            end.wait(10.0)
            attempt.succeeded()

    with Group(clock=clock) as group:
        group.start(attempts.wait, group.stop_event, name="controller")
        clock.wait_for_sleeps(1)
        clock.step(1.0)
        group.start(reconcile, name="worker")
        assert begun.wait(10.0)
        for sleeps, seconds in enumerate((59.0, 1.0, 60.0), 2):
            clock.step(seconds)
            clock.wait_for_sleeps(sleeps)
        end.set()
    warned = [(vars(record)["seconds"], vars(record)["at"].rpartition(":")[0]) for record in caplog.records]
    assert warned == [(60, PATH), (120, PATH)]
    assert "Foo ns/a  reconcile is still running and blocks its worker  seconds=60" in caplog.text


def test_failure_after_a_success_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    attempts = Attempts("Foo", clock=FakeClock())
    fail(attempts, ConnectionFailed("refused"))
    with attempts.at(KEY) as attempt:
        attempt.succeeded()
    fail(attempts, ConnectionFailed("refused"))
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


@pytest.mark.parametrize(
    ("error", "level", "panics"),
    [
        (Conflict("changed"), "INFO", 0),
        (LeaseNotHeld("lost"), "INFO", 0),
        (ConnectionFailed("refused"), "WARNING", 0),
        (LookupError("known"), "WARNING", 0),
        (TypeError("a bug"), "ERROR", 1),
    ],
)
def test_level_depends_on_the_error(
    error: Exception, level: str, panics: int, caplog: pytest.LogCaptureFixture
) -> None:
    with recorded_metrics() as metrics, caplog.at_level(logging.INFO):
        fail(Attempts("Foo", expected=(LookupError,)), error)
    (record,) = caplog.records
    assert (record.levelname, bool(record.exc_info)) == (level, panics == 1)
    assert metrics["controller_runtime_reconcile_total", "foo", "error"].value == 1
    assert metrics["controller_runtime_reconcile_panics_total", "foo"].value == panics


NAME = "controller_runtime_reconcile_"


@pytest.mark.feature("B-CR-10")
def test_every_result_has_a_series_from_the_start() -> None:
    with recorded_metrics() as metrics:
        Attempts("Foo").set_workers(2)
    assert {metrics[f"{NAME}total", "foo", result].value for result in RESULTS} == {0.0}
    assert metrics["controller_runtime_max_concurrent_reconciles", "foo"].value == 2


@pytest.mark.feature("B-CR-10")
def test_reconciliation_is_counted_by_result_and_timed() -> None:
    clock = FakeClock()
    with recorded_metrics() as metrics, Attempts("Foo", clock=clock).at(KEY) as attempt:
        assert metrics["controller_runtime_active_workers", "foo"].value == 1
        clock.step(0.25)
        attempt.succeeded()
    assert metrics[f"{NAME}total", "foo", "success"].value == 1
    assert metrics[f"{NAME}errors_total", "foo"].value == 0
    assert metrics[f"{NAME}time_seconds", "foo"].observed == [0.25]
    assert metrics["controller_runtime_active_workers", "foo"].value == 0


@pytest.mark.feature("B-CR-10")
def test_reconciliation_without_a_result_is_an_error() -> None:
    with recorded_metrics() as metrics, suppress(KeyError), Attempts("Foo").at(KEY) as attempt:
        attempt.panicked = True
        raise KeyError
    assert metrics[f"{NAME}total", "foo", "error"].value == 1
    assert metrics[f"{NAME}errors_total", "foo"].value == metrics[f"{NAME}panics_total", "foo"].value == 1
