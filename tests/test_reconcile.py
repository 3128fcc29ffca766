"""Logging and metrics of reconciliations."""

import logging
from contextlib import suppress

import pytest

from clientgo.errors import Conflict, ConnectionFailed, LeaseNotHeld
from clientgo.log.fields import current_fields
from clientgo.meta import ObjectName
from clientgo.reconcile import REPEAT_SECONDS, RESULTS, Attempts, ReconcileMetrics
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import recorded_metrics

KEY = ObjectName("ns", "a")


def fail(attempts: Attempts, error: Exception) -> None:
    with attempts.at(KEY) as attempt:
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
    ("errors", "level", "told"),
    [
        ((ConnectionFailed("refused"), Conflict("changed")), "WARNING", "two: refused; changed"),
        ((Conflict("changed"), LeaseNotHeld("lost")), "INFO", "two: changed; lost"),
        ((ConnectionFailed("refused"), KeyError("a bug")), "ERROR", None),
    ],
)
def test_group_of_errors_is_a_bug_if_one_of_them_is(
    errors: tuple[Exception, ...], level: str, told: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with recorded_metrics() as kept, caplog.at_level(logging.INFO):
        fail(Attempts("Foo"), ExceptionGroup("two", errors))
    (record,) = caplog.records
    assert (record.levelname, vars(record).get("err")) == (level, told)
    assert kept["controller_runtime_reconcile_panics_total", "foo"].value == (told is None)


def test_repeated_failures_are_logged_once_per_period(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    attempts = Attempts("Foo", clock=clock)
    with caplog.at_level(logging.DEBUG):
        for seconds in (0.0, 1.0, 1.0, REPEAT_SECONDS):
            clock.step(seconds)
            fail(attempts, ConnectionFailed("refused"))
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG", "DEBUG", "WARNING"]
    assert vars(caplog.records[-1])["left_out"] == 2


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
    with recorded_metrics() as kept, caplog.at_level(logging.INFO):
        fail(Attempts("Foo", expected=(LookupError,)), error)
    (record,) = caplog.records
    assert (record.levelname, bool(record.exc_info)) == (level, panics == 1)
    assert kept["controller_runtime_reconcile_total", "foo", "error"].value == 1
    assert kept["controller_runtime_reconcile_panics_total", "foo"].value == panics


NAME = "controller_runtime_reconcile_"


@pytest.mark.feature("B-CR-10")
def test_every_result_has_a_series_from_the_start() -> None:
    with recorded_metrics() as kept:
        ReconcileMetrics("foo").set_workers(2)
    assert {kept[f"{NAME}total", "foo", result].value for result in RESULTS} == {0.0}
    assert kept["controller_runtime_max_concurrent_reconciles", "foo"].value == 2


@pytest.mark.feature("B-CR-10")
def test_reconciliation_is_counted_by_result_and_timed() -> None:
    clock = FakeClock()
    with recorded_metrics() as kept:
        metrics = ReconcileMetrics("foo", clock=clock)
        with metrics.reconciling() as call:
            assert kept["controller_runtime_active_workers", "foo"].value == 1
            clock.step(0.25)
            call.result = "success"
    assert kept[f"{NAME}total", "foo", "success"].value == 1
    assert kept[f"{NAME}errors_total", "foo"].value == 0
    assert kept[f"{NAME}time_seconds", "foo"].observed == [0.25]
    assert kept["controller_runtime_active_workers", "foo"].value == 0


@pytest.mark.feature("B-CR-10")
def test_reconciliation_without_a_result_is_an_error() -> None:
    with recorded_metrics() as kept:
        metrics = ReconcileMetrics("foo")
        with suppress(KeyError), metrics.reconciling() as call:
            call.panicked = True
            raise KeyError
    assert kept[f"{NAME}total", "foo", "error"].value == 1
    assert kept[f"{NAME}errors_total", "foo"].value == kept[f"{NAME}panics_total", "foo"].value == 1
