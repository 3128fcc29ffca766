"""Arithmetic of the benchmarks: medians, ratios, limits, fits, regressions."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.cases.all import CASES
from benchmarks.compare import losses
from benchmarks.fit import exponent
from benchmarks.model import FLOOR, KOPF, OFFICIAL, OURS, TIMED, Case, Failed, Figure, Limit, Setting
from benchmarks.results import CaseResult, Results, found, judged, merged, read, write
from benchmarks.rounds import Outcome
from benchmarks.table import number, table

COST = Figure(key="cpu", unit="s", words="processor time", limits=(Limit(1.0, FLOOR), Limit(0.5, KOPF)))
RATE = Figure(key="rate", unit="MB", words="room", more_is_better=True, limits=(Limit(100.0),))


def case(*figures: Figure) -> Case:
    def never(_: Setting) -> Any:
        raise Failed("a test opens nothing")

    return Case(name="some", words="something", figures=figures, subjects=(OURS, FLOOR, KOPF), open=never)


def outcome_of(figures: dict[str, dict[str, list[float]]], *figure: Figure) -> CaseResult:
    return found(Outcome(case(*(figure or (COST, RATE))), figures), date="2026-11-21", load=0.5)


def results(**cases: CaseResult) -> Results:
    return Results(machine={"cores": "2"}, versions={"Python": "3.11"}, quick=False, server="bundled", cases=cases)


def costing(ours: float, floor: float = 1.0, kopf: float = 4.0) -> Results:
    return results(some=outcome_of({OURS: {"cpu": [ours]}, FLOOR: {"cpu": [floor]}, KOPF: {"cpu": [kopf]}}))


def test_figure_is_the_median_of_its_rounds() -> None:
    assert outcome_of({OURS: {"cpu": [9.0, 1.0, 2.0]}}).figures["cpu"].median(OURS) == 2.0


def test_ratio_below_one_is_better_whichever_way_the_figure_counts() -> None:
    figures = outcome_of({OURS: {"cpu": [1.0], "rate": [200.0]}, FLOOR: {"cpu": [2.0], "rate": [100.0]}}).figures
    assert figures["cpu"].ratio(FLOOR) == figures["rate"].ratio(FLOOR) == 0.5


@pytest.mark.parametrize("unit", sorted(TIMED))
def test_goal_that_depends_on_the_machine_is_relative(unit: str) -> None:
    with pytest.raises(ValueError, match="holds on one machine"):
        Figure(key="cpu", unit=unit, words="", limits=(Limit(1.0),))


def test_there_is_no_ratio_to_nothing() -> None:
    figure = outcome_of({OURS: {"cpu": [1.0]}, FLOOR: {"cpu": [0.0]}}).figures["cpu"]
    assert figure.ratio(FLOOR) is None
    assert figure.ratio(OFFICIAL) is None


@pytest.mark.parametrize(("ours", "met"), [(0.9, [True, True]), (1.9, [False, True]), (2.1, [False, False])])
def test_limits_are_relative_to_another_subject_of_the_same_run(ours: float, met: list[bool]) -> None:
    figure = costing(ours).cases["some"].figures["cpu"]
    assert [limit.met for limit in figure.limits] == met


def test_limit_is_a_lower_bound_where_more_is_better() -> None:
    rates = [outcome_of({OURS: {"rate": [value]}}).figures["rate"].limits[0].met for value in (99.0, 101.0)]
    assert rates == [False, True]


def test_limit_relative_to_a_subject_that_was_not_run_is_left_open() -> None:
    figure = outcome_of({OURS: {"cpu": [0.9]}, FLOOR: {"cpu": [1.0]}}).figures["cpu"]
    assert [limit.met for limit in figure.limits] == [True, None]


def test_loss_of_more_than_a_fifth_against_floor_and_peers_is_found() -> None:
    lost = losses(costing(1.0), costing(1.3))
    assert [(loss.subject, loss.figure) for loss in lost] == [(FLOOR, "processor time"), (KOPF, "processor time")]
    assert "some, processor time: 1.30 x floor in place of 1.00 (+30 %)" in map(str, lost)


def test_slower_machine_is_no_loss() -> None:
    assert losses(costing(1.0), costing(3.0, floor=3.0, kopf=12.0)) == []


def test_less_than_a_fifth_is_no_loss() -> None:
    assert losses(costing(1.0), costing(1.19)) == []


def test_one_lucky_peer_is_no_loss() -> None:
    assert losses(costing(1.0), costing(1.0, kopf=2.0)) == []


def test_figures_of_chance_are_not_judged() -> None:
    chance = Figure(key="cpu", unit="s", words="chance", steady=False)
    before, now = (results(some=outcome_of({OURS: {"cpu": [n]}, FLOOR: {"cpu": [1.0]}}, chance)) for n in (1.0, 9.0))
    assert losses(before, now) == []


def test_cases_that_are_new_can_not_be_lost() -> None:
    assert losses(results(), costing(9.0)) == []


def test_results_survive_their_file(tmp_path: Path) -> None:
    write(costing(1.25), tmp_path / "latest.json")
    assert read(tmp_path / "latest.json") == costing(1.25)
    assert read(tmp_path / "none.json") is None


def test_file_with_other_content_is_rejected_with_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "latest.json").write_text(json.dumps({"a": 1}), encoding="utf-8")
    with pytest.raises(Failed, match="does not hold results"):
        read(tmp_path / "latest.json")


def test_part_that_is_run_again_takes_its_place_among_the_others() -> None:
    old, new = results(some=outcome_of({}), help=outcome_of({})), costing(1.0)
    full = merged(old, new)
    assert full.cases["some"] == new.cases["some"]
    assert full.cases["help"] == old.cases["help"]


def test_results_of_another_machine_are_not_mixed_in() -> None:
    elsewhere = Results(machine={"cores": "64"}, versions={}, quick=False, server="", cases={"help": outcome_of({})})
    assert list(merged(elsewhere, costing(1.0)).cases) == ["some"]


def test_cases_are_kept_in_the_order_they_are_run_in() -> None:
    mixed = results(growth=outcome_of({}), create=outcome_of({}))
    assert list(judged(mixed, CASES).cases) == ["create", "growth"]


def test_the_table_shows_figures_targets_and_ratios() -> None:
    page = table(costing(2.0))
    assert "| processor time | 2 s | ≤ 1 x floor **✗**; ≤ 0.5 x kopf ✓ | 1 s (2.00 x) | 4 s (0.50 x) |" in page
    assert "- some, processor time: 2 s in place of ≤ 1 x floor" in page


def test_the_table_says_why_a_case_was_not_run() -> None:
    skipped = found(Outcome(case(COST), skipped="needs the moon"), date="today", load=0.0)
    assert "Not run: needs the moon." in table(results(some=skipped))


@pytest.mark.parametrize(
    ("value", "rendered"), [(0.0, "0"), (0.01234, "0.0123"), (12.345, "12.3"), (56789.1, "56,789")]
)
def test_numbers_have_three_digits(value: float, rendered: str) -> None:
    assert number(value) == rendered


@given(st.floats(0.0, 3.0), st.floats(0.001, 1000.0))
def test_the_exponent_of_a_power_law_is_found(power: float, factor: float) -> None:
    points = {n: factor * n**power for n in (100, 200, 400, 800)}
    assert exponent(points) == pytest.approx(power, abs=1e-6)


@pytest.mark.parametrize("points", [{}, {1: 1.0}, {1: 1.0, 2: 0.0}, {0: 1.0, 2: 1.0}])
def test_there_is_no_exponent_without_points(points: dict[int, float]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the words differ
        exponent(points)
