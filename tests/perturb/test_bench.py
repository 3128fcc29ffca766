"""Bench: each broken controller is found, and its correct twin is not blamed."""

import pytest

from clientgo.perturb import run_scenario
from tests.perturb.bench.__main__ import first_finding
from tests.perturb.bench.cases import CASES, Case

QUICK = frozenset(("takes-over", "owner-elsewhere", "charged-twice", "outlives", "steals-children"))


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case.name in QUICK else pytest.mark.slow) for case in CASES],
)
def test_bug_is_found_and_its_twin_passes_every_plan(case: Case) -> None:
    finding, _ = first_finding(case)
    assert finding is not None
    run_scenario(case.scenario(case.correct)).check()
