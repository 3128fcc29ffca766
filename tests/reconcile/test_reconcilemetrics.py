"""How reconciling is measured."""

from contextlib import suppress

import pytest

from clientgo.reconcile.metrics import RESULTS, ReconcileMetrics
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import recorded_metrics

NAME = "controller_runtime_reconcile_"


@pytest.mark.feature("B-CR-10")
def test_every_result_has_a_series_from_the_start() -> None:
    with recorded_metrics() as kept:
        ReconcileMetrics("foo").set_workers(2)
    assert {kept[f"{NAME}total", "foo", result].value for result in RESULTS} == {0.0}
    assert kept["controller_runtime_max_concurrent_reconciles", "foo"].value == 2


@pytest.mark.feature("B-CR-10")
def test_a_reconciliation_is_counted_by_its_result_and_timed() -> None:
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
def test_what_nobody_called_a_success_is_an_error() -> None:
    with recorded_metrics() as kept:
        metrics = ReconcileMetrics("foo")
        with suppress(KeyError), metrics.reconciling() as call:
            call.panicked = True
            raise KeyError
    assert kept[f"{NAME}total", "foo", "error"].value == 1
    assert kept[f"{NAME}errors_total", "foo"].value == kept[f"{NAME}panics_total", "foo"].value == 1
