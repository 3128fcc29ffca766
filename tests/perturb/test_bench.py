"""Bench: each broken controller is found, and its correct twin is not blamed."""

import pytest

from clientgo.perturb import run_scenario
from tests.perturb.bench.__main__ import first_finding
from tests.perturb.bench.cases import CASES, Case

QUICK = frozenset(("takes-over", "owner-elsewhere", "charged-twice", "outlives", "steals-children"))
MISSED = {"rotates-late": "a delay by a restart is no finding, see docs/reports/perturbation.md"}


def marks_of(case: Case) -> list[pytest.MarkDecorator]:
    """Return the marks of a case: slow, unless it is quick, and missed ones fail until they are found."""
    slow = [] if case.name in QUICK else [pytest.mark.slow]
    return [*slow, *(pytest.mark.xfail(strict=True, reason=MISSED[name]) for name in MISSED if name == case.name)]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=marks_of(case)) for case in CASES],
)
def test_bug_is_found_and_its_twin_passes_every_plan(case: Case) -> None:
    finding, _ = first_finding(case)
    assert finding is not None
    run_scenario(case.scenario(case.correct)).check()
